//! What is said to clients in one round.
//!
//! Owns replies and messages from the moment a command has left them until they are sent.
//! Connections that are ready at the same time make a round (`wire`): each reads and
//! executes, and posts its replies here; at the end of the round the log is written, and
//! every letter is sent. So one write of the log serves every client of a
//! round, and the system's paths for receiving and for sending stay in the processor's
//! cache while they are used: sending each reply at once costs 4 % more per command.
//!
//! Invariants: what is posted to a client is sent in that order, whatever it is. A letter
//! is on its way for one round at most; then what its socket does not take, or what has
//! to wait for the log, lies with its `Peer`. The box is emptied when it holds more than
//! [`ROUND_BYTES_MAX`].
//! Not here: syncing the log (`commit`).

use crate::files::append_only::Policy;
use crate::net::peer::Peer;
use crate::serve::commit::Hold;
use crate::serve::host::ServerHost;
use crate::serve::server::{Core, Server};
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

impl ServerHost {
    /// Sends what can go while the round cannot end, since a script keeps the thread.
    pub(crate) fn send_meanwhile(&mut self) {
        let policy = Policy::of(&self.settings);
        if policy != Policy::Always {
            self.append_only.write_now(policy);
        }
        if self.append_only.has_failed() {
            self.outbox.refuse();
        }
        if self.append_only.held_until().is_none() {
            self.outbox.send(|_, _| false, |_, _| {});
        }
    }
}

impl Server {
    /// Posts all of `bytes` to a client, and empties them.
    pub(crate) fn post_all(
        &self,
        core: &mut Core,
        client: ClientId,
        peer: &Rc<Peer>,
        bytes: &mut Vec<u8>,
    ) {
        if core.host.outbox.bytes.is_empty() {
            std::mem::swap(&mut core.host.outbox.bytes, bytes);
            self.close_letter(core, client, peer);
        } else {
            self.post(core, client, peer, bytes);
            bytes.clear();
        }
    }

    /// Posts something to a client.
    pub(crate) fn post(&self, core: &mut Core, client: ClientId, peer: &Rc<Peer>, bytes: &[u8]) {
        core.host.outbox.bytes.extend_from_slice(bytes);
        self.close_letter(core, client, peer);
    }

    fn close_letter(&self, core: &mut Core, client: ClientId, peer: &Rc<Peer>) {
        let outbox = &mut core.host.outbox;
        outbox.address(client, peer, core.host.append_only.batch_end());
        if outbox.bytes.len() > ROUND_BYTES_MAX {
            self.end_round(core);
        }
    }

    /// Ends a round: has the log written, and sends what waited for that or waits for more.
    pub(crate) fn end_round(&self, core: &mut Core) {
        if core.host.append_only.must_end {
            self.end_log(core);
        }
        let policy = Policy::of(&core.host.settings);
        if policy != Policy::Always && core.host.append_only.has_unwritten() {
            self.write_log(core);
        }
        if self.is_to_sync_at_once(core) {
            self.sync_at_once(core);
        }
        if !core.host.outbox.is_empty() {
            self.send_letters(core);
        }
        // Afterwards: if it fails, those are known who will never be answered.
        if policy == Policy::Always && core.host.append_only.has_unsynced() {
            self.commit(core);
        }
    }

    fn send_letters(&self, core: &mut Core) {
        // Nothing is posted meanwhile: what takes its place allocates nothing.
        let empty = Outbox { bytes: Vec::new(), letters: Vec::new() };
        let mut outbox = std::mem::replace(&mut core.host.outbox, empty);
        let hold = Hold::of(core);
        outbox.send(
            |peer, until| self.waiters.must_wait(hold, peer, until),
            |client, peer| {
                self.check_output(core, client, peer);
                core.count_client(client, peer);
            },
        );
        core.host.outbox = outbox;
        self.limit_client_memory(core);
    }
}
