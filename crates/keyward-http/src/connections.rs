//! Who is connected, and who makes room for others.
//!
//! Owns the limit on connections. A newcomer is let in for as long as somebody can go: first
//! who has waited longest without a request, then who takes longest to receive a response. So
//! connections on which nothing is said cannot keep others out. Where all are busy there is
//! still room for some who ask for the server's health.
//! Invariant: there are at most [`CONNECTIONS_MAX`] and [`EXTRA_MAX`], and threads of
//! [`LEAVING_MAX`] that were told to go.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections at a time.
const CONNECTIONS_MAX: usize = 32;
/// Connections besides, which get little.
const EXTRA_MAX: usize = 8;
/// Connections that were told to go and have not gone.
const LEAVING_MAX: usize = 8;
/// How long somebody may receive a response before others come first.
const SENDING_MIN: Duration = Duration::from_secs(1);

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has sent no whole request.
    Waiting,
    /// Its response is being made.
    Working,
    /// Its response is being sent.
    Sending,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    stream: TcpStream,
    phase: Phase,
    since: Instant,
    is_leaving: bool,
}

#[derive(Debug, Default)]
struct Slots {
    all: Vec<Slot>,
    next: u64,
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections(Mutex<Slots>);

/// A connection's place. It is free when this is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    of: Arc<Connections>,
    number: u64,
    /// Whether all others were busy when it came: it may ask for nothing that takes long.
    pub(crate) is_extra: bool,
}

impl Connections {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connection in; nothing if all are busy.
    pub(crate) fn admit(self: &Arc<Connections>, stream: &TcpStream) -> Option<Seat> {
        let stream = stream.try_clone().ok()?;
        let mut slots = self.slots();
        let leaving = slots.all.iter().filter(|slot| slot.is_leaving).count();
        if leaving >= LEAVING_MAX {
            return None;
        }
        let staying = slots.all.len() - leaving;
        let is_extra = staying >= CONNECTIONS_MAX && !slots.make_room();
        if is_extra && staying >= CONNECTIONS_MAX + EXTRA_MAX {
            return None;
        }
        let number = slots.next;
        slots.next += 1;
        let (phase, since) = (Phase::Waiting, Instant::now());
        slots.all.push(Slot { number, stream, phase, since, is_leaving: false });
        drop(slots);
        Some(Seat { of: Arc::clone(self), number, is_extra })
    }

    /// Sends away whoever takes longest to receive a response, if it is long.
    pub(crate) fn hurry(&self) {
        self.slots().dismiss(Phase::Sending, SENDING_MIN);
    }
}

impl Slots {
    fn make_room(&mut self) -> bool {
        self.dismiss(Phase::Waiting, Duration::ZERO) || self.dismiss(Phase::Sending, SENDING_MIN)
    }

    /// Tells the one that is longest in a phase to go; whether there is one.
    fn dismiss(&mut self, phase: Phase, at_least: Duration) -> bool {
        let staying = self.all.iter_mut().filter(|slot| slot.phase == phase && !slot.is_leaving);
        let Some(slot) = staying.min_by_key(|slot| slot.since) else { return false };
        if slot.since.elapsed() < at_least {
            return false;
        }
        slot.is_leaving = true;
        // Whoever reads or writes there sees the end at once; it may have come by itself.
        let _ = slot.stream.shutdown(Shutdown::Both);
        true
    }
}

impl Seat {
    /// From now on it does this; whether it may, and was not told to go.
    pub(crate) fn enter(&self, phase: Phase) -> bool {
        let mut slots = self.of.slots();
        let slot = slots.all.iter_mut().find(|slot| slot.number == self.number);
        slot.is_some_and(|slot| {
            (slot.phase, slot.since) = (phase, Instant::now());
            !slot.is_leaving
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.of.slots().all.retain(|slot| slot.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let address = listener.local_addr().expect("an address");
        let client = TcpStream::connect(address).expect("it listens");
        (client, listener.accept().expect("somebody came").0)
    }

    #[test]
    fn who_waits_longest_makes_room_and_who_works_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let connections: Arc<Connections> = Arc::default();
        let mut all: Vec<_> = (0..CONNECTIONS_MAX)
            .map(|_| {
                let (client, server) = pair(&listener);
                let seat = connections.admit(&server).expect("there is room");
                (client, server, seat)
            })
            .collect();
        all[0].2.enter(Phase::Working);
        all[1].2.enter(Phase::Waiting);
        let (_client, server) = pair(&listener);
        let seat = connections.admit(&server);
        assert!(seat.is_some(), "somebody waits");
        assert_eq!(all[2].0.read(&mut [0; 1]).expect("an end"), 0, "the one that waited longest");
        let went = all.iter().filter(|(_, _, seat)| !seat.enter(Phase::Working)).count();
        assert_eq!(went, 1, "whoever was told to go is told so");
        let seat = seat.expect("it is in");
        seat.enter(Phase::Sending);
        let (_other, server) = pair(&listener);
        let busy = || {
            let seat = connections.admit(&server)?;
            seat.enter(Phase::Working);
            Some(seat)
        };
        let extra: Vec<Option<Seat>> = (0..EXTRA_MAX).map(|_| busy()).collect();
        assert!(extra.iter().flatten().all(|seat| seat.is_extra), "all are busy");
        assert!(busy().is_none(), "even those");
        drop(extra);
        drop(all);
        assert!(connections.admit(&server).is_some(), "they have gone");
    }
}
