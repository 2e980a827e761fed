//! Replies wait for the log.
//!
//! Owns when the log is written and synced, and who waits for that. At the end of a round
//! (`outbox`) the log is written once for every client of the round; with `appendfsync
//! always` the replies stay with their peers then, until a sync that serves all of them
//! (group commit).
//!
//! With `everysec` and `no` replies stay only where the log cannot be written at once: a
//! sync is under way, and a thread writes beside it; or the log changes to another file.
//! Then only those wait who have changed something, everybody else is served.
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

mod syncer;

pub(crate) use syncer::Done;

use crate::clock::Instant;
use crate::files::append_only::Policy;
use crate::net::peer::Peer;
use crate::net::selector::Alarm;
use crate::serve::server::{Core, Server};
use crate::settings::table::Id;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;
use syncer::Syncer;

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
    syncer: Syncer,
    /// How long syncs take that are waited for, once there was one.
    usual: Cell<Option<Duration>>,
    /// When one is waited for again, quick or not.
    tried_again_at: Cell<Instant>,
    /// What the next sync waits for.
    gathering: Cell<Option<Gathering>>,
    /// Clients whose replies are held, with the position they wait for, in its order.
    held: RefCell<VecDeque<(u64, Rc<Peer>)>>,
    /// Replies up to this position may go.
    released: Cell<u64>,
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
    pub(crate) fn of(core: &Core) -> Hold {
        match core.host.append_only.held_until() {
            None => Hold::Nobody,
            Some(position) if Policy::of(&core.host.settings) == Policy::Always => {
                Hold::Everybody(position)
            }
            Some(_) => Hold::Writers,
        }
    }
}

/// A sync waits for those who were just answered.
#[derive(Debug, Clone, Copy)]
struct Gathering {
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
    fn waits(&self, now: impl FnOnce() -> Instant) -> bool {
        self.is_quick() || now() >= self.tried_again_at.get()
    }

    /// Whether a sync is over before anybody would notice.
    fn is_quick(&self) -> bool {
        self.usual.get().is_some_and(|usual| usual < QUICK)
    }

    /// A sync that was waited for is over.
    fn note(&self, took: Duration, now: Instant) {
        let counted = took.min(QUICK * QUICK_TIMES_MAX);
        let usual = self.usual.get().filter(|usual| *usual < QUICK).unwrap_or(counted);
        self.usual.set(Some((usual * (USUAL_OF - 1) + counted) / USUAL_OF));
        self.tried_again_at.set(now + took * TRIED_AGAIN_AFTER);
    }

    /// A sync is over, and nobody has heard of it yet: whether the next one waits for them
    /// to come again.
    fn gather(&self, took: Duration) -> bool {
        let (longest, expected) = (took / GATHERING_SHARE, self.held.borrow().len());
        let pays = longest >= GATHERING_MIN;
        let gathering = Gathering { expected, end: Instant::now() + longest };
        self.gathering.set(pays.then_some(gathering));
        pays
    }

    /// Lets replies go up to a position.
    fn release(&self, position: u64) {
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

impl Server {
    /// Logs what commands have changed.
    #[inline]
    pub(crate) fn collect_log(&self, core: &mut Core) {
        if core.host.append_only.collect(&mut core.engine) {
            self.waiters.released.set(core.host.append_only.released());
        }
    }

    /// Writes the log.
    pub(crate) fn write_log(&self, core: &mut Core) {
        let policy = Policy::of(&core.host.settings);
        let was_whole = core.host.append_only.problem.is_none();
        if let Some(write) = core.host.append_only.write(policy) {
            self.waiters.syncer.order_write(write);
        }
        self.give_up_if_failed(core);
        if core.host.append_only.problem.is_none() != was_whole {
            // At once: what follows could not be made safe.
            core.refuse_writes_if_needed();
        }
        self.waiters.release(core.host.append_only.released());
    }

    /// After a failure those who wait will never be answered.
    fn give_up_if_failed(&self, core: &mut Core) {
        if core.host.append_only.take_failure() {
            self.waiters.held.borrow_mut().drain(..).for_each(|(_, peer)| peer.close());
            core.host.outbox.refuse();
        }
    }

    /// Has a client wait that was served by what another has just changed.
    pub(crate) fn wait_with_others(&self, core: &Core, peer: &Rc<Peer>) {
        if Policy::of(&core.host.settings) != Policy::Always {
            self.waiters.hold(core.host.append_only.held_until(), peer);
        }
    }

    /// Whether the log is synced while everybody waits, and has to be.
    pub(crate) fn is_to_sync_at_once(&self, core: &Core) -> bool {
        core.host.append_only.has_unsynced()
            && !core.host.append_only.is_syncing()
            && Policy::of(&core.host.settings) == Policy::Always
            && self.waiters.waits(Instant::now)
    }

    /// Writes the log and syncs it.
    pub(crate) fn sync_at_once(&self, core: &mut Core) {
        self.waiters.gathering.set(None);
        self.write_log(core);
        while let Some(sync) = core.host.append_only.begin_due_sync(Policy::Always, true) {
            let done = Done::by_waiting(sync);
            self.waiters.note(done.took, Instant::now());
            self.settle(core, done);
            self.write_log(core);
        }
    }

    /// Writes the log and begins to sync it, unless that has to wait.
    pub(crate) fn commit(&self, core: &mut Core) {
        let is_syncing = core.host.append_only.is_syncing();
        if is_syncing || self.waiters.gathering_time().is_some() {
            return;
        }
        self.waiters.gathering.set(None);
        self.write_log(core);
        if let Some(sync) = core.host.append_only.begin_due_sync(Policy::Always, true) {
            self.waiters.syncer.order(sync);
        }
    }

    /// Begins a sync, if it is time for one.
    pub(crate) fn sync_log_if_due(&self, core: &mut Core) {
        let settings = &core.host.settings;
        let may_sync = !(settings.is_on(Id::NoFsyncOnRewrite) && core.host.saving.is_some());
        let policy = Policy::of(settings);
        if let Some(sync) = core.host.append_only.begin_due_sync(policy, may_sync) {
            self.waiters.syncer.order(sync);
        }
    }

    /// Begins a sync of all that is written, so that little is left to be synced when the
    /// log changes to another file; whether one is under way.
    pub(crate) fn sync_ahead(&self, core: &mut Core) -> bool {
        if core.host.append_only.problem.is_some() {
            return false;
        }
        if let Some(sync) = core.host.append_only.begin_sync() {
            self.waiters.syncer.order(sync);
        }
        core.host.append_only.is_syncing()
    }

    /// Takes note of syncs and writes that are over. The selector tells once of several:
    /// there are two syncs when a log ended amid one and another log has begun.
    pub(crate) fn note_syncs(&self, core: &mut Core) {
        while let Some(done) = self.waiters.syncer.take() {
            self.end_sync(core, done);
        }
        if core.host.append_only.is_writing() {
            match Policy::of(&core.host.settings) {
                Policy::Always => self.commit(core),
                Policy::EverySecond | Policy::Never => self.write_log(core),
            }
        }
    }

    /// A sync is over: the next begins, and those go who have waited for this one.
    fn end_sync(&self, core: &mut Core, done: Done) {
        let took = done.took;
        self.settle(core, done);
        if Policy::of(&core.host.settings) != Policy::Always {
            // What could not be written before, in the next file too.
            return self.write_log(core);
        }
        let released = core.host.append_only.released();
        if !self.waiters.gather(took) {
            self.commit(core);
        }
        self.waiters.release(released);
    }

    /// Takes note of how a sync went.
    fn settle(&self, core: &mut Core, done: Done) {
        let policy = Policy::of(&core.host.settings);
        core.host.append_only.end_sync(&done.sync, done.outcome, policy);
        self.give_up_if_failed(core);
        core.refuse_writes_if_needed();
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
