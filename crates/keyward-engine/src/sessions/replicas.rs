//! Clients that follow the stream of changes (SYNC, PSYNC).
//!
//! Owns who follows, how far each is, and who waits for their acknowledgements (WAIT). One who
//! begins gets a snapshot of one instant, then the stream from that instant on; one who comes
//! back goes on where it was.
//!
//! ```text
//! Waiting ──snapshot begins──▶ Receiving ──all of it is sent──▶ Online
//!    next = offset of that instant ┘          PSYNC that continues ┘
//! ```
//!
//! A snapshot whose end is a mark is followed by nothing until its reader has acknowledged it:
//! it looks for the mark at the end of what it has read.
//!
//! Who wants a snapshot and nothing else (`redis-cli --rdb`, a backup) cannot be promoted: it is
//! none of the replicas that INFO, ROLE, WAIT and `min-replicas-to-write` count.
//!
//! Invariant: a change is in a replica's snapshot or in its stream, never in both.
//! Not here: the stream's bytes (`replication`), sending them (the host).

use keyward_store::keyspace::client_id::ClientId;

/// What a Keyward says that tells of the schemas of its history, behind `+CONTINUE` and
/// `+FULLRESYNC`, to those who say that they hear of them (`REPLCONF capa keyward-schemas`).
pub const TELLS_SCHEMAS: &str = "keyward-schemas";
/// What one says besides that does not know the schemas of the history it asks to go on with.
pub const LACKS_SCHEMAS: &str = "keyward-lacks-schemas";

/// Which part of everything a snapshot is to have (`rdb-filter-only`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it.
    #[default]
    Everything,
    /// Function libraries.
    Libraries,
    /// None.
    Nothing,
}

/// What a client has told of itself before it follows (REPLCONF).
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    /// It takes a snapshot that ends with a mark.
    pub(crate) takes_mark: bool,
    /// It takes another id when it goes on.
    pub(crate) takes_new_id: bool,
    /// It hears of schemas, and wants to know whether it is told of them.
    pub(crate) hears_schemas: bool,
    /// It does not know those of the history that it follows.
    pub(crate) lacks_schemas: bool,
    /// It wants no changes after the snapshot.
    pub(crate) is_last: bool,
    /// What is in it.
    pub(crate) part: Part,
    /// The port that it listens on.
    pub(crate) port: i64,
    /// The address or name that others reach it by.
    pub(crate) address: Option<Box<[u8]>>,
}

/// How far somebody who follows is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It waits for a snapshot to begin.
    Waiting,
    /// A snapshot is made for it, or on its way.
    Receiving,
    /// A snapshot that was made before it was sent is on its way.
    ReceivingFile,
    /// It has one.
    Online,
}

impl Stage {
    /// What INFO calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::Waiting | Stage::Receiving => "wait_bgsave",
            Stage::ReceivingFile => "send_bulk",
            Stage::Online => "online",
        }
    }
}

/// Somebody who follows.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) client: ClientId,
    /// The name or address and the port that others reach it by, if it has told them.
    pub(crate) name: Option<(Box<[u8]>, i64)>,
    pub(crate) stage: Stage,
    pub(crate) takes_mark: bool,
    /// It wants to know whether it is told of schemas.
    pub(crate) hears_schemas: bool,
    pub(crate) part: Part,
    /// It wants a snapshot only.
    pub(crate) is_last: bool,
    /// It came by SYNC: it acknowledges nothing.
    pub(crate) is_silent: bool,
    /// Bytes of the stream that it was sent, or need not be.
    pub(crate) next: u64,
    /// Where in the stream it began, by this connection.
    pub(crate) begun: u64,
    /// Whether the stream is sent.
    pub(crate) is_fed: bool,
    /// How far it says it is, whether it has said so at all, and when it last did.
    pub(crate) acknowledged: u64,
    pub(crate) is_heard: bool,
    pub(crate) acknowledged_ms: i64,
    /// How far its append-only file is synced.
    pub(crate) synced: u64,
    /// When it asked.
    pub(crate) asked_ms: i64,
}

/// A client that waits for acknowledgements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckWait {
    pub(crate) client: ClientId,
    pub(crate) count: i64,
    pub(crate) offset: u64,
    /// What is to be in files (WAITAOF); else replicas need only have it.
    pub(crate) safe: Option<Safe>,
}

/// Files that changes are waited for to be in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Safe {
    /// The own one is among them.
    pub(crate) is_local: bool,
    /// Up to where it has to be synced, once that is known.
    pub(crate) position: Option<u64>,
}

impl AckWait {
    /// Whether the own file is synced as far as it has to be.
    pub(crate) fn is_synced(&self, synced: u64) -> bool {
        self.safe.is_some_and(|safe| safe.position.is_some_and(|position| synced >= position))
    }
}

/// How many changes of whom were told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SyncCounters {
    pub(crate) full: u64,
    pub(crate) partial: u64,
    pub(crate) refused: u64,
}

/// All who follow.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    all: Vec<Replica>,
    /// Who waits for acknowledgements.
    pub(crate) waits: Vec<AckWait>,
    /// Acknowledgements are to be asked for.
    pub(crate) wants_acks: bool,
    /// Since when there has been nobody.
    pub(crate) nobody_since_ms: i64,
    /// When they were last looked after, and how often.
    pub(crate) looked_ms: i64,
    pub(crate) looks: u64,
    /// There are fewer good ones than writes need.
    pub(crate) are_too_few: bool,
    pub(crate) counters: SyncCounters,
}

impl Replicas {
    /// All who follow, those who want a snapshot only included.
    pub(crate) fn all(&self) -> &[Replica] {
        &self.all
    }

    /// All who follow, for changing.
    pub(crate) fn all_mut(&mut self) -> &mut [Replica] {
        &mut self.all
    }

    /// Those who can be promoted.
    pub(crate) fn real(&self) -> impl Iterator<Item = &Replica> {
        self.all.iter().filter(|replica| !replica.is_last)
    }

    /// How many can be promoted.
    pub(crate) fn count(&self) -> usize {
        self.real().count()
    }

    pub(crate) fn get(&self, client: ClientId) -> Option<&Replica> {
        self.all.iter().find(|replica| replica.client == client)
    }

    pub(crate) fn get_mut(&mut self, client: ClientId) -> Option<&mut Replica> {
        self.all.iter_mut().find(|replica| replica.client == client)
    }

    pub(crate) fn add(&mut self, replica: Replica) {
        self.all.push(replica);
    }

    /// A client goes.
    pub(crate) fn remove(&mut self, client: ClientId, now_ms: i64) {
        self.all.retain(|replica| replica.client != client);
        if self.count() == 0 {
            self.nobody_since_ms = now_ms;
        }
    }

    /// From where on somebody needs the stream.
    pub(crate) fn needed_from(&self) -> u64 {
        let needs = self.real().filter(|replica| replica.stage != Stage::Waiting);
        needs.map(|replica| replica.next).min().unwrap_or(u64::MAX)
    }

    /// How many have acknowledged the stream up to here. Who was sent a snapshot and has said
    /// nothing since may not have loaded it, be it that nothing was ever streamed.
    pub(crate) fn acknowledged(&self, offset: u64) -> i64 {
        self.heard().filter(|replica| replica.acknowledged >= offset).count() as i64
    }

    /// How many have it in their files up to here. Who says 0, or nothing, has no file: what was
    /// written before there was a stream is in the file of whoever has any of the stream there.
    pub(crate) fn synced(&self, offset: u64) -> i64 {
        self.heard().filter(|replica| replica.synced >= offset.max(1)).count() as i64
    }

    fn heard(&self) -> impl Iterator<Item = &Replica> {
        self.online().filter(|replica| replica.is_heard)
    }

    fn online(&self) -> impl Iterator<Item = &Replica> {
        let replicas = self.real().filter(|replica| replica.stage == Stage::Online);
        replicas.filter(|replica| !self.is_superseded(replica))
    }

    /// Whether a replica has come again by a newer connection, of which the older one is not known
    /// to be gone. Whatever it said by that one it said before it came: it had no more than what
    /// the newer one began with. Who says more is another replica, which others reach by the same
    /// name (behind one address).
    fn is_superseded(&self, older: &Replica) -> bool {
        let newer = self.all.iter().rev().take_while(|replica| replica.client != older.client);
        older.name.is_some()
            && newer
                .filter(|newer| newer.name == older.name && newer.is_heard)
                .any(|newer| newer.stage == Stage::Online && older.acknowledged <= newer.begun)
    }

    /// How many are online and were heard of lately.
    pub(crate) fn good(&self, now_ms: i64, lag_s_max: i64) -> usize {
        let lag_s = |replica: &&Replica| now_ms / 1000 - replica.acknowledged_ms / 1000;
        self.online().filter(|replica| lag_s(replica) <= lag_s_max).count()
    }

    /// Whether all have acknowledged the stream up to here.
    pub(crate) fn have_all(&self, offset: u64) -> bool {
        self.real().all(|replica| replica.acknowledged >= offset)
    }
}
