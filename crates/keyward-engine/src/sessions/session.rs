//! What the engine remembers about a client between its commands.
//!
//! Owns the state that commands depend on: the selected database, the protocol,
//! the open transaction, what it waits for. Invariant: while one of a client's
//! commands runs its session is out of `Sessions`, in the hands of that command.
//! Not here: sockets, addresses, buffers and limits (`keyward-server`).

use crate::acl::User;
use crate::sessions::pubsub::Subscriptions;
use crate::sessions::replicas::Wishes;
use crate::sessions::tracking::Tracker;
use hashbrown::HashMap;
use keyward_commands::Command;
use keyward_resp::{ArgBuf, Protocol};
use keyward_store::keyspace::blocking::Blocked;
use keyward_store::keyspace::client_id::ClientId;
use std::collections::VecDeque;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// What a client is shown without asking for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listening {
    /// Nothing.
    No,
    /// Every change, as a replica.
    ToChanges,
    /// A snapshot, before that or in its place.
    ToSnapshot,
    /// What is published in channels.
    ToChannels,
}

/// Which replies a client wants to see (`CLIENT REPLY`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyMode {
    /// All.
    On,
    /// None.
    Off,
    /// None for the command after this one.
    SkipNext,
    /// None for this command.
    Skip,
}

/// An open MULTI.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    /// What EXEC will run.
    pub queue: Vec<(&'static Command, ArgBuf)>,
    /// Bytes of what is in the queue.
    pub queued_bytes: usize,
    /// A command was refused while queueing: EXEC will fail.
    pub is_aborted: bool,
    /// A command of the queue may leave something to the end of the transaction.
    pub may_defer: bool,
    /// The database that the last SELECT of the queue is to select.
    pub selected: Option<usize>,
    /// Which schemas were in force when it began.
    pub schema_version: u64,
}

impl Transaction {
    fn heap_bytes(&self) -> usize {
        self.queue.capacity() * size_of::<(&Command, ArgBuf)>() + self.queued_bytes
    }
}

/// The library that a client says it uses (CLIENT SETINFO).
#[derive(Debug, Default)]
pub(crate) struct Library {
    /// Its name.
    pub name: Option<Box<[u8]>>,
    /// Its version.
    pub version: Option<Box<[u8]>>,
}

/// A client as the engine knows it.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its number.
    pub id: ClientId,
    /// The selected database.
    pub db: usize,
    /// What it speaks.
    pub protocol: Protocol,
    /// Whether it may do more than AUTH and HELLO.
    pub is_authenticated: bool,
    /// Who it is; `None` for the server itself, which may do everything.
    pub user: Option<Arc<User>>,
    /// The version of the users at which that was looked up.
    pub user_seen_at: u64,
    /// The version of the users at which it was found to have every right; zero if it was not.
    pub cleared_at: u64,
    /// The name it gave itself.
    pub name: Option<Box<[u8]>>,
    /// The open transaction, if any.
    pub transaction: Option<Transaction>,
    /// Which replies it wants.
    pub reply_mode: ReplyMode,
    /// Whether its memory is exempt from eviction (`CLIENT NO-EVICT`).
    pub no_evict: bool,
    /// CLIENT NO-TOUCH: what it reads and writes does not count as used.
    pub no_touch: bool,
    /// What it told of its library.
    pub library: Library,
    /// The channels it listens to.
    pub subscriptions: Subscriptions,
    /// How it tracks keys, if it does.
    pub tracker: Option<Box<Tracker>>,
    /// Whether it is shown every command (MONITOR).
    pub is_monitor: bool,
    /// Whether it is shown every change (SYNC).
    pub is_replica: bool,
    /// Whether it is the server that this one follows.
    pub is_primary: bool,
    /// The place in the stream of changes after its last command.
    pub offset: u64,
    /// What it told before it follows (REPLCONF).
    pub wishes: Wishes,
    /// Whether its next command waits for the end of a pause.
    pub is_paused: bool,
    /// Since when the command that runs next waits for large ends and due rows.
    pub(crate) awaits_since_ms: Option<i64>,
    /// Messages that came while its command ran, to follow the reply.
    pub pushes: Vec<u8>,
    /// What it waits for.
    pub blocked: Option<Blocked>,
    /// How long the command it waits in has run so far.
    pub spent_ns: u64,
    /// Commands that came while it was waiting.
    pub postponed: VecDeque<ArgBuf>,
    /// Whether the connection ends after the replies so far.
    pub is_closing: bool,
    /// When it connected, in milliseconds since the epoch.
    pub connected_ms: i64,
    /// When it last sent a command.
    pub active_ms: i64,
    /// The last command it sent.
    pub last_command: Option<&'static Command>,
}

impl Session {
    /// Whether somebody is there who can wait: none is while a file is loaded, and the stream of
    /// a primary does not stop for a command.
    pub(crate) fn can_wait(&self) -> bool {
        self.id != ClientId(0) && !self.is_primary
    }

    pub(crate) fn new(id: ClientId, now_ms: i64, is_authenticated: bool) -> Session {
        Session {
            id,
            db: 0,
            protocol: Protocol::Resp2,
            is_authenticated,
            user: None,
            user_seen_at: 0,
            cleared_at: 0,
            name: None,
            transaction: None,
            reply_mode: ReplyMode::On,
            no_evict: false,
            no_touch: false,
            library: Library::default(),
            subscriptions: Subscriptions::default(),
            tracker: None,
            is_monitor: false,
            is_replica: false,
            is_primary: false,
            offset: 0,
            wishes: Wishes::default(),
            is_paused: false,
            awaits_since_ms: None,
            pushes: Vec::new(),
            blocked: None,
            spent_ns: 0,
            postponed: VecDeque::new(),
            is_closing: false,
            connected_ms: now_ms,
            active_ms: now_ms,
            last_command: None,
        }
    }

    /// It is this user from now on.
    pub(crate) fn become_user(&mut self, user: &Arc<User>, is_authenticated: bool) {
        self.user = Some(Arc::clone(user));
        self.is_authenticated = is_authenticated;
        (self.user_seen_at, self.cleared_at) = (0, 0);
    }

    /// Bytes it takes, those apart that others keep for it. The commands of one batch
    /// aside, all of it is counted as it comes and goes.
    pub(crate) fn bytes(&self) -> usize {
        let postponed: usize = self.postponed.iter().map(ArgBuf::heap_bytes).sum();
        size_of::<Session>()
            + self.name.as_ref().map_or(0, |name| name.len())
            + self.library.name.as_ref().map_or(0, |name| name.len())
            + self.library.version.as_ref().map_or(0, |version| version.len())
            + self.transaction.as_ref().map_or(0, Transaction::heap_bytes)
            + self.subscriptions.heap_bytes()
            + self.tracker.as_ref().map_or(0, |tracker| tracker.heap_bytes())
            + self.blocked.as_ref().map_or(0, |blocked| blocked.args.heap_bytes())
            + self.pushes.capacity()
            + postponed
    }

    /// A command begins; returns whether its reply is not wanted.
    #[inline]
    pub(crate) fn begin_reply(&mut self) -> bool {
        let is_skipped = self.reply_mode == ReplyMode::SkipNext;
        if is_skipped {
            self.reply_mode = ReplyMode::Skip;
        }
        is_skipped
    }

    /// A command has replied from `start` on: what is not wanted goes, messages follow.
    #[inline]
    pub(crate) fn end_reply(&mut self, out: &mut Vec<u8>, start: usize) {
        if self.reply_mode != ReplyMode::On {
            out.truncate(start);
            if self.reply_mode == ReplyMode::Skip {
                self.reply_mode = ReplyMode::On;
            }
        }
        if !self.pushes.is_empty() {
            out.append(&mut self.pushes);
        }
    }

    /// Whether what it sends is kept until something happens.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.blocked.is_some() || self.is_paused
    }
}

/// All clients.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// `None` while a command of that client runs.
    clients: HashMap<ClientId, Option<Box<Session>>, BuildHasherDefault<Spread>>,
    last_id: u64,
}

/// Spreads clients' numbers. Nobody chooses theirs, so there is nothing to hide, and a
/// client is looked up several times per command.
#[derive(Debug, Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 << 8 | u64::from(*byte)));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        // An odd number without a pattern in its bits; the map looks at the highest
        // and at the lowest bits.
        self.0 = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Sessions {
    pub(crate) fn next_id(&mut self) -> ClientId {
        self.last_id += 1;
        ClientId(self.last_id)
    }

    pub(crate) fn insert(&mut self, session: Session) {
        self.clients.insert(session.id, Some(Box::new(session)));
    }

    /// Takes a session into the hands of a command.
    pub(crate) fn take(&mut self, id: ClientId) -> Option<Box<Session>> {
        self.clients.get_mut(&id)?.take()
    }

    /// Gives a session back.
    pub(crate) fn put_back(&mut self, session: Box<Session>) {
        if let Some(slot) = self.clients.get_mut(&session.id) {
            *slot = Some(session);
        }
    }

    pub(crate) fn remove(&mut self, id: ClientId) -> Option<Box<Session>> {
        self.clients.remove(&id)?
    }

    /// A client other than those whose commands are running.
    pub(crate) fn get(&self, id: ClientId) -> Option<&Session> {
        self.clients.get(&id)?.as_deref()
    }

    /// A client other than those whose commands are running, for changing.
    pub(crate) fn get_mut(&mut self, id: ClientId) -> Option<&mut Session> {
        self.clients.get_mut(&id)?.as_deref_mut()
    }

    /// Whether there is such a client, its command running or not.
    pub(crate) fn contains(&self, id: ClientId) -> bool {
        self.clients.contains_key(&id)
    }

    /// All clients but those whose commands are running, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Session> {
        self.clients.values().filter_map(|session| session.as_deref())
    }

    /// All clients' numbers, oldest first.
    pub(crate) fn ids(&self) -> Vec<ClientId> {
        let mut ids: Vec<ClientId> = self.clients.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// How many clients there are.
    pub(crate) fn len(&self) -> usize {
        self.clients.len()
    }
}
