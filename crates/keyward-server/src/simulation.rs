//! The whole server on a simulated network, in one thread and with a time of its own.
//!
//! Owns what stands in for the system in tests: a selector ([`World::wait`]), listening
//! sockets, transports ([`Pipe`]) and the threads that sync and write ([`syncs`]). All else is the
//! server as it is: loop, connections, outbox, engine, log, loading.
//!
//! A seed decides everything: who the clients are (`client`), what they send and how slowly
//! they read, what the network does to it (`keyward_testkit::network`), how long the disk
//! takes. What must hold is checked by the clients and by the stage (`stage`).
//! Invariant: the same seed has the same history.
//!
//! Not simulated: threads that write snapshots and rewrite the log, signals.
//! A long run: `KEYWARD_NET_SECONDS=3600 cargo test --release -p keyward-server --lib
//! simulated_network -- --nocapture`; one seed: `KEYWARD_NET_SEED=17`.

mod client;
mod connections;
mod stage;

use crate::clock::simulated;
use crate::net::selector::{Ready, Who};
use crate::net::transport::Transport;
use client::Client;
use keyward_testkit::Random;
use keyward_testkit::network::{Edge, End, Network};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::rc::Rc;
use std::time::Duration;

/// What a look up from a script takes.
const SCRIPT_LOOK_NS: u64 = 1_000_000;
/// Bytes that a layered transport takes beyond what its socket does.
const HELD_BYTES_MAX: usize = 4096;

/// Everything outside the server. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) network: Network,
    clients: Rc<RefCell<Vec<Client>>>,
    random: Rc<RefCell<Random>>,
    /// Waits are interrupted, and transports layered, once in so many times; zero for never.
    interrupted: usize,
    layered: usize,
}

impl World {
    pub(crate) fn new(network: Network, seed: u64) -> World {
        let random = Rc::new(RefCell::new(Random::new(seed)));
        World { network, clients: Rc::default(), random, interrupted: 100, layered: 3 }
    }

    fn chance(&self, times: usize) -> bool {
        times > 0 && self.random.borrow_mut().one_in(times)
    }

    /// Lets clients do what they do by now.
    fn play(&self) {
        let now_ns = simulated::peek().expect("the time is simulated");
        self.network.advance_to(now_ns);
        for client in self.clients.borrow_mut().iter_mut() {
            client.act(&self.network, now_ns);
        }
    }

    /// The next moment at which anything happens outside.
    fn next_ns(&self) -> Option<u64> {
        let clients = self.clients.borrow();
        let acts = clients.iter().filter_map(Client::next_ns);
        acts.chain(self.network.next_arrival_ns()).chain(syncs::next_ns()).min()
    }

    /// The selector.
    pub(crate) fn wait(&self, ready: &mut Vec<Ready>, time: Duration) {
        let until_ns = simulated::peek().expect("the time is simulated") + time.as_nanos() as u64;
        if self.chance(self.interrupted) {
            // Interrupted: nothing is told, and what is there is told later.
            return;
        }
        loop {
            self.play();
            for edge in self.network.take_edges() {
                ready.push(match edge {
                    Edge::Newcomer => Ready { who: Who::Newcomer, is_read_closed: false },
                    Edge::Watched { number, is_read_closed } => {
                        Ready { who: Who::Connection(number), is_read_closed }
                    }
                });
            }
            let now_ns = simulated::peek().expect("the time is simulated");
            if syncs::take_written(now_ns) | syncs::is_done(now_ns) {
                ready.push(Ready { who: Who::Thread, is_read_closed: false });
            }
            if !ready.is_empty() || now_ns >= until_ns {
                return;
            }
            let next_ns = self.next_ns().unwrap_or(until_ns).min(until_ns);
            simulated::set(Some(next_ns.max(now_ns)));
        }
    }

    /// The listening socket.
    pub(crate) fn accept(&self) -> io::Result<Pipe> {
        self.play();
        let end = self.network.accept()?;
        let layers = self.chance(self.layered).then(Layers::default);
        Ok(Pipe { end, world: self.clone(), layers })
    }
}

/// A look up from a script takes time.
pub(crate) fn pass_script_time() {
    simulated::advance(SCRIPT_LOOK_NS);
}

/// A transport of the simulated network. Some are layered, as TLS is: they keep what they
/// have received, and what they were given to send.
#[derive(Debug)]
pub(crate) struct Pipe {
    end: End,
    world: World,
    layers: Option<Layers>,
}

#[derive(Debug, Default)]
struct Layers {
    received: RefCell<VecDeque<u8>>,
    held: RefCell<VecDeque<u8>>,
    /// The peer's end was received, and is told after the bytes.
    is_over: Cell<bool>,
}

impl Pipe {
    pub(crate) fn watch(&self, place: usize) {
        self.end.watch(place);
    }

    pub(crate) fn address(&self) -> String {
        address(self.end.number())
    }

    /// Receives all that the socket has.
    fn fill(&self, layers: &Layers) -> io::Result<()> {
        let bytes = match self.end.read(usize::MAX) {
            Err(error) if error.kind() == ErrorKind::WouldBlock && self.has_received() => {
                return Ok(());
            }
            read => read?,
        };
        layers.is_over.set(layers.is_over.get() || bytes.is_empty());
        layers.received.borrow_mut().extend(bytes);
        Ok(())
    }
}

/// Where the client of a connection is.
fn address(link: usize) -> String {
    format!("10.0.0.1:{link}")
}

impl Transport for Pipe {
    fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let room = buffer.capacity() - buffer.len();
        let Some(layers) = &self.layers else {
            let bytes = self.end.read(room)?;
            buffer.extend_from_slice(&bytes);
            return Ok(bytes.len());
        };
        self.fill(layers)?;
        // One record at a time, of any length.
        let most = 1 + self.world.random.borrow_mut().below(2000);
        let mut received = layers.received.borrow_mut();
        let count = received.len().min(room).min(most);
        buffer.extend(received.drain(..count));
        Ok(count)
    }

    fn look_at(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let room = buffer.capacity() - buffer.len();
        let bytes = match &self.layers {
            None => self.end.look(room)?,
            Some(layers) => {
                self.fill(layers)?;
                layers.received.borrow().iter().take(room).copied().collect()
            }
        };
        buffer.extend_from_slice(&bytes);
        Ok(bytes.len())
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let Some(layers) = &self.layers else { return self.end.write(bytes) };
        match self.flush() {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        let mut held = layers.held.borrow_mut();
        let count = bytes.len().min(HELD_BYTES_MAX.saturating_sub(held.len()));
        if count == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        held.extend(&bytes[..count]);
        Ok(count)
    }

    fn send_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let all: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        self.send(&all)
    }

    fn shut_down(&self) {
        self.end.shut_down_write();
    }

    fn has_received(&self) -> bool {
        let has_bytes =
            |layers: &Layers| layers.is_over.get() || !layers.received.borrow().is_empty();
        self.layers.as_ref().is_some_and(has_bytes)
    }

    fn held_bytes(&self) -> usize {
        self.layers.as_ref().map_or(0, |layers| layers.held.borrow().len())
    }

    fn flush(&self) -> io::Result<()> {
        let Some(layers) = &self.layers else { return Ok(()) };
        let mut held = layers.held.borrow_mut();
        while !held.is_empty() {
            let count = self.end.write(held.make_contiguous())?;
            held.drain(..count);
        }
        Ok(())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.end.close();
    }
}

/// The threads that sync and write, as a simulation has them: what they do is done at once
/// and told of later.
pub(crate) mod syncs {
    use crate::clock::simulated;
    use crate::files::syncer::Done;
    use keyward_persist::aof::{Sync, Write};
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::time::Duration;

    thread_local! {
        static TAKES_NS: Cell<u64> = const { Cell::new(0) };
        static DONE: RefCell<VecDeque<(u64, Done)>> = const { RefCell::new(VecDeque::new()) };
        static WRITTEN: RefCell<VecDeque<u64>> = const { RefCell::new(VecDeque::new()) };
    }

    /// How long the disk takes from now on; what was ordered before is forgotten.
    pub(crate) fn set_time(takes_ns: u64) {
        TAKES_NS.set(takes_ns);
        DONE.take();
        WRITTEN.take();
    }

    /// A sync that is waited for takes its time.
    pub(crate) fn take_time() {
        simulated::advance(TAKES_NS.get());
    }

    /// Syncs, unless the time is the true one.
    pub(crate) fn order(sync: Sync) -> Option<Sync> {
        let Some(now_ns) = simulated::peek() else { return Some(sync) };
        let outcome = sync.run();
        let took = Duration::from_nanos(TAKES_NS.get());
        let done = Done { sync, outcome, took };
        DONE.with_borrow_mut(|all| all.push_back((now_ns + TAKES_NS.get(), done)));
        None
    }

    /// Writes, unless the time is the true one.
    pub(crate) fn order_write(write: Arc<Write>) -> Option<Arc<Write>> {
        let Some(now_ns) = simulated::peek() else { return Some(write) };
        // At once: whoever ends the log waits for it, and no time passes there.
        write.run();
        WRITTEN.with_borrow_mut(|all| all.push_back(now_ns + TAKES_NS.get() / 2));
        None
    }

    /// Tells that something was written; whether that is so by now.
    pub(crate) fn take_written(now_ns: u64) -> bool {
        WRITTEN.with_borrow_mut(|all| {
            let is_over = all.front().is_some_and(|told_ns| *told_ns <= now_ns);
            all.retain(|told_ns| *told_ns > now_ns);
            is_over
        })
    }

    fn next_sync_ns() -> Option<u64> {
        DONE.with_borrow(|all| all.front().map(|(done_ns, _)| *done_ns))
    }

    /// The next moment at which one of the threads has something to tell.
    pub(crate) fn next_ns() -> Option<u64> {
        let write_ns = WRITTEN.with_borrow(|all| all.front().copied());
        next_sync_ns().into_iter().chain(write_ns).min()
    }

    /// Whether a sync is over.
    pub(crate) fn is_done(now_ns: u64) -> bool {
        next_sync_ns().is_some_and(|done_ns| done_ns <= now_ns)
    }

    /// A sync that is over.
    pub(crate) fn take() -> Option<Done> {
        let is_over = next_sync_ns()? <= simulated::peek()?;
        is_over.then(|| DONE.with_borrow_mut(VecDeque::pop_front)).flatten().map(|(_, done)| done)
    }
}
