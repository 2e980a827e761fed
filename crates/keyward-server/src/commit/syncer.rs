//! The thread that syncs the log while the server serves.
//!
//! Owns the way there and back. What is done is told by the selector, as if a socket were
//! ready: the runtime would take three calls for that.
//! Not here: when the log is synced (`commit`), and what follows from it (`append_only`).

use keyward_persist::aof::Sync;
use mio::Waker;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

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
        Done { sync, outcome, took: began.elapsed() }
    }
}

/// The thread, for whoever has something to sync.
#[derive(Debug)]
pub(crate) struct Syncer {
    orders: Sender<Sync>,
    done: Receiver<Done>,
}

impl Syncer {
    /// Starts the thread, which ends with this. It rings `waker` after each sync.
    pub(crate) fn start(waker: Waker) -> io::Result<Syncer> {
        let (orders, ordered) = channel::<Sync>();
        let (finished, done) = channel();
        std::thread::Builder::new().name("sync".to_owned()).spawn(move || {
            for sync in ordered {
                // When the server goes down nobody waits for it.
                if finished.send(Done::by_waiting(sync)).is_err() {
                    break;
                }
                waker.wake().expect("a selector can be woken while it is there");
            }
        })?;
        Ok(Syncer { orders, done })
    }

    /// Has something synced.
    pub(crate) fn order(&self, sync: Sync) {
        self.orders.send(sync).expect("the thread takes orders as long as there may be any");
    }

    /// A sync that is over.
    pub(crate) fn take(&self) -> Option<Done> {
        self.done.try_recv().ok()
    }
}
