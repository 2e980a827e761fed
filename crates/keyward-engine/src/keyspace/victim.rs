//! Which row is the next to go when memory is needed.
//!
//! Owns the choice and the removal. By recency and frequency it is the best of
//! a few sampled rows and of those that earlier samples left in the pool; by
//! deadline it is exactly the one that ends soonest, for tables keep that order
//! anyway. Under a schema only rows of patterns that may go are drawn, and those of
//! patterns that go first before any other. A removal leaves the traces of a deletion: the effect log says DEL,
//! subscribers hear `evicted`, watches break.

use super::Keyspace;
use crate::access::AccessClock;
use crate::database::Database;
use crate::event::{Class, Event};
use crate::evict::{Order, Policy, Scope, Turn};
use crate::reclaim::Freeing;
use crate::row::Row;
use keyward_rules::Cause;

impl Keyspace {
    /// Removes the row that is the next to go; `None` if none may. Answers how
    /// many allocations were freed on the spot.
    pub(crate) fn evict_one(&mut self, policy: Policy, samples: usize) -> Option<usize> {
        let turn = self.turn(policy.scope);
        let (db, key) = match policy.order {
            Order::Recency | Order::Frequency => self.victim_by_use(policy.scope, turn, samples)?,
            Order::Chance => self.victim_by_chance(policy.scope, turn)?,
            Order::Deadline => self.victim_by_deadline(turn)?,
        };
        let key = self.databases[db].key(&key);
        let row = self.take_row(db, key);
        let row = row.expect("a victim was just found in its table");
        let freeing = Freeing::lazily_if(self.lazy.eviction);
        let (freed, removal) = match freeing {
            Freeing::AtOnce => (row.allocations(), b"DEL".as_slice()),
            Freeing::Lazily => (0, b"UNLINK".as_slice()),
        };
        self.end_row(db, key, row, (Cause::Eviction, freeing));
        self.databases[db].stats_mut(key.table).evicted += 1;
        self.stats.evicted += 1;
        self.effects.begin_unit();
        self.effects.beside(db, [removal, key.bytes]);
        self.changes.changed(db, key.bytes, 0);
        self.heed(db, key.bytes);
        self.changes.notify(db, Event::new(Class::Evicted, "evicted"), key.bytes);
        Some(freed)
    }

    fn turn(&self, scope: Scope) -> Turn {
        let is_first = |database: &Database| database.has_evictable(scope, Turn::First);
        if self.databases.iter().any(is_first) { Turn::First } else { Turn::Others }
    }

    fn victim_by_use(
        &mut self,
        scope: Scope,
        turn: Turn,
        samples: usize,
    ) -> Option<(usize, Box<[u8]>)> {
        loop {
            if !self.offer_samples(scope, turn, samples) {
                return None;
            }
            while let Some(best) = self.pool.take() {
                let row = self.databases[best.db].find_evictable(scope, turn, &best.key);
                // One that was used meanwhile is no longer worth as much.
                if row.is_some_and(|row| score(&self.access, &row) >= best.score) {
                    return Some((best.db, best.key));
                }
            }
        }
    }

    /// Puts rows drawn by chance into the pool; whether there are any.
    fn offer_samples(&mut self, scope: Scope, turn: Turn, samples: usize) -> bool {
        let mut has_rows = false;
        for db in 0..self.databases.len() {
            for _ in 0..samples {
                let Some(row) = self.databases[db].sample_of(scope, turn, &mut self.random) else {
                    break;
                };
                has_rows = true;
                let score = score(&self.access, &row);
                self.pool.offer(score, db, row.key());
            }
        }
        has_rows
    }

    /// Draws from one database after the other.
    fn victim_by_chance(&mut self, scope: Scope, turn: Turn) -> Option<(usize, Box<[u8]>)> {
        let count = self.databases.len();
        for step in 1..=count {
            let db = (self.last_evicted_db + step) % count;
            if let Some(row) = self.databases[db].sample_of(scope, turn, &mut self.random) {
                self.last_evicted_db = db;
                return Some((db, row.key().into()));
            }
        }
        None
    }

    fn victim_by_deadline(&self, turn: Turn) -> Option<(usize, Box<[u8]>)> {
        let firsts = self.databases.iter().enumerate();
        let firsts = firsts.filter_map(|(db, database)| Some((database.first_to_end(turn)?, db)));
        let (row, db) = firsts.min_by_key(|(row, _)| row.deadline())?;
        Some((db, row.key().into()))
    }
}

/// How soon a row goes: the higher, the sooner.
fn score(access: &AccessClock, row: &Row) -> u32 {
    let mark = row.clock();
    let seldom = || access.frequency(mark).map_or(0, |uses| u32::from(u8::MAX - uses));
    access.idle_seconds(mark).unwrap_or_else(seldom)
}
