//! What happened to keys since somebody last asked.
//!
//! Owns the dirty counter, the watches, the keys clients wait for, and the queue
//! of notifications. Everything here is cheap when nobody is interested.
//! Not here: what the engine then does with it (`engine`).

use crate::blocking::Waiting;
use crate::event::{Event, NotifyFlags};
use crate::hasher::KeyHasher;
use crate::watch::Watches;

/// An event that subscribers are to hear of.
#[derive(Debug)]
pub(crate) struct Notification {
    /// The database of the key.
    pub(crate) db: usize,
    /// What happened.
    pub(crate) event: Event,
    /// To which key.
    pub(crate) key: Box<[u8]>,
}

/// The record of changes.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Counts changes as Redis's `dirty` does.
    pub(crate) dirty: u64,
    /// Which events subscribers want.
    pub(crate) notify: NotifyFlags,
    /// Events not yet handed to subscribers.
    pub(crate) notifications: Vec<Notification>,
    /// Who watches what.
    pub(crate) watches: Watches,
    /// Who waits for what.
    pub(crate) waiting: Waiting,
}

impl Changes {
    pub(super) fn new(hasher: KeyHasher) -> Changes {
        Changes {
            dirty: 0,
            notify: NotifyFlags::default(),
            notifications: Vec::new(),
            watches: Watches::new(hasher),
            waiting: Waiting::new(hasher),
        }
    }

    /// A key changed; `count` is how much of it, as Redis counts.
    #[inline(always)]
    pub(super) fn changed(&mut self, db: usize, key: &[u8], count: u64) {
        self.dirty += count;
        self.watches.changed(db, key);
    }

    /// A key came to hold a collection: whoever waits for it may go on.
    #[inline(always)]
    pub(super) fn ready(&mut self, db: usize, key: &[u8]) {
        self.waiting.ready(db, key);
    }

    /// Something happened that subscribers may want to hear of.
    #[inline(always)]
    pub(super) fn notify(&mut self, db: usize, event: Event, key: &[u8]) {
        if self.notify.wants(event.class) {
            self.notifications.push(Notification { db, event, key: key.into() });
        }
    }
}
