//! Looking after those who follow: the stream they are sent, snapshots they share, keep-alives,
//! acknowledgements, who is cut off.
//!
//! Owns what happens to followers and the stream together, and the host's interface for it:
//!
//! 1. somebody asks for everything (SYNC, PSYNC), and the host is told ([`Host::sync_wanted`]);
//! 2. when the snapshot for all who wait is due ([`Engine::is_full_sync_due`]) the host begins it
//!    ([`Engine::begin_full_sync`]), sends it, and says so ([`Engine::end_full_sync`]);
//! 3. the host takes the stream for each who is online, at its client's pace
//!    ([`Engine::take_stream`]).
//!
//! Not here: the commands (`commands::server::replication`), sockets and files (the host).

use crate::engine::Engine;
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::courier::Delivery;
use crate::sessions::replicas::{Part, Replica, Stage, TELLS_SCHEMAS};
use crate::sessions::replication::{Place, ReplicationId};
use crate::sessions::session::Session;
use crate::snapshot::{self, Coverage, SnapshotOptions};
use crate::tunables::Replicating;
use keyward_commands::WireError;
use keyward_lua::LogLevel;
use keyward_schema::Persist;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::tables::database::Database;

/// What the annotation that ends an append-only file begins with.
const LAST_LINE: &str = "#keyward-replication:";
/// What WAITAOF says to who wants to wait for a file that is not kept.
pub(crate) const NO_FILE: WireError =
    WireError::Err("WAITAOF cannot be used when numlocal is set but appendonly is disabled.");
/// How often those who follow are looked after.
const LOOK_INTERVAL_MS: i64 = 1000;

/// A snapshot that has begun for those who follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullSync {
    /// Who gets it.
    pub clients: Vec<ClientId>,
    /// Whether it is sent while it is made, and ends with a mark; else as one text of known
    /// length.
    pub takes_mark: bool,
}

impl Shared {
    /// Gives what was recorded to those who want it: the stream and the append-only file.
    #[inline]
    pub(crate) fn feed_effects(&mut self, keys: &mut Keyspace) {
        let is_leading = self.primary.is_none();
        if !keys.effects.is_empty() && (self.log.is_on || self.replication.is_on()) {
            let effects = keys.effects.take_log();
            if is_leading {
                self.replication.push_effects(&effects);
            }
            self.log.record(&effects, &self.log_cover);
            keys.effects.give_back(effects);
            self.trim_backlog();
        }
        let is_behind = self.log.schema_version != keys.schema_version();
        // What a start changes stands before the schema that it changes rows for.
        if self.log.is_on && is_behind && !self.is_loading {
            self.annotate_log(keys);
        }
        if is_leading && self.replication.is_on() {
            self.feed_others(keys);
        }
    }

    /// Adds to the stream what is no change: the schemas in force, and a wish for
    /// acknowledgements.
    fn feed_others(&mut self, keys: &Keyspace) {
        if self.replication.told_version != keys.told_version() && !self.is_loading {
            self.replication.told_version = keys.told_version();
            let text = self.memory(keys).text();
            // A Redis that follows passes over an acknowledgement, and over all behind it.
            let words = [b"REPLCONF", &b"ACK"[..], b"0", b"KEYWARD-SCHEMAS", text.as_bytes()];
            self.replication.push_command(&words);
        }
        if std::mem::take(&mut self.replicas.wants_acks) {
            self.replication.push_command(&[b"REPLCONF", b"GETACK", b"*"]);
        }
    }

    /// Frees what of the stream need not be kept.
    pub(crate) fn trim_backlog(&mut self) {
        let bytes_max = self.tunables.replicating.backlog_bytes;
        self.replication.trim(bytes_max, self.replicas.needed_from());
    }

    /// Bytes of the stream that are kept only for those who are behind.
    pub(crate) fn held_stream_bytes(&self) -> usize {
        let kept = self.replication.backlog().map_or(0, |backlog| backlog.len());
        kept.saturating_sub(self.tunables.replicating.backlog_bytes) as usize
    }

    /// Notes whether there are enough good replicas for writes.
    pub(crate) fn count_good_replicas(&mut self, now_ms: i64) {
        let Replicating { replicas_min, lag_s_max, .. } = self.tunables.replicating;
        self.replicas.are_too_few = self.primary.is_none()
            && replicas_min > 0
            && lag_s_max > 0
            && self.replicas.good(now_ms, lag_s_max) < replicas_min;
    }

    /// Looks after those who follow, once a second.
    pub(crate) fn look_after_followers(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        let now_ms = keys.now_ms();
        // What nobody needs any more goes a part at a time.
        self.trim_backlog();
        // The clock may have been set back.
        let passed_ms = now_ms - self.replicas.looked_ms;
        if (0..LOOK_INTERVAL_MS).contains(&passed_ms) || !self.replication.is_on() {
            return;
        }
        self.replicas.looked_ms = now_ms;
        // Who has just come is not told at once that somebody is there.
        self.replicas.looks += 1;
        let period = self.tunables.replicating.ping_s.max(1);
        let is_leading = self.primary.is_none();
        if self.replicas.looks.is_multiple_of(period)
            && self.replicas.count() > 0
            && self.shutdown.is_none()
            && self.failover.is_none()
            && is_leading
        {
            self.feed_effects(keys);
            self.replication.push_command(&[b"PING"]);
        }
        self.keep_waiting_alive();
        self.close_silent(now_ms, host);
        self.count_good_replicas(now_ms);
        let ttl_s = self.tunables.replicating.backlog_ttl_s;
        let idle_s = (now_ms - self.replicas.nobody_since_ms) / 1000;
        if self.replicas.count() == 0 && ttl_s > 0 && idle_s > ttl_s && is_leading {
            self.feed_effects(keys);
            let backlog = self.replication.end();
            self.listen(keys);
            host.discard(Box::new(backlog));
            let line = format!(
                "Replication backlog freed after {ttl_s} seconds without connected replicas."
            );
            host.log(LogLevel::Notice, line.as_bytes());
        }
    }

    /// Those who wait for a snapshot hear that somebody is there.
    fn keep_waiting_alive(&mut self) {
        for replica in self.replicas.all() {
            let is_made = replica.stage == Stage::Receiving && !replica.takes_mark;
            if replica.stage == Stage::Waiting || is_made {
                self.outbox.push(Delivery::Output(replica.client, b"\n".as_slice().into()));
            }
        }
    }

    /// Disconnects those who should be heard of, and are not.
    fn close_silent(&mut self, now_ms: i64, host: &mut dyn Host) {
        let timeout_s = self.tunables.replicating.timeout_s;
        let is_silent = |replica: &&Replica| {
            replica.stage == Stage::Online
                && !replica.is_silent
                && !replica.is_last
                && now_ms / 1000 - replica.acknowledged_ms / 1000 > timeout_s
        };
        for replica in self.replicas.all().iter().filter(is_silent) {
            let address = host.connection(replica.client).address;
            let line = format!("Disconnecting timedout replica (streaming sync): {address}");
            host.log(LogLevel::Warning, line.as_bytes());
            self.outbox.push(Delivery::Close(replica.client));
        }
    }

    /// Whether the append-only file has whatever was changed, up to its end ([`Host::log_ends`]):
    /// what was recorded is taken, and no database is yet to come into it, whose changes are in no
    /// file until then.
    pub(crate) fn is_log_whole(&self, keys: &Keyspace) -> bool {
        keys.effects.is_empty() && self.log.is_taken() && !self.log_cover.awaits()
    }

    /// Lets clients go on that waited for acknowledgements which have come.
    pub(crate) fn serve_acknowledged(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        let mut index = 0;
        let (ends, is_whole) = (host.log_ends(), self.is_log_whole(keys));
        while let Some(wait) = self.replicas.waits.get_mut(index) {
            if let (Some(safe), Some((logged, _))) = (&mut wait.safe, ends.filter(|_| is_whole)) {
                safe.position.get_or_insert(logged);
            }
            let wait = *wait;
            let wants_file = wait.safe.is_some_and(|safe| safe.is_local);
            if wants_file && !host.keeps_log() {
                // Ending it takes it from the list.
                if !self.end_wait(keys, host, wait.client, Some(NO_FILE)) {
                    index += 1;
                }
                continue;
            }
            let has_enough = match wait.safe {
                None => self.replicas.acknowledged(wait.offset) >= wait.count,
                Some(safe) => {
                    let is_synced = ends.is_some_and(|(_, synced)| wait.is_synced(synced));
                    self.replicas.synced(wait.offset) >= wait.count && (is_synced || !safe.is_local)
                }
            };
            // Ending it takes it from the list.
            if !has_enough || !self.end_wait(keys, host, wait.client, None) {
                index += 1;
            }
        }
    }
}

impl Part {
    fn coverage(self) -> Coverage {
        match self {
            Part::Everything => Coverage::Everything,
            Part::Libraries => Coverage::Libraries,
            Part::Nothing => Coverage::Nothing,
        }
    }
}

impl Engine {
    /// Whether a snapshot for those who wait for one is to begin.
    pub fn is_full_sync_due(&self) -> bool {
        let Replicating { is_diskless, delay_s, count_max, .. } = self.shared.tunables.replicating;
        let Some(first) = self.first_waiting() else { return false };
        let part = first.part;
        let waiting = self.waiting().filter(|replica| replica.part == part);
        let now_ms = self.keys.now_ms();
        let is_in_time = |replica: &Replica| {
            // Nobody else is to be waited for.
            replica.is_last
                || !replica.takes_mark
                || !(0..delay_s * 1000).contains(&(now_ms - replica.asked_ms))
        };
        let (count, is_due) =
            waiting.fold((0, false), |(count, is_due), one| (count + 1, is_due || is_in_time(one)));
        !is_diskless || is_due || count_max > 0 && count >= count_max
    }

    fn waiting(&self) -> impl Iterator<Item = &Replica> {
        self.shared.replicas.all().iter().filter(|replica| replica.stage == Stage::Waiting)
    }

    fn first_waiting(&self) -> Option<&Replica> {
        self.waiting().next()
    }

    /// What the snapshot that is next will be; `None` if nobody waits for one.
    pub fn next_full_sync(&self) -> Option<FullSync> {
        let part = self.first_waiting()?.part;
        let waiting = || self.waiting().filter(|replica| replica.part == part);
        let is_diskless = self.shared.tunables.replicating.is_diskless || part != Part::Everything;
        Some(FullSync {
            clients: waiting().map(|replica| replica.client).collect(),
            takes_mark: is_diskless && waiting().all(|replica| replica.takes_mark),
        })
    }

    /// Begins a snapshot of this instant for these clients, from which on they are kept the
    /// stream. There must be no other.
    pub fn begin_full_sync(&mut self, sync: &FullSync, sums: bool, used_bytes: u64) {
        let Engine { keys, shared, .. } = self;
        shared.feed_effects(keys);
        shared.replication.select_anew();
        let place = shared.replication.place();
        let (tells, mut part) = (shared.tells_schemas(), Part::Everything);
        for replica in shared.replicas.all_mut() {
            if !sync.clients.contains(&replica.client) {
                continue;
            }
            part = replica.part;
            (replica.stage, replica.next) = (Stage::Receiving, place.offset);
            replica.begun = place.offset;
            if !replica.is_silent {
                let mut line = format!("+FULLRESYNC {} {}", place.id, place.offset);
                if replica.hears_schemas && tells {
                    line = format!("{line} {TELLS_SCHEMAS}");
                }
                let line = format!("{line}\r\n").into_bytes().into();
                shared.outbox.push(Delivery::Output(replica.client, line));
            }
        }
        let options = SnapshotOptions { coverage: part.coverage(), sums, used_bytes };
        let mut head = shared.snapshot_head(keys);
        let db = shared.primary.as_ref().map_or(0, |primary| primary.db);
        head.place = shared.replication.is_on().then_some((place, db));
        snapshot::begin(keys, head, options);
    }

    /// A snapshot that was made as a whole is on its way to a client.
    pub fn send_full_sync(&mut self, client: ClientId) {
        if let Some(replica) = self.shared.replicas.get_mut(client) {
            replica.stage = Stage::ReceivingFile;
        }
    }

    /// A client was sent all of its snapshot: it is online, and is sent the stream, at once or
    /// after it has said that it knows where the snapshot ends.
    pub fn end_full_sync(&mut self, host: &mut dyn Host, client: ClientId) {
        let now_ms = self.keys.now_ms();
        let Some(replica) = self.shared.replicas.get_mut(client) else { return };
        if replica.stage == Stage::Waiting {
            return;
        }
        replica.is_fed = !replica.is_last && replica.stage == Stage::ReceivingFile;
        replica.stage = Stage::Online;
        replica.acknowledged_ms = now_ms;
        if !replica.is_last {
            let address = host.connection(client).address;
            let line = format!("Synchronization with replica {address} succeeded");
            host.log(LogLevel::Notice, line.as_bytes());
        }
        self.shared.count_good_replicas(now_ms);
    }

    /// A snapshot could not be made for these clients.
    pub fn fail_full_sync(&mut self, clients: &[ClientId]) {
        for client in clients {
            let line = b"-ERR BGSAVE failed, replication can't continue\r\n".as_slice();
            self.shared.outbox.push(Delivery::Output(*client, line.into()));
            self.shared.outbox.push(Delivery::Close(*client));
        }
    }

    /// A client that follows has sent something that is replied to: the reply would stand amid the
    /// stream, so it is disconnected instead.
    #[cold]
    pub(crate) fn part_with_talker(
        &self,
        host: &mut dyn Host,
        session: &mut Session,
        reply: &[u8],
    ) {
        let name = session.last_command.map_or("NULL", |command| command.name);
        if let Some(error) = reply.strip_prefix(b"-") {
            let line = format!(
                "== CRITICAL == This master is sending an error to its replica: '{}' after \
                 processing the command '{name}'",
                error.trim_ascii_end().escape_ascii().to_string().replace("\\'", "'"),
            );
            host.log(LogLevel::Warning, line.as_bytes());
        }
        let address = host.connection(session.id).address;
        let line = format!(
            "Replica generated a reply to command '{name}', disconnecting it: id={} addr={address}",
            session.id.0
        );
        host.log(LogLevel::Warning, line.as_bytes());
        session.is_closing = true;
    }

    /// The clients that have yet to be sent some of the stream.
    #[inline]
    pub fn unfed(&self, clients: &mut Vec<ClientId>) {
        let end = self.shared.replication.offset();
        let unfed = self.shared.replicas.all().iter();
        let unfed = unfed.filter(|replica| replica.is_fed && replica.next < end);
        clients.extend(unfed.map(|replica| replica.client));
    }

    /// Whether anybody follows.
    #[inline]
    pub fn has_followers(&self) -> bool {
        !self.shared.replicas.all().is_empty()
    }

    /// Takes about so many bytes of the stream that a client has yet to be sent.
    pub fn take_stream(&mut self, client: ClientId, bytes_max: usize, out: &mut Vec<u8>) {
        let Shared { replication, replicas, .. } = &mut self.shared;
        let Some(replica) = replicas.get_mut(client).filter(|replica| replica.is_fed) else {
            return;
        };
        let mut room = bytes_max;
        while room > 0 {
            let bytes = replication.at(replica.next);
            let bytes = &bytes[..bytes.len().min(room)];
            if bytes.is_empty() {
                break;
            }
            out.extend_from_slice(bytes);
            replica.next += bytes.len() as u64;
            room -= bytes.len();
        }
    }

    /// Bytes of the stream that are kept for a client, which it has yet to be sent.
    pub fn untaken_bytes(&self, client: ClientId) -> u64 {
        let replica = self.shared.replicas.get(client);
        let replica = replica.filter(|it| !it.is_last && it.stage != Stage::Waiting);
        replica.map_or(0, |replica| self.shared.replication.offset().saturating_sub(replica.next))
    }

    /// What an append-only file that has everything ends with: where the stream of changes is.
    /// A start that finds it there goes on with the stream ([`Engine::resume_stream`]). Stock
    /// Redis passes over it.
    pub fn last_annotation(&mut self) -> Option<String> {
        self.shared.feed_effects(&mut self.keys);
        let cover = &self.shared.log_cover;
        let is_kept = |(db, database): (usize, &Database)| {
            database.is_empty() || cover.place(db) == Persist::Aof
        };
        let replication = &self.shared.replication;
        let (place, db) = (replication.place(), self.shared.stream_db());
        let is_whole = self.keys.databases().enumerate().all(is_kept) && self.shared.is_copy();
        (replication.is_on() && is_whole)
            .then(|| format!("{LAST_LINE}{} {} {db}\r\n", place.id, place.offset))
    }

    /// Goes on with the stream of changes where a file that was loaded says it was, if it ends
    /// with this line.
    pub fn resume_stream(&mut self, line: &[u8]) {
        let text = line.strip_prefix(LAST_LINE.as_bytes()).and_then(|it| str::from_utf8(it).ok());
        let Some(text) = text.and_then(|text| text.strip_suffix("\r\n")) else { return };
        let mut words = text.split(' ');
        let id = words.next().and_then(|id| ReplicationId::parse(id.as_bytes()));
        let offset = words.next().and_then(|offset| offset.parse().ok());
        // Earlier versions did not tell which database is selected.
        let db = words.next().and_then(|db| db.parse().ok()).unwrap_or(0);
        if let (Some(id), Some(offset)) = (id, offset) {
            let Engine { keys, shared, .. } = self;
            shared.resume_history(keys, Place { id, offset }, db);
        }
    }
}
