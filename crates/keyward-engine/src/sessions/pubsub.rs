//! Publish and subscribe: who listens to which channel.
//!
//! Owns the subscribers of channels, patterns and shard channels, and the delivery of
//! messages. Subscribers of a channel are told in the order they subscribed, then those
//! of the patterns that match. Invariants: a channel without subscribers is not listed;
//! what is listed here and what a session lists is the same.
//! Not here: the bytes' way to a client (`courier`), the commands (`commands`).

use crate::glob::{self, Case};
use crate::sessions::courier::{Courier, Message};
use crate::sessions::session::Session;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::Protocol;
use keyward_store::keyspace::changes::Notification;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::event::NotifyFlags;
use std::collections::{BTreeMap, BTreeSet};

/// What can be subscribed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Channels by their names.
    Channel,
    /// All channels whose names match.
    Pattern,
    /// Shard channels by their names; a world of their own.
    Shard,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Channel, Kind::Pattern, Kind::Shard];
}

/// What one client listens to.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    pub(crate) names: [BTreeSet<Box<[u8]>>; 3],
    count: usize,
    name_bytes: usize,
}

impl Subscriptions {
    /// Whether the client listens to nothing.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many of a kind.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.names[kind as usize].len()
    }

    /// About how many bytes they take. Client and channel have the name each.
    pub(crate) fn heap_bytes(&self) -> usize {
        let each = 2 * size_of::<Box<[u8]>>() + size_of::<Vec<ClientId>>() + size_of::<ClientId>();
        self.count * each + 2 * self.name_bytes
    }

    /// The number a confirmation tells: shard channels count by themselves.
    pub(crate) fn confirmed_count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Shard => self.count(Kind::Shard),
            Kind::Channel | Kind::Pattern => self.count(Kind::Channel) + self.count(Kind::Pattern),
        }
    }
}

/// The subscribers of a name, in the order they came.
type Subscribers = BTreeMap<Box<[u8]>, Vec<ClientId>>;

/// Who listens to what.
#[derive(Debug, Default)]
pub(crate) struct PubSub {
    subscribers: [Subscribers; 3],
}

impl PubSub {
    /// How many names of a kind somebody listens to.
    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.subscribers[kind as usize].len()
    }

    /// How many clients listen to a name.
    pub(crate) fn subscriber_count(&self, kind: Kind, name: &[u8]) -> usize {
        self.subscribers[kind as usize].get(name).map_or(0, Vec::len)
    }

    /// The names of a kind that somebody listens to.
    pub(crate) fn names(&self, kind: Kind) -> impl Iterator<Item = &[u8]> {
        self.subscribers[kind as usize].keys().map(|name| &**name)
    }

    pub(crate) fn subscribe(&mut self, session: &mut Session, kind: Kind, name: &[u8]) {
        let subscriptions = &mut session.subscriptions;
        if subscriptions.names[kind as usize].insert(name.into()) {
            subscriptions.count += 1;
            subscriptions.name_bytes += name.len();
            let subscribers = self.subscribers[kind as usize].entry(name.into()).or_default();
            subscribers.push(session.id);
        }
    }

    pub(crate) fn unsubscribe(&mut self, session: &mut Session, kind: Kind, name: &[u8]) {
        if session.subscriptions.names[kind as usize].remove(name) {
            session.subscriptions.count -= 1;
            session.subscriptions.name_bytes -= name.len();
            self.forget(session.id, kind, name);
        }
    }

    /// Ends all of a client's subscriptions.
    pub(crate) fn unsubscribe_all(&mut self, session: &mut Session) {
        let subscriptions = std::mem::take(&mut session.subscriptions);
        for kind in Kind::ALL {
            for name in &subscriptions.names[kind as usize] {
                self.forget(session.id, kind, name);
            }
        }
    }

    fn forget(&mut self, client: ClientId, kind: Kind, name: &[u8]) {
        let names = &mut self.subscribers[kind as usize];
        let subscribers = names.get_mut(name).expect("a subscribed name lists its clients");
        subscribers.retain(|other| *other != client);
        if subscribers.is_empty() {
            names.remove(name);
        }
    }

    /// Sends a message to all who listen to a channel; returns how many that are.
    pub(crate) fn publish(
        &self,
        channel: &[u8],
        payload: &[u8],
        courier: &mut Courier<'_>,
    ) -> usize {
        let mut count = self.publish_by_name(Kind::Channel, channel, payload, courier);
        for (pattern, clients) in &self.subscribers[Kind::Pattern as usize] {
            if glob::matches(pattern, channel, Case::Sensitive) {
                let parts: [&[u8]; 4] = [b"pmessage", pattern, channel, payload];
                count += send_to_all(clients, &parts, courier);
            }
        }
        count
    }

    /// Sends a message to all who listen to a shard channel.
    pub(crate) fn publish_to_shard(
        &self,
        channel: &[u8],
        payload: &[u8],
        courier: &mut Courier<'_>,
    ) -> usize {
        self.publish_by_name(Kind::Shard, channel, payload, courier)
    }

    fn publish_by_name(
        &self,
        kind: Kind,
        channel: &[u8],
        payload: &[u8],
        courier: &mut Courier<'_>,
    ) -> usize {
        let Some(clients) = self.subscribers[kind as usize].get(channel) else { return 0 };
        let word: &[u8] = if kind == Kind::Shard { b"smessage" } else { b"message" };
        send_to_all(clients, &[word, channel, payload], courier)
    }

    /// Tells subscribers what happened to a key.
    pub(crate) fn publish_event(
        &self,
        flags: NotifyFlags,
        notification: &Notification,
        courier: &mut Courier<'_>,
    ) {
        let Notification { db, event, key } = notification;
        let name = event.name.as_bytes();
        if flags.by_key() {
            let channel = [format!("__keyspace@{db}__:").as_bytes(), key].concat();
            self.publish(&channel, name, courier);
        }
        if flags.by_event() {
            let channel = [format!("__keyevent@{db}__:").as_bytes(), name].concat();
            self.publish(&channel, key, courier);
        }
    }
}

/// Whether a client that listens may run a command: in RESP2, where replies and messages
/// look alike, only a few.
#[cold]
pub(crate) fn check_subscriber(session: &Session, command: &Command) -> Result<(), WireError> {
    let is_allowed = matches!(
        command.id,
        CommandId::Subscribe
            | CommandId::Unsubscribe
            | CommandId::PSubscribe
            | CommandId::PUnsubscribe
            | CommandId::SSubscribe
            | CommandId::SUnsubscribe
            | CommandId::Ping
            | CommandId::Quit
            | CommandId::Reset
    );
    if is_allowed || session.protocol == Protocol::Resp3 {
        return Ok(());
    }
    Err(WireError::line(&[
        b"ERR Can't execute '",
        command.name.as_bytes(),
        b"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
    ]))
}

/// Sends a push message of these parts to clients; returns how many there are.
fn send_to_all(clients: &[ClientId], parts: &[&[u8]], courier: &mut Courier<'_>) -> usize {
    let mut message = Message::new(|writer| {
        writer.push(parts.len());
        parts.iter().for_each(|part| writer.bulk(part));
    });
    for client in clients {
        let session = courier.session(*client).expect("a client that goes unsubscribes");
        let protocol = session.protocol;
        courier.send(*client, message.bytes(protocol));
    }
    clients.len()
}
