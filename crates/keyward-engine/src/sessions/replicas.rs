//! Clients that are shown every change as the command that makes it (SYNC).
//!
//! Owns who follows and what it is sent: a snapshot of this instant, then the log of
//! effects as commands, those of a unit between MULTI and EXEC, with a SELECT wherever
//! the database changes. Who wants the snapshot only, and takes one whose length is not
//! known, is sent it by the host in steps, while others are served.
//!
//! Invariant: a change is in a replica's snapshot or in its stream, never in both. The
//! log is recorded while somebody wants it, and emptied by sending it.
//! Not here: partial resynchronisation, acknowledgements, keep-alives in the stream, and
//! being a replica oneself.

use crate::sessions::courier::{Deliveries, Delivery};
use crate::sessions::session::Session;
use crate::sessions::stream::push_stream;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::effects::Effect;
use std::rc::Rc;

/// How a client wants a snapshot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    /// It takes one that ends with a mark.
    pub(crate) takes_mark: bool,
    /// It wants no changes after it.
    pub(crate) is_last: bool,
}

/// All replicas.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    clients: Vec<ClientId>,
    /// The database the stream has selected; `None` if one of them has not heard of it.
    selected: Option<usize>,
    /// How many snapshots were sent.
    pub(crate) snapshots: u64,
}

impl Replicas {
    pub(crate) fn count(&self) -> usize {
        self.clients.len()
    }

    pub(crate) fn clients(&self) -> &[ClientId] {
        &self.clients
    }

    /// A client follows from now on.
    pub(crate) fn add(&mut self, session: &mut Session) {
        self.clients.push(session.id);
        self.selected = None;
        session.is_replica = true;
    }

    /// Sends effects.
    pub(crate) fn feed(&mut self, effects: &[Effect], outbox: &mut Deliveries) {
        if self.clients.is_empty() {
            return;
        }
        let mut stream = Vec::new();
        push_stream(effects, &mut self.selected, |_| true, &mut stream);
        let stream: Rc<[u8]> = stream.into();
        for id in &self.clients {
            outbox.push(Delivery::Output(*id, Rc::clone(&stream)));
        }
    }

    /// A client goes; whether it was a replica.
    pub(crate) fn remove(&mut self, session: &mut Session) -> bool {
        self.clients.retain(|client| *client != session.id);
        std::mem::take(&mut session.is_replica)
    }
}
