//! Answering clients while a script keeps the engine busy.
//!
//! Owns what happens after `busy-reply-threshold`. The engine is in the middle of a
//! command then and the thread in the middle of a task, so no connection can be served as
//! usual. Every so many instructions the engine lets the host look up ([`look`]). A look
//! peeks at what sockets have received: requests that can be answered now (SCRIPT KILL,
//! FUNCTION KILL, FUNCTION STATS, SHUTDOWN NOSAVE, MULTI, DISCARD; BUSY for most others) are taken out
//! of the socket and answered. All else stays there untouched, for the connection to
//! read when the script is over. Clients that come meanwhile are *guests*; they become
//! connections afterwards.
//!
//! Invariant: a look never takes part of a request, nor anything behind a request that
//! must wait.
//! Limits: [`PEEK_BYTES`] of requests per client and look, [`GUESTS_MAX`] guests.
#![allow(unsafe_code)]

use crate::host::ServerHost;
use crate::listen::Listeners;
use crate::settings::table::Id;
use keyward_commands::flags::Flag;
use keyward_commands::{CommandId, WireError, resolve};
use keyward_engine::{Activity, ClientId, RunningScript, Standing};
use keyward_resp::{Args, Batch, Protocol, ReplyWriter, RequestLimits, RequestParser};
use rustix::net::{RecvFlags, SendFlags, SocketFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a library may take to register its functions.
const LOAD_TIME_MAX: Duration = Duration::from_millis(500);
/// Pause between two looks at the sockets.
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// What is looked at of a client's input.
const PEEK_BYTES: usize = 16 * 1024;
/// Most clients that are let in while a script runs.
const GUESTS_MAX: usize = 128;

/// What a slow script needs.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    watch: Option<Watch>,
    guests: Vec<Guest>,
}

/// A script that is being watched.
#[derive(Debug, Clone, Copy)]
struct Watch {
    run: u64,
    since: Instant,
    looked: Instant,
    is_slow: bool,
}

/// A client that came while a script was running.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) socket: RawSocket,
    /// The AUTH that was answered, if there was one.
    pub(crate) login: Vec<u8>,
}

/// A guest's socket.
#[derive(Debug)]
pub(crate) struct RawSocket {
    descriptor: OwnedFd,
    is_unix: bool,
}

/// A guest's socket as the server uses sockets.
pub(crate) enum GuestSocket {
    Tcp(tokio::net::TcpStream),
    Unix(tokio::net::UnixStream),
}

impl RawSocket {
    pub(crate) fn into_tokio(self) -> io::Result<GuestSocket> {
        if self.is_unix {
            tokio::net::UnixStream::from_std(self.descriptor.into()).map(GuestSocket::Unix)
        } else {
            tokio::net::TcpStream::from_std(self.descriptor.into()).map(GuestSocket::Tcp)
        }
    }
}

impl Busy {
    /// Those who came while a script was running.
    pub(crate) fn take_guests(&mut self) -> Vec<Guest> {
        std::mem::take(&mut self.guests)
    }

    /// The watch over this run, begun now if it is new.
    fn watch(&mut self, run: u64) -> &mut Watch {
        let now = Instant::now();
        let new = Watch { run, since: now, looked: now, is_slow: false };
        let watch = self.watch.get_or_insert(new);
        if watch.run != run {
            *watch = new;
        }
        watch
    }

    /// Lets clients in that are at the door.
    fn let_in(&mut self, listeners: &Listeners) {
        listeners.each(|door, is_unix| {
            while self.guests.len() < GUESTS_MAX {
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let Ok(descriptor) = rustix::net::accept_with(door, flags) else { break };
                let socket = RawSocket { descriptor, is_unix };
                self.guests.push(Guest { socket, login: Vec::new() });
            }
        });
    }
}

/// Looks up from a running script: ends it if it must, answers others if it is slow.
pub(crate) fn look(host: &mut ServerHost, script: &mut RunningScript<'_>) {
    let threshold_ms = host.settings.int(Id::BusyReplyThreshold);
    let watch = host.busy.watch(script.number);
    let elapsed = watch.since.elapsed();
    if script.activity == Activity::LibraryLoad {
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
        let way_out = match script.activity {
            Activity::Script => "SCRIPT KILL",
            Activity::Function | Activity::LibraryLoad => "FUNCTION KILL",
        };
        tracing::warn!(elapsed_ms = elapsed.as_millis() as u64, way_out, "slow script");
    }
    let password = host.settings.tunables().password;
    let mut desk = Desk { script, elapsed, password };
    host.peers.each_client(|client, peer| {
        let is_ready = peer.input_bytes.get() == 0
            && peer.output.borrow().is_empty()
            && !peer.must_close.get();
        if is_ready {
            // A peer goes before its connection closes the socket.
            let socket = unsafe { BorrowedFd::borrow_raw(peer.addresses.descriptor as i32) };
            let unsent = desk.serve_peer(client, socket);
            if !unsent.is_empty() {
                peer.output.borrow_mut().extend_from_slice(&unsent);
                peer.wake();
            }
        }
    });
    host.busy.let_in(&host.listeners);
    for guest in &mut host.busy.guests {
        desk.serve_guest(guest);
    }
}

/// What one look answers with.
struct Desk<'a, 'b> {
    script: &'a mut RunningScript<'b>,
    elapsed: Duration,
    password: Option<Box<[u8]>>,
}

/// Whom a look answers.
struct Visitor<'a> {
    standing: Standing,
    protocol: Protocol,
    /// Its number, unless it is a guest.
    client: Option<ClientId>,
    /// Where to keep the AUTH of a guest, who has no session yet.
    login: Option<&'a mut Vec<u8>>,
}

impl Desk<'_, '_> {
    /// Answers a connection; what its socket does not take is returned.
    fn serve_peer(&mut self, client: ClientId, socket: BorrowedFd<'_>) -> Vec<u8> {
        let standing = self.script.standing(client);
        if standing == Standing::Waiting {
            return Vec::new();
        }
        let protocol = self.script.protocol(client);
        self.serve(socket, Visitor { standing, protocol, client: Some(client), login: None })
    }

    fn serve_guest(&mut self, guest: &mut Guest) {
        let Guest { socket, login } = guest;
        let standing = if login.is_empty() { self.script.newcomer() } else { Standing::Refused };
        let protocol = Protocol::Resp2;
        let visitor = Visitor { standing, protocol, client: None, login: Some(login) };
        if !self.serve(socket.descriptor.as_fd(), visitor).is_empty() {
            tracing::debug!("a client does not take its replies while a script is slow");
        }
    }

    /// Takes the complete requests of a socket and answers them, all or none. What the
    /// socket does not take of the replies is returned.
    fn serve(&mut self, socket: BorrowedFd<'_>, mut visitor: Visitor<'_>) -> Vec<u8> {
        let mut input = vec![0; PEEK_BYTES];
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        let Ok((count, _)) = rustix::net::recv(socket, &mut input[..], flags) else {
            return Vec::new();
        };
        input.truncate(count);
        let mut parser = RequestParser::new();
        let mut batch = Batch::new();
        let parsed = parser.parse(&mut input, &RequestLimits::default(), &mut batch);
        if parsed.is_err() || batch.is_empty() || self.has_to_wait(&batch, &input, &visitor) {
            return Vec::new();
        }
        let mut replies = Vec::new();
        for args in batch.commands(&input) {
            self.answer(args, &mut visitor, &mut replies);
        }
        parser.consume(&mut input);
        let mut taken = vec![0; count - input.len()];
        // What was peeked at is there.
        let _ = rustix::net::recv(socket, &mut taken[..], RecvFlags::DONTWAIT);
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = rustix::net::send(socket, &replies, flags).unwrap_or(0);
        replies.split_off(sent)
    }

    /// Whether one of these requests cannot be answered now.
    fn has_to_wait(&self, batch: &Batch, input: &[u8], visitor: &Visitor<'_>) -> bool {
        let is_guest = visitor.client.is_none();
        batch.commands(input).any(|args| {
            let Ok(command) = resolve(args) else { return false };
            match command.id {
                CommandId::ScriptKill
                | CommandId::FunctionKill
                | CommandId::FunctionStats
                | CommandId::Shutdown => visitor.standing == Standing::InTransaction,
                CommandId::Multi | CommandId::Discard => is_guest,
                _ if is_guest && self.is_login(args) => false,
                _ => command.flags.has(Flag::AllowBusy) || command.flags.has(Flag::NoAuth),
            }
        })
    }

    /// Whether a request is an AUTH with the right password.
    fn is_login(&self, args: Args<'_>) -> bool {
        let name = args.get(0).unwrap_or_default();
        let given = match args.len() {
            2 => args.get(1),
            3 if args.get(1) == Some(b"default") => args.get(2),
            _ => None,
        };
        name.eq_ignore_ascii_case(b"auth") && given.is_some() && given == self.password.as_deref()
    }

    /// Answers a request that need not wait.
    fn answer(&mut self, args: Args<'_>, visitor: &mut Visitor<'_>, replies: &mut Vec<u8>) {
        let mut reply = ReplyWriter::new(replies, visitor.protocol);
        if let Some(login) = visitor.login.as_deref_mut()
            && self.is_login(args)
        {
            keyward_resp::push_request(login, args.iter());
            visitor.standing = Standing::Refused;
            return reply.ok();
        }
        if visitor.standing == Standing::Unknown {
            return WireError::NoAuth.write_to(&mut reply);
        }
        let command = resolve(args);
        let outcome = match command.as_ref().map(|command| command.id) {
            Ok(CommandId::ScriptKill) => self.script.script_kill().map(|()| reply.ok()),
            Ok(CommandId::FunctionKill) => self.script.function_kill().map(|()| reply.ok()),
            Ok(CommandId::FunctionStats) => {
                self.script.write_stats(self.elapsed.as_millis() as u64, &mut reply)
            }
            _ if is_hard_shutdown(args) => return self.shut_down(),
            _ => command.and_then(|command| match visitor.client {
                Some(client) => self.script.answer(client, command, &mut reply),
                None => Err(self.script.busy_error()),
            }),
        };
        if let Err(error) = outcome {
            error.write_to(&mut reply);
        }
    }

    /// Ends the script, whatever it has done, and the server.
    fn shut_down(&mut self) {
        self.script.end();
        let process = rustix::process::getpid();
        if let Err(error) = rustix::process::kill_process(process, rustix::process::Signal::TERM) {
            tracing::error!(%error, "cannot stop");
        }
    }
}

/// SHUTDOWN NOSAVE: the only way out of a script that has written.
fn is_hard_shutdown(args: Args<'_>) -> bool {
    let is = |index: usize, word: &[u8]| {
        args.get(index).is_some_and(|argument| argument.eq_ignore_ascii_case(word))
    };
    is(0, b"shutdown") && is(1, b"nosave")
}
