//! Replies wait for the log.
//!
//! Owns when the log is written and synced, and who waits for that. At the end of a round
//! (`outbox`) the log is written once for every client of the round; with `appendfsync
//! always` the replies stay with their peers then, until a sync that serves all of them.
//!
//! A thread syncs, and others are served meanwhile: what they change gathers for the next
//! sync, which begins as soon as the last is over, before anybody is told of that. So the
//! disk works while replies are sent and the next commands are read.
//!
//! Where a sync takes milliseconds, the next one waits until as many are waiting as were
//! before, for a quarter of what a sync takes at most: else those who were just answered
//! would always come too late for it, and half of them would share each sync. Where it
//! takes next to nothing but many write, it still costs the processor as much as five
//! commands: then syncs keep [`SYNC_DISTANCE`].

mod syncer;

use crate::append_only::Policy;
use crate::peer::Peer;
use crate::server::{Core, Server};
use crate::settings::table::Id;
use keyward_persist::aof::Sync;
use mio::Waker;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use syncer::{Done, Syncer};

/// Syncs that take less than four times this are not waited for.
const GATHER_MIN: Duration = Duration::from_micros(500);
/// Between the beginnings of two syncs where at least [`MANY`] clients wait.
const SYNC_DISTANCE: Duration = Duration::from_micros(250);
/// With so many at a time somebody soon comes again; the selector counts milliseconds, and
/// would wait for one where nobody does.
const MANY: usize = 8;

/// Who waits for the log.
#[derive(Debug)]
pub(crate) struct Waiters {
    syncer: Syncer,
    /// When the sync that is under way has begun.
    began: Cell<Instant>,
    /// What the next sync waits for.
    gathering: Cell<Option<Gathering>>,
    /// Clients whose replies are held, with the position they wait for, in its order.
    held: RefCell<VecDeque<(u64, Rc<Peer>)>>,
    /// Replies up to this position may go.
    released: Cell<u64>,
}

/// A sync waits for those who were just answered.
#[derive(Debug, Clone, Copy)]
struct Gathering {
    /// So many clients were waiting before.
    expected: usize,
    end: Instant,
}

impl Waiters {
    /// Nobody; `waker` makes the selector say that a sync is over.
    pub(crate) fn new(waker: Waker) -> io::Result<Waiters> {
        Ok(Waiters {
            syncer: Syncer::start(waker)?,
            began: Cell::new(Instant::now()),
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

    /// How long the next sync still waits for clients, if it does.
    pub(crate) fn gathering_time(&self) -> Option<Duration> {
        let gathering = self.gathering.get()?;
        let is_whole = self.held.borrow().len() >= gathering.expected;
        let left = gathering.end.saturating_duration_since(Instant::now());
        (!is_whole && !left.is_zero()).then_some(left)
    }

    /// A sync is over: has the next one wait, if that pays.
    fn gather(&self) {
        let (began, now) = (self.began.get(), Instant::now());
        let longest = (now - began) / 4;
        let expected = self.held.borrow().len();
        let end = if longest >= GATHER_MIN {
            Some(now + longest)
        } else {
            (expected >= MANY).then(|| began + SYNC_DISTANCE)
        };
        self.gathering.set(end.map(|end| Gathering { expected, end }));
    }

    fn order(&self, sync: Sync) {
        self.began.set(Instant::now());
        self.syncer.order(sync);
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

    /// Those who wait will never be answered.
    fn give_up(&self) {
        self.held.borrow_mut().drain(..).for_each(|(_, peer)| peer.close());
    }
}

impl Server {
    /// Logs what commands have changed.
    #[inline]
    pub(crate) fn collect_log(&self, core: &mut Core) {
        if core.host.append_only.collect(&mut core.engine) {
            self.waiters.released.set(core.host.append_only.released());
            self.wire.demand_round();
        }
    }

    /// Writes the log.
    pub(crate) fn write_log(&self, core: &mut Core) {
        let policy = Policy::of(&core.host.settings);
        let was_whole = core.host.append_only.problem.is_none();
        if core.host.append_only.write(policy) {
            self.waiters.give_up();
        }
        if core.host.append_only.problem.is_none() != was_whole {
            // At once: what follows could not be made safe.
            core.refuse_writes_if_needed();
        }
        self.waiters.release(core.host.append_only.released());
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
            self.waiters.order(sync);
        }
    }

    /// Begins a sync, if it is time for one.
    pub(crate) fn sync_log_if_due(&self, core: &mut Core) {
        let settings = &core.host.settings;
        let may_sync = !(settings.is_on(Id::NoFsyncOnRewrite) && core.host.saving.is_some());
        let policy = Policy::of(settings);
        if let Some(sync) = core.host.append_only.begin_due_sync(policy, may_sync) {
            self.waiters.order(sync);
        }
    }

    /// Takes note of syncs that are over. The selector tells once of several: there are
    /// two when a log ended amid a sync and another one has begun.
    pub(crate) fn note_syncs(&self, core: &mut Core) {
        while let Some(done) = self.waiters.syncer.take() {
            self.end_sync(core, done);
        }
    }

    /// A sync is over: the next begins, and those go who have waited for this one.
    fn end_sync(&self, core: &mut Core, (sync, outcome): Done) {
        let policy = Policy::of(&core.host.settings);
        if core.host.append_only.end_sync(&sync, outcome, policy) {
            self.waiters.give_up();
        }
        core.refuse_writes_if_needed();
        if policy == Policy::Always {
            self.waiters.gather();
        }
        let released = core.host.append_only.released();
        if policy == Policy::Always && core.host.append_only.has_unsynced() {
            self.commit(core);
        }
        self.waiters.release(released);
    }
}
