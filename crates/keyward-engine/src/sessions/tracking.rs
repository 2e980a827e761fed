//! Tracking: telling clients that keys they may have cached have changed.
//!
//! Owns which client has read which key, and which prefixes clients want to hear about
//! whether they have read or not (*broadcast*). A reader is told once and forgotten; a
//! broadcast is collected and sent when the host takes what is to be delivered. What one
//! client causes and what it is told itself follows its reply.
//!
//! Invariants: `prefixes` lists exactly the prefixes of the sessions in broadcast mode.
//! Readers that have gone or ceased to track stay listed until the key changes, is
//! dropped for want of room (`tracking-table-max-keys`), or nobody tracks any more.
//! Not here: which keys change (`keyspace::changes`), the commands (`commands`).

use crate::sessions::courier::Courier;
use crate::sessions::session::Session;
use keyward_resp::{Protocol, ReplyWriter};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::values::hasher::KeyHasher;
use keyward_store::values::random::Random;
use keyward_store::values::size_class::size_class;
use std::collections::{BTreeMap, BTreeSet};

/// Keys dropped at a time when there are too many.
const DROPPED_KEYS_MAX: usize = 100;
/// Bytes that a key collected for a broadcast takes beside its own in a half-filled tree.
const COLLECTED_KEY_BYTES: usize = 2 * size_of::<(Box<[u8]>, Option<ClientId>)>();
/// Where RESP2 clients listen for invalidations.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// Which keys a client is told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Those it reads.
    Read,
    /// Those it reads right after CLIENT CACHING YES.
    OptIn,
    /// Those it reads, except right after CLIENT CACHING NO.
    OptOut,
    /// Those that begin with its prefixes.
    Broadcast,
}

/// What a client that tracks has asked for.
#[derive(Debug)]
pub(crate) struct Tracker {
    pub(crate) policy: Policy,
    /// Who is told in its place.
    pub(crate) redirect: Option<ClientId>,
    /// That one is gone.
    pub(crate) is_redirect_broken: bool,
    /// It does not want to hear of its own changes.
    pub(crate) skips_own: bool,
    /// CLIENT CACHING was called for the next command.
    pub(crate) is_caching_given: bool,
    pub(crate) prefixes: BTreeSet<Box<[u8]>>,
    /// Bytes of the prefixes.
    pub(crate) prefix_bytes: usize,
}

impl Tracker {
    /// About how many bytes it takes. Client and tracking have the prefixes each.
    pub(crate) fn heap_bytes(&self) -> usize {
        let each = 2 * size_of::<Box<[u8]>>() + size_of::<Broadcast>();
        size_of::<Tracker>() + self.prefixes.len() * each + 2 * self.prefix_bytes
    }
}

/// A key with its hash before it, so that an arbitrary one is found by an arbitrary number.
type HashedKey = (u64, Box<[u8]>);

/// A prefix in broadcast mode.
#[derive(Debug, Default)]
struct Broadcast {
    clients: BTreeSet<ClientId>,
    /// Keys changed since the last broadcast, and by whom.
    changed: BTreeMap<Box<[u8]>, Option<ClientId>>,
}

/// Who is to be told of which keys.
#[derive(Debug)]
pub(crate) struct Tracking {
    hasher: KeyHasher,
    readers: BTreeMap<HashedKey, BTreeSet<ClientId>>,
    reader_count: usize,
    prefixes: BTreeMap<Box<[u8]>, Broadcast>,
    has_broadcast: bool,
    /// Bytes of the keys collected for broadcasts.
    collected_bytes: usize,
    client_count: usize,
}

/// Figures for INFO.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrackingFacts {
    /// Clients that track.
    pub clients: usize,
    /// Keys with readers.
    pub keys: usize,
    /// Readers of all keys.
    pub readers: usize,
    /// Prefixes in broadcast mode.
    pub prefixes: usize,
}

/// What an invalidation is about.
enum Invalidated<'a> {
    Keys(&'a [&'a [u8]]),
    Everything,
}

impl Tracking {
    pub(crate) fn new(hasher: KeyHasher) -> Tracking {
        Tracking {
            hasher,
            readers: BTreeMap::new(),
            reader_count: 0,
            prefixes: BTreeMap::new(),
            has_broadcast: false,
            collected_bytes: 0,
            client_count: 0,
        }
    }

    pub(crate) fn facts(&self) -> TrackingFacts {
        TrackingFacts {
            clients: self.client_count,
            keys: self.readers.len(),
            readers: self.reader_count,
            prefixes: self.prefixes.len(),
        }
    }

    /// Whether any client tracks.
    pub(crate) fn is_on(&self) -> bool {
        self.client_count > 0
    }

    /// A client begins to track, or changes how it does. The prefixes it had stay.
    pub(crate) fn enable(&mut self, session: &mut Session, mut tracker: Tracker) {
        match session.tracker.take() {
            Some(old) => tracker.prefixes.extend(old.prefixes),
            None => self.client_count += 1,
        }
        for prefix in &tracker.prefixes {
            self.prefixes.entry(prefix.clone()).or_default().clients.insert(session.id);
        }
        tracker.prefix_bytes = tracker.prefixes.iter().map(|prefix| prefix.len()).sum();
        session.tracker = Some(Box::new(tracker));
    }

    /// A client tracks no longer.
    pub(crate) fn disable(&mut self, session: &mut Session) {
        let Some(tracker) = session.tracker.take() else { return };
        self.client_count -= 1;
        for prefix in &tracker.prefixes {
            let broadcast = self.prefixes.get_mut(prefix).expect("its prefixes are listed");
            broadcast.clients.remove(&session.id);
            if broadcast.clients.is_empty() {
                self.prefixes.remove(prefix);
            }
        }
        if self.client_count == 0 {
            // Changes are not heard of from now on, so that nothing here would stay true.
            self.readers.clear();
            self.reader_count = 0;
        }
    }

    fn hashed(&self, key: Box<[u8]>) -> HashedKey {
        (self.hasher.hash(&key), key)
    }

    pub(crate) fn remember(&mut self, client: ClientId, key: &[u8]) {
        let key = self.hashed(key.into());
        self.reader_count += usize::from(self.readers.entry(key).or_default().insert(client));
    }

    /// A key changed: its readers are told, broadcasts collected.
    pub(crate) fn key_changed(&mut self, key: Box<[u8]>, courier: &mut Courier<'_>) {
        let by = courier.current.as_ref().map(|session| session.id);
        for (prefix, broadcast) in &mut self.prefixes {
            if key.starts_with(prefix) {
                if broadcast.changed.insert(key.clone(), by).is_none() {
                    self.collected_bytes += size_class(key.len()) + COLLECTED_KEY_BYTES;
                }
                self.has_broadcast = true;
            }
        }
        let key = self.hashed(key);
        if let Some(readers) = self.readers.remove(&key) {
            self.tell_readers(&key.1, readers, by, courier);
        }
    }

    /// Tells the readers of a key that it has changed, by whom if by a client.
    fn tell_readers(
        &mut self,
        key: &[u8],
        readers: BTreeSet<ClientId>,
        by: Option<ClientId>,
        courier: &mut Courier<'_>,
    ) {
        self.reader_count -= readers.len();
        for client in readers {
            let tracker = courier.session(client).and_then(|session| session.tracker.as_ref());
            let is_told = tracker.is_some_and(|tracker| {
                tracker.policy != Policy::Broadcast && !(tracker.skips_own && by == Some(client))
            });
            if is_told {
                invalidate(client, &Invalidated::Keys(&[key]), courier);
            }
        }
    }

    /// A database was emptied: everybody who tracks is told to forget everything.
    pub(crate) fn flushed(&mut self, courier: &mut Courier<'_>) {
        self.readers.clear();
        self.reader_count = 0;
        let trackers: Vec<ClientId> = courier
            .sessions
            .ids()
            .into_iter()
            .filter(|id| courier.session(*id).is_some_and(|session| session.tracker.is_some()))
            .collect();
        for client in trackers {
            invalidate(client, &Invalidated::Everything, courier);
        }
    }

    /// Drops some keys while there are more than there may be, as if they had changed.
    pub(crate) fn shrink(
        &mut self,
        keys_max: usize,
        random: &mut Random,
        courier: &mut Courier<'_>,
    ) {
        for _ in 0..DROPPED_KEYS_MAX {
            if keys_max == 0 || self.readers.len() <= keys_max {
                return;
            }
            let from: HashedKey = (random.next_u64(), Box::default());
            let chosen = self.readers.range(from..).next().or(self.readers.iter().next());
            let key = chosen.map(|(key, _)| key.clone()).expect("there are too many keys");
            if let Some(readers) = self.readers.remove(&key) {
                self.tell_readers(&key.1, readers, None, courier);
            }
        }
    }

    /// Bytes of what is collected for broadcasts, about.
    pub(crate) fn collected_bytes(&self) -> usize {
        self.collected_bytes
    }

    /// Sends the broadcasts that have been collected.
    pub(crate) fn send_broadcasts(&mut self, courier: &mut Courier<'_>) {
        if !std::mem::take(&mut self.has_broadcast) {
            return;
        }
        self.collected_bytes = 0;
        for broadcast in self.prefixes.values_mut() {
            let changed = std::mem::take(&mut broadcast.changed);
            for client in broadcast.clients.iter().filter(|_| !changed.is_empty()) {
                let session = courier.session(*client);
                let tracker = session.and_then(|session| session.tracker.as_ref());
                let skips_own = tracker.is_some_and(|tracker| tracker.skips_own);
                let keys: Vec<&[u8]> = changed
                    .iter()
                    .filter(|(_, by)| !(skips_own && **by == Some(*client)))
                    .map(|(key, _)| &**key)
                    .collect();
                if !keys.is_empty() {
                    invalidate(*client, &Invalidated::Keys(&keys), courier);
                }
            }
        }
    }
}

/// Tells a client, or the one it redirects to, to forget keys.
fn invalidate(client: ClientId, what: &Invalidated<'_>, courier: &mut Courier<'_>) {
    let Some(session) = courier.session(client) else { return };
    let own_protocol = session.protocol;
    let Some(redirect) = session.tracker.as_ref().map(|tracker| tracker.redirect) else { return };
    let target = redirect.unwrap_or(client);
    let Some((protocol, is_listening)) =
        courier.session(target).map(|s| (s.protocol, !s.subscriptions.is_empty()))
    else {
        return tell_broken_redirect(client, target, courier);
    };
    let mut bytes = Vec::new();
    let mut writer = ReplyWriter::new(&mut bytes, protocol);
    if protocol == Protocol::Resp3 {
        writer.push(2);
        writer.bulk(b"invalidate");
    } else if redirect.is_some() && is_listening {
        writer.push(3);
        writer.bulk(b"message");
        writer.bulk(CHANNEL);
    } else {
        // RESP2 has no way to tell the connection itself.
        return;
    }
    match what {
        Invalidated::Keys(keys) => {
            writer.array(keys.len());
            keys.iter().for_each(|key| writer.bulk(key));
        }
        Invalidated::Everything => {
            // Redis writes the null of the protocol of the client that tracks.
            writer.set_protocol(own_protocol);
            writer.null();
        }
    }
    courier.send(target, bytes.into());
}

fn tell_broken_redirect(client: ClientId, target: ClientId, courier: &mut Courier<'_>) {
    let Some(session) = courier.session_mut(client) else { return };
    if let Some(tracker) = &mut session.tracker {
        tracker.is_redirect_broken = true;
    }
    if session.protocol == Protocol::Resp3 {
        let mut bytes = Vec::new();
        let mut writer = ReplyWriter::new(&mut bytes, Protocol::Resp3);
        writer.push(2);
        writer.bulk(b"tracking-redir-broken");
        writer.integer(target.0 as i64);
        courier.send(client, bytes.into());
    }
}
