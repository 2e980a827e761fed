//! The turn of a connection: read, execute, write.
//!
//! Owns the order of a turn, and its limits.
//! A connection (`net/connection.rs`) has its turn when its socket is readable or writable, or when
//! somebody woke its `Peer`. It reads what is there, lets the engine execute the
//! complete commands in batches, and posts all their replies as one letter (`round`).
//!
//! A turn is bounded, in what is read, in time ([`TURN_NS_MAX`]) and in replies
//! ([`TURN_OUTPUT_BYTES_MAX`]): what is left of a large pipeline stays in the connection's
//! own buffer, and goes on when everybody else has had a turn. A batch is as large as the
//! last ones suggest, since only between two of them anything is looked at.
//!
//! Invariants: input is read into a buffer all connections share, and copied into
//! a buffer of the connection only if a command is incomplete; replies are
//! sent from a shared buffer, and kept only if the socket does not take them.
//! So an idle connection holds neither. Memory is bounded by
//! `client-query-buffer-limit` and `client-output-buffer-limit`.
//!
//! Cost per turn: one read, one letter, no allocation.

use crate::clock;
use crate::net::connection::Connection;
use crate::net::selector::Ready;
use crate::serve::core::Core;
use crate::serve::server::Server;
use crate::serve::{client_limits, clients, commit, delivery, output_limit, round};
use crate::settings::table::Id;
use keyward_engine::Progress;
use keyward_resp::{Parsed, Protocol, ReplyWriter, RequestLimits};
use std::io;

/// Commands in a batch of a client whose unread replies are limited: the limit is looked
/// at between batches, so it is exceeded by no more than their replies.
const LIMITED_BATCH_COMMANDS: usize = 16;

/// A turn ends when its commands have taken this long.
const TURN_NS_MAX: u64 = 500_000;
/// A turn ends when there are this many bytes of replies.
const TURN_OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// Commands of a batch at most.
const BATCH_COMMANDS_MAX: u16 = 1024;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// There is nothing to do until the socket or somebody tells.
    Waits,
    /// The connection is over.
    Ended,
}

/// Gives a connection its turn, because of an edge or because it was woken.
pub(crate) fn serve(server: &Server, place: usize, ready: Option<&Ready>) {
    let Some(mut connection) = server.wire.take(place) else { return };
    ready.into_iter().for_each(|ready| connection.hear(ready));
    match connection.advance(server) {
        Turn::Ended if !server.must_stop() => {
            clients::let_go(server, &mut server.core.borrow_mut(), &connection);
            server.wire.free(place);
        }
        // A server that ends lets go of its connections last of all.
        Turn::Ended | Turn::Waits => server.wire.put(place, connection),
    }
}

/// Serves those who were woken. Who is woken meanwhile is next.
pub(crate) fn serve_woken(server: &Server) {
    if !server.wire.is_ringing() {
        return;
    }
    let mut places = server.wire.woken.take();
    places.drain(..).for_each(|place| serve(server, place, None));
    server.wire.woken.recycle(places);
}

impl Connection {
    /// Does what there is to do.
    fn advance(&mut self, server: &Server) -> Turn {
        self.peer.is_awake();
        self.serve(server).unwrap_or_else(|error| {
            tracing::debug!(client = self.client.0, %error, "connection lost");
            Turn::Ended
        })
    }

    fn serve(&mut self, server: &Server) -> io::Result<Turn> {
        if self.peer.must_close.get() {
            return Ok(Turn::Ended);
        }
        let core = &mut *server.core.borrow_mut();
        if self.peer.must_resume.replace(false) {
            self.resume(server, core);
        }
        if self.is_closing {
            return self.close(server);
        }
        self.send_pending(server)?;
        if self.has_commands && !self.peer.is_blocked.get() {
            self.execute(server, core);
            return self.end_turn(server, core);
        }
        // Somebody may have looked at what is there, which no edge tells of then.
        if !self.has_unread && !self.peer.socket.has_received() {
            return Ok(Turn::Waits);
        }
        match self.receive(core) {
            Ok(0) => return Ok(Turn::Ended),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.has_unread = false;
                return Ok(Turn::Waits);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                self.peer.wake();
                return Ok(Turn::Waits);
            }
            Err(error) => return Err(error),
        }
        if !self.input.is_empty() {
            // What has come may be too much before it is a command.
            self.count_memory(server, core);
            if self.peer.must_close.get() {
                return Ok(Turn::Ended);
            }
        }
        if !self.peer.is_blocked.get() {
            self.execute(server, core);
        }
        self.end_turn(server, core)
    }

    fn end_turn(&mut self, server: &Server, core: &mut Core) -> io::Result<Turn> {
        clients::accept_guests(server, core);
        self.count_memory(server, core);
        if self.has_commands || self.has_unread {
            self.peer.wake();
        }
        match (self.peer.must_close.get(), self.is_closing) {
            (true, _) => Ok(Turn::Ended),
            (false, true) => self.close(server),
            (false, false) => Ok(Turn::Waits),
        }
    }

    /// Ends the connection when the replies are sent.
    fn close(&self, server: &Server) -> io::Result<Turn> {
        Ok(if self.send_pending(server)? { Turn::Ended } else { Turn::Waits })
    }

    /// Says how much memory the connection takes, and lets it be limited.
    fn count_memory(&self, server: &Server, core: &mut Core) {
        self.peer.input_bytes.set(self.input.len());
        self.peer.parsed_bytes.set(self.parser.parsed_bytes());
        // A large argument counts as soon as it has begun.
        let missing =
            if self.input.is_empty() { 0 } else { self.parser.missing_bytes(&self.input) };
        let free = self.input.capacity() - self.input.len();
        self.peer.input_free_bytes.set(free.max(missing));
        core.count_client(self.client, &self.peer);
        client_limits::limit_client_memory(server, core);
    }

    /// Reads what the socket has: into the shared buffer if nothing is waiting,
    /// else behind what is waiting. If it may have more, there is another turn.
    fn receive(&mut self, core: &mut Core) -> io::Result<usize> {
        let is_waiting = !self.input.is_empty() || self.peer.is_blocked.get();
        let buffer = if is_waiting {
            self.make_room();
            &mut self.input
        } else {
            core.input.clear();
            &mut core.input
        };
        let room = buffer.capacity() - buffer.len();
        let count = self.peer.socket.receive(buffer)?;
        // The buffer was too small, or no edge tells of what is left.
        self.has_unread = count == room || self.is_hung_up || self.peer.socket.has_received();
        core.host.stats.input_bytes += count as u64;
        core.host.stats.reads += 1;
        if self.is_primary {
            // A command may take long to come: it is heard of while it does.
            core.engine.set_time(core.host.clock.now_us());
            core.engine.hear_primary(self.client);
        }
        // What a primary has carried out is to be carried out here, however long it is.
        let is_limited = !self.is_primary;
        if is_limited && self.input.len() as u64 > core.host.settings.bytes(Id::QueryBufferLimit) {
            tracing::warn!(client = self.client.0, "closing: the query buffer limit is reached");
            return Ok(0);
        }
        Ok(count)
    }

    /// Executes what is complete and posts the replies.
    fn execute(&mut self, server: &Server, core: &mut Core) {
        let now_ns = clock::monotonic_ns();
        (core.host.turn_began_ns, core.host.lately_ns) = (Some(now_ns), now_ns);
        let now_us = core.host.clock.wall_us_at(now_ns);
        core.engine.set_time(core.host.clock.at(now_us));
        self.peer.active_ms.set(now_us / 1000);
        self.execute_input(core);
        // Without a whole command nobody has asked.
        core.host.turn_began_ns = None;
        self.finish(server, core);
    }

    /// Replies, then hands out what concerns other clients; a message to this one comes
    /// after its replies.
    fn finish(&mut self, server: &Server, core: &mut Core) {
        commit::collect_log(server, core);
        core.bound_snapshot();
        self.reply(server, core);
        delivery::deliver(server, core);
        if self.is_closing {
            round::end_round(server, core);
        }
    }

    /// Executes the complete commands of the shared buffer or of the own one.
    fn execute_input(&mut self, core: &mut Core) {
        if self.input.is_empty() {
            let mut buffer = std::mem::take(&mut core.input);
            self.execute_buffer(core, &mut buffer);
            self.input.extend_from_slice(&buffer);
            core.input = buffer;
        } else {
            let mut buffer = std::mem::take(&mut self.input);
            self.execute_buffer(core, &mut buffer);
            if !buffer.is_empty() {
                self.input = buffer;
            }
        }
    }

    fn execute_buffer(&mut self, core: &mut Core, buffer: &mut Vec<u8>) {
        let began_ns = core.host.lately_ns;
        self.has_commands = false;
        loop {
            let output_bytes_max = output_limit::of(core, self.client, &self.peer).hard_bytes;
            let is_limited = output_bytes_max > 0;
            let limits = self.request_limits(core, is_limited);
            let Core { engine, host, output, batch, .. } = core;
            let start = self.parser.complete_bytes();
            let parsed = self.parser.parse(buffer, &limits, batch);
            let part = start..self.parser.complete_bytes();
            if !batch.is_empty() || self.is_primary && !part.is_empty() {
                self.peer.input_bytes.set(buffer.len());
                let (before_bytes, before_ns) = (output.len(), host.lately_ns);
                let progress = match self.is_primary {
                    false => engine.execute(host, self.client, buffer, batch, output),
                    true => engine.follow(host, self.client, (buffer, part), batch, output),
                };
                batch.clear();
                self.peer.is_blocked.set(progress == Progress::Blocked);
                self.is_closing = progress == Progress::Closing;
                if progress != Progress::Done {
                    break;
                }
                let unread = output.len() + self.peer.unsent_bytes();
                if is_limited && unread as u64 > output_bytes_max {
                    tracing::warn!(
                        client = self.client.0,
                        "closing: the output buffer limit is reached"
                    );
                    output.clear();
                    self.peer.must_close.set(true);
                    break;
                }
                self.learn(output.len() - before_bytes, host.lately_ns.saturating_sub(before_ns));
            }
            match parsed {
                Ok(Parsed::BatchFull) => {
                    let taken_ns = host.lately_ns.saturating_sub(began_ns);
                    if output.len() > TURN_OUTPUT_BYTES_MAX || taken_ns > TURN_NS_MAX {
                        self.has_commands = true;
                        break;
                    }
                }
                Ok(Parsed::NeedsInput) => break,
                Err(error) if self.is_primary => {
                    engine.lose_track(host, self.client, &error.to_string());
                    self.is_closing = true;
                    break;
                }
                Err(error) => {
                    ReplyWriter::new(output, Protocol::Resp2).protocol_error(&error);
                    self.is_closing = true;
                    break;
                }
            }
        }
        self.parser.consume(buffer);
        // Without input of its own a connection executes what the shared buffer holds.
        self.has_commands &= !buffer.is_empty();
    }

    fn request_limits(&self, core: &Core, is_limited: bool) -> RequestLimits {
        let commands = usize::from(self.batch_commands);
        RequestLimits {
            bulk_bytes_max: match self.is_primary {
                // As much as a row can hold.
                true => u32::MAX.into(),
                false => core.host.settings.text_bytes_max(),
            },
            inline: !self.is_primary,
            authenticated: core.engine.is_authenticated(self.client),
            batch_commands_max: match is_limited {
                true => commands.min(LIMITED_BATCH_COMMANDS),
                false => commands,
            },
        }
    }

    /// Learns from a batch how many commands the next one may have, for a turn not to be
    /// much longer than it should.
    fn learn(&mut self, output_bytes: usize, taken_ns: u64) {
        let is_large = output_bytes > TURN_OUTPUT_BYTES_MAX / 2 || taken_ns > TURN_NS_MAX / 2;
        self.batch_commands = match is_large {
            true => (self.batch_commands / 4).max(1),
            false => (self.batch_commands * 2).min(BATCH_COMMANDS_MAX),
        };
    }

    /// Goes on after a wait: first with what the engine kept, then with the input.
    fn resume(&mut self, server: &Server, core: &mut Core) {
        core.host.lately_ns = clock::monotonic_ns();
        let now_us = core.host.clock.wall_us_at(core.host.lately_ns);
        core.engine.set_time(core.host.clock.at(now_us));
        let Core { engine, host, output, .. } = core;
        let progress = engine.resume(host, self.client, output);
        self.peer.is_blocked.set(progress == Progress::Blocked);
        self.is_closing = progress == Progress::Closing;
        if progress == Progress::Done && !self.input.is_empty() {
            self.execute_input(core);
        }
        if self.has_commands {
            self.peer.wake();
        }
        self.finish(server, core);
    }

    /// Posts the replies in the shared buffer.
    fn reply(&self, server: &Server, core: &mut Core) {
        core.host.stats.output_bytes += core.output.len() as u64;
        core.host.stats.writes += 1;
        if !core.output.is_empty() {
            let mut output = std::mem::take(&mut core.output);
            round::post_all(server, core, self.client, &self.peer, &mut output);
            core.output = output;
        }
        // What nobody wants to see was written too (CLIENT REPLY OFF).
        core.release_large_buffers();
    }

    /// Sends what is left of earlier replies; returns whether all is sent.
    fn send_pending(&self, server: &Server) -> io::Result<bool> {
        if server.waiters.holds(&self.peer) {
            return Ok(false);
        }
        self.peer.send_rest()
    }
}
