//! What the rest of the server can do to a connection.
//!
//! Owns the shared half of a connection: its addresses, the replies it has not
//! read yet, and the flags by which others wake it. Invariant: `output` holds
//! only what the socket did not take at once; an idle connection holds no buffer.
//!
//! What one connection sends in one turn is bounded ([`Peer::send_rest`], [`DIRECT_BYTES_MAX`]):
//! a fast reader of a huge reply holds nobody up.

use crate::clock;
use crate::net::bell::Bell;
use crate::net::output::{Output, PARTS_MAX};
use crate::net::transport::{Addresses, Stream};
use crate::settings::value::ClientClass;
use keyward_engine::{ClientId, Connection as Facts};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::rc::Rc;

/// What an idle connection takes, about: its session and both halves.
const CONNECTION_BYTES: usize = 1200;
/// Bytes of a letter that go to the socket straight away. To copy the rest of a larger one
/// costs about as much as to send it, so it is not less; the kernel takes this much in a
/// tenth of a millisecond.
pub(crate) const DIRECT_BYTES_MAX: usize = 256 * 1024;

/// The shared half of a connection.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) addresses: Addresses,
    pub(crate) socket: Stream,
    /// Replies the socket has not taken yet.
    pub(crate) output: RefCell<Output>,
    /// Bytes received and not executed.
    pub(crate) input_bytes: Cell<usize>,
    /// Those of them that are arguments of a command which is not complete.
    pub(crate) parsed_bytes: Cell<usize>,
    /// Bytes free in the connection's own input buffer.
    pub(crate) input_free_bytes: Cell<usize>,
    /// The connection is to end without further ado.
    pub(crate) must_close: Cell<bool>,
    /// The engine said it waits for a key.
    pub(crate) is_blocked: Cell<bool>,
    /// The engine said it waits no longer.
    pub(crate) must_resume: Cell<bool>,
    /// When it last sent something, in milliseconds.
    pub(crate) active_ms: Cell<i64>,
    /// Since when its output has been above the soft limit.
    pub(crate) over_limit_since_ms: Cell<Option<i64>>,
    /// What kind of client it was when that was last asked.
    pub(crate) class: Cell<ClientClass>,
    /// Bytes for which `maxmemory-clients` counts it.
    pub(crate) counted_bytes: Cell<usize>,
    /// Bytes it gives back when it ends, if it has been ended to save them.
    departing_bytes: Cell<usize>,
    /// Its replies stay here until the log has got so far.
    pub(crate) held_until: Cell<u64>,
    bell: Bell,
}

impl Peer {
    /// `unsent` are replies the socket has yet to take.
    pub(crate) fn new(
        addresses: Addresses,
        socket: Stream,
        unsent: Vec<u8>,
        bell: Bell,
        now_ms: i64,
    ) -> Peer {
        let mut output = Output::default();
        output.push(&unsent);
        Peer {
            addresses,
            socket,
            output: RefCell::new(output),
            input_bytes: Cell::default(),
            parsed_bytes: Cell::default(),
            input_free_bytes: Cell::default(),
            must_close: Cell::default(),
            is_blocked: Cell::default(),
            must_resume: Cell::default(),
            active_ms: Cell::new(now_ms),
            over_limit_since_ms: Cell::default(),
            class: Cell::default(),
            counted_bytes: Cell::default(),
            departing_bytes: Cell::default(),
            held_until: Cell::default(),
            bell,
        }
    }

    /// Sends what the socket takes at once; returns how much that is. A socket that is
    /// broken ends the connection.
    pub(crate) fn send(&self, bytes: &[u8]) -> usize {
        loop {
            return match self.socket.send(&bytes[..bytes.len().min(DIRECT_BYTES_MAX)]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => {
                    tracing::debug!(address = self.addresses.peer, %error, "connection lost");
                    self.close();
                    bytes.len()
                }
            };
        }
    }

    /// Sends some of what the socket did not take at once; returns whether all is sent. If
    /// not, the connection has another turn at once, or the socket tells when it takes more.
    pub(crate) fn send_rest(&self) -> io::Result<bool> {
        let mut output = self.output.borrow_mut();
        if output.is_empty() && self.socket.held_bytes() == 0 {
            return Ok(true);
        }
        match self.send_parts(&mut output) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        let is_over = output.is_empty() && self.socket.held_bytes() == 0;
        if !is_over {
            // Only a call that takes nothing makes the socket tell.
            self.wake();
        }
        Ok(is_over)
    }

    fn send_parts(&self, output: &mut Output) -> io::Result<()> {
        self.socket.flush()?;
        if !output.is_empty() {
            let mut parts = [IoSlice::new(&[]); PARTS_MAX];
            let count = output.parts(&mut parts);
            let sent = self.socket.send_parts(&parts[..count])?;
            output.note_sent(sent);
            // As in Redis, who still takes replies is not idle.
            self.active_ms.set(clock::now_us() / 1000);
        }
        Ok(())
    }

    /// Bytes that the peer has yet to be sent.
    pub(crate) fn unsent_bytes(&self) -> usize {
        self.output.borrow().len() + self.socket.held_bytes()
    }

    /// Makes the connection look at its flags and its output.
    pub(crate) fn wake(&self) {
        self.bell.ring();
    }

    /// The connection looks at them.
    pub(crate) fn is_awake(&self) {
        self.bell.heard();
    }

    /// Ends the connection.
    pub(crate) fn close(&self) {
        self.must_close.set(true);
        self.wake();
    }

    /// Ends the connection for want of memory: what it has not read is freed at once, the
    /// rest when it has its turn. Until then that counts as `departing`.
    pub(crate) fn depart(&self, departing: &Cell<usize>) {
        *self.output.borrow_mut() = Output::default();
        self.departing_bytes.set(self.bytes());
        departing.set(departing.get() + self.bytes());
        self.close();
    }

    /// The connection has ended.
    pub(crate) fn departed(&self, departing: &Cell<usize>) {
        departing.set(departing.get() - self.departing_bytes.take());
    }

    /// Bytes of this connection and its buffers.
    pub(crate) fn bytes(&self) -> usize {
        let input = self.input_bytes.get() + self.input_free_bytes.get();
        CONNECTION_BYTES + input + self.output.borrow().memory() + self.socket.memory()
    }

    /// What CLIENT LIST shows.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            address: self.addresses.peer.clone(),
            local_address: self.addresses.local.clone(),
            descriptor: self.addresses.descriptor,
            is_unix: self.addresses.is_unix,
            input_bytes: self.input_bytes.get().saturating_sub(self.parsed_bytes.get()),
            parsed_bytes: self.parsed_bytes.get(),
            input_free_bytes: self.input_free_bytes.get(),
            output_buffers: self.output.borrow().chunk_count(),
            output_buffer_bytes: self.output.borrow().memory(),
            bytes: self.bytes(),
        }
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    peers: RefCell<BTreeMap<ClientId, Rc<Peer>>>,
}

impl Peers {
    pub(crate) fn insert(&self, client: ClientId, peer: Rc<Peer>) {
        self.peers.borrow_mut().insert(client, peer);
    }

    pub(crate) fn remove(&self, client: ClientId) {
        self.peers.borrow_mut().remove(&client);
    }

    pub(crate) fn get(&self, client: ClientId) -> Option<Rc<Peer>> {
        self.peers.borrow().get(&client).cloned()
    }

    pub(crate) fn count(&self) -> usize {
        self.peers.borrow().len()
    }

    /// The most bytes a client has sent ahead of execution.
    pub(crate) fn largest_input(&self) -> usize {
        self.peers.borrow().values().map(|peer| peer.input_bytes.get()).max().unwrap_or(0)
    }

    /// The most bytes a client has left unread.
    pub(crate) fn largest_output(&self) -> usize {
        self.peers.borrow().values().map(|peer| peer.unsent_bytes()).max().unwrap_or(0)
    }

    pub(crate) fn each(&self, mut visit: impl FnMut(&Peer)) {
        self.peers.borrow().values().for_each(|peer| visit(peer));
    }

    /// As [`Peers::each`], with the clients' numbers.
    pub(crate) fn each_client(&self, mut visit: impl FnMut(ClientId, &Peer)) {
        self.peers.borrow().iter().for_each(|(client, peer)| visit(*client, peer));
    }
}
