//! Loads at a steady rate, each on a thread and a connection of its own.
//!
//! Owns the pace and the count of what was answered. Commands are sent in batches, one for
//! each beat, so that a load costs little. The rate is a bound: where the server cannot
//! keep up, what was not sent is forgotten.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::call::Verdict;
use crate::chance::Chance;
use crate::connection::{Connection, REPLY_PATIENCE};
use crate::load::{Load, Scene, clock_ms};
use crate::plan::Plan;

/// How often a load sends what is due.
const BEAT: Duration = Duration::from_millis(50);
/// Beats that a load may be behind. More is forgotten: a server that cannot keep up has
/// time for others.
const BEATS_OWED_MAX: f64 = 4.0;
/// Commands that are sent before their replies are read.
const BATCH_MAX: usize = 1000;
/// How often somebody errs: the first time, and once in so many times.
const ACTS_PER_ERROR: usize = 150;

/// What became of the commands of a load.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) commands: u64,
    /// Refused as was intended.
    pub(crate) refused: u64,
    /// Not answered as they should be.
    pub(crate) failed: u64,
    pub(crate) first_failure: Option<String>,
}

impl Tally {
    fn count(&mut self, verdict: Verdict) {
        self.commands += 1;
        match verdict {
            Verdict::Answered => {}
            Verdict::Refused => self.refused += 1,
            Verdict::Failed(failure) => {
                self.failed += 1;
                self.first_failure.get_or_insert(failure);
            }
        }
    }

    fn add(&mut self, other: Tally) {
        self.commands += other.commands;
        self.refused += other.refused;
        self.failed += other.failed;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }
}

/// The loads of all systems, each on its thread.
pub(crate) struct Loads {
    must_stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Tally>>,
}

impl Loads {
    /// Lays the ground of each, then lets the users come.
    pub(crate) fn start(plan: &Plan, address: SocketAddr) -> io::Result<Loads> {
        let must_stop = Arc::new(AtomicBool::new(false));
        let rate = f64::from(plan.rate) / plan.systems.len() as f64;
        let mut drivers = Vec::new();
        for (index, system) in plan.systems.iter().enumerate() {
            let mut chance = Chance::from_seed(plan.seed.wrapping_add(index as u64));
            let load = (system.load)(&mut chance);
            let connection = Connection::open(address, system.db, REPLY_PATIENCE)?;
            let mut driver =
                Driver { load, connection, scene: Scene::new(chance), tally: Tally::default() };
            driver.lay_ground()?;
            drivers.push((system.name, driver));
        }
        let mut threads = Vec::new();
        for (name, mut driver) in drivers {
            let must_stop = Arc::clone(&must_stop);
            let drive = move || {
                // There is no other connection when the server ends: so does the load.
                let _ = driver.drive(rate, &must_stop);
                driver.tally
            };
            threads.push(thread::Builder::new().name(name.to_owned()).spawn(drive)?);
        }
        Ok(Loads { must_stop, threads })
    }

    /// Stops all of them and sums up.
    pub(crate) fn stop(self) -> Tally {
        self.must_stop.store(true, Ordering::Relaxed);
        let mut total = Tally::default();
        for thread in self.threads {
            total.add(thread.join().expect("a load does not panic"));
        }
        total
    }
}

/// One load and its connection.
struct Driver {
    load: Box<dyn Load>,
    connection: Connection,
    scene: Scene,
    tally: Tally,
}

impl Driver {
    fn lay_ground(&mut self) -> io::Result<()> {
        self.load.lay_ground(&mut self.scene);
        self.send()
    }

    fn drive(&mut self, rate: f64, must_stop: &AtomicBool) -> io::Result<()> {
        let owed_max = (rate * BEAT.as_secs_f64() * BEATS_OWED_MAX).max(2.0);
        let (start, mut sent) = (Instant::now(), 0.0_f64);
        let mut acts = 0_usize;
        while !must_stop.load(Ordering::Relaxed) {
            let allowed = rate * start.elapsed().as_secs_f64();
            sent = sent.max(allowed - owed_max);
            // What had no answer when a connection broke is sent again.
            let left = self.scene.calls.len();
            let due = left + (allowed - sent).max(0.0) as usize;
            self.scene.now_ms = clock_ms();
            while self.scene.calls.len() < due {
                if acts.is_multiple_of(ACTS_PER_ERROR) {
                    self.load.err(&mut self.scene);
                }
                self.load.act(&mut self.scene);
                acts += 1;
            }
            sent += (self.scene.calls.len() - left) as f64;
            if self.send().is_err() {
                // Somebody closed it: CLIENT KILL, perhaps.
                self.connection.reopen()?;
            }
            thread::sleep(BEAT);
        }
        Ok(())
    }

    /// Sends what was added, and judges the answers. What has none stays.
    fn send(&mut self) -> io::Result<()> {
        let Driver { connection, scene, tally, .. } = self;
        let mut answered = 0;
        let mut outcome = Ok(());
        for batch in scene.calls.chunks(BATCH_MAX) {
            batch.iter().for_each(|call| connection.push(&call.words));
            outcome = connection.exchange(batch.len(), |index, reply| {
                answered += 1;
                tally.count(batch[index].judge(&reply));
            });
            if outcome.is_err() {
                break;
            }
        }
        scene.calls.drain(..answered);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::SYSTEMS;

    #[test]
    fn a_seed_decides_what_users_do() {
        for system in &SYSTEMS {
            let commands = |seed| {
                let mut chance = Chance::from_seed(seed);
                let mut load = (system.load)(&mut chance);
                let mut scene = Scene { now_ms: 1_794_725_220_123, ..Scene::new(chance) };
                load.lay_ground(&mut scene);
                (0..500).for_each(|_| load.act(&mut scene));
                scene.calls.into_iter().map(|call| call.words).collect::<Vec<_>>()
            };
            let name = system.name;
            let first = commands(7);
            assert!(first == commands(7), "{name}: the same seed, the same commands");
            assert!(first != commands(8), "{name}: another seed, other commands");
        }
    }
}
