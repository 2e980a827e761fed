//! TLS as a transport, and the threads that shake hands.
//!
//! Owns [`Tls`], a socket with a session above it that looks like any other transport to a
//! connection. Handshakes are made elsewhere (`handshakes`); who has one behind it comes to
//! the engine's thread, and from then on what it sends is encrypted and decrypted there.
//!
//! Invariants: all connections share the buffers for ciphertext ([`Buffers`]), so an idle
//! one holds none. What a session has received and nobody has read counts as received
//! (`has_received`), also if the socket may have more: of either no edge tells. Nothing is
//! encrypted while the socket has not taken what was encrypted before, so no more than
//! [`SENT_BYTES`] and a record are held, and they count as unsent.
//!
//! Cost: a read and a write of the socket per turn, as without TLS, and one allocation of a
//! record's size; the ciphers' time is a fraction of a microsecond for a short command.

pub(crate) mod handshakes;
pub(crate) mod session;

use crate::net::peer::DIRECT_BYTES_MAX;
use crate::net::transport::Transport;
use rustix::net::{RecvFlags, SendFlags};
use session::{RECORD_BYTES_MAX, Session};
use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice};
use std::net::TcpStream;
use std::rc::Rc;

/// Ciphertext that is read at once.
const RECEIVED_BYTES: usize = 64 * 1024;
/// Ciphertext that is written at once.
const SENT_BYTES: usize = 64 * 1024;
/// Bytes by which ciphertext is longer, about, as a share of what may be read.
const OVERHEAD_SHARE: usize = 64;
/// The least that is read: a whole record of a short command, and what follows it.
const READ_BYTES_MIN: usize = 4096;
/// Reads in one turn that bring no data, only records about the session itself.
const EMPTY_READS_MAX: usize = 8;

/// Where ciphertext is while it is being worked on. All connections share one.
#[derive(Debug)]
pub(crate) struct Buffers {
    received: Vec<u8>,
    sent: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers {
            received: vec![0; RECEIVED_BYTES],
            sent: Vec::with_capacity(SENT_BYTES + RECORD_BYTES_MAX),
        }
    }
}

/// A connection by TLS.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) socket: TcpStream,
    state: RefCell<State>,
    buffers: Rc<RefCell<Buffers>>,
}

#[derive(Debug)]
struct State {
    session: Session,
    /// The last read got all it asked for.
    may_have_more: bool,
}

impl Tls {
    /// Of a session that is established.
    pub(crate) fn new(socket: TcpStream, session: Session, buffers: Rc<RefCell<Buffers>>) -> Tls {
        Tls { socket, state: RefCell::new(State { session, may_have_more: false }), buffers }
    }

    /// Reads the socket once. What is decrypted goes behind what `buffer` holds, as far as
    /// there is room, else it stays with the session.
    fn read(&self, state: &mut State, buffer: &mut Vec<u8>) -> io::Result<()> {
        let State { session, may_have_more } = state;
        let received = &mut self.buffers.borrow_mut().received;
        let kept = session.copy_incomplete(received);
        let room = buffer.capacity() - buffer.len();
        let asked = (room + room / OVERHEAD_SHARE).max(READ_BYTES_MIN);
        let end = received.len().min(kept + asked);
        let outcome = rustix::net::recv(&self.socket, &mut received[kept..end], RecvFlags::empty());
        let (count, _) = outcome.inspect_err(|_| *may_have_more = false)?;
        *may_have_more = kept + count == end;
        if count == 0 {
            session.end();
            return Ok(());
        }
        let outcome = session.process(&mut received[..kept + count], buffer);
        // What the session itself has to say: an alert, new keys.
        if session.held_bytes() > 0 {
            match self.write_held(session) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        outcome.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// Writes what the socket has not taken.
    fn write_held(&self, session: &mut Session) -> io::Result<()> {
        while session.held_bytes() > 0 {
            let count = rustix::net::send(&self.socket, session.held(), SendFlags::NOSIGNAL)?;
            session.note_sent(count);
        }
        Ok(())
    }

    /// Writes ciphertext; what the socket does not take is held. Whether it took all.
    fn write(&self, session: &mut Session, mut bytes: &[u8]) -> io::Result<bool> {
        while !bytes.is_empty() {
            match rustix::net::send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => bytes = &bytes[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    session.hold(bytes);
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Tells the peer that nothing follows, if that can be told at once.
    fn say_goodbye(&self) {
        // Who is being served is not told: its record may be half written.
        let Ok(mut state) = self.state.try_borrow_mut() else { return };
        if let Some(goodbye) = state.session.goodbye() {
            // The peer may have gone already.
            let _ = rustix::net::send(&self.socket, &goodbye, SendFlags::NOSIGNAL);
        }
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        self.say_goodbye();
    }
}

impl Transport for Tls {
    fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let state = &mut *self.state.borrow_mut();
        let before = buffer.len();
        state.session.take(buffer);
        for _ in 0..EMPTY_READS_MAX {
            if buffer.len() > before || state.session.is_over() {
                return Ok(buffer.len() - before);
            }
            self.read(state, buffer)?;
        }
        match buffer.len() - before {
            0 if !state.session.is_over() => Err(ErrorKind::Interrupted.into()),
            count => Ok(count),
        }
    }

    fn look_at(&self, buffer: &mut Vec<u8>) -> io::Result<usize> {
        let state = &mut *self.state.borrow_mut();
        let room = buffer.capacity() - buffer.len();
        if state.session.received().len() < room && !state.session.is_over() {
            match self.read(state, &mut Vec::new()) {
                Err(error) if state.session.received().is_empty() => return Err(error),
                // It will be met again by who takes what there is.
                _ => {}
            }
        }
        let received = state.session.received();
        if received.is_empty() && !state.session.is_over() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let count = room.min(received.len());
        buffer.extend_from_slice(&received[..count]);
        Ok(count)
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.send_parts(&[IoSlice::new(bytes)])
    }

    fn send_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let State { session, .. } = &mut *self.state.borrow_mut();
        self.write_held(session)?;
        let sent = &mut self.buffers.borrow_mut().sent;
        sent.clear();
        let mut taken = 0;
        for chunk in parts.iter().flat_map(|part| part.chunks(session::RECORD_DATA_BYTES)) {
            session.encrypt(chunk, sent)?;
            taken += chunk.len();
            if sent.len() >= SENT_BYTES {
                if !self.write(session, sent)? {
                    return Ok(taken);
                }
                sent.clear();
            }
            if taken >= DIRECT_BYTES_MAX {
                break;
            }
        }
        self.write(session, sent)?;
        Ok(taken)
    }

    fn shut_down(&self) {
        self.say_goodbye();
        Transport::shut_down(&self.socket);
    }

    fn has_received(&self) -> bool {
        let State { session, may_have_more } = &*self.state.borrow();
        *may_have_more || session.is_over() || !session.received().is_empty()
    }

    fn held_bytes(&self) -> usize {
        self.state.borrow().session.held_bytes()
    }

    fn memory(&self) -> usize {
        size_of::<Tls>() + self.state.borrow().session.memory()
    }

    fn flush(&self) -> io::Result<()> {
        self.write_held(&mut self.state.borrow_mut().session)
    }
}
