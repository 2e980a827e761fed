//! All connections, and who of them is to be served.
//!
//! Owns the connections and the bells by which others have one served although its socket
//! is silent. A round (`event_loop`) takes those that are ready: each reads and executes
//! (`connection`), then everything that was said is sent (`outbox`).
//!
//! Invariants: sockets are watched edge by edge, so a connection that has not emptied its
//! socket, or its transport, or its input, rings for itself. A place may be given to a new
//! connection while an event for the old one is still on its way; to be served without
//! need does no harm.
//! Not here: the rounds (`event_loop`), accepting (`listen`).

use crate::net::selector::{Ready, Watcher};
use crate::net::transport::Stream;
use crate::serve::connection::{Connection, Turn};
use crate::serve::server::{Core, Server};
use keyward_engine::ClientId;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

/// All connections.
#[derive(Debug)]
pub(crate) struct Wire {
    watcher: Watcher,
    places: RefCell<Places>,
    woken: Rc<Woken>,
}

/// Where connections are kept. A place is `None` while its connection is served.
#[derive(Debug, Default)]
struct Places {
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
}

/// Connections to be served although their sockets are silent.
#[derive(Debug, Default)]
struct Woken {
    places: RefCell<Vec<usize>>,
}

/// How somebody else has a connection served.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    woken: Rc<Woken>,
    place: usize,
    has_rung: Cell<bool>,
}

impl Bell {
    /// The connection is served soon.
    pub(crate) fn ring(&self) {
        if !self.has_rung.replace(true) {
            self.woken.places.borrow_mut().push(self.place);
        }
    }

    /// The connection is being served.
    pub(crate) fn heard(&self) {
        self.has_rung.set(false);
    }
}

impl Wire {
    /// Without connections.
    pub(crate) fn new(watcher: Watcher) -> Wire {
        Wire { watcher, places: RefCell::default(), woken: Rc::default() }
    }

    /// Whether somebody is to be served whose socket is silent.
    #[inline]
    pub(crate) fn is_ringing(&self) -> bool {
        !self.woken.places.borrow().is_empty()
    }

    /// Takes a connection.
    pub(crate) fn add(
        &self,
        (server, core): (&Server, &mut Core),
        socket: Stream,
        client: ClientId,
        unsent: Vec<u8>,
    ) -> io::Result<()> {
        let place = self.places.borrow_mut().reserve();
        let bell = Bell { woken: Rc::clone(&self.woken), place, has_rung: Cell::new(false) };
        let connection = Box::new(Connection::new(server, socket, client, unsent, bell));
        if let Err(error) = self.watcher.watch(place, connection.socket()) {
            self.places.borrow_mut().free.push(place);
            connection.end(server, core);
            return Err(error);
        }
        self.places.borrow_mut().connections[place] = Some(connection);
        // A guest's transport may hold what no edge tells of.
        self.woken.places.borrow_mut().push(place);
        Ok(())
    }

    /// Gives a connection its turn, because of an edge or because it was woken.
    pub(crate) fn serve(&self, server: &Server, place: usize, ready: Option<&Ready>) {
        let taken = self.places.borrow_mut().connections.get_mut(place).and_then(Option::take);
        let Some(mut connection) = taken else { return };
        ready.into_iter().for_each(|ready| connection.hear(ready));
        match connection.advance(server) {
            Turn::Ended if !server.must_stop() => {
                connection.end(server, &mut server.core.borrow_mut());
                self.places.borrow_mut().free.push(place);
            }
            // A server that ends lets go of its connections last of all.
            Turn::Ended | Turn::Waits => {
                self.places.borrow_mut().connections[place] = Some(connection);
            }
        }
    }

    /// Serves those who were woken. Who is woken meanwhile is next.
    pub(crate) fn serve_woken(&self, server: &Server) {
        if !self.is_ringing() {
            return;
        }
        let mut places = self.woken.places.take();
        places.drain(..).for_each(|place| self.serve(server, place, None));
        let mut woken = self.woken.places.borrow_mut();
        if woken.is_empty() {
            *woken = places;
        }
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
