//! One connection: read, execute, write.
//!
//! Owns the socket, the request parser and the input that is not complete yet.
//! A connection is polled when its socket is readable or writable, or when
//! somebody woke its `Peer`. One poll reads what is there, lets the engine execute all
//! complete commands as one batch, and writes all their replies with one call.
//!
//! Invariants: input is read into a buffer all connections share, and copied into
//! a buffer of the connection only if a command is incomplete; replies are
//! written from a shared buffer, and kept only if the socket does not take them.
//! So an idle connection holds neither. Memory is bounded by
//! `client-query-buffer-limit` and `client-output-buffer-limit`.
//!
//! Cost per wake-up: one read, one write, no allocation.

use crate::clock;
use crate::listen::Socket;
use crate::peer::Peer;
use crate::server::{Core, Server};
use crate::settings::table::Id;
use keyward_engine::{ClientId, Progress};
use keyward_resp::{Parsed, Protocol, ReplyWriter, RequestLimits, RequestParser};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio_util::io::poll_read_buf;

/// Least room for a read into a connection's own buffer.
const READ_BYTES_MIN: usize = 16 * 1024;

/// Commands in a batch of a client whose unread replies are limited: the limit is looked
/// at between batches, so it is exceeded by no more than their replies.
const LIMITED_BATCH_COMMANDS: usize = 16;

/// A connection, as the future that serves it.
pub(crate) struct Connection<S> {
    socket: S,
    server: Rc<Server>,
    client: ClientId,
    peer: Rc<Peer>,
    parser: RequestParser,
    /// What has been received of commands that are not complete or must wait.
    input: Vec<u8>,
    /// The connection ends once the replies are sent.
    is_closing: bool,
}

impl<S: Socket> Connection<S> {
    /// `unsent` are replies the socket has yet to take.
    pub(crate) fn new(
        socket: S,
        server: Rc<Server>,
        client: ClientId,
        unsent: Vec<u8>,
    ) -> Connection<S> {
        let peer = Peer::new(socket.addresses(), clock::now_us() / 1000);
        *peer.output.borrow_mut() = unsent.into();
        let peer = Rc::new(peer);
        server.peers.insert(client, Rc::clone(&peer));
        Connection {
            socket,
            server,
            client,
            peer,
            parser: RequestParser::new(),
            input: Vec::new(),
            is_closing: false,
        }
    }

    /// Serves until there is nothing to do; an error ends the connection.
    fn advance(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            if self.peer.must_close.get() {
                return Poll::Ready(Ok(()));
            }
            if self.peer.must_resume.replace(false) {
                self.resume(cx)?;
            }
            let is_sent = self.send_pending(cx)?;
            if self.is_closing {
                return if is_sent { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
            if ready!(self.receive(cx))? == 0 {
                return Poll::Ready(Ok(()));
            }
            if !self.input.is_empty() {
                // What has come may be too much before it is a command.
                self.count_memory();
                if self.peer.must_close.get() {
                    return Poll::Ready(Ok(()));
                }
            }
            if !self.peer.is_blocked.get() {
                self.execute(cx)?;
                self.server.admit_guests();
            }
            self.count_memory();
        }
    }

    /// Says how much memory the connection takes, and lets it be limited.
    fn count_memory(&self) {
        self.peer.input_bytes.set(self.input.len());
        self.peer.parsed_bytes.set(self.parser.parsed_bytes());
        self.peer.input_free_bytes.set(self.input.capacity() - self.input.len());
        let core = &mut *self.server.core.borrow_mut();
        core.count_client(self.client, &self.peer);
        self.server.limit_client_memory(core);
    }

    /// Reads what the socket has: into the shared buffer if nothing is waiting,
    /// else behind what is waiting.
    fn receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let core = &mut *self.server.core.borrow_mut();
        let socket = Pin::new(&mut self.socket);
        let count = if self.input.is_empty() && !self.peer.is_blocked.get() {
            core.input.clear();
            ready!(poll_read_buf(socket, cx, &mut core.input))?
        } else {
            let missing = self.parser.missing_bytes(&self.input);
            self.input.reserve(missing.max(READ_BYTES_MIN));
            ready!(poll_read_buf(socket, cx, &mut self.input))?
        };
        core.host.stats.input_bytes += count as u64;
        core.host.stats.reads += 1;
        if self.input.len() as u64 > core.host.settings.bytes(Id::QueryBufferLimit) {
            tracing::warn!(client = self.client.0, "closing: the query buffer limit is reached");
            return Poll::Ready(Ok(0));
        }
        Poll::Ready(Ok(count))
    }

    /// Executes what is complete and writes the replies.
    fn execute(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let server = Rc::clone(&self.server);
        let core = &mut *server.core.borrow_mut();
        // A clock costs a hundredth of a command, so it is read once.
        let now_us = clock::now_us();
        core.engine.set_time(core.host.clock.at(now_us));
        self.peer.active_ms.set(now_us / 1000);
        self.execute_input(core);
        self.finish(core, cx)
    }

    /// Replies, then hands out what concerns other clients; a message to this one comes
    /// after its replies.
    fn finish(&mut self, core: &mut Core, cx: &mut Context<'_>) -> io::Result<()> {
        self.server.collect_log(core);
        core.bound_snapshot();
        let sent = self.reply(core, cx);
        self.server.deliver(core);
        sent
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
        loop {
            let output_bytes_max = core.output_limit(self.client, &self.peer).hard_bytes;
            let Core { engine, host, output, batch, .. } = core;
            let defaults = RequestLimits::default();
            let is_limited = output_bytes_max > 0;
            let limits = RequestLimits {
                bulk_bytes_max: host.settings.text_bytes_max(),
                authenticated: engine.is_authenticated(self.client),
                batch_commands_max: if is_limited {
                    LIMITED_BATCH_COMMANDS
                } else {
                    defaults.batch_commands_max
                },
            };
            let parsed = self.parser.parse(buffer, &limits, batch);
            if !batch.is_empty() {
                self.peer.input_bytes.set(buffer.len());
                let progress = engine.execute(host, self.client, buffer, batch, output);
                batch.clear();
                self.peer.is_blocked.set(progress == Progress::Blocked);
                self.is_closing = progress == Progress::Closing;
                if progress != Progress::Done {
                    break;
                }
                let unread = output.len() + self.peer.output.borrow().len();
                if is_limited && unread as u64 > output_bytes_max {
                    tracing::warn!(
                        client = self.client.0,
                        "closing: the output buffer limit is reached"
                    );
                    output.clear();
                    self.peer.must_close.set(true);
                    break;
                }
            }
            match parsed {
                Ok(Parsed::BatchFull) => {}
                Ok(Parsed::NeedsInput) => break,
                Err(error) => {
                    ReplyWriter::new(output, Protocol::Resp2).protocol_error(&error);
                    self.is_closing = true;
                    break;
                }
            }
        }
        self.parser.consume(buffer);
    }

    /// Goes on after a wait: first with what the engine kept, then with the input.
    fn resume(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let server = Rc::clone(&self.server);
        let core = &mut *server.core.borrow_mut();
        core.engine.set_time(core.host.clock.now_us());
        let Core { engine, host, output, .. } = core;
        let progress = engine.resume(host, self.client, output);
        self.peer.is_blocked.set(progress == Progress::Blocked);
        self.is_closing = progress == Progress::Closing;
        if progress == Progress::Done && !self.input.is_empty() {
            self.execute_input(core);
        }
        self.finish(core, cx)
    }

    /// Sends the replies in the shared buffer; keeps what the socket does not take.
    fn reply(&mut self, core: &mut Core, cx: &mut Context<'_>) -> io::Result<()> {
        core.host.stats.output_bytes += core.output.len() as u64;
        core.host.stats.writes += 1;
        let mut sent = 0;
        let is_held = self.server.hold(core, &self.peer);
        if !is_held && self.peer.output.borrow().is_empty() {
            while sent < core.output.len() {
                match Pin::new(&mut self.socket).poll_write(cx, &core.output[sent..])? {
                    Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Poll::Ready(count) => sent += count,
                    Poll::Pending => break,
                }
            }
        }
        self.peer.output.borrow_mut().extend(&core.output[sent..]);
        core.output.clear();
        core.release_large_buffers();
        self.server.check_output(core, self.client, &self.peer);
        Ok(())
    }

    /// Sends what is left of earlier replies; answers whether all is sent.
    fn send_pending(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if self.server.waiters.holds(&self.peer) {
            return Ok(false);
        }
        let mut output = self.peer.output.borrow_mut();
        while !output.is_empty() {
            match Pin::new(&mut self.socket).poll_write(cx, output.as_slices().0)? {
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(count) => drop(output.drain(..count)),
                Poll::Pending => return Ok(false),
            }
        }
        if output.capacity() > 0 {
            *output = VecDeque::new();
        }
        Ok(true)
    }
}

impl<S: Socket> Future for Connection<S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.peer.register(cx.waker());
        self.advance(cx).map(|outcome| {
            if let Err(error) = outcome {
                tracing::debug!(client = self.client.0, %error, "connection lost");
            }
        })
    }
}

impl<S> Drop for Connection<S> {
    fn drop(&mut self) {
        let core = &mut *self.server.core.borrow_mut();
        core.client_memory.forget(self.client, &self.peer);
        self.server.peers.remove(self.client);
        core.engine.disconnect(self.client);
    }
}
