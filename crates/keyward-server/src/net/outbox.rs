//! What is said to clients in one round.
//!
//! Owns replies and messages from the moment a command has left them until they are sent.
//! Connections that are ready at the same time make a round (`serve/event_loop.rs`): each reads and
//! executes, and posts its replies here; at the end of the round the log is written, and
//! every letter is sent. So one write of the log serves every client of a
//! round, and the system's paths for receiving and for sending stay in the processor's
//! cache while they are used: sending each reply at once costs 4 % more per command.
//!
//! Invariants: what is posted to a client is sent in that order, whatever it is. A letter
//! is on its way for one round at most; then what its socket does not take, or what has
//! to wait for the log, lies with its `Peer`. The box is emptied when it holds more than
//! [`ROUND_BYTES_MAX`].
//! Not here: ending a round (`serve/round.rs`), syncing the log (`serve/commit.rs`).

use crate::net::peer::Peer;
use keyward_engine::ClientId;
use std::rc::Rc;

/// A round that has more to say ends at once. This much stays in a processor's cache.
const ROUND_BYTES_MAX: usize = 64 * 1024;
/// The buffers of replies are this large, whether they are used or not, so that what is
/// said takes no memory which rows would have to make room for. One that grew beyond it is
/// given back.
const BUFFER_BYTES: usize = 2 * ROUND_BYTES_MAX;
/// So is the list of letters, which many clients that are told of evictions make longer.
const LETTERS_KEPT: usize = 256;

/// An empty buffer for replies.
pub(crate) fn reply_buffer() -> Vec<u8> {
    Vec::with_capacity(BUFFER_BYTES)
}

/// Gives back what an unusually large reply took, once it is gone.
pub(crate) fn release_large(buffer: &mut Vec<u8>) {
    if buffer.capacity() > BUFFER_BYTES {
        *buffer = reply_buffer();
    }
}

/// Replies and messages on their way.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// What all letters say, one after the other.
    bytes: Vec<u8>,
    letters: Vec<Letter>,
}

#[derive(Debug)]
struct Letter {
    client: ClientId,
    peer: Rc<Peer>,
    /// Where it ends; it begins where the one before ends.
    end: usize,
    /// What the client changed ends here in the log; zero if it changed nothing.
    until: u64,
}

impl Outbox {
    pub(crate) fn new() -> Outbox {
        Outbox { bytes: reply_buffer(), letters: Vec::with_capacity(LETTERS_KEPT) }
    }

    /// Bytes by which it is larger than it is while nothing is said.
    pub(crate) fn spare_bytes(&self) -> usize {
        let letters = self.letters.capacity().saturating_sub(LETTERS_KEPT);
        self.bytes.capacity().saturating_sub(BUFFER_BYTES) + letters * size_of::<Letter>()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// Whether something waits here for a client.
    pub(crate) fn has_letter_for(&self, client: ClientId) -> bool {
        self.letters.iter().any(|letter| letter.client == client)
    }

    /// Takes the place of a box whose letters are being sent. It allocates nothing.
    pub(crate) fn placeholder() -> Outbox {
        Outbox { bytes: Vec::new(), letters: Vec::new() }
    }

    /// Whether there is so much to say that the round is to end.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() > ROUND_BYTES_MAX
    }

    /// Posts something to a client, which has changed something up to `until` of the log.
    #[inline]
    pub(crate) fn post(&mut self, client: ClientId, peer: &Rc<Peer>, bytes: &[u8], until: u64) {
        self.bytes.extend_from_slice(bytes);
        self.address(client, peer, until);
    }

    /// As [`Outbox::post`], of what `write` adds; returns how many bytes that are.
    pub(crate) fn post_with(
        &mut self,
        client: ClientId,
        peer: &Rc<Peer>,
        until: u64,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> usize {
        let before = self.bytes.len();
        write(&mut self.bytes);
        self.address(client, peer, until);
        self.bytes.len() - before
    }

    /// As [`Outbox::post`], of all `bytes`, which are empty afterwards.
    #[inline]
    pub(crate) fn post_all(
        &mut self,
        client: ClientId,
        peer: &Rc<Peer>,
        bytes: &mut Vec<u8>,
        until: u64,
    ) {
        if self.bytes.is_empty() {
            std::mem::swap(&mut self.bytes, bytes);
        } else {
            self.bytes.extend_from_slice(bytes);
            bytes.clear();
        }
        self.address(client, peer, until);
    }

    fn address(&mut self, client: ClientId, peer: &Rc<Peer>, until: u64) {
        let end = self.bytes.len();
        match self.letters.last_mut() {
            Some(last) if Rc::ptr_eq(&last.peer, peer) => {
                (last.end, last.until) = (end, last.until.max(until));
            }
            _ => self.letters.push(Letter { client, peer: Rc::clone(peer), end, until }),
        }
    }

    /// Empties the box: nobody who has a letter here is ever answered.
    pub(crate) fn refuse(&mut self) {
        self.letters.drain(..).for_each(|letter| letter.peer.close());
        self.bytes.clear();
    }

    /// Empties the box: each letter goes to its socket unless it `must_wait`, which is told
    /// what the log must have. What stays lies with its peer then, and `left` is told.
    pub(crate) fn send(
        &mut self,
        mut must_wait: impl FnMut(&Rc<Peer>, u64) -> bool,
        mut left: impl FnMut(ClientId, &Rc<Peer>),
    ) {
        let mut start = 0;
        for Letter { client, peer, end, until } in self.letters.drain(..) {
            let mut letter = &self.bytes[start..end];
            start = end;
            let is_waiting = must_wait(&peer, until);
            if !is_waiting && peer.unsent_bytes() == 0 {
                let sent = peer.send(letter);
                letter = &letter[sent..];
            }
            // A transport may have taken more than its socket. Who is to be disconnected
            // reads nothing more.
            let is_left = !letter.is_empty() || peer.socket.held_bytes() > 0;
            if is_left && !peer.must_close.get() {
                peer.output.borrow_mut().push(letter);
                if !is_waiting {
                    peer.wake();
                }
                left(client, &peer);
            }
        }
        self.bytes.clear();
        release_large(&mut self.bytes);
        if self.letters.capacity() > LETTERS_KEPT {
            self.letters = Vec::with_capacity(LETTERS_KEPT);
        }
    }
}
