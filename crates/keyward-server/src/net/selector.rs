//! Waiting for whatever comes next: a socket, a thread, a signal, a moment.
//!
//! Owns the system's selector behind [`Selector`], the simulated one beside it in tests,
//! and the alarm by which threads end a wait.
//! Invariant: everything is watched edge by edge. Who is told of an edge goes on until
//! `WouldBlock`, or sees to another turn by itself.

use crate::net::transport::Stream;
#[cfg(test)]
use crate::simulation::World;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _};
use std::sync::Arc;
use std::time::Duration;

/// Sockets that one round can serve; the others are next.
const EVENTS_MAX: usize = 1024;

/// Who is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The connection at a place of `wire`.
    Connection(usize),
    /// A listening socket.
    Newcomer,
    /// A thread that has something to tell.
    Thread,
    /// Signals that have come.
    Signal,
}

impl Who {
    fn token(self) -> Token {
        Token(match self {
            Who::Connection(place) => place,
            Who::Newcomer => usize::MAX,
            Who::Thread => usize::MAX - 1,
            Who::Signal => usize::MAX - 2,
        })
    }

    fn of(Token(number): Token) -> Who {
        match usize::MAX - number {
            0 => Who::Newcomer,
            1 => Who::Thread,
            2 => Who::Signal,
            _ => Who::Connection(number),
        }
    }
}

/// An edge that somebody is told of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub(crate) who: Who,
    /// The peer sends no more.
    pub(crate) is_read_closed: bool,
}

/// What waits.
#[derive(Debug)]
pub(crate) enum Selector {
    System {
        poll: Poll,
        events: Events,
    },
    #[cfg(test)]
    Simulated(World),
}

/// By which a selector is told whom to watch.
#[derive(Debug)]
pub(crate) enum Watcher {
    System(Registry),
    /// Transports of the simulated network are watched by themselves.
    #[cfg(test)]
    Simulated,
}

/// By which a thread ends a wait. Clones ring the same.
#[derive(Debug, Clone)]
pub(crate) struct Alarm(Option<Arc<Waker>>);

impl Selector {
    /// The system's.
    pub(crate) fn new() -> io::Result<Selector> {
        Ok(Selector::System { poll: Poll::new()?, events: Events::with_capacity(EVENTS_MAX) })
    }

    pub(crate) fn watcher(&self) -> io::Result<Watcher> {
        match self {
            Selector::System { poll, .. } => Ok(Watcher::System(poll.registry().try_clone()?)),
            #[cfg(test)]
            Selector::Simulated(_) => Ok(Watcher::Simulated),
        }
    }

    /// The alarm; there is one for each selector.
    pub(crate) fn alarm(&self) -> io::Result<Alarm> {
        match self {
            Selector::System { poll, .. } => {
                let waker = Waker::new(poll.registry(), Who::Thread.token())?;
                Ok(Alarm(Some(Arc::new(waker))))
            }
            #[cfg(test)]
            Selector::Simulated(_) => Ok(Alarm::silent()),
        }
    }

    /// Waits for an edge, or until so much time has passed; `ready` is then what there is.
    pub(crate) fn wait(&mut self, ready: &mut Vec<Ready>, time: Duration) -> io::Result<()> {
        ready.clear();
        match self {
            Selector::System { poll, events } => {
                match poll.poll(events, Some(time)) {
                    // Of what interrupts a wait signals tell by themselves.
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
                    outcome => outcome?,
                }
                ready.extend(events.iter().map(|event| Ready {
                    who: Who::of(event.token()),
                    is_read_closed: event.is_read_closed(),
                }));
            }
            #[cfg(test)]
            Selector::Simulated(world) => world.wait(ready, time),
        }
        Ok(())
    }
}

impl Watcher {
    /// Watches a connection.
    pub(crate) fn watch(&self, place: usize, stream: &Stream) -> io::Result<()> {
        let who = Who::Connection(place);
        match (self, stream) {
            #[cfg(test)]
            (_, Stream::Simulated(pipe)) => {
                pipe.watch(place);
                Ok(())
            }
            (Watcher::System(registry), stream) => {
                let Some(socket) = stream.socket() else { return Ok(()) };
                let interest = Interest::READABLE | Interest::WRITABLE;
                registry.register(&mut SourceFd(&socket.as_raw_fd()), who.token(), interest)
            }
            #[cfg(test)]
            (Watcher::Simulated, _) => panic!("a simulated selector watches no socket"),
        }
    }

    /// Watches what can only be read, as long as it is open.
    pub(crate) fn watch_source(&self, who: Who, source: impl AsFd) -> io::Result<()> {
        match self {
            Watcher::System(registry) => {
                let descriptor = source.as_fd().as_raw_fd();
                registry.register(&mut SourceFd(&descriptor), who.token(), Interest::READABLE)
            }
            #[cfg(test)]
            Watcher::Simulated => panic!("a simulated selector watches no descriptor"),
        }
    }
}

impl Alarm {
    /// One that nobody hears.
    #[cfg(test)]
    pub(crate) fn silent() -> Alarm {
        Alarm(None)
    }

    /// Ends a wait, or the next one.
    pub(crate) fn ring(&self) {
        if let Some(waker) = &self.0 {
            waker.wake().expect("a selector can be woken while it is there");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_who_it_was_made_for() {
        for who in [Who::Connection(0), Who::Connection(99_999), Who::Newcomer, Who::Thread] {
            assert_eq!(Who::of(who.token()), who);
        }
        assert_eq!(Who::of(Who::Signal.token()), Who::Signal);
    }

    #[test]
    fn a_thread_ends_a_wait() {
        let mut selector = Selector::new().expect("a selector");
        let alarm = selector.alarm().expect("an alarm");
        let of_thread = alarm.clone();
        std::thread::spawn(move || of_thread.ring());
        let mut ready = Vec::new();
        selector.wait(&mut ready, Duration::from_secs(60)).expect("it can wait");
        assert!(matches!(ready[..], [Ready { who: Who::Thread, .. }]), "{ready:?}");
    }
}
