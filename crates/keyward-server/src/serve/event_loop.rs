//! The loop in which everything happens, on one thread.
//!
//! Owns the order of things. A *round* waits for whatever comes next (`net/selector.rs`), serves
//! the connections that are ready (`turn`), and ends: the log is written and everything
//! that was said is sent (`round`). Between rounds *others* have their turn: newcomers,
//! ticks, jobs (`agenda`). They have it whenever no socket is ready, and after
//! [`PATIENCE_NS`] where sockets are busy; each of their turns is a bounded step, so neither
//! holds up the other for longer.
//!
//! Invariants: nothing is left to be sent or logged when the loop waits. It waits only
//! until something is due. What changes while a round is under way (a bell, a notice, a
//! tick that is due earlier) is seen before the next wait, so no wake-up is lost; only
//! threads and signals, which come from outside, end one.
//!
//! Cost: a round is one call of the selector besides what its connections do, and reads
//! the clock only if none of them has.

use crate::clock;
use crate::net::selector::{Ready, Selector, Who};
use crate::process::signals::Signals;
use crate::serve::agenda::Jobs;
use crate::serve::server::Server;
use crate::serve::{clients, commit, publishing, round, shutdown, tick, turn};
use std::io;
use std::rc::Rc;
use std::time::Duration;

/// How long rounds follow each other before others have a turn.
const PATIENCE_NS: u64 = 1_000_000;
/// The same while ticks have not kept up.
const PATIENCE_BEHIND_NS: u64 = PATIENCE_NS / 4;

/// The loop.
pub(crate) struct EventLoop {
    server: Rc<Server>,
    selector: Selector,
    signals: Option<Signals>,
    jobs: Jobs,
    ready: Vec<Ready>,
    /// How long the next round may wait.
    wait: Duration,
    /// When others last had a turn.
    others_ns: u64,
    /// The time that connections were last told.
    told_ns: u64,
}

impl EventLoop {
    pub(crate) fn new(
        server: Rc<Server>,
        selector: Selector,
        signals: Option<Signals>,
    ) -> EventLoop {
        EventLoop {
            server,
            selector,
            signals,
            jobs: Jobs::default(),
            ready: Vec::new(),
            wait: Duration::ZERO,
            others_ns: 0,
            told_ns: 0,
        }
    }

    /// Begins a job.
    pub(crate) fn begin(&mut self, job: impl Future<Output = ()> + 'static) {
        self.jobs.add(&self.server.agenda, job);
    }

    /// Serves until the server is to stop; an error is the selector's.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        while !self.server.must_stop() {
            self.round()?;
        }
        Ok(())
    }

    /// One round, and a turn of others if it is time for one.
    pub(crate) fn round(&mut self) -> io::Result<()> {
        self.selector.wait(&mut self.ready, self.wait)?;
        self.serve_ready();
        let mut now_ns = self.now_ns();
        let server = &*self.server;
        let is_quiet = self.ready.is_empty() && !server.wire.is_ringing();
        let patience_ns = if server.is_behind.get() { PATIENCE_BEHIND_NS } else { PATIENCE_NS };
        let is_their_turn = is_quiet || now_ns.saturating_sub(self.others_ns) > patience_ns;
        // Who comes meanwhile shares the sync that the round would end with.
        if !is_their_turn && commit::is_to_sync_at_once(server, &server.core.borrow()) {
            self.wait = Duration::ZERO;
            return Ok(());
        }
        publishing::note_users(&server.core.borrow());
        round::end_round(server, &mut server.core.borrow_mut());
        if is_their_turn {
            self.serve_others(now_ns);
            now_ns = self.others_ns;
        }
        self.wait = self.time_to_wait(now_ns);
        Ok(())
    }

    /// Serves the connections that are ready, and takes note of what else is.
    fn serve_ready(&self) {
        let server = &*self.server;
        // Who is to be closed is gone before anybody else asks.
        turn::serve_woken(server);
        for ready in &self.ready {
            match ready.who {
                Who::Connection(place) => turn::serve(server, place, Some(ready)),
                Who::Newcomer => server.core.borrow().host.listeners.expect_newcomers(),
                Who::Thread => {
                    commit::note_syncs(server, &mut server.core.borrow_mut());
                    server.agenda.demand();
                    server.core.borrow().host.listeners.hear_thread();
                }
                Who::Signal => {
                    let came = self.signals.iter().flat_map(Signals::take);
                    came.for_each(|signal| shutdown::on_signal(server, signal));
                }
            }
        }
        turn::serve_woken(server);
    }

    /// The time: if a connection has asked for it in this round, that is near enough.
    fn now_ns(&mut self) -> u64 {
        let told_ns = self.server.core.borrow().host.lately_ns;
        match told_ns == std::mem::replace(&mut self.told_ns, told_ns) {
            true => clock::monotonic_ns(),
            false => told_ns,
        }
    }

    /// Newcomers, ticks and jobs have their turn.
    fn serve_others(&mut self, now_ns: u64) {
        let server = &*self.server;
        clients::admit_newcomers(server, now_ns);
        tick::tick_if_due(server, now_ns);
        if server.agenda.is_due(now_ns) {
            self.jobs.advance(&server.agenda);
        }
        publishing::publish_if_due(&mut server.core.borrow_mut());
        round::end_round(server, &mut server.core.borrow_mut());
        self.others_ns = clock::monotonic_ns();
    }

    /// How long the next round may wait.
    fn time_to_wait(&self, now_ns: u64) -> Duration {
        if publishing::is_under_way(&self.server.core.borrow()) {
            return Duration::ZERO;
        }
        let time = Duration::from_nanos(tick::next_ns(&self.server).saturating_sub(now_ns));
        let gathering = self.server.waiters.gathering_time();
        gathering.map_or(time, |gathering| gathering.min(time))
    }
}
