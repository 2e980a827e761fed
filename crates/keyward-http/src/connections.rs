//! Who is connected, and who makes room for others.
//!
//! Owns the limit on connections. A newcomer is let in for as long as somebody can go: first
//! who has waited longest without a request, then who takes longest to receive a response. So
//! connections on which nothing is said cannot keep others out. Where all are busy a newcomer
//! gets an extra place: who asks for the server's health is served there, others queue for a
//! place of the others, and the one that has queued longest goes when the next one comes. So
//! whoever comes can say what it wants, however many there are.
//! Invariant: there are at most [`CONNECTIONS_MAX`] and [`EXTRA_MAX`], and threads of
//! [`LEAVING_MAX`] that were told to go and have not gone when somebody is let in.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections at a time.
const CONNECTIONS_MAX: usize = 32;
/// Connections besides, which get little.
const EXTRA_MAX: usize = 16;
/// Connections that were told to go and have not gone.
const LEAVING_MAX: usize = 16;
/// How long a newcomer has at least to say what it wants.
const SAYING_MIN: Duration = Duration::from_millis(200);
/// How long somebody may receive a response before others come first.
const SENDING_MIN: Duration = Duration::from_secs(1);

/// What a connection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It has sent no whole request.
    Waiting,
    /// It has sent one, and looks for a place.
    Queueing,
    /// Its response is being made.
    Working,
    /// Its response is being sent.
    Sending,
}

/// What came of looking for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    /// It has one.
    Up,
    /// There is none.
    Not,
    /// It was told to go.
    Away,
}

#[derive(Debug)]
struct Slot {
    number: u64,
    stream: TcpStream,
    phase: Phase,
    since: Instant,
    is_extra: bool,
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
}

impl Connections {
    fn slots(&self) -> MutexGuard<'_, Slots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connection in; nothing if all are busy.
    pub(crate) fn admit(self: &Arc<Connections>, stream: &TcpStream) -> Option<Seat> {
        let stream = stream.try_clone().ok()?;
        let mut slots = self.slots();
        if slots.all.iter().filter(|slot| slot.is_leaving).count() >= LEAVING_MAX {
            return None;
        }
        let is_extra = !slots.has_room();
        if is_extra && slots.staying(true) >= EXTRA_MAX && !slots.make_extra_room() {
            return None;
        }
        let number = slots.next;
        slots.next += 1;
        let (phase, since) = (Phase::Waiting, Instant::now());
        slots.all.push(Slot { number, stream, phase, since, is_extra, is_leaving: false });
        drop(slots);
        Some(Seat { of: Arc::clone(self), number })
    }

    /// Sends away those who take long to receive a response.
    pub(crate) fn hurry(&self) {
        let mut slots = self.slots();
        while slots.dismiss(&[Phase::Sending], None, SENDING_MIN) {}
    }

    /// Whether somebody looks for a place.
    pub(crate) fn has_queue(&self) -> bool {
        let slots = self.slots();
        slots.all.iter().any(|slot| slot.phase == Phase::Queueing && !slot.is_leaving)
    }
}

impl Slots {
    /// Those who stay, on extra places or on the others.
    fn staying(&self, is_extra: bool) -> usize {
        self.all.iter().filter(|slot| slot.is_extra == is_extra && !slot.is_leaving).count()
    }

    /// Whether there is a place, which somebody may have to leave.
    fn has_room(&mut self) -> bool {
        self.staying(false) < CONNECTIONS_MAX
            || self.dismiss(&[Phase::Waiting], Some(false), SAYING_MIN)
            || self.dismiss(&[Phase::Sending], Some(false), SENDING_MIN)
    }

    fn make_extra_room(&mut self) -> bool {
        self.dismiss(&[Phase::Waiting, Phase::Queueing], Some(true), SAYING_MIN)
    }

    /// Tells the one that is longest in one of these phases to go; whether there is one.
    fn dismiss(&mut self, phases: &[Phase], is_extra: Option<bool>, at_least: Duration) -> bool {
        let staying = self.all.iter_mut().filter(|slot| {
            let is_there = is_extra.is_none_or(|is_extra| is_extra == slot.is_extra);
            is_there && phases.contains(&slot.phase) && !slot.is_leaving
        });
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

    /// Whether all others were busy when it came: it may ask for nothing that takes long.
    pub(crate) fn is_extra(&self) -> bool {
        let slots = self.of.slots();
        slots.all.iter().any(|slot| slot.number == self.number && slot.is_extra)
    }

    /// Moves it from an extra place to one of the others, if there is one.
    pub(crate) fn move_up(&self) -> Moved {
        let mut slots = self.of.slots();
        let has_left = |slot: &Slot| slot.number == self.number && slot.is_leaving;
        if slots.all.iter().any(has_left) {
            return Moved::Away;
        }
        if !slots.has_room() {
            return Moved::Not;
        }
        let own = slots.all.iter_mut().find(|slot| slot.number == self.number);
        own.into_iter().for_each(|slot| slot.is_extra = false);
        Moved::Up
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
        let (_client, server) = pair(&listener);
        let early = connections.admit(&server).expect("an extra place");
        assert!(early.is_extra(), "nobody has waited for long");
        drop(early);
        std::thread::sleep(SAYING_MIN);
        all[0].2.enter(Phase::Working);
        all[1].2.enter(Phase::Waiting);
        let seat = connections.admit(&server).expect("somebody waits");
        assert!(!seat.is_extra());
        assert_eq!(all[2].0.read(&mut [0; 1]).expect("an end"), 0, "the one that waited longest");
        let went = all.iter().filter(|(_, _, seat)| !seat.enter(Phase::Working)).count();
        assert_eq!(went, 1, "whoever was told to go is told so");
        seat.enter(Phase::Sending);
        let busy = |phase: Phase| {
            let seat = connections.admit(&server)?;
            seat.enter(phase);
            Some(seat)
        };
        let mut extra: Vec<Seat> = (1..EXTRA_MAX).filter_map(|_| busy(Phase::Working)).collect();
        extra.extend(busy(Phase::Queueing));
        assert_eq!(extra.len(), EXTRA_MAX);
        assert!(extra.iter().all(Seat::is_extra), "all are busy");
        assert!(connections.has_queue());
        assert_eq!(extra[EXTRA_MAX - 1].move_up(), Moved::Not);
        assert!(busy(Phase::Working).is_none(), "it has just begun to queue");
        std::thread::sleep(SAYING_MIN);
        let last = busy(Phase::Working).expect("it has queued for long");
        assert!(!extra[EXTRA_MAX - 1].enter(Phase::Working), "it was told to go");
        assert_eq!(extra[EXTRA_MAX - 1].move_up(), Moved::Away);
        drop(seat);
        assert!(last.move_up() == Moved::Up && !last.is_extra(), "there is a place");
        drop(extra);
        drop(all);
        assert!(connections.admit(&server).is_some(), "they have gone");
    }
}
