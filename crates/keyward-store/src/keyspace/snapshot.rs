//! A snapshot of one instant, taken in steps while commands run.
//!
//! Owns the walk over all tables, and databases that were emptied while their rows were
//! still to be captured. Each step captures a bounded number of rows and hands over
//! their bytes; what commands capture on the way (`capture::Capture`) goes with it. A
//! large collection is handed over in several steps, between which nothing else is.
//!
//! Invariant: a table that no snapshot is taken of has rows of one epoch. So a snapshot
//! that nobody wants any more is walked to its end all the same, only nothing is written.
//! Not here: where the bytes go, and compressing them (the host).

use super::Keyspace;
use super::pending::{END_FACT, SavedEnd};
use crate::capture::Capture;
use crate::capture::large::LargeRow;
use crate::tables::database::Database;
use crate::tables::reclaim::Freeing;
use crate::tables::table::Table;
use crate::values::hasher::Key;
use crate::values::row::Row;
use keyward_rdb::{Part, Sizes};
use std::collections::VecDeque;

/// The effort of one step: bytes captured, and so many for each bucket visited. Some
/// fifty microseconds of work, and about as much for whoever compresses what it gives.
const STEP_EFFORT: usize = 32 * 1024;
const BUCKET_EFFORT: usize = 64;

/// A snapshot being taken.
#[derive(Debug)]
pub struct Running {
    /// Bytes to be handed over first.
    ready: VecDeque<Vec<u8>>,
    /// Databases that were emptied meanwhile.
    emptied: Vec<Database>,
    /// Rows that were kept to be captured, and are.
    captured: Vec<Row>,
    /// Ends that were pending, which come behind all rows.
    pub(super) ends: Vec<SavedEnd>,
    is_abandoned: bool,
    /// A large row is handed over in part: nothing else may be.
    is_amid_large: bool,
    progress: SnapshotProgress,
}

/// How far a snapshot is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SnapshotProgress {
    /// Rows that were handed over.
    pub rows: u64,
    /// Rows there are.
    pub rows_total: u64,
}

impl Running {
    /// Hands over what a table has captured, large rows aside.
    fn hand_over(&mut self, capture: &mut Capture, receive: &mut dyn FnMut(Vec<u8>)) {
        let (parts, rows) = capture.take();
        self.progress.rows += rows;
        if !self.is_abandoned {
            parts.into_iter().for_each(receive);
        }
    }

    /// Hands over large rows of a table; returns the effort. Ends amid one if it takes
    /// more than `effort_max`.
    fn hand_over_large(
        &mut self,
        table: &mut Table,
        effort_max: usize,
        receive: &mut dyn FnMut(Vec<u8>),
    ) -> usize {
        let mut effort = 0;
        while effort < effort_max && table.has_large() {
            let (bytes, over) = table.step_large(effort_max - effort);
            effort = match over {
                Some(_) => effort + bytes.len(),
                None => effort_max,
            };
            receive(bytes);
            self.captured.extend(over.into_iter().flat_map(LargeRow::into_kept));
        }
        self.is_amid_large = table.is_amid_large();
        effort
    }

    /// Captures rows of a table and hands them over; returns the effort, which is about
    /// `effort_max` at most.
    fn walk(
        &mut self,
        table: &mut Table,
        effort_max: usize,
        receive: &mut dyn FnMut(Vec<u8>),
    ) -> usize {
        let mut effort = 0;
        loop {
            effort += self.hand_over_large(table, effort_max.saturating_sub(effort), receive);
            if self.is_amid_large {
                return effort;
            }
            if effort >= effort_max || table.is_walked() {
                break;
            }
            let before = table.captured_bytes();
            table.capture_bucket();
            effort += BUCKET_EFFORT + table.captured_bytes() - before;
        }
        if table.is_walked() && !table.has_large() {
            if let Some(mut capture) = table.end_capture() {
                self.hand_over(&mut capture, receive);
            }
        } else if let Some(capture) = table.capture_mut() {
            self.hand_over(capture, receive);
        }
        effort
    }
}

impl Keyspace {
    /// Begins a snapshot of the databases of these numbers; `beginning` is handed over
    /// first.
    pub fn begin_snapshot(&mut self, beginning: Vec<u8>, databases: impl Iterator<Item = usize>) {
        assert!(self.snapshot.is_none(), "one snapshot is taken at a time");
        self.bring_rows(usize::MAX);
        let mut running = Running {
            ready: VecDeque::from([beginning]),
            emptied: Vec::new(),
            captured: Vec::new(),
            ends: self.saved_ends(),
            is_abandoned: false,
            is_amid_large: false,
            progress: SnapshotProgress::default(),
        };
        let databases: Vec<usize> = databases.collect();
        running.ends.retain(|end| databases.contains(&end.db()));
        for db in databases {
            let database = &mut self.databases[db];
            let (rows, expiring) = (database.len() as u64, database.expiring() as u64);
            if rows == 0 {
                continue;
            }
            running.progress.rows_total += rows;
            let mut sizes = Part::new(db as u64, false);
            sizes.sizes(Sizes { rows, expiring });
            running.ready.push_back(sizes.take().expect("writing to memory succeeds"));
            let renewed: Vec<_> = database.renewed_tables().collect();
            for (table, renewed) in database.tables_mut().zip(renewed) {
                let facts = table.row_facts(&self.access);
                table.begin_capture(Capture::new(db as u64, facts, renewed, self.hasher));
            }
        }
        self.snapshot = Some(running);
    }

    /// Goes on with the snapshot for one step; whether it is over.
    pub fn step_snapshot(&mut self, receive: &mut dyn FnMut(Vec<u8>)) -> bool {
        let Some(mut running) = self.snapshot.take() else { return true };
        running.ready.drain(..).for_each(&mut *receive);
        let mut emptied = std::mem::take(&mut running.emptied);
        let mut effort = 0;
        for table in self.databases.iter_mut().chain(&mut emptied).flat_map(Database::tables_mut) {
            if !running.is_amid_large || table.is_amid_large() {
                // What commands have captured is taken in any case.
                effort += running.walk(table, STEP_EFFORT.saturating_sub(effort), receive);
            }
        }
        for database in emptied {
            if !database.is_being_captured() {
                self.reclaim.database(database, Freeing::Lazily);
            } else {
                running.emptied.push(database);
            }
        }
        running.captured.drain(..).for_each(|row| self.reclaim.row(row, Freeing::Lazily));
        let has_rows =
            !running.emptied.is_empty() || self.databases.iter().any(Database::is_being_captured);
        if !has_rows {
            self.hand_over_ends(&mut running, STEP_EFFORT.saturating_sub(effort), receive);
        }
        let is_over = !has_rows && running.ends.is_empty();
        if !is_over {
            self.snapshot = Some(running);
        }
        is_over
    }

    /// Hands over what is said of ends, by about so much effort.
    fn hand_over_ends(
        &mut self,
        running: &mut Running,
        effort_max: usize,
        receive: &mut dyn FnMut(Vec<u8>),
    ) {
        let mut effort = 0;
        while effort < effort_max
            && let Some(end) = running.ends.last_mut()
        {
            match end.next(self) {
                Some(value) => {
                    effort += value.len();
                    receive(keyward_rdb::fact(END_FACT, &value));
                }
                None => {
                    let over = running.ends.pop();
                    over.into_iter().for_each(|end| end.bury(&mut self.reclaim));
                }
            }
        }
    }

    /// Hands over what commands have captured, and does not go on. For amid a unit, in
    /// which a database that was emptied may still come back.
    pub fn hand_over_captured(&mut self, receive: &mut dyn FnMut(Vec<u8>)) {
        let Some(mut running) = self.snapshot.take() else { return };
        running.ready.drain(..).for_each(&mut *receive);
        let mut emptied = std::mem::take(&mut running.emptied);
        let mut tables: Vec<&mut Table> = self
            .databases
            .iter_mut()
            .chain(&mut emptied)
            .flat_map(Database::tables_mut)
            .filter(|table| table.is_being_captured())
            .collect();
        // What is handed over in part comes first.
        tables.sort_by_key(|table| !table.is_amid_large());
        for table in tables {
            running.hand_over_large(table, usize::MAX, receive);
            if let Some(capture) = table.capture_mut() {
                running.hand_over(capture, receive);
            }
        }
        running.emptied = emptied;
        self.snapshot = Some(running);
    }

    /// Nobody wants the snapshot any more. It still has to be walked to its end.
    pub fn abandon_snapshot(&mut self) {
        if let Some(running) = &mut self.snapshot {
            running.is_abandoned = true;
            running.ready.clear();
            running.ends.drain(..).for_each(|end| end.bury(&mut self.reclaim));
            let all = self.databases.iter_mut().chain(&mut running.emptied);
            for table in all.flat_map(Database::tables_mut) {
                if let Some(capture) = table.capture_mut() {
                    running.captured.extend(capture.abandon());
                }
            }
            running.is_amid_large = false;
        }
    }

    /// How far the snapshot is that is being taken.
    pub fn snapshot_progress(&self) -> Option<SnapshotProgress> {
        self.snapshot.as_ref().map(|running| running.progress)
    }

    /// Bytes that are captured and wait to be handed over.
    #[inline]
    pub fn captured_bytes(&self) -> usize {
        let Some(running) = &self.snapshot else { return 0 };
        let all = self.databases.iter().chain(&running.emptied).flat_map(Database::tables);
        let bytes = |table: &Table| table.captured_bytes() + table.large_bytes();
        running.ready.iter().map(Vec::len).sum::<usize>() + all.map(bytes).sum::<usize>()
    }

    /// Lets a snapshot keep the large collection of a key whose row is about to be freed.
    /// Rows that may come back, or that others depend on, are left whole.
    pub(super) fn yield_large(&mut self, key: Key<'_>) {
        if self.snapshot.is_some()
            && !self.journal.is_on()
            && !self.databases[key.db()].leads(key.table)
            && !self.is_borrowed(key)
        {
            self.databases[key.db()].table_mut(key).yield_large(key);
        }
    }

    /// Frees an emptied database, at once or lazily; one of which a snapshot has yet to
    /// capture rows, after that.
    pub(super) fn part_with(&mut self, database: Database, freeing: Freeing) {
        match &mut self.snapshot {
            Some(running) if database.is_being_captured() => running.emptied.push(database),
            _ => self.reclaim.database(database, freeing),
        }
    }

    /// Captures all that is left of tables whose rows go elsewhere.
    pub(super) fn capture_now(&mut self, database: &mut Database) {
        let Some(mut running) = self.snapshot.take() else { return };
        let mut ready = Vec::new();
        let receive = &mut |bytes| ready.push(bytes);
        let mut emptied = std::mem::take(&mut running.emptied);
        let others = self.databases.iter_mut().chain(&mut emptied).flat_map(Database::tables_mut);
        if let Some(amid) = { others }.find(|table| table.is_amid_large()) {
            running.hand_over_large(amid, usize::MAX, receive);
        }
        running.emptied = emptied;
        let mut tables: Vec<&mut Table> = database.tables_mut().collect();
        tables.sort_by_key(|table| !table.is_amid_large());
        for table in tables {
            running.walk(table, usize::MAX, receive);
        }
        running.ready.extend(ready);
        self.snapshot = Some(running);
    }
}
