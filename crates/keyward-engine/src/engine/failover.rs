//! Handing over to a replica (FAILOVER).
//!
//! Owns the way: writes wait until a replica has acknowledged everything; then this server
//! follows that one, asking it to lead first (`PSYNC … FAILOVER`). If it refuses, or nobody has
//! everything in time, this server leads on; those whose writes waited go on either way.
//! Not here: the command (`commands::server::failover`), being the one who is asked
//! (`commands::server::replication`).

use crate::engine::Engine;
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::failover::{Failover, FailoverStage};
use crate::sessions::pause::{Held, Pause};
use crate::sessions::replicas::Stage;
use keyward_lua::LogLevel;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;

impl Shared {
    /// Begins a failover.
    pub(crate) fn begin_failover(&mut self, keys: &mut Keyspace, failover: Failover) {
        self.feed_effects(keys);
        self.failover = Some(failover);
        let clients = self.pause.take().map_or_else(Vec::new, |pause| pause.clients);
        self.pause = Some(Pause { held: Held::Writes, until_ms: i64::MAX - 1, clients });
    }

    /// Whether a failover is under way.
    pub(crate) fn failover_stage(&self) -> Option<FailoverStage> {
        self.failover.as_ref().map(|failover| failover.stage)
    }

    /// A failover is over: those who waited go on.
    fn end_failover(&mut self, keys: &mut Keyspace) {
        if self.failover.take().is_some() {
            self.end_pause(keys);
        }
    }

    /// Gives a failover up, and leads on.
    pub(crate) fn abort_failover(&mut self, keys: &mut Keyspace, host: &mut dyn Host, why: &str) {
        let Some(stage) = self.failover_stage() else { return };
        host.log(LogLevel::Notice, format!("Aborting failover: {why}").as_bytes());
        if stage == FailoverStage::InProgress {
            self.lead(keys, host);
        }
        self.end_failover(keys);
    }

    /// The name or address, and the port, by which a client that follows is reached.
    pub(crate) fn reached_by(&self, host: &dyn Host, client: ClientId) -> (Vec<u8>, u16) {
        let wishes = self.sessions.get(client).map(|session| &session.wishes);
        let told = wishes.and_then(|wishes| wishes.address.as_deref());
        let address = told.map_or_else(
            || {
                let whole = host.connection(client).address;
                let address = whole.rsplit_once(':').map_or(whole.as_str(), |(address, _)| address);
                address.trim_matches(['[', ']']).as_bytes().to_vec()
            },
            <[u8]>::to_vec,
        );
        let port = wishes.and_then(|wishes| u16::try_from(wishes.port).ok());
        (address, port.unwrap_or(0))
    }

    /// The replica that is reached so.
    pub(crate) fn replica_at(&self, host: &dyn Host, at: &(Vec<u8>, u16)) -> Option<ClientId> {
        let mut replicas = self.replicas.real().map(|replica| replica.client);
        replicas.find(|client| self.reached_by(host, *client) == *at)
    }

    /// Goes on with a failover.
    fn go_on_failing_over(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        self.feed_effects(keys);
        let Some(failover) = &self.failover else { return };
        if failover.stage != FailoverStage::WaitingForSync {
            return;
        }
        let is_late = failover.until_ms.is_some_and(|until_ms| keys.now_ms() >= until_ms);
        let target = failover.target.clone();
        match (is_late, failover.is_forced, target) {
            (true, true, Some(target)) => {
                let name = String::from_utf8_lossy(&target.0).into_owned();
                let line =
                    format!("Failover to {name}:{} time out exceeded, failing over.", target.1);
                host.log(LogLevel::Notice, line.as_bytes());
                self.hand_over(keys, host, target);
            }
            (true, ..) => {
                self.abort_failover(keys, host, "Replica never caught up before timeout");
            }
            (false, _, target) => {
                let offset = self.replication.offset();
                let is_ready = |client: &ClientId| {
                    self.replicas.get(*client).is_some_and(|replica| {
                        replica.stage == Stage::Online
                            && replica.is_heard
                            && replica.acknowledged == offset
                    })
                };
                let chosen = match &target {
                    Some(at) => self.replica_at(host, at).filter(is_ready),
                    None => self.replicas.real().map(|it| it.client).find(|it| is_ready(it)),
                };
                if let Some(client) = chosen {
                    let target = target.unwrap_or_else(|| self.reached_by(host, client));
                    host.log(LogLevel::Notice, b"Failover target is synced, failing over.");
                    self.hand_over(keys, host, target);
                }
            }
        }
    }

    fn hand_over(&mut self, keys: &mut Keyspace, host: &mut dyn Host, target: (Vec<u8>, u16)) {
        if let Some(failover) = &mut self.failover {
            failover.stage = FailoverStage::InProgress;
        }
        self.follow(keys, host, (&target.0, target.1));
    }
}

impl Engine {
    /// Goes on with a failover, if there is one.
    pub(crate) fn fail_over(&mut self, host: &mut dyn Host) {
        if self.shared.failover.is_some() {
            self.shared.go_on_failing_over(&mut self.keys, host);
        }
    }

    /// The server that is to lead has agreed, if this is a failover.
    pub fn failover_accepted(&mut self) {
        self.shared.end_failover(&mut self.keys);
    }

    /// The server that is to lead has refused, if this is a failover: this one leads on.
    pub fn failover_refused(&mut self, host: &mut dyn Host) {
        let why = "Failover target rejected psync request";
        self.shared.abort_failover(&mut self.keys, host, why);
    }
}
