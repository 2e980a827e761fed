//! Replies wait for the log.
//!
//! Owns writing the log, syncing it, and who waits for that. At the end of a round
//! (`outbox`) the log is written once for every client of the round; with `appendfsync
//! always` the replies stay with their peers then, until a sync that serves all of them.
//!
//! With `always` a sync takes milliseconds, in which others are served: what they change
//! gathers for the next one. After a sync the next waits until as many are waiting as were
//! before, for a quarter of what a sync takes at most: else those who were just answered
//! would always come too late for it, and half of them would share each sync.

use crate::append_only::Policy;
use crate::peer::Peer;
use crate::server::{Core, Server};
use crate::settings::table::Id;
use keyward_persist::aof::Sync;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Syncs that take less than four times this are not waited for.
const GATHER_MIN: Duration = Duration::from_micros(500);

/// Who waits for the log.
#[derive(Debug)]
pub(crate) struct Waiters {
    /// Told when there is something to write.
    has_grown: Notify,
    /// Clients whose replies are held, with the position they wait for, in its order.
    held: RefCell<VecDeque<(u64, Rc<Peer>)>>,
    /// Replies up to this position may go.
    released: Cell<u64>,
}

impl Default for Waiters {
    fn default() -> Waiters {
        Waiters {
            has_grown: Notify::new(),
            held: RefCell::default(),
            released: Cell::new(u64::MAX),
        }
    }
}

impl Waiters {
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

    /// Whether anybody waits.
    pub(crate) fn is_any(&self) -> bool {
        !self.held.borrow().is_empty()
    }

    /// Says that there is something to sync.
    pub(crate) fn ask_for_sync(&self) {
        self.has_grown.notify_one();
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

    /// Begins a sync in the background, if it is time for one.
    pub(crate) fn sync_log_if_due(self: &Rc<Server>, core: &mut Core) {
        let settings = &core.host.settings;
        let may_sync = !(settings.is_on(Id::NoFsyncOnRewrite) && core.host.saving.is_some());
        let policy = Policy::of(settings);
        if let Some(sync) = core.host.append_only.begin_due_sync(policy, may_sync) {
            let server = Rc::clone(self);
            tokio::task::spawn_local(async move { server.finish_sync(sync).await });
        }
    }

    /// Does a sync on a thread, and lets those go who wait for it.
    async fn finish_sync(&self, sync: Sync) {
        let done = tokio::task::spawn_blocking(move || {
            let outcome = sync.run();
            (sync, outcome)
        });
        let Ok((sync, outcome)) = done.await else { return };
        self.note_sync(&sync, outcome);
    }

    fn note_sync(&self, sync: &Sync, outcome: io::Result<()>) {
        let core = &mut *self.core.borrow_mut();
        let policy = Policy::of(&core.host.settings);
        if core.host.append_only.end_sync(sync, outcome, policy) {
            self.waiters.give_up();
        }
        core.refuse_writes_if_needed();
        self.waiters.release(core.host.append_only.released());
        if core.host.append_only.log.as_ref().is_some_and(|log| log.logged() > log.synced()) {
            self.waiters.has_grown.notify_one();
        }
    }

    /// Waits a little for those who were just answered.
    async fn gather(&self, expected: usize, longest: Duration) {
        let end = tokio::time::Instant::now() + longest;
        while self.waiters.held.borrow().len() < expected {
            tokio::select! {
                () = self.waiters.has_grown.notified() => {}
                () = tokio::time::sleep_until(end) => break,
            }
        }
        if !self.waiters.held.borrow().is_empty() {
            self.waiters.has_grown.notify_one();
        }
    }
}

/// Writes the log whenever it has grown, and syncs it where replies wait for that.
pub(crate) async fn keep_log(server: Rc<Server>) {
    loop {
        server.waiters.has_grown.notified().await;
        let sync = {
            let core = &mut *server.core.borrow_mut();
            server.write_log(core);
            let policy = Policy::of(&core.host.settings);
            match policy {
                Policy::Always => core.host.append_only.begin_due_sync(policy, true),
                Policy::EverySecond | Policy::Never => None,
            }
        };
        if let Some(sync) = sync {
            let waiting = server.waiters.held.borrow().len();
            let start = Instant::now();
            server.finish_sync(sync).await;
            let longest = start.elapsed() / 4;
            if longest >= GATHER_MIN {
                let expected = waiting + server.waiters.held.borrow().len();
                server.gather(expected, longest).await;
            }
        }
    }
}
