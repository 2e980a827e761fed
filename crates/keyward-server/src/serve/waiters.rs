//! Who waits for the log, and whether a sync is waited for.
//!
//! Owns the replies that are held back, by the position of the log they wait for, and what
//! is known of how long syncs take.
//!
//! Where a sync takes a fraction of a millisecond, the thread that serves waits for it: to
//! have another one do it costs the processor as much again, and clients are answered
//! later. Rounds go on before it as long as each brings somebody, who shares it then.
//! Whether it still is so quick is tried from time to time.
//!
//! Else a thread syncs, and others are served meanwhile: what they change gathers for the
//! next sync, which begins as soon as the last is over, before anybody is told of that. So
//! the disk works while replies are sent and the next commands are read.
//!
//! Where a sync takes milliseconds, the next one waits until as many are waiting as were
//! before, for a quarter of what a sync takes at most: else those who were just answered
//! would always come too late for it, and half of them would share each sync.
//! Not here: writing and syncing (`commit`).

use crate::clock::Instant;
use crate::files::append_only::{AppendOnly, Policy};
use crate::files::syncer::Syncer;
use crate::net::peer::Peer;
use crate::net::selector::Alarm;
use crate::settings::Settings;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// Syncs that usually take less are waited for.
const QUICK: Duration = Duration::from_micros(300);
/// Of what is usual, the last sync is one part in so many, and counts as this many times
/// [`QUICK`] at most: one that takes long by chance decides nothing.
const USUAL_OF: u32 = 8;
const QUICK_TIMES_MAX: u32 = 4;
/// Where syncs are not quick, one is waited for all the same in this many times what it
/// takes, to see whether they still are not. How long the thread takes says nothing of the
/// disk: it may have waited for a processor.
const TRIED_AGAIN_AFTER: u32 = 50;
/// A sync waits for clients this part of the time that one takes, at least so long. Else it
/// begins at once: that replies are sent meanwhile is worth more.
const GATHERING_SHARE: u32 = 4;
const GATHERING_MIN: Duration = Duration::from_micros(500);

/// Who waits for the log.
#[derive(Debug)]
pub(crate) struct Waiters {
    pub(super) syncer: Syncer,
    /// How long syncs take that are waited for, once there was one.
    usual: Cell<Option<Duration>>,
    /// When one is waited for again, quick or not.
    tried_again_at: Cell<Instant>,
    /// What the next sync waits for.
    pub(super) gathering: Cell<Option<Gathering>>,
    /// Clients whose replies are held, with the position they wait for, in its order.
    pub(super) held: RefCell<VecDeque<(u64, Rc<Peer>)>>,
    /// Replies up to this position may go.
    pub(super) released: Cell<u64>,
}

/// Who has to wait at the end of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hold {
    Nobody,
    /// Who has changed something that is not written.
    Writers,
    /// With `always`, until the log has got so far: nobody is to see what is not safe.
    Everybody(u64),
}

impl Hold {
    #[inline]
    pub(crate) fn of(log: &AppendOnly, settings: &Settings) -> Hold {
        match log.held_until() {
            None => Hold::Nobody,
            Some(position) if Policy::of(settings) == Policy::Always => Hold::Everybody(position),
            Some(_) => Hold::Writers,
        }
    }
}

/// A sync waits for those who were just answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gathering {
    /// So many clients were waiting before.
    expected: usize,
    end: Instant,
}

impl Waiters {
    /// Nobody; `alarm` makes the selector say that a sync is over.
    pub(crate) fn new(alarm: Alarm) -> io::Result<Waiters> {
        Ok(Waiters {
            syncer: Syncer::start(alarm)?,
            usual: Cell::new(None),
            tried_again_at: Cell::new(Instant::now()),
            gathering: Cell::new(None),
            held: RefCell::default(),
            released: Cell::new(u64::MAX),
        })
    }

    /// Whether a peer's replies are to stay where they are.
    #[inline]
    pub(crate) fn holds(&self, peer: &Peer) -> bool {
        peer.held_until.get() > self.released.get()
    }

    /// Holds a client's replies back until the log has got so far, if it has to.
    #[inline]
    pub(crate) fn hold(&self, until: Option<u64>, peer: &Rc<Peer>) -> bool {
        let Some(until) = until else { return false };
        if peer.held_until.replace(until) != until || !self.holds(peer) {
            self.held.borrow_mut().push_back((until, Rc::clone(peer)));
        }
        true
    }

    /// Whether the letter of a client that changed something up to `until` has to wait.
    #[inline]
    pub(crate) fn must_wait(&self, hold: Hold, peer: &Rc<Peer>, until: u64) -> bool {
        match hold {
            Hold::Nobody => false,
            Hold::Everybody(position) => self.hold(Some(position), peer),
            Hold::Writers => {
                let until = (until > self.released.get()).then_some(until);
                self.hold(until, peer) || self.holds(peer)
            }
        }
    }

    /// How long the next sync still waits for clients, if it does.
    pub(crate) fn gathering_time(&self) -> Option<Duration> {
        let gathering = self.gathering.get()?;
        let is_whole = self.held.borrow().len() >= gathering.expected;
        let left = gathering.end.saturating_duration_since(Instant::now());
        (!is_whole && !left.is_zero()).then_some(left)
    }

    /// Whether a sync that begins at this time is waited for.
    pub(super) fn waits(&self, now: impl FnOnce() -> Instant) -> bool {
        self.is_quick() || now() >= self.tried_again_at.get()
    }

    /// Whether a sync is over before anybody would notice.
    fn is_quick(&self) -> bool {
        self.usual.get().is_some_and(|usual| usual < QUICK)
    }

    /// A sync that was waited for is over.
    pub(super) fn note(&self, took: Duration, now: Instant) {
        let counted = took.min(QUICK * QUICK_TIMES_MAX);
        let usual = self.usual.get().filter(|usual| *usual < QUICK).unwrap_or(counted);
        self.usual.set(Some((usual * (USUAL_OF - 1) + counted) / USUAL_OF));
        self.tried_again_at.set(now + took * TRIED_AGAIN_AFTER);
    }

    /// A sync is over, and nobody has heard of it yet: whether the next one waits for them
    /// to come again.
    pub(super) fn gather(&self, took: Duration) -> bool {
        let (longest, expected) = (took / GATHERING_SHARE, self.held.borrow().len());
        let pays = longest >= GATHERING_MIN;
        let gathering = Gathering { expected, end: Instant::now() + longest };
        self.gathering.set(pays.then_some(gathering));
        pays
    }

    /// Lets replies go up to a position.
    pub(super) fn release(&self, position: u64) {
        self.released.set(position);
        let mut held = self.held.borrow_mut();
        while let Some((until, peer)) = held.front()
            && *until <= position
        {
            peer.wake();
            held.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiters() -> Waiters {
        Waiters::new(Alarm::silent()).expect("a thread")
    }

    #[test]
    fn syncs_are_waited_for_while_they_are_quick() {
        let (waiters, now) = (waiters(), Instant::now());
        assert!(waiters.waits(|| now), "nobody knows yet");
        waiters.note(QUICK / 2, now);
        waiters.note(QUICK * 100, now);
        assert!(waiters.waits(|| now), "one that is slow decides nothing");
        (0..8).for_each(|_| waiters.note(QUICK * 2, now));
        assert!(!waiters.waits(|| now));
        let later = now + QUICK * 2 * TRIED_AGAIN_AFTER;
        assert!(waiters.waits(|| later), "it is tried again");
        waiters.note(QUICK / 2, later);
        assert!(waiters.waits(|| later), "and believed");
    }

    #[test]
    fn the_next_sync_waits_where_one_takes_long() {
        let waiters = waiters();
        let least = GATHERING_MIN * GATHERING_SHARE;
        assert!(!waiters.gather(least - Duration::from_nanos(4)));
        assert_eq!(waiters.gathering_time(), None);
        assert!(waiters.gather(least * 100));
        assert_eq!(waiters.gathering_time(), None, "nobody is expected");
    }
}
