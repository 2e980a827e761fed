//! The end of the server, which waits for replicas (`shutdown-timeout`).
//!
//! Owns the wait: writes are paused, replicas are asked how far they are, and when all have
//! everything, or the time is over, the end comes: that of SHUTDOWN here, that of a signal when
//! the host asks ([`Engine::is_ready_to_end`]).
//! Not here: what SHUTDOWN asks for (`commands::server::shutdown`).

use crate::commands::server::process::finish_shutdown;
use crate::engine::Engine;
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::pause::{Held, Pause};
use crate::sessions::shutdown::{CANNOT_SHUT_DOWN, LastWish, Shutdown};
use keyward_lua::LogLevel;
use keyward_store::keyspace::Keyspace;

/// Why a server does not end yet.
const AWAITED: &str = "Writing rows to the append only file that only snapshots had";
const CANNOT_EXIT: &str = ", can't exit.";
const EXIT_ANYWAY: &str = ". Exit anyway.";

impl Shared {
    /// Whether the server may end as it is wished: not while rows are to be in the append-only
    /// file that no file is sure to have, unless a last snapshot has them.
    pub(crate) fn may_end(&self, host: &mut dyn Host, wish: LastWish) -> bool {
        if !host.begin_shutdown(wish) {
            return false;
        }
        // While rows are loaded the files have all of them.
        let has_all = self.is_loading || wish.saves || !self.log_cover.awaits();
        if !has_all {
            let line =
                format!("{AWAITED}{}", if wish.is_forced { EXIT_ANYWAY } else { CANNOT_EXIT });
            host.log(LogLevel::Warning, line.as_bytes());
        }
        has_all || wish.is_forced
    }

    /// Begins to wait for replicas that have not acknowledged everything; whether there are any.
    pub(crate) fn await_replicas(
        &mut self,
        keys: &mut Keyspace,
        host: &mut dyn Host,
        wish: Option<LastWish>,
    ) -> bool {
        if self.shutdown.is_some() {
            return true;
        }
        self.feed_effects(keys);
        let timeout_s = self.tunables.replicating.shutdown_s;
        if timeout_s == 0 || self.replicas.have_all(self.replication.offset()) {
            return false;
        }
        host.log(LogLevel::Notice, b"Waiting for replicas before shutting down.");
        self.replicas.wants_acks = true;
        let clients = self.pause.take().map_or_else(Vec::new, |pause| pause.clients);
        self.pause = Some(Pause { held: Held::Writes, until_ms: i64::MAX - 1, clients });
        let until_ms = keys.now_ms().saturating_add(timeout_s * 1000);
        self.shutdown = Some(Shutdown { until_ms, wish, clients: Vec::new() });
        true
    }

    /// The server goes on after all; whether it was about to end. Who sent SHUTDOWN gets an
    /// error.
    pub(crate) fn cancel_shutdown(&mut self, keys: &mut Keyspace, host: &mut dyn Host) -> bool {
        let Some(shutdown) = self.shutdown.take() else { return false };
        self.end_pause(keys);
        for client in shutdown.clients {
            self.end_wait(keys, host, client, Some(CANNOT_SHUT_DOWN));
        }
        true
    }
}

impl Engine {
    /// Whether the server may end as a signal wishes it, as far as files are concerned that are
    /// not complete ([`Host::begin_shutdown`]).
    pub fn may_end(&self, host: &mut dyn Host, wish: LastWish) -> bool {
        self.shared.may_end(host, wish)
    }

    /// Begins to wait for replicas before the server ends because of a signal; whether it waits.
    pub fn await_replicas(&mut self, host: &mut dyn Host) -> bool {
        self.shared.await_replicas(&mut self.keys, host, None)
    }

    /// Whether the end that a signal asked for need not wait for replicas any longer.
    pub fn is_ready_to_end(&self) -> bool {
        self.shared.shutdown.as_ref().is_some_and(|shutdown| {
            shutdown.wish.is_none()
                && (self.shared.replicas.have_all(self.shared.replication.offset())
                    || self.keys.now_ms() >= shutdown.until_ms)
        })
    }

    /// The server cannot end, and goes on.
    pub fn go_on(&mut self, host: &mut dyn Host) {
        self.shared.cancel_shutdown(&mut self.keys, host);
    }

    /// Ends the server as SHUTDOWN asked for, once replicas have everything.
    pub(crate) fn end_if_ready(&mut self, host: &mut dyn Host) {
        let Some(shutdown) = &self.shared.shutdown else { return };
        let (wish, is_late) = (shutdown.wish, self.keys.now_ms() >= shutdown.until_ms);
        let has_all = self.shared.replicas.have_all(self.shared.replication.offset());
        let Some(wish) = wish.filter(|_| has_all || is_late) else { return };
        self.tell_lag(host);
        if !self.trusted(host, |ctx| finish_shutdown(ctx, wish)) {
            self.shared.cancel_shutdown(&mut self.keys, host);
        }
    }

    /// Says how many replicas have everything when the server ends.
    pub fn tell_lag(&mut self, host: &mut dyn Host) {
        let offset = self.shared.replication.offset();
        let all = self.shared.replicas.count();
        let mut in_sync = all;
        let behind = self.shared.replicas.real().filter(|one| one.acknowledged < offset);
        for replica in behind {
            in_sync -= 1;
            let address = host.connection(replica.client).address;
            let line = format!(
                "Lagging replica {address} reported offset {} behind master, state={}.",
                offset - replica.acknowledged,
                replica.stage.name()
            );
            host.log(LogLevel::Warning, line.as_bytes());
        }
        if all > 0 {
            let line = format!("{in_sync} of {all} replicas are in sync when shutting down.");
            host.log(LogLevel::Notice, line.as_bytes());
        }
    }
}
