//! Which row is the next to go when memory is needed.
//!
//! Owns the choice and the removal. Rows of patterns that go first go before any other.
//! Of the others, each table loses rows in proportion to how many it has, and by its own
//! order: the server's policy where no pattern speaks for the key, `evict` of the pattern
//! where one does. By recency and frequency it is the best of a few sampled rows and of
//! those that earlier samples left in the pool; by deadline it is exactly the one that
//! ends soonest, for tables keep that order anyway.
//!
//! A removal leaves the traces of a deletion: the effect log says DEL, subscribers hear
//! `evicted`, watches break.
//! Not here: what goes with a row (`governed` of the engine).

use super::Keyspace;
use super::expiry::WORK_OF_LEADERS;
use crate::keyspace::event::{Class, Event};
use crate::tables::database::Database;
use crate::tables::eviction::{
    Candidate, FREED_PER_WORK, Forecast, Load, Order, Region, Rivals, Share, Standing, Turn, Usage,
};
use crate::tables::reclaim::Freeing;
use crate::values::access::Reading;
use keyward_rules::{Cause, RuleBook};
use std::ops::Range;

impl Keyspace {
    /// Whether nothing has changed since every keyspace was seen to take no more than its
    /// schema allows.
    #[inline(always)]
    pub fn are_quotas_kept(&self) -> bool {
        self.quotas.are_kept(&self.databases)
    }

    /// The keyspaces that take more than their schemas allow, as far as is known.
    pub fn exceeded_quotas(&mut self) -> Vec<Share> {
        self.quotas.exceeded(&self.databases)
    }

    /// Whether a keyspace takes more than its schema allows.
    pub fn exceeds_quota(&mut self, share: &Share) -> bool {
        self.quotas.is_exceeded(&self.databases, share)
    }

    /// How the keyspaces of a database stand; none without a schema.
    pub fn usages(&self, db: usize) -> Vec<Usage> {
        Usage::of(db, &self.databases[db])
    }

    /// The keyspaces of a database from which rows would go at once under another book, with
    /// tables that would take so much, beyond what goes under the book in force.
    pub fn forecast(&self, db: usize, book: &RuleBook, loads: &[Load]) -> Vec<Forecast> {
        let database = &self.databases[db];
        let now: Vec<Load> = database.tables().iter().map(Load::of).collect();
        let in_force = database.book().map(|book| (&**book, &now[..]));
        Forecast::of((book, loads), database.standing(), in_force)
    }

    /// Removes the row of these tables that is the next to go; `None` if none may.
    /// Returns how many pieces of work that was.
    pub fn evict_one(&mut self, region: &Region, samples: usize) -> Option<usize> {
        let turn = self.turn(region);
        let order = self.draw_order(region, turn)?;
        let (db, key) = match order {
            Order::Recency => {
                self.victim_by_use(region, Rivals { turn, reading: Reading::Recency }, samples)?
            }
            Order::Frequency => {
                self.victim_by_use(region, Rivals { turn, reading: Reading::Frequency }, samples)?
            }
            Order::Chance => self.victim_by_chance(region)?,
            Order::Deadline => self.victim_by_deadline(region)?,
        };
        let key = self.key_in(db, &key);
        self.yield_large(key);
        let row = self.take_row(key);
        let row = row.expect("a victim was just found in its table");
        let freeing = Freeing::lazily_if(self.lazy.eviction);
        let removal = match freeing {
            Freeing::AtOnce => b"DEL".as_slice(),
            Freeing::Lazily => b"UNLINK".as_slice(),
        };
        let leads = self.databases[db].leads(key.table);
        let work = freeing.freed_at_once(&row).div_ceil(FREED_PER_WORK)
            + if leads { WORK_OF_LEADERS } else { 0 };
        self.end_row(key, row, (Cause::Eviction, freeing));
        self.databases[db].stats_mut(key.table).evicted += 1;
        self.stats.evicted += 1;
        self.effects.begin_unit();
        self.effects.beside(db, [removal, key.bytes]);
        self.changes.changed(db, key.bytes, 0);
        self.heed(db, key.bytes);
        self.changes.notify(db, Event::new(Class::Evicted, "evicted"), key.bytes);
        Some(work.max(1))
    }

    fn turn(&self, region: &Region) -> Turn {
        let is_first = |standing: Standing| standing.turn == Turn::First;
        let has_first =
            |database: &Database| database.evictable(&region.tables, is_first).next().is_some();
        if self.databases[region.dbs.clone()].iter().any(has_first) {
            Turn::First
        } else {
            Turn::Others
        }
    }

    /// By which order a row goes: chance decides by how many rows have each.
    fn draw_order(&mut self, region: &Region, turn: Turn) -> Option<Order> {
        let is_due = |standing: Standing| standing.turn == turn;
        let Region { dbs, tables } = region;
        let databases = &self.databases[dbs.clone()];
        let tables = || databases.iter().flat_map(|db| db.evictable(tables, is_due));
        let total: usize = tables().map(|(_, _, rows)| rows).sum();
        let first = tables().next()?.1.order;
        if tables().all(|(_, standing, _)| standing.order == first) {
            return Some(first);
        }
        let mut at = self.random.below(total as u64) as usize;
        let drawn = tables().find(|(_, _, rows)| match at.checked_sub(*rows) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        drawn.map(|(_, standing, _)| standing.order)
    }

    fn victim_by_use(
        &mut self,
        region: &Region,
        rivals: Rivals,
        samples: usize,
    ) -> Option<(usize, Box<[u8]>)> {
        while self.offer_samples(region, rivals, samples) {
            while let Some((db, best)) = self.take_best(region.dbs.clone(), rivals) {
                let is_rival = |standing| rivals.include(standing);
                let mark =
                    self.databases[db].mark_of_evictable(&region.tables, &best.key, is_rival);
                // One that was used meanwhile is no longer worth as much.
                if mark.is_some_and(|mark| self.access.score(rivals.reading, mark) >= best.score) {
                    return Some((db, best.key));
                }
            }
        }
        None
    }

    /// Puts rows drawn by chance into the pools; whether there are any.
    fn offer_samples(&mut self, region: &Region, rivals: Rivals, samples: usize) -> bool {
        let mut has_rows = false;
        let Region { dbs, tables } = region;
        for db in dbs.clone() {
            let (access, pool) = (&self.access, self.pools[db].of(rivals));
            let is_rival = |standing| rivals.include(standing);
            let (database, random) = (&self.databases[db], &mut self.random);
            has_rows |= database.sample_evictable(tables, is_rival, samples, random, |row| {
                pool.offer(access.score(rivals.reading, row.mark()), &row)
            });
        }
        has_rows
    }

    /// Takes the best candidate of some databases out of its pool.
    fn take_best(&mut self, dbs: Range<usize>, rivals: Rivals) -> Option<(usize, Candidate)> {
        let best_of = |db: usize| Some((self.pools[db].of(rivals).best_score()?, db));
        let (_, db) = dbs.filter_map(best_of).max_by_key(|(score, _)| *score)?;
        self.pools[db].of(rivals).take().map(|best| (db, best))
    }

    /// Draws from one database after the other.
    fn victim_by_chance(&mut self, region: &Region) -> Option<(usize, Box<[u8]>)> {
        let is_it = |standing: Standing| standing.order == Order::Chance;
        let Region { dbs, tables } = region;
        let count = dbs.len();
        for step in 1..=count {
            let db = dbs.start + (self.last_evicted_db + step) % count;
            let drawn = self.databases[db].draw_evictable(tables, is_it, &mut self.random);
            if let Some((key, _)) = drawn {
                self.last_evicted_db = db;
                return Some((db, key.into()));
            }
        }
        None
    }

    fn victim_by_deadline(&self, region: &Region) -> Option<(usize, Box<[u8]>)> {
        let first_of = |db: usize| Some((self.databases[db].first_to_end(&region.tables)?, db));
        let first =
            region.dbs.clone().filter_map(first_of).min_by_key(|((deadline, _), _)| *deadline)?;
        let ((_, table), db) = first;
        Some((db, table.first_to_end()?))
    }
}
