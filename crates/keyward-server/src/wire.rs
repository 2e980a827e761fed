//! All connections, and the one task that serves them.
//!
//! Owns the connections and the selector that tells which sockets are ready. A round takes
//! those that are: each reads and executes (`connection`), then everything that was said
//! is sent (`outbox`). A task of the runtime for each connection would cost half a
//! microsecond per wake-up, a twentieth of a command that comes alone.
//!
//! The runtime says when there is anything, through the selector's own descriptor. While
//! there is, rounds follow each other and wait at the selector itself: as long as nobody
//! needs the runtime, the next command is heard of with one call instead of three. The
//! runtime, and with it ticks and newcomers, has its turn again after [`PATIENCE`] where
//! sockets are busy, and at the latest after [`LINGERING`] where they are silent. Newcomers
//! end that: the selector watches the listening sockets too.
//!
//! Invariants: sockets are watched edge by edge, so a connection that has not emptied its
//! socket wakes itself. A place may be given to a new connection while an event for the
//! old one is still on its way; to be served without need does no harm.
//! Not here: accepting on the listening sockets (`listen`), which the runtime does.
#![allow(unsafe_code)]

use crate::clock;
use crate::connection::{Connection, Turn};
use crate::listen::Stream;
use crate::server::{Core, Server};
use keyward_engine::ClientId;
use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::Interest as Watch;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// Sockets that one round can serve; the others are next.
const EVENTS_MAX: usize = 1024;
/// What the selector calls the end of a sync; sockets are called by their places.
const SYNCED: Token = Token(usize::MAX);
/// What it calls the listening sockets.
const NEWCOMERS: Token = Token(usize::MAX - 1);
/// How long rounds follow each other, a quarter of it while ticks have not kept up, and how
/// long the last of them waits where something is soon to be done by the runtime.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1);
/// How long it waits else. To set a timer that is the next to go off takes the machine as
/// long as a command does, and every wait sets one: so it is far away.
pub(crate) const LINGERING: Duration = Duration::from_millis(10);
/// Rounds that follow each other at most: those in which nobody has sent anything read no clock.
const ROUNDS_MAX: usize = 64;

/// All connections.
#[derive(Debug)]
pub(crate) struct Wire {
    registry: Registry,
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
    /// Rounds are under way: nobody has to be told.
    is_serving: Cell<bool>,
    has_work: Notify,
}

impl Woken {
    /// Sees to it that there is a round.
    fn demand_round(&self) {
        if !self.is_serving.get() {
            self.has_work.notify_one();
        }
    }
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
            self.woken.demand_round();
        }
    }

    /// The connection is being served.
    pub(crate) fn heard(&self) {
        self.has_rung.set(false);
    }
}

/// Ends the wait for sockets when somebody connects.
#[derive(Debug)]
pub(crate) struct Doorbell {
    registry: Registry,
}

impl Doorbell {
    /// Rings for a listening socket, as long as that is open.
    pub(crate) fn watch(&self, door: BorrowedFd<'_>) -> io::Result<()> {
        self.registry.register(&mut SourceFd(&door.as_raw_fd()), NEWCOMERS, Interest::READABLE)
    }
}

impl Wire {
    /// Without connections; the selector is for [`serve`].
    pub(crate) fn new() -> io::Result<(Wire, Poll)> {
        let selector = Poll::new()?;
        let registry = selector.registry().try_clone()?;
        let wire = Wire { registry, places: RefCell::default(), woken: Rc::default() };
        Ok((wire, selector))
    }

    /// Has the selector tell that a sync of the log is over.
    pub(crate) fn waker(&self) -> io::Result<Waker> {
        Waker::new(&self.registry, SYNCED)
    }

    /// What has the selector tell of newcomers.
    pub(crate) fn doorbell(&self) -> io::Result<Doorbell> {
        Ok(Doorbell { registry: self.registry.try_clone()? })
    }

    /// Sees to it that there is a round: something is to be sent or logged.
    pub(crate) fn demand_round(&self) {
        self.woken.demand_round();
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
        let descriptor = socket.as_fd().as_raw_fd();
        let bell = Bell { woken: Rc::clone(&self.woken), place, has_rung: Cell::new(false) };
        let connection = Box::new(Connection::new(server, socket, client, unsent, bell));
        let interest = Interest::READABLE | Interest::WRITABLE;
        let watched = self.registry.register(&mut SourceFd(&descriptor), Token(place), interest);
        if let Err(error) = watched {
            self.places.borrow_mut().free.push(place);
            connection.end(server, core);
            return Err(error);
        }
        self.places.borrow_mut().connections[place] = Some(connection);
        Ok(())
    }

    /// Gives a connection its turn, because of an event or because it was woken.
    fn serve(&self, server: &Server, place: usize, event: Option<&Event>) {
        let taken = self.places.borrow_mut().connections.get_mut(place).and_then(Option::take);
        let Some(mut connection) = taken else { return };
        event.into_iter().for_each(|event| connection.hear(event));
        match connection.advance(server) {
            Turn::Waits => self.places.borrow_mut().connections[place] = Some(connection),
            Turn::Ended => {
                connection.end(server, &mut server.core.borrow_mut());
                self.places.borrow_mut().free.push(place);
            }
        }
    }

    /// Serves those who were woken.
    fn serve_woken(&self, server: &Server) {
        if self.woken.places.borrow().is_empty() {
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

/// Serves all connections for ever; an error is the selector's.
pub(crate) async fn serve(server: Rc<Server>, selector: Poll) -> io::Result<()> {
    // SAFETY: a selector owns its descriptor, and is never replaced in its `AsyncFd`.
    let selector = unsafe { AsyncFd::register_with_interest(selector, Watch::READABLE) };
    let mut selector = selector?;
    let mut events = Events::with_capacity(EVENTS_MAX);
    let woken = Rc::clone(&server.wire.woken);
    loop {
        tokio::select! {
            ready = selector.readable() => ready?.clear_ready(),
            () = woken.has_work.notified() => {}
        }
        woken.is_serving.set(true);
        let start_ns = clock::monotonic_ns();
        let (mut has_more, mut patience) = (true, Duration::ZERO);
        for round in 1..=ROUNDS_MAX {
            fetch(selector.get_mut(), &mut events, patience)?;
            // Who is to be closed is gone before anybody else asks.
            server.wire.serve_woken(&server);
            let mut has_newcomers = false;
            for event in &events {
                match event.token() {
                    NEWCOMERS => has_newcomers = true,
                    SYNCED => server.note_syncs(&mut server.core.borrow_mut()),
                    Token(place) => server.wire.serve(&server, place, Some(event)),
                }
            }
            server.wire.serve_woken(&server);
            let lately_ns = server.core.borrow().host.lately_ns;
            let turn = if server.is_behind() { PATIENCE / 4 } else { PATIENCE };
            let is_late = lately_ns.saturating_sub(start_ns) > turn.as_nanos() as u64;
            let must_end = events.is_empty() || has_newcomers || is_late || round == ROUNDS_MAX;
            // Who comes meanwhile shares the sync that the round would end with.
            if !must_end && server.is_to_sync_at_once(&server.core.borrow()) {
                patience = Duration::ZERO;
                continue;
            }
            server.end_round(&mut server.core.borrow_mut());
            let is_ringing = !woken.places.borrow().is_empty();
            let gathering = server.waiters.gathering_time();
            has_more = is_ringing || !events.is_empty() || gathering.is_some();
            let time = if is_ringing { Duration::ZERO } else { server.time_for_sockets() };
            patience = gathering.map_or(time, |gathering| gathering.min(time));
            if !has_more || has_newcomers || is_late {
                break;
            }
        }
        woken.is_serving.set(false);
        if has_more {
            woken.has_work.notify_one();
            tokio::task::yield_now().await;
        }
    }
}

/// Asks which sockets are ready.
fn fetch(selector: &mut Poll, events: &mut Events, patience: Duration) -> io::Result<()> {
    match selector.poll(events, Some(patience)) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}
