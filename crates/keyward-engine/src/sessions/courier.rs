//! What goes to clients besides the reply to their own command.
//!
//! Owns the outbox the host empties, and the [`Courier`], which reaches every client
//! while a command runs: the others through the outbox, the one whose command it is
//! through its session. Invariant: what a client is told arrives in the order it was
//! sent, and never inside a reply.
//! Not here: who is told what (`pubsub`, `tracking`, `monitor`).

use crate::sessions::session::{Session, Sessions};
use keyward_resp::{Protocol, ReplyWriter};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::values::size_class::size_class;
use std::rc::Rc;

/// Bytes that an `Rc` has before what it holds.
const COUNTS_BYTES: usize = 2 * size_of::<usize>();

/// Something for a client other than the one whose command ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Bytes to append to its output.
    Output(ClientId, Rc<[u8]>),
    /// It waits no longer: its input may be executed again.
    Unblocked(ClientId),
    /// Its connection is to be closed.
    Close(ClientId),
}

/// What waits for the host to take it.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    waiting: Vec<Delivery>,
    /// Bytes of what is to be sent as they are allocated, each once, whoever gets it.
    output_bytes: usize,
}

impl Deliveries {
    pub(crate) fn push(&mut self, delivery: Delivery) {
        if let Delivery::Output(_, bytes) = &delivery {
            // Who sends the same to several clients has it too, and counts it for the first.
            let is_first = Rc::strong_count(bytes) <= 2;
            let allocated = size_class(COUNTS_BYTES + bytes.len());
            self.output_bytes += if is_first { allocated } else { 0 };
        }
        self.waiting.push(delivery);
    }

    pub(crate) fn take(&mut self) -> Vec<Delivery> {
        self.output_bytes = 0;
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of it all.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.output_bytes + size_class(self.waiting.capacity() * size_of::<Delivery>())
    }
}

/// The way to all clients, that of the running command included.
pub(crate) struct Courier<'a> {
    /// All clients but the one whose command runs.
    pub(crate) sessions: &'a mut Sessions,
    pub(crate) outbox: &'a mut Deliveries,
    /// Whose command runs; `None` between commands.
    pub(crate) current: Option<&'a mut Session>,
}

impl Courier<'_> {
    /// A client's session; `None` if it is gone.
    pub(crate) fn session(&self, client: ClientId) -> Option<&Session> {
        match &self.current {
            Some(session) if session.id == client => Some(session),
            _ => self.sessions.get(client),
        }
    }

    /// As [`Courier::session`], for changing.
    pub(crate) fn session_mut(&mut self, client: ClientId) -> Option<&mut Session> {
        match &mut self.current {
            Some(session) if session.id == client => Some(session),
            _ => self.sessions.get_mut(client),
        }
    }

    /// Sends bytes to a client. The one whose command runs gets them with its reply.
    pub(crate) fn send(&mut self, client: ClientId, bytes: Rc<[u8]>) {
        match &mut self.current {
            Some(session) if session.id == client => session.pushes.extend_from_slice(&bytes),
            _ => self.outbox.push(Delivery::Output(client, bytes)),
        }
    }
}

/// A message as each protocol writes it, made when first needed.
pub(crate) struct Message<W> {
    write: W,
    made: [Option<Rc<[u8]>>; 2],
}

impl<W: Fn(&mut ReplyWriter<'_>)> Message<W> {
    pub(crate) fn new(write: W) -> Message<W> {
        Message { write, made: [None, None] }
    }

    /// The bytes of the message in a protocol.
    pub(crate) fn bytes(&mut self, protocol: Protocol) -> Rc<[u8]> {
        let made = &mut self.made[usize::from(protocol == Protocol::Resp3)];
        let bytes = made.get_or_insert_with(|| {
            let mut bytes = Vec::new();
            (self.write)(&mut ReplyWriter::new(&mut bytes, protocol));
            bytes.into()
        });
        Rc::clone(bytes)
    }
}
