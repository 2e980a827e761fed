//! The threads that sync the log while the server serves, and write it meanwhile.
//!
//! Owns the way there and back. What is done is told by the selector, as if a socket were
//! ready. What was written the log sees for itself.
//! Not here: when the log is synced (`serve/commit.rs`), and what follows from it (`append_only`).

use crate::clock::Instant;
use crate::net::selector::Alarm;
#[cfg(test)]
use crate::{clock, simulation};
use keyward_persist::aof::{Sync, Write};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A sync that was tried, and how it went.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) sync: Sync,
    pub(crate) outcome: io::Result<()>,
    pub(crate) took: Duration,
}

impl Done {
    /// Syncs, on this thread.
    pub(crate) fn by_waiting(sync: Sync) -> Done {
        let began = Instant::now();
        let outcome = sync.run();
        #[cfg(test)]
        simulation::syncs::take_time();
        Done { sync, outcome, took: began.elapsed() }
    }
}

/// The threads, for whoever has something to sync or to write.
#[derive(Debug)]
pub(crate) struct Syncer {
    syncs: Sender<Sync>,
    writes: Sender<Arc<Write>>,
    done: Receiver<Done>,
}

impl Syncer {
    /// Starts the threads, which end with this. They ring `alarm` after each order.
    pub(crate) fn start(alarm: Alarm) -> io::Result<Syncer> {
        let (finished, done) = channel();
        // When the server goes down nobody waits for it.
        let sync = move |sync| finished.send(Done::by_waiting(sync)).is_ok();
        let write = |write: Arc<Write>| {
            write.run();
            true
        };
        let syncs = start_thread("sync", alarm.clone(), sync)?;
        let writes = start_thread("write", alarm, write)?;
        Ok(Syncer { syncs, writes, done })
    }

    /// Has something synced.
    pub(crate) fn order(&self, sync: Sync) {
        #[cfg(test)]
        let Some(sync) = simulation::syncs::order(sync) else { return };
        self.syncs.send(sync).expect("the thread takes orders as long as there may be any");
    }

    /// Has something written, beside a sync.
    pub(crate) fn order_write(&self, write: Arc<Write>) {
        #[cfg(test)]
        let Some(write) = simulation::syncs::order_write(write) else { return };
        self.writes.send(write).expect("the thread takes orders as long as there may be any");
    }

    /// A sync that is over.
    pub(crate) fn take(&self) -> Option<Done> {
        #[cfg(test)]
        if clock::simulated::peek().is_some() {
            return simulation::syncs::take();
        }
        self.done.try_recv().ok()
    }
}

/// Starts a thread that takes orders until nobody can give any, or `run` says that nobody
/// wants to know.
fn start_thread<Order: Send + 'static>(
    name: &str,
    alarm: Alarm,
    run: impl Fn(Order) -> bool + Send + 'static,
) -> io::Result<Sender<Order>> {
    let (orders, ordered) = channel();
    std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        for order in ordered {
            if !run(order) {
                break;
            }
            alarm.ring();
        }
    })?;
    Ok(orders)
}
