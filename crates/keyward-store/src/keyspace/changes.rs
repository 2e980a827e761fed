//! What happened to keys since somebody last asked.
//!
//! Owns the dirty counter, the watches, the keys clients wait for, and the news for
//! subscribers and for clients that track keys. Everything here is cheap when nobody is interested.
//! Not here: what the engine then does with it.

use crate::keyspace::blocking::Waiting;
use crate::keyspace::event::{Class, Event, NotifyFlags};
use crate::keyspace::watch::Watches;
use crate::values::hasher::KeyHasher;

/// An event that subscribers are to hear of.
#[derive(Debug)]
pub struct Notification {
    /// The database of the key.
    pub db: usize,
    /// What happened.
    pub event: Event,
    /// To which key.
    pub key: Box<[u8]>,
}

/// Something others are to hear of.
#[derive(Debug)]
pub enum News {
    /// Subscribers hear of an event.
    Event(Notification),
    /// Clients that track hear that a key changed or went.
    Changed(Box<[u8]>),
    /// Clients that track hear that a database was emptied.
    Flushed,
}

/// News that nobody has heard yet.
#[derive(Debug)]
pub struct Untold {
    /// What is to be told.
    pub news: News,
    /// It has happened even if the command around it is undone: a due row ended.
    stays: bool,
}

/// The record of changes.
#[derive(Debug)]
pub struct Changes {
    /// Counts changes as Redis's `dirty` does.
    pub dirty: u64,
    /// All databases were emptied: where snapshots are saved, one is due once this stands.
    pub wants_snapshot: bool,
    /// Which events subscribers want.
    pub notify: NotifyFlags,
    /// Whether any client tracks keys.
    pub is_tracked: bool,
    /// What has not been told yet.
    pub news: Vec<Untold>,
    /// Who watches what.
    pub watches: Watches,
    /// Who waits for what.
    pub waiting: Waiting,
}

impl Changes {
    pub(super) fn new(hasher: KeyHasher) -> Changes {
        Changes {
            dirty: 0,
            wants_snapshot: false,
            notify: NotifyFlags::default(),
            is_tracked: false,
            news: Vec::new(),
            watches: Watches::new(hasher),
            waiting: Waiting::new(hasher),
        }
    }

    /// A key changed; `count` is how much of it, as Redis counts.
    #[inline(always)]
    pub(super) fn changed(&mut self, db: usize, key: &[u8], count: u64) {
        self.dirty += count;
        self.watches.changed(db, key);
        self.track(key, false);
    }

    /// The time of a key was over.
    pub(super) fn expired(&mut self, db: usize, key: &[u8]) {
        self.watches.expired(db, key);
        self.track(key, true);
    }

    /// Forgets what was undone: all news behind the first `len` but those that stay.
    pub fn undo_news(&mut self, len: usize) {
        let first = len.min(self.news.len());
        self.news.extract_if(first.., |untold| !untold.stays).for_each(drop);
    }

    /// A database was emptied.
    pub(super) fn flushed(&mut self) {
        if self.is_tracked && !matches!(self.news.last(), Some(Untold { news: News::Flushed, .. }))
        {
            self.news.push(Untold { news: News::Flushed, stays: false });
        }
    }

    #[inline(always)]
    fn track(&mut self, key: &[u8], stays: bool) {
        if self.is_tracked {
            self.news.push(Untold { news: News::Changed(key.into()), stays });
        }
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
            let stays = event.class == Class::Expired;
            let news = News::Event(Notification { db, event, key: key.into() });
            self.news.push(Untold { news, stays });
        }
    }
}
