//! The threads that shake hands.
//!
//! Owns them, and the listening sockets of `tls-port`: each thread accepts, and drives the
//! handshakes of those it let in with a selector of its own. Who has shaken hands comes to
//! the engine's thread, which has not heard of it before. So a thousand who shake hands, or
//! begin to and fall silent, cost that thread nothing.
//!
//! There is a thread for each processor beside the engine's, [`THREADS_MAX`] at most: more
//! would only take the engine's. All of them are told of newcomers, and a thread that is at
//! work on a handshake (a millisecond, for an RSA key) leaves them to the others.
//!
//! Limits: a handshake takes [`TIME_MAX`] at most, and there are [`HANDSHAKES_MAX`], those
//! who wait for the engine's thread included. Beyond that, who has been silent for
//! [`PATIENCE`] goes for somebody new; if nobody has, newcomers stay with the system.
//! Not here: what a session is (`session`), certificates (`keyward-tls`).

use super::session::{RECORD_BYTES_MAX, Session};
use crate::net::selector::Alarm;
use keyward_tls::in_words;
use keyward_tls::rustls::ServerConfig;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use rustix::net::{RecvFlags, SendFlags};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a handshake may take.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Handshakes at a time.
const HANDSHAKES_MAX: usize = 2048;
/// Who has been silent so long goes if there are too many.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long accepting pauses when nobody can be let in.
const PAUSE: Duration = Duration::from_millis(50);
/// Somebody accepted before handshakes go on.
const ACCEPTS_MAX: usize = 16;
/// Threads that shake hands.
const THREADS_MAX: usize = 4;
const EVENTS_MAX: usize = 256;

/// What records begin with.
const RECORD_KINDS: RangeInclusive<u8> = 0x14..=0x17;

const NEWCOMER: Token = Token(usize::MAX);
const TOLD: Token = Token(usize::MAX - 1);

/// Somebody who has shaken hands.
#[derive(Debug)]
pub(crate) struct Established {
    pub(crate) socket: TcpStream,
    pub(crate) session: Session,
}

/// What both threads see.
#[derive(Debug, Default)]
struct Shared {
    listeners: Mutex<Vec<TcpListener>>,
    config: Mutex<Option<Arc<ServerConfig>>>,
    /// Handshakes under way, on all threads.
    under_way: AtomicUsize,
    /// Who has shaken hands and has not been taken.
    waiting: AtomicUsize,
    must_end: AtomicBool,
}

/// The threads, as the engine's sees them.
#[derive(Debug)]
pub(crate) struct Handshakes {
    shared: Arc<Shared>,
    halls: Vec<Told>,
    established: Receiver<Established>,
}

/// By what a thread is told something.
#[derive(Debug)]
struct Told {
    registry: Registry,
    waker: Waker,
}

fn locked<Content>(mutex: &Mutex<Content>) -> MutexGuard<'_, Content> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handshakes {
    /// Starts the threads, which listen nowhere yet. `alarm` tells that somebody has come.
    pub(crate) fn start(alarm: Alarm) -> io::Result<Handshakes> {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Handshakes::start_on(processors.saturating_sub(1).clamp(1, THREADS_MAX), alarm)
    }

    /// As `start`, so many of them.
    fn start_on(threads: usize, alarm: Alarm) -> io::Result<Handshakes> {
        let (sender, established) = channel();
        let shared = Arc::new(Shared::default());
        let mut halls = Vec::new();
        for _ in 0..threads {
            let poll = Poll::new()?;
            let registry = poll.registry().try_clone()?;
            halls.push(Told { waker: Waker::new(&registry, TOLD)?, registry });
            let hall = Hall {
                poll,
                shared: Arc::clone(&shared),
                established: sender.clone(),
                alarm: alarm.clone(),
                under_way: BTreeMap::new(),
                next: 0,
                has_newcomers: false,
                paused_until: None,
                buffer: vec![0; RECORD_BYTES_MAX],
            };
            std::thread::Builder::new().name("handshakes".to_owned()).spawn(move || hall.run())?;
        }
        Ok(Handshakes { shared, halls, established })
    }

    /// Listens here, and no longer where it did.
    pub(crate) fn listen(&self, listeners: Vec<TcpListener>) -> io::Result<()> {
        for listener in &listeners {
            let descriptor = listener.as_raw_fd();
            for Told { registry, .. } in &self.halls {
                registry.register(&mut SourceFd(&descriptor), NEWCOMER, Interest::READABLE)?;
            }
        }
        *locked(&self.shared.listeners) = listeners;
        // Somebody may have come before a thread could see the socket.
        self.halls.iter().try_for_each(|told| told.waker.wake())
    }

    /// Listens no longer.
    pub(crate) fn listen_nowhere(&self) {
        locked(&self.shared.listeners).clear();
    }

    /// Where it listens.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        locked(&self.shared.listeners).iter().filter_map(|l| l.local_addr().ok()).collect()
    }

    /// Whoever comes from now on is shown this; what was in force before is returned.
    pub(crate) fn configure(&self, config: Option<Arc<ServerConfig>>) -> Option<Arc<ServerConfig>> {
        std::mem::replace(&mut *locked(&self.shared.config), config)
    }

    /// Whether somebody waits.
    pub(crate) fn has_established(&self) -> bool {
        self.shared.waiting.load(Ordering::Acquire) > 0
    }

    /// Somebody who waits.
    pub(crate) fn take(&self) -> Option<Established> {
        let established = self.established.try_recv().ok()?;
        self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
        Some(established)
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        self.listen_nowhere();
        self.shared.must_end.store(true, Ordering::Release);
        for told in &self.halls {
            // A thread that cannot be woken ends with the process.
            let _ = told.waker.wake();
        }
    }
}

/// A handshake that is under way.
#[derive(Debug)]
struct Handshake {
    socket: TcpStream,
    session: Session,
    began: Instant,
    /// When something last came.
    heard: Instant,
}

/// What became of a handshake in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Waits,
    Over,
}

/// A thread's own.
#[derive(Debug)]
struct Hall {
    poll: Poll,
    shared: Arc<Shared>,
    established: Sender<Established>,
    alarm: Alarm,
    /// By their numbers, which are given once: those who came first are first.
    under_way: BTreeMap<usize, Handshake>,
    next: usize,
    /// Somebody may be at the door.
    has_newcomers: bool,
    paused_until: Option<Instant>,
    buffer: Vec<u8>,
}

impl Hall {
    fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_MAX);
        while !self.shared.must_end.load(Ordering::Acquire) {
            match self.poll.poll(&mut events, self.time_to_wait()) {
                Err(error) if error.kind() != ErrorKind::Interrupted => {
                    tracing::error!(%error, "no TLS handshakes any more: cannot watch sockets");
                    return;
                }
                _ => {}
            }
            for event in &events {
                match event.token() {
                    NEWCOMER | TOLD => self.has_newcomers = true,
                    Token(number) => self.advance(number),
                }
            }
            let now = Instant::now();
            self.expire(now);
            if self.has_newcomers && self.paused_until.is_none_or(|end| end <= now) {
                self.admit(now);
            }
        }
    }

    /// Until a handshake has taken too long, or somebody is to be let in.
    fn time_to_wait(&self) -> Option<Duration> {
        let now = Instant::now();
        let first = self.under_way.first_key_value();
        let end = first.map(|(_, handshake)| handshake.began + TIME_MAX);
        let admits = self.has_newcomers.then(|| self.paused_until.unwrap_or(now));
        let next = end.into_iter().chain(admits).min()?;
        // A millisecond more, since the selector counts in whole ones.
        let left = next.saturating_duration_since(now);
        Some(if left.is_zero() { left } else { left + Duration::from_millis(1) })
    }

    /// Ends handshakes that have taken too long.
    fn expire(&mut self, now: Instant) {
        while let Some((&number, first)) = self.under_way.first_key_value()
            && now >= first.began + TIME_MAX
        {
            self.end(number).iter().for_each(|it| lost(it, "the handshake took too long"));
        }
    }

    /// Lets in who is at the door, some at a time.
    fn admit(&mut self, now: Instant) {
        self.paused_until = None;
        for _ in 0..ACCEPTS_MAX {
            if !self.makes_room(now) {
                self.paused_until = Some(now + PAUSE);
                return;
            }
            match self.accept() {
                Ok(socket) => self.begin(socket, now),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => {
                        self.has_newcomers = false;
                        return;
                    }
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    _ => {
                        tracing::warn!(%error, "cannot accept a connection");
                        self.paused_until = Some(now + PAUSE);
                        return;
                    }
                },
            }
        }
    }

    fn accept(&self) -> io::Result<TcpStream> {
        for listener in &*locked(&self.shared.listeners) {
            match listener.accept() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                accepted => {
                    let (socket, _) = accepted?;
                    socket.set_nonblocking(true)?;
                    return Ok(socket);
                }
            }
        }
        Err(ErrorKind::WouldBlock.into())
    }

    fn end(&mut self, number: usize) -> Option<Handshake> {
        let handshake = self.under_way.remove(&number)?;
        self.shared.under_way.fetch_sub(1, Ordering::AcqRel);
        Some(handshake)
    }

    /// Whether there is room for one more, which somebody who is silent may have to make.
    fn makes_room(&mut self, now: Instant) -> bool {
        let waiting = self.shared.waiting.load(Ordering::Acquire);
        if self.shared.under_way.load(Ordering::Acquire) + waiting < HANDSHAKES_MAX {
            return true;
        }
        let mut all = self.under_way.iter();
        let silent = all.find(|(_, handshake)| now >= handshake.heard + PATIENCE);
        let Some(number) = silent.map(|(number, _)| *number) else { return false };
        if let Some(handshake) = self.end(number) {
            lost(&handshake, "too many handshakes are under way, and this one is silent");
        }
        true
    }

    fn begin(&mut self, socket: TcpStream, now: Instant) {
        let Some(config) = locked(&self.shared.config).clone() else { return };
        // A socket that is closed already refuses options; reading will tell.
        let _ = socket.set_nodelay(true);
        let number = self.next;
        let interest = Interest::READABLE | Interest::WRITABLE;
        let descriptor = socket.as_raw_fd();
        let watched =
            self.poll.registry().register(&mut SourceFd(&descriptor), Token(number), interest);
        let session = Session::new(config).map_err(io::Error::other);
        match watched.and(session) {
            Ok(session) => {
                self.next += 1;
                let handshake = Handshake { socket, session, began: now, heard: now };
                self.under_way.insert(number, handshake);
                self.shared.under_way.fetch_add(1, Ordering::AcqRel);
            }
            Err(error) => tracing::warn!(%error, "cannot take a connection"),
        }
    }

    /// Goes on with a handshake whose socket has told something.
    fn advance(&mut self, number: usize) {
        let Some(handshake) = self.under_way.get_mut(&number) else { return };
        let outcome = handshake.advance(&mut self.buffer);
        if matches!(outcome, Ok(Turn::Waits)) {
            return;
        }
        let Some(handshake) = self.end(number) else { return };
        match outcome {
            Ok(_) => self.hand_over(handshake),
            Err(error) => lost(&handshake, &error.to_string()),
        }
    }

    /// Hands somebody who has shaken hands to the engine's thread.
    fn hand_over(&self, handshake: Handshake) {
        let Handshake { socket, session, .. } = handshake;
        let descriptor = socket.as_raw_fd();
        if let Err(error) = self.poll.registry().deregister(&mut SourceFd(&descriptor)) {
            tracing::warn!(%error, "cannot hand a connection over");
            return;
        }
        self.shared.waiting.fetch_add(1, Ordering::AcqRel);
        // A server that has ended takes nobody.
        if self.established.send(Established { socket, session }).is_ok() {
            self.alarm.ring();
        }
    }
}

/// At the level at which Redis says so.
fn lost(handshake: &Handshake, why: &str) {
    let address = handshake.socket.peer_addr().map_or_else(|_| "?".to_owned(), |a| a.to_string());
    tracing::warn!("Error accepting a client connection: {why} (addr={address})");
}

impl Handshake {
    /// Reads and answers until the handshake is over, or the socket has nothing more.
    fn advance(&mut self, buffer: &mut Vec<u8>) -> io::Result<Turn> {
        loop {
            let is_sent = self.send()?;
            if !self.session.is_shaking_hands() {
                return Ok(Turn::Over);
            }
            if !is_sent {
                return Ok(Turn::Waits);
            }
            let kept = self.session.copy_incomplete(buffer);
            let room = &mut buffer[kept..];
            let count = match rustix::net::recv(&self.socket, room, RecvFlags::empty()) {
                Ok((0, _)) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok((count, _)) => count,
                Err(rustix::io::Errno::AGAIN) => return Ok(Turn::Waits),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            self.heard = Instant::now();
            let speaks_tls = RECORD_KINDS.contains(&buffer[0]);
            let outcome = self.session.process(&mut buffer[..kept + count], &mut Vec::new());
            if let Err(error) = outcome {
                // The peer is told why, if it is still there and speaks TLS at all.
                if speaks_tls {
                    let _ = self.send();
                }
                return Err(io::Error::new(ErrorKind::InvalidData, in_words(&error)));
            }
            if self.session.is_over() && self.session.is_shaking_hands() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Sends what the session has to say; whether the socket took all.
    fn send(&mut self) -> io::Result<bool> {
        while self.session.held_bytes() > 0 {
            match rustix::net::send(&self.socket, self.session.held(), SendFlags::NOSIGNAL) {
                Ok(count) => self.session.note_sent(count),
                Err(rustix::io::Errno::AGAIN) => return Ok(false),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_testkit::{Certificates, wait_until};
    use keyward_tls::{Client, ClientAuth, Configuration, Options, Pair};

    #[test]
    fn several_threads_let_everybody_in_once() {
        const CLIENTS: usize = 60;
        let files = Certificates::make();
        let file = |name: &str| Some(files.file(name));
        let pair = Pair { certificate: file("rsa.crt"), key: file("rsa.key") };
        let (authority_file, clients) = (file("ca.crt"), ClientAuth::No);
        let options = Options { pair, authority_file, clients, ..Options::default() };
        let config = Configuration::read(&options).expect("sound files");
        for threads in [1, 3] {
            let handshakes = Handshakes::start_on(threads, Alarm::silent()).expect("threads");
            handshakes.configure(Some(Arc::clone(&config.server)));
            let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
            listener.set_nonblocking(true).expect("it does not wait");
            let address = listener.local_addr().expect("an address");
            handshakes.listen(vec![listener]).expect("it listens");
            let stalled: Vec<_> = (0..20).map(|_| TcpStream::connect(address)).collect();
            let joined: Vec<_> = (0..CLIENTS)
                .map(|_| {
                    let client = Arc::clone(&config.client);
                    std::thread::spawn(move || {
                        let socket = TcpStream::connect(address).expect("a connection");
                        Client::shake_hands(client, socket).expect("a handshake")
                    })
                })
                .collect();
            let clients: Vec<Client> =
                joined.into_iter().map(|thread| thread.join().expect("it ends")).collect();
            let mut taken = Vec::new();
            wait_until(|| {
                taken.extend(handshakes.take());
                taken.len() == clients.len()
            });
            assert!(!handshakes.has_established());
            wait_until(|| handshakes.shared.under_way.load(Ordering::Acquire) == stalled.len());
            drop(stalled);
            wait_until(|| handshakes.shared.under_way.load(Ordering::Acquire) == 0);
        }
    }
}
