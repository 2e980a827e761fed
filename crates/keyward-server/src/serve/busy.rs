//! Answering clients while a script keeps the engine busy.
//!
//! Owns what happens after `busy-reply-threshold`. The engine is in the middle of a
//! command then and the thread in the middle of a task, so no connection can be served as
//! usual. Every so many instructions the engine lets the host look up ([`look`]). A look
//! sends what others were answered before, peeks at what sockets have received and takes
//! the complete requests out of them; the engine answers what Redis allows meanwhile, and
//! BUSY to all else. Clients that come meanwhile are *guests*; they become connections
//! afterwards.
//!
//! Invariant: a look never takes part of a request. What is not complete, or larger than
//! [`PEEK_BYTES`], stays in the socket for the connection to read when the script is over.
//! Limits: [`PEEK_BYTES`] of requests per client and look, [`GUESTS_MAX`] guests.

pub(crate) mod watch;

use crate::clock::Instant;
use crate::files::append_only::Policy;
use crate::net::transport::Stream;
use crate::serve::host::ServerHost;
use crate::settings::table::Id;
use keyward_engine::{Activity, ClientId, Progress, RunningScript};
use keyward_resp::{Batch, RequestLimits, RequestParser};
use std::rc::Rc;
use std::time::Duration;
use watch::Guest;

/// How long a library may take to register its functions.
const LOAD_TIME_MAX: Duration = Duration::from_millis(500);
/// Pause between two looks at the sockets.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// What is looked at of a client's input.
const PEEK_BYTES: usize = 16 * 1024;
/// Most clients that are let in while a script runs.
const GUESTS_MAX: usize = 128;

/// Looks up from a running script: ends it if it must, serves others if it is slow.
pub(crate) fn look(host: &mut ServerHost, script: &mut dyn RunningScript) {
    #[cfg(test)]
    crate::simulation::pass_script_time();
    let threshold_ms = host.settings.int(Id::BusyReplyThreshold);
    let watch = host.busy.watch(script.number());
    let elapsed = watch.since.elapsed();
    if script.activity() == Activity::LibraryLoad {
        if elapsed > LOAD_TIME_MAX {
            script.end();
        }
        return;
    }
    let is_slow = threshold_ms > 0 && elapsed.as_millis() >= threshold_ms as u128;
    if !is_slow || watch.looked.elapsed() < LOOK_PAUSE {
        return;
    }
    watch.looked = Instant::now();
    if !std::mem::replace(&mut watch.is_slow, true) {
        let way_out = match script.activity() {
            Activity::Script => "SCRIPT KILL",
            Activity::Function | Activity::LibraryLoad => "FUNCTION KILL",
        };
        tracing::warn!(
            "Slow script detected: still in execution after {} milliseconds. You can try killing \
             the script using the {way_out} command. Script name is: {}.",
            elapsed.as_millis(),
            script.name().escape_ascii()
        );
    }
    send_meanwhile(host);
    let mut desk = Desk { host, script, elapsed };
    desk.serve_peers();
    desk.let_in();
    desk.serve_guests();
}

/// Sends what can go while the round cannot end, since a script keeps the thread.
fn send_meanwhile(host: &mut ServerHost) {
    let policy = Policy::of(&host.settings);
    if policy != Policy::Always {
        host.append_only.write_now(policy);
    }
    if host.append_only.has_failed() {
        host.outbox.refuse();
    }
    if host.append_only.held_until().is_none() {
        host.outbox.send(|_, _| false, |_, _| {});
    }
}

/// What one look works with.
struct Desk<'a> {
    host: &'a mut ServerHost,
    script: &'a mut dyn RunningScript,
    elapsed: Duration,
}

impl Desk<'_> {
    fn serve_peers(&mut self) {
        let peers = Rc::clone(&self.host.peers);
        let released = self.host.append_only.released();
        peers.each_client(|client, peer| {
            // A reply that waited for the log, which has been written since. A connection
            // that is lost is noticed by its turn.
            if peer.unsent_bytes() > 0 && peer.held_until.get() <= released {
                let _ = peer.send_rest();
            }
            let is_ready = peer.input_bytes.get() == 0
                && peer.unsent_bytes() == 0
                && !self.host.outbox.has_letter_for(client)
                && !peer.must_close.get();
            if !is_ready {
                return;
            }
            let (progress, unsent) = self.serve(client, &peer.socket);
            peer.output.borrow_mut().push(&unsent);
            if progress == Progress::Closing {
                // The connection hears the same from the engine afterwards, and ends; the
                // client is told at once, unless it is the server that ends.
                peer.must_resume.set(true);
                if unsent.is_empty() && !self.host.must_stop {
                    peer.socket.shut_down();
                }
            }
            let is_unfinished = !unsent.is_empty() || peer.unsent_bytes() > 0;
            if progress == Progress::Closing || is_unfinished || peer.socket.has_received() {
                peer.wake();
            }
        });
    }

    /// Lets clients in that are at the door.
    fn let_in(&mut self) {
        let listeners = Rc::clone(&self.host.listeners);
        while self.host.busy.guests.len() < GUESTS_MAX
            && let Some(socket) = listeners.accept()
        {
            if let Some(refusal) =
                self.host.judge_newcomer(socket.is_local(), self.script.needs_no_password())
            {
                let _ = socket.send(refusal);
            } else {
                let client = self.script.connect();
                self.host.busy.guests.push(Guest { socket, client, unsent: Vec::new() });
            }
        }
    }

    fn serve_guests(&mut self) {
        let mut guests = self.host.busy.take_guests();
        guests.retain_mut(|guest| {
            if !guest.unsent.is_empty() {
                return true;
            }
            let (progress, unsent) = self.serve(guest.client, &guest.socket);
            guest.unsent = unsent;
            let stays = progress != Progress::Closing || self.host.must_stop;
            if !stays {
                self.script.disconnect(guest.client);
            }
            stays
        });
        self.host.busy.guests = guests;
    }

    /// Takes the complete requests of a socket and replies to them. What the socket does not
    /// take of the replies is returned.
    fn serve(&mut self, client: ClientId, socket: &Stream) -> (Progress, Vec<u8>) {
        let mut progress = Progress::Done;
        if !self.script.is_open_to(client) {
            return (progress, Vec::new());
        }
        let mut input = Vec::with_capacity(PEEK_BYTES);
        let Ok(count) = socket.peek(&mut input) else {
            return (progress, Vec::new());
        };
        if count == 0 {
            self.script.lose(client);
            return (progress, Vec::new());
        }
        let mut parser = RequestParser::new();
        let mut batch = Batch::new();
        let parsed = parser.parse(&mut input, &RequestLimits::default(), &mut batch);
        if parsed.is_err() || batch.is_empty() {
            return (progress, Vec::new());
        }
        let mut replies = Vec::new();
        for args in batch.commands(&input) {
            if progress == Progress::Done {
                progress = self.script.accept(self.host, client, args, self.elapsed, &mut replies);
            }
        }
        parser.consume(&mut input);
        take(socket, count - input.len());
        let sent = socket.send(&replies).unwrap_or(0);
        (progress, replies.split_off(sent))
    }
}

/// Takes bytes that were peeked at, and so are there.
fn take(socket: &Stream, count: usize) {
    let mut left = count;
    while left > 0 {
        let mut taken = Vec::with_capacity(left);
        // A buffer may have got more room than was asked for.
        taken.resize(taken.capacity() - left, 0);
        match socket.receive(&mut taken) {
            Ok(0) => break,
            Ok(_) => left = taken.capacity() - taken.len(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            // The connection is lost; its turn will tell.
            Err(_) => break,
        }
    }
}
