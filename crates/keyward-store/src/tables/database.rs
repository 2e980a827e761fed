//! A database: the keys of one `SELECT` number, in tables.
//!
//! Owns the tables and the choice of a key's table. A schemaless database has
//! exactly one table; a schema gives each key pattern its own, and the plain one
//! keeps the rest. Invariant: a key has exactly one table it can be in.
//! Not here: time and changes (`keyspace`).

use crate::tables::contradictions::Contradictions;
use crate::tables::counters::TableStats;
use crate::tables::eviction::{Order, Scope, Standing};
use crate::tables::faulty::Faulty;
use crate::tables::table::{Found, LeavingRow, Neighbour, Place, Table};
use crate::values::hasher::{DbIndex, Key, KeyHasher, TableIndex};
use crate::values::index::Spot;
use crate::values::packed::Item;
use crate::values::random::Random;
use crate::values::row::{LentRow, Row};
use keyward_rules::{Faults, RowType, RuleBook, Survey};
use keyward_schema::{KeyId, Mode, Persist};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A scan cursor is the number of a table and, below this bit, a cursor of that
/// table. Clients that keep cursors as doubles have 53 bits.
const TABLE_SHIFT: u32 = 40;

/// The tables of one `SELECT` number.
#[derive(Debug)]
pub struct Database {
    /// The plain one first, then one for each pattern in the schema's order.
    tables: Vec<Table>,
    book: Option<Arc<RuleBook>>,
    /// The table that was written, or had a row loosened, last.
    last_changed: TableIndex,
    /// How many rows were written or loosened.
    changes: u64,
    /// What clients wrote to computed rows in spite of their sources.
    pub(crate) contradictions: Contradictions,
    /// Rows that something is wrong with; the counters of tables tell how many.
    pub(crate) faulty: Faulty,
    hasher: KeyHasher,
}

impl Database {
    /// A schemaless database without rows. `standing` is what the server's policy says
    /// of keys that no pattern speaks for.
    pub fn new(hasher: KeyHasher, standing: Option<Standing>) -> Database {
        Database {
            tables: vec![Table::new(hasher, standing)],
            book: None,
            last_changed: TableIndex::PLAIN,
            changes: 0,
            contradictions: Contradictions::new(hasher),
            faulty: Faulty::new(hasher),
            hasher,
        }
    }

    /// A database without rows, under a schema.
    pub fn governed(
        hasher: KeyHasher,
        standing: Option<Standing>,
        book: Arc<RuleBook>,
    ) -> Database {
        let patterns = book.schema().ids().map(|id| {
            let mut table = Table::governed(hasher, book.schema().key(id));
            table.standing = Standing::under(&book, id, standing);
            table
        });
        let plain = Table::new(hasher, standing);
        Database {
            tables: std::iter::once(plain).chain(patterns).collect(),
            book: Some(book),
            last_changed: TableIndex::PLAIN,
            changes: 0,
            contradictions: Contradictions::new(hasher),
            faulty: Faulty::new(hasher),
            hasher,
        }
    }

    /// The rules it is under, if any.
    #[inline(always)]
    pub fn book(&self) -> Option<&Arc<RuleBook>> {
        self.book.as_ref()
    }

    /// What of it outlives a restart.
    pub fn persist(&self) -> Persist {
        self.book.as_ref().map_or(Persist::Aof, |book| book.schema().keyspace.persist)
    }

    /// Overrules the modes of one of its keyspaces, or leaves it to its schema.
    pub fn set_mode(&mut self, keyspace: usize, mode: Option<Mode>) {
        if let Some(book) = &self.book {
            book.set_mode(keyspace, mode);
        }
    }

    /// The table that a key belongs to.
    #[inline(always)]
    pub fn table_of(&self, key: &[u8]) -> TableIndex {
        match &self.book {
            None => TableIndex::PLAIN,
            Some(book) => book.table_of(key).map_or(TableIndex::PLAIN, TableIndex::of),
        }
    }

    /// The pattern of a table; `None` for the plain one.
    pub fn pattern(&self, table: TableIndex) -> Option<KeyId> {
        let index = usize::from(table.0).checked_sub(1)?;
        self.book.as_ref()?.schema().id(index)
    }

    /// A key that is looked up within this database, which does not know its number.
    #[inline]
    pub(crate) fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        let (hash, table) = (self.hasher.hash(bytes), self.table_of(bytes));
        Key { bytes, hash, table, db: DbIndex::WITHIN }
    }

    /// The row of a key, whether it is due or not.
    pub fn find(&self, key: &[u8]) -> Option<LentRow<'_>> {
        let key = self.key(key);
        self.table(key).find(key)
    }

    /// The same, of a key that belongs to the table of this pattern.
    pub(crate) fn find_of(&self, pattern: KeyId, key: &[u8]) -> Option<LentRow<'_>> {
        let table = TableIndex::of(pattern);
        let key = Key { bytes: key, hash: self.hasher.hash(key), table, db: DbIndex::WITHIN };
        self.table(key).find(key)
    }

    /// The table a key is in, if it is anywhere. The key is one of this database.
    #[inline(always)]
    pub fn table(&self, key: Key<'_>) -> &Table {
        &self.tables[usize::from(key.table.0)]
    }

    /// As `table`, for changing rows.
    #[inline(always)]
    pub(crate) fn table_mut(&mut self, key: Key<'_>) -> &mut Table {
        &mut self.tables[usize::from(key.table.0)]
    }

    /// Adds a row that is not there yet.
    #[inline]
    pub fn insert(&mut self, key: Key<'_>, row: Row) {
        self.table_mut(key).insert(key.hash, row);
        if let Some(leader) = self.leader(key) {
            self.table_mut(key).companions.add(&leader, key.bytes);
        }
    }

    /// Makes room for so many rows, if it is known where they go.
    pub fn expect_rows(&mut self, rows: usize) {
        if let [table] = &mut self.tables[..] {
            table.expect_rows(rows);
        }
    }

    /// Takes a row out.
    #[inline]
    pub fn remove(&mut self, key: Key<'_>) -> Option<Row> {
        let row = self.table_mut(key).remove(key)?;
        if let Some(leader) = self.leader(key) {
            self.table_mut(key).companions.remove(&leader, key.bytes);
        }
        Some(row)
    }

    /// Removes the row of a key that nobody wants to see again, if it is packed, without
    /// unpacking it; whether it did.
    pub(crate) fn remove_packed(&mut self, key: Key<'_>) -> bool {
        let table = self.table_mut(key);
        let Some(Found::Packed(place)) = table.seek(key).filter(|_| !table.is_being_captured())
        else {
            return false;
        };
        table.remove_packed(place, key.hash);
        if let Some(leader) = self.leader(key) {
            self.table_mut(key).companions.remove(&leader, key.bytes);
        }
        true
    }

    /// Forgets that a row lives with its leader: a pending end lists it.
    pub(crate) fn unlist_companion(&mut self, key: Key<'_>) {
        if let Some(leader) = self.leader(key) {
            self.table_mut(key).companions.remove(&leader, key.bytes);
        }
    }

    /// The key that this one lives with.
    #[inline]
    fn leader(&self, key: Key<'_>) -> Option<Vec<u8>> {
        let book = self.book.as_ref()?;
        let pattern = self.pattern(key.table)?;
        book.traits(pattern).leader?;
        book.leader(pattern, key.bytes)
    }

    /// For each table the book and the pattern, where reads renew its rows.
    pub(crate) fn renewed_tables(&self) -> impl Iterator<Item = Option<(Arc<RuleBook>, KeyId)>> {
        (0..self.tables.len()).map(|index| {
            let table = TableIndex(u16::try_from(index).expect("tables are few"));
            let (book, pattern) = self.book.as_ref().zip(self.pattern(table))?;
            book.traits(pattern).renews_on_read.then(|| (Arc::clone(book), pattern))
        })
    }

    /// The end that a copy of a row is given: its deadline, or what the log has, if that is
    /// later.
    pub fn copied_deadline(&self, row: &Row) -> Option<i64> {
        let deadline = row.deadline()?;
        let book = self.book.as_ref().filter(|_| row.is_told_later());
        let told = book.and_then(|book| {
            Some(book.told_end(self.pattern(self.table_of(row.key()))?, row, deadline))
        });
        Some(told.unwrap_or(deadline))
    }

    /// Visits the keys that live with this one, in the order of their bytes.
    pub(crate) fn each_companion(&self, leader: &[u8], visit: &mut dyn FnMut(&[u8])) {
        let mut keys: Vec<Box<[u8]>> = Vec::new();
        for table in &self.tables {
            table.companions.each(leader, |key| keys.push(key.into()));
        }
        keys.sort_unstable();
        keys.iter().for_each(|key| visit(key));
    }

    /// How many keys live with this one.
    pub(crate) fn companion_count(&self, leader: &[u8]) -> usize {
        self.tables.iter().map(|table| table.companions.count(leader)).sum()
    }

    /// Visits some keys of a table that live with this one, from a cursor on; returns the
    /// next one, zero at the end.
    pub(crate) fn scan_companions(
        &self,
        table: TableIndex,
        leader: &[u8],
        cursor: u64,
        visit: &mut dyn FnMut(Item<'_>),
    ) -> u64 {
        self.tables[usize::from(table.0)].companions.scan(leader, cursor, visit)
    }

    /// Forgets which keys live with this one: for each table the set of them.
    pub(crate) fn take_companions(&mut self, leader: &[u8]) -> Vec<(TableIndex, Row)> {
        let taken = self.tables.iter_mut().enumerate().filter_map(|(index, table)| {
            let row = table.companions.take(leader)?;
            Some((TableIndex(u16::try_from(index).expect("tables are few")), row))
        });
        taken.collect()
    }

    /// Puts back what was taken.
    pub(crate) fn give_companions_back(&mut self, sets: Vec<(TableIndex, Row)>) {
        for (table, row) in sets {
            self.tables[usize::from(table.0)].companions.give_back(row);
        }
    }

    /// Counts a change of a row.
    #[inline(always)]
    pub(crate) fn count_write(&mut self, table: TableIndex) {
        self.tables[usize::from(table.0)].stats.writes += 1;
        self.note_change(table);
    }

    #[inline(always)]
    fn note_change(&mut self, table: TableIndex) {
        self.last_changed = table;
        self.changes += 1;
    }

    /// Makes a packed row of a table a loose one; returns where it is.
    pub(crate) fn loosen(&mut self, key: Key<'_>, place: Place) -> Spot {
        self.note_change(key.table);
        self.table_mut(key).loosen(key, place)
    }

    /// How many times a row was written or loosened.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The number of the table that was written, or had a row loosened, last.
    pub(crate) fn last_changed(&self) -> usize {
        usize::from(self.last_changed.0)
    }

    /// The counters of a table.
    pub(crate) fn stats_mut(&mut self, table: TableIndex) -> &mut TableStats {
        &mut self.tables[usize::from(table.0)].stats
    }

    /// Goes on with the counters of another database's tables, where both have the
    /// pattern. Rows are not there yet, and so nothing is wrong with any.
    pub(crate) fn inherit_stats(&mut self, from: &Database) {
        let texts = |database: &Database| -> Vec<Box<str>> {
            let keys = database.book.iter().flat_map(|book| &book.schema().keys);
            keys.map(|key| key.pattern.text().into()).collect()
        };
        let inherited = |table: &Table| TableStats { misfits: 0, conflicts: 0, ..table.stats };
        self.tables[0].stats = inherited(&from.tables[0]);
        let old: BTreeMap<Box<str>, &Table> =
            texts(from).into_iter().zip(&from.tables[1..]).collect();
        for (text, table) in texts(self).iter().zip(&mut self.tables[1..]) {
            if let Some(old) = old.get(text) {
                table.stats = inherited(old);
            }
        }
    }

    /// Takes over the tables of the database before that a survey says go over as
    /// they are.
    pub fn adopt(&mut self, before: &mut Database, survey: &Survey) {
        for old in 0..before.tables.len() {
            let pattern = before.pattern(TableIndex(old as u16));
            let heir = survey.heir(pattern).filter(|_| survey.goes_whole(pattern));
            let Some(heir) = heir else { continue };
            let heir = heir.map_or(TableIndex::PLAIN, TableIndex::of);
            let empty = &mut self.tables[usize::from(heir.0)];
            let (standing, stats) = (empty.standing, empty.stats);
            std::mem::swap(empty, &mut before.tables[old]);
            empty.stats = stats;
            if let Some((at, book)) = heir.0.checked_sub(1).zip(self.book.as_ref()) {
                empty.heed(&book.schema().keys[usize::from(at)]);
            }
            // What a schema says of it, or the server's policy.
            empty.standing = standing;
        }
    }

    /// Keeps in mind what was wrong with a row under the schema before, as far as the
    /// survey of it did not judge that anew.
    pub(crate) fn inherit_faults(&mut self, key: &[u8], faults: Faults, survey: &Survey) {
        if let Some(table) = self.book.as_ref().and_then(|book| book.table_of(key)) {
            let kept = Faults {
                is_misfit: faults.is_misfit && !survey.judges(table),
                is_conflict: faults.is_conflict && !survey.relates(table),
            };
            self.set_faults(key, kept);
        }
    }

    /// Whether other tables depend on this one.
    #[inline]
    pub fn leads(&self, table: TableIndex) -> bool {
        let pattern = self.pattern(table).zip(self.book.as_ref());
        pattern.is_some_and(|(pattern, book)| book.traits(pattern).leads())
    }

    /// The tables that others depend on.
    fn sources(&self) -> impl Iterator<Item = &Table> {
        let tables = self.tables.iter().enumerate();
        tables.filter(|(index, _)| self.leads(TableIndex(*index as u16))).map(|(_, table)| table)
    }

    /// The key of a due row on which others depend.
    pub(crate) fn due_source(&self, now_ms: i64) -> Option<Box<[u8]>> {
        self.sources().find_map(|table| table.due_key(now_ms))
    }

    /// When the first row ends on which others depend.
    pub(crate) fn next_source_deadline(&self) -> Option<i64> {
        self.sources().filter_map(Table::next_deadline).min()
    }

    /// All tables, the plain one first.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// As `tables`, to change them.
    pub(crate) fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.tables.iter_mut()
    }

    /// Whether a snapshot is being taken of it.
    pub(crate) fn is_being_captured(&self) -> bool {
        self.tables.iter().any(Table::is_being_captured)
    }

    /// How many rows there are, due ones included.
    pub fn len(&self) -> usize {
        self.tables.iter().map(Table::len).sum()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(Table::is_empty)
    }

    /// How many rows have a deadline.
    pub fn expiring(&self) -> usize {
        self.tables.iter().map(Table::expiring).sum()
    }

    /// The average deadline of those that have one.
    pub fn mean_deadline(&self) -> Option<i64> {
        let expiring = self.expiring() as i128;
        let sum: i128 = self
            .tables
            .iter()
            .filter_map(|t| Some(i128::from(t.mean_deadline()?) * t.expiring() as i128))
            .sum();
        (expiring > 0).then(|| (sum / expiring) as i64)
    }

    /// Takes all rows out, leaving the database empty under the same schema. What
    /// its tables count goes on.
    pub fn take(&mut self) -> Database {
        let standing = self.standing();
        let mut empty = match &self.book {
            None => Database::new(self.hasher, standing),
            Some(book) => Database::governed(self.hasher, standing, Arc::clone(book)),
        };
        empty.inherit_stats(self);
        std::mem::replace(self, empty)
    }

    /// Every row.
    pub fn iter(&self) -> impl Iterator<Item = LentRow<'_>> {
        self.tables.iter().flat_map(Table::iter)
    }

    /// Visits the rows of one bucket of the tables that can hold keys beginning
    /// with `prefix`; returns the next cursor, zero at the end.
    pub fn scan(&self, cursor: u64, prefix: &[u8], visit: impl FnMut(&Row)) -> u64 {
        let position = cursor & ((1 << TABLE_SHIFT) - 1);
        let from = usize::try_from(cursor >> TABLE_SHIFT).unwrap_or(usize::MAX);
        let reach = |table: &usize| self.can_hold(*table, prefix);
        let Some(table) = (from..self.tables.len()).find(reach) else { return 0 };
        let start = if table == from { position } else { 0 };
        match self.tables[table].scan(start, visit) {
            0 => match (table + 1..self.tables.len()).find(reach) {
                Some(next) => (next as u64) << TABLE_SHIFT,
                None => 0,
            },
            next => ((table as u64) << TABLE_SHIFT) | next,
        }
    }

    /// As `scan`, of the tables whose rows a read renews: visits those of which the log has a later
    /// end, with that end.
    pub(crate) fn scan_renewed(&self, cursor: u64, mut visit: impl FnMut(&Row, i64)) -> u64 {
        let position = cursor & ((1 << TABLE_SHIFT) - 1);
        let from = usize::try_from(cursor >> TABLE_SHIFT).unwrap_or(usize::MAX);
        let renews = |table: &usize| {
            let pattern = table.checked_sub(1).zip(self.book.as_ref());
            let pattern = pattern.and_then(|(index, book)| Some((book, book.schema().id(index)?)));
            pattern.is_some_and(|(book, pattern)| book.traits(pattern).renews_on_read)
        };
        let Some(table) = (from..self.tables.len()).find(renews) else { return 0 };
        let start = if table == from { position } else { 0 };
        let next = self.tables[table].scan(start, |row| {
            if let Some(end) = self.copied_deadline(row).filter(|_| row.is_told_later()) {
                visit(row, end);
            }
        });
        match next {
            0 => (table + 1..self.tables.len())
                .find(renews)
                .map_or(0, |next| (next as u64) << TABLE_SHIFT),
            next => ((table as u64) << TABLE_SHIFT) | next,
        }
    }

    /// The rows of the tables that can hold keys beginning with `prefix`.
    pub fn rows_beginning(&self, prefix: &[u8]) -> impl Iterator<Item = LentRow<'_>> {
        let tables = self.tables.iter().enumerate();
        tables.filter(|(table, _)| self.can_hold(*table, prefix)).flat_map(|(_, t)| t.iter())
    }

    /// Whether a table has rows at all, and can have one whose key begins so.
    fn can_hold(&self, table: usize, prefix: &[u8]) -> bool {
        let pattern = table.checked_sub(1).zip(self.book.as_ref());
        !self.tables[table].is_empty()
            && pattern.is_none_or(|(id, book)| book.schema().keys[id].pattern.can_begin(prefix))
    }

    /// A row drawn by chance.
    pub fn sample(&self, random: &mut Random) -> Option<LentRow<'_>> {
        let mut position = random.below(self.len().max(1) as u64) as usize;
        for table in &self.tables {
            if position < table.len() {
                return table.sample(random);
            }
            position -= table.len();
        }
        None
    }

    /// When keys that no pattern speaks for, or one that observes, go if memory is short.
    pub(crate) fn standing(&self) -> Option<Standing> {
        self.tables[0].standing
    }

    /// Decides that.
    pub(crate) fn set_standing(&mut self, standing: Option<Standing>) {
        self.tables[0].standing = standing;
        let book = self.book.iter().filter(|book| book.observes_any());
        for (book, id) in book.flat_map(|book| book.schema().ids().map(move |id| (book, id))) {
            if book.observes(id) {
                self.tables[usize::from(TableIndex::of(id).0)].standing = standing;
            }
        }
    }

    /// Those of these tables that have such a standing and rows that may go, each with how
    /// many.
    pub(crate) fn evictable(
        &self,
        within: &Range<usize>,
        is_it: impl Fn(Standing) -> bool,
    ) -> impl Iterator<Item = (&Table, Standing, usize)> {
        let end = within.end.min(self.tables.len());
        self.tables[within.start.min(end)..end].iter().filter_map(move |table| {
            let standing = table.standing.filter(|standing| is_it(*standing))?;
            let count = match standing.scope {
                Scope::All => table.len(),
                Scope::Expiring => table.expiring(),
            };
            (count > 0).then_some((table, standing, count))
        })
    }

    /// The key of a row that may go, of a table of such a standing, drawn by chance, and the
    /// mark of its use.
    pub(crate) fn draw_evictable(
        &self,
        within: &Range<usize>,
        is_it: impl Fn(Standing) -> bool + Copy,
        random: &mut Random,
    ) -> Option<(Cow<'_, [u8]>, u32)> {
        let total: usize = self.evictable(within, is_it).map(|(_, _, count)| count).sum();
        let mut position = random.below(total.max(1) as u64) as usize;
        for (table, standing, count) in self.evictable(within, is_it) {
            if position < count {
                return match standing.scope {
                    Scope::All => table.draw(random),
                    Scope::Expiring => table.draw_expiring(random),
                };
            }
            position -= count;
        }
        None
    }

    /// Visits rows that may go, of tables of such a standing: so many or a few more, from a
    /// place drawn by chance on. Returns whether there are any.
    pub(crate) fn sample_evictable(
        &self,
        within: &Range<usize>,
        is_it: impl Fn(Standing) -> bool + Copy,
        samples: usize,
        random: &mut Random,
        mut visit: impl FnMut(Neighbour<'_>),
    ) -> bool {
        let scopes =
            || self.evictable(within, is_it).map(|(table, standing, _)| (table, standing.scope));
        let total: usize = scopes().map(|(table, scope)| table.groups(scope)).sum();
        let first = random.below(total.max(1) as u64) as usize;
        let mut seen = 0;
        for step in 0..total {
            let mut group = (first + step) % total;
            let found = scopes().find(|(table, scope)| {
                let groups = table.groups(*scope);
                let is_here = group < groups;
                group -= if is_here { 0 } else { groups };
                is_here
            });
            if let Some((table, scope)) = found {
                table.visit_group((scope, group), random, |row| {
                    seen += 1;
                    visit(row);
                });
            }
            if seen >= samples {
                break;
            }
        }
        total > 0
    }

    /// The table with the row that ends soonest of those that go by their ends, and when
    /// that is.
    pub(crate) fn first_to_end(&self, within: &Range<usize>) -> Option<(i64, &Table)> {
        let tables = self.evictable(within, |standing| standing.order == Order::Deadline);
        let ends = tables.filter_map(|(table, ..)| Some((table.next_deadline()?, table)));
        ends.min_by_key(|(deadline, _)| *deadline)
    }

    /// The mark of a row's use, if it may go and its table is one of these and has such a
    /// standing.
    pub(crate) fn mark_of_evictable(
        &self,
        within: &Range<usize>,
        key: &[u8],
        is_it: impl Fn(Standing) -> bool,
    ) -> Option<u32> {
        let key = self.key(key);
        if !within.contains(&usize::from(key.table.0)) {
            return None;
        }
        let table = self.table(key);
        let standing = table.standing.filter(|standing| is_it(*standing))?;
        let may_go = standing.scope == Scope::All || table.deadline_of(key).is_some();
        table.mark_of(key).filter(|_| may_go)
    }

    /// Hands over rows, about `budget` of them, and returns how much was done.
    /// The database is not to be used any more.
    pub fn shed(&mut self, budget: usize, mut receive: impl FnMut(LeavingRow<'_>)) -> usize {
        // A table that is empty goes: of thousands none is to be looked at in every step.
        let Some(table) = self.tables.last_mut() else {
            return self.faulty.shed(budget, |_, _| ());
        };
        let shed = table.shed(budget, &mut receive);
        if shed > 0 {
            return shed;
        }
        self.tables.pop();
        1
    }

    /// Bytes of the indexes, rows aside.
    pub fn index_bytes(&self) -> usize {
        self.tables.iter().map(Table::index_bytes).sum()
    }

    /// Bytes of the orders of deadlines.
    pub fn deadline_bytes(&self) -> usize {
        self.tables.iter().map(Table::deadline_bytes).sum()
    }

    /// The key of a row whose deadline has passed.
    pub(crate) fn due_key(&self, now_ms: i64) -> Option<Box<[u8]>> {
        self.tables.iter().find_map(|table| table.due_key(now_ms))
    }
}

impl Database {
    /// Whether it has rows that something is wrong with.
    #[inline(always)]
    pub(crate) fn has_faults(&self) -> bool {
        !self.faulty.is_empty()
    }

    /// What is wrong with a row.
    pub fn faults(&self, key: &[u8]) -> Option<Faults> {
        self.faulty.get(key)
    }

    /// Whether a key is of a lookup, and rows that it may name claim what another has.
    pub(crate) fn may_settle_conflicts(&self, key: &[u8]) -> bool {
        let Some(book) = &self.book else { return false };
        let Some(table) = book.table_of(key) else { return false };
        let traits = book.traits(table);
        let is_lookup = traits.is_computed && traits.row_type == Some(RowType::String);
        is_lookup
            && traits.source.is_some_and(|source| {
                self.tables[usize::from(TableIndex::of(source).0)].stats.conflicts > 0
            })
    }

    /// Keeps in mind what is wrong with a row, or forgets it.
    pub fn set_faults(&mut self, key: &[u8], faults: Faults) {
        let before = self.faulty.set(key, faults);
        self.count_faults(key, before, faults);
    }

    /// Counts that other things are wrong with a row than before.
    pub(crate) fn count_faults(&mut self, key: &[u8], before: Faults, faults: Faults) {
        let stats = self.stats_mut(self.table_of(key));
        stats.misfits += u64::from(faults.is_misfit);
        stats.misfits -= u64::from(before.is_misfit);
        stats.conflicts += u64::from(faults.is_conflict);
        stats.conflicts -= u64::from(before.is_conflict);
    }
}

/// They are made on a thread and handed over.
const _: fn() = || {
    fn is_sent<T: Send>() {}
    is_sent::<Database>();
};
