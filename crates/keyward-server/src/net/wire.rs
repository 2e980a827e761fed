//! All connections, by their places.
//!
//! Owns the connections and who of them was woken. A round (`serve/event_loop.rs`) takes
//! those that are ready and gives each its turn (`serve/turn.rs`).
//!
//! Invariants: sockets are watched edge by edge, so a connection that has not emptied its
//! socket, or its transport, or its input, rings for itself. A place may be given to a new
//! connection while an event for the old one is still on its way; to be served without
//! need does no harm. Who takes a connection puts it back, or frees its place.
//! Not here: accepting (`listen`).

use crate::net::bell::{Bell, Woken};
use crate::net::connection::Connection;
use crate::net::peer::Peers;
use crate::net::selector::Watcher;
use crate::net::transport::Stream;
use keyward_engine::ClientId;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// All connections.
#[derive(Debug)]
pub(crate) struct Wire {
    watcher: Watcher,
    places: RefCell<Places>,
    pub(crate) woken: Rc<Woken>,
}

/// Where connections are kept. A place is `None` while its connection is served.
#[derive(Debug, Default)]
struct Places {
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
}

/// A connection that cannot be watched, and why. It is one of the peers already.
#[derive(Debug)]
pub(crate) struct Unwatched {
    pub(crate) connection: Box<Connection>,
    pub(crate) error: io::Error,
}

impl Wire {
    /// Without connections.
    pub(crate) fn new(watcher: Watcher) -> Wire {
        Wire { watcher, places: RefCell::default(), woken: Rc::default() }
    }

    /// Whether somebody is to be served whose socket is silent.
    #[inline]
    pub(crate) fn is_ringing(&self) -> bool {
        !self.woken.is_empty()
    }

    /// Takes a connection, which becomes one of the peers.
    pub(crate) fn add(
        &self,
        peers: &Peers,
        socket: Stream,
        client: ClientId,
        unsent: Vec<u8>,
    ) -> Result<(), Unwatched> {
        self.add_with(peers, socket, client, |connection| {
            connection.peer.output.borrow_mut().push(&unsent);
        })
    }

    /// Takes the connection to the server that this one follows, which has sent this already.
    pub(crate) fn add_primary(
        &self,
        peers: &Peers,
        socket: Stream,
        client: ClientId,
        received: Vec<u8>,
    ) -> Result<(), Unwatched> {
        self.add_with(peers, socket, client, |connection| {
            connection.is_primary = true;
            connection.has_commands = !received.is_empty();
            connection.input = received;
        })
    }

    fn add_with(
        &self,
        peers: &Peers,
        socket: Stream,
        client: ClientId,
        prepare: impl FnOnce(&mut Connection),
    ) -> Result<(), Unwatched> {
        let place = self.places.borrow_mut().reserve();
        let bell = Bell::new(&self.woken, place);
        let mut connection = Box::new(Connection::new(peers, socket, client, Vec::new(), bell));
        prepare(&mut connection);
        if let Err(error) = self.watcher.watch(place, connection.socket()) {
            self.free(place);
            return Err(Unwatched { connection, error });
        }
        self.put(place, connection);
        // A guest's transport may hold what no edge tells of.
        self.woken.add(place);
        Ok(())
    }

    /// The connection at a place, to be served, if there is one.
    #[inline]
    pub(crate) fn take(&self, place: usize) -> Option<Box<Connection>> {
        self.places.borrow_mut().connections.get_mut(place).and_then(Option::take)
    }

    /// Puts a connection back that was taken.
    #[inline]
    pub(crate) fn put(&self, place: usize, connection: Box<Connection>) {
        self.places.borrow_mut().connections[place] = Some(connection);
    }

    /// The place of a connection that is over may be given to another.
    pub(crate) fn free(&self, place: usize) {
        self.places.borrow_mut().free.push(place);
    }
}

impl Places {
    /// A place for a connection.
    fn reserve(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        })
    }
}
