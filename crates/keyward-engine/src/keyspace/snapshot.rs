//! A snapshot of one instant, taken in steps while commands run.
//!
//! Owns the walk over all tables, and databases that were emptied while their rows were
//! still to be captured. Each step captures a bounded number of rows and hands over
//! their bytes; what commands capture on the way (`snapshot::Capture`) goes with it.
//!
//! Invariant: a table that no snapshot is taken of has rows of one epoch. So a snapshot
//! that nobody wants any more is walked to its end all the same, only nothing is written.
//! Not here: where the bytes go, and compressing them (the host).

use super::Keyspace;
use crate::database::Database;
use crate::reclaim::Freeing;
use crate::snapshot::{Capture, RowFacts};
use crate::table::Table;
use keyward_rdb::{Part, Sizes};
use std::collections::VecDeque;

/// The effort of one step: bytes captured, and so many for each bucket visited. A
/// fraction of a millisecond of work.
const STEP_EFFORT: usize = 64 * 1024;
const BUCKET_EFFORT: usize = 64;

/// A snapshot being taken.
#[derive(Debug)]
pub(crate) struct Running {
    /// Bytes to be handed over first.
    ready: VecDeque<Vec<u8>>,
    /// Databases that were emptied meanwhile.
    emptied: Vec<Database>,
    is_abandoned: bool,
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
    /// Hands over what a table has captured.
    fn hand_over(&mut self, capture: &mut Capture, receive: &mut dyn FnMut(Vec<u8>)) {
        let (bytes, rows) = capture.take();
        self.progress.rows += rows;
        if !bytes.is_empty() && !self.is_abandoned {
            receive(bytes);
        }
    }

    /// Captures rows of a table and hands them over; answers the effort, which is about
    /// `effort_max` at most.
    fn walk(
        &mut self,
        table: &mut Table,
        effort_max: usize,
        receive: &mut dyn FnMut(Vec<u8>),
    ) -> usize {
        let (mut effort, mut visited) = (0, 0);
        while effort < effort_max && !table.is_walked() {
            table.capture_bucket();
            visited += BUCKET_EFFORT;
            effort = visited + table.captured_bytes();
        }
        if table.is_walked() {
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
    pub(crate) fn begin_snapshot(
        &mut self,
        beginning: Vec<u8>,
        databases: impl Iterator<Item = usize>,
    ) {
        assert!(self.snapshot.is_none(), "one snapshot is taken at a time");
        self.bring_rows(usize::MAX);
        let mut running = Running {
            ready: VecDeque::from([beginning]),
            emptied: Vec::new(),
            is_abandoned: false,
            progress: SnapshotProgress::default(),
        };
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
            for table in database.tables_mut() {
                let part = Part::new(db as u64, false);
                let facts = RowFacts::of(table, &self.access);
                table.begin_capture(Capture::new(part, facts));
            }
        }
        self.snapshot = Some(running);
    }

    /// Goes on with the snapshot for one step; whether it is over.
    pub(crate) fn step_snapshot(&mut self, receive: &mut dyn FnMut(Vec<u8>)) -> bool {
        let Some(mut running) = self.snapshot.take() else { return true };
        running.ready.drain(..).for_each(&mut *receive);
        let mut emptied = std::mem::take(&mut running.emptied);
        let mut effort = 0;
        for table in self.databases.iter_mut().chain(&mut emptied).flat_map(Database::tables_mut) {
            // What commands have captured is taken in any case.
            effort += running.walk(table, STEP_EFFORT.saturating_sub(effort), receive);
        }
        for database in emptied {
            if database.is_captured() {
                self.reclaim.database(database);
            } else {
                running.emptied.push(database);
            }
        }
        let is_over =
            running.emptied.is_empty() && self.databases.iter().all(Database::is_captured);
        if !is_over {
            self.snapshot = Some(running);
        }
        is_over
    }

    /// Nobody wants the snapshot any more. It still has to be walked to its end.
    pub(crate) fn abandon_snapshot(&mut self) {
        if let Some(running) = &mut self.snapshot {
            running.is_abandoned = true;
            running.ready.clear();
            let all = self.databases.iter_mut().chain(&mut running.emptied);
            for table in all.flat_map(Database::tables_mut) {
                if let Some(capture) = table.capture_mut() {
                    capture.abandon();
                }
            }
        }
    }

    /// How far the snapshot is that is being taken.
    pub(crate) fn snapshot_progress(&self) -> Option<SnapshotProgress> {
        self.snapshot.as_ref().map(|running| running.progress)
    }

    /// Bytes that are captured and wait to be handed over.
    pub(crate) fn captured_bytes(&self) -> usize {
        let Some(running) = &self.snapshot else { return 0 };
        let all = self.databases.iter().chain(&running.emptied);
        let ready: usize = running.ready.iter().map(Vec::len).sum();
        ready + all.flat_map(Database::tables).map(Table::captured_bytes).sum::<usize>()
    }

    /// Frees an emptied database, at once or lazily; one of which a snapshot has yet to
    /// capture rows, after that.
    pub(super) fn part_with(&mut self, database: Database, freeing: Freeing) {
        match &mut self.snapshot {
            Some(running) if !database.is_captured() => running.emptied.push(database),
            _ if freeing == Freeing::Lazily && database.len() > 0 => {
                self.reclaim.database(database);
            }
            _ => {}
        }
    }

    /// Captures all that is left of tables whose rows go elsewhere.
    pub(super) fn capture_now(&mut self, database: &mut Database) {
        if let Some(running) = &mut self.snapshot {
            let mut ready = Vec::new();
            for table in database.tables_mut() {
                running.walk(table, usize::MAX, &mut |bytes| ready.push(bytes));
            }
            running.ready.extend(ready);
        }
    }
}
