//! All databases, and the only way to read and change them.
//!
//! Owns the databases, the time they are judged by, and the record of every
//! change. Handlers reach rows through the methods here and nowhere else:
//! reading completes an expiry that is due, and every changing method takes the
//! event it is known by and does the rest in one place (`changes`): the dirty
//! counter, WATCH, clients that wait for a key, notifications, invalidations.
//! So a handler cannot forget one of them.
//!
//! Invariants: no method returns a row whose deadline has passed; a collection
//! in a row is never empty once its edit is over.
//! Not here: replies and arguments (the engine's handlers), the log of effects of a
//! whole command (`effects`), who hears of it (the engine).

pub mod blocking;
pub mod changes;
pub mod client_id;
pub mod edit;
pub mod effects;
pub mod ended;
pub mod event;
pub mod expiry;
pub mod gathering;
pub(crate) mod heed;
pub mod journal;
mod leaving;
pub mod loading;
mod own_deadlines;
pub mod pending;
mod renewal;
pub mod sight;
pub mod snapshot;
pub(crate) mod unopened;
pub mod usage;
pub mod victim;
pub mod watch;
mod weeding;
pub mod whole;

use crate::keyspace::effects::Effects;
use crate::keyspace::event::{Class, Event};
use crate::tables::counters::KeyStats;
use crate::tables::database::Database;
use crate::tables::eviction::{MemoryLimit, Policy, Pools, Quotas, Standing};
use crate::tables::reclaim::{Freeing, LazySettings, Reclaim};
use crate::tables::table::{Found, Table};
use crate::tables::weeding::Weeding;
use crate::values::access::AccessClock;
use crate::values::hasher::{DbIndex, Key, KeyHasher};
use crate::values::index::Spot;
use crate::values::random::Random;
use crate::values::row::{NewValue, Row};
use crate::values::value::{Collection, ObjectRef, Value};
use changes::Changes;
pub use gathering::Gathering;
use heed::Heeded;
pub use heed::Surveyor;
use journal::Journal;
use keyward_commands::WireError;
pub use leaving::Ended;
use leaving::Leaving;
pub use loading::OnConflict;
use own_deadlines::OwnDeadlines;
use pending::Pending;
pub use pending::{END_FACT, ENDS_MAX, EndCursor, Finish, SavedEnd};
use snapshot::Running;
pub use snapshot::SnapshotProgress;
pub use usage::Usage;

/// How long after rows were packed because memory was short none is made loose for being
/// read often.
const EASE_MS: u64 = 5_000;

/// The databases and what is recorded about them.
#[derive(Debug)]
pub struct Keyspace {
    databases: Vec<Database>,
    now_ms: i64,
    /// Rows whose deadline is before this time are due: now, or never while commands are carried
    /// out again.
    due_ms: i64,
    /// How rows record that they are used.
    pub access: AccessClock,
    /// When lists that nobody uses were looked for last.
    lists_looked_at_ms: i64,
    /// When rows were packed last because memory was short.
    packed_by_need_at_ms: i64,
    hasher: KeyHasher,
    /// Due rows are invisible but stay. Only while nothing is written: a write must find
    /// the place of a due row free.
    pub is_expiry_held: bool,
    /// Whether an append-only file is written, or goes on once all is loaded.
    pub is_logged: bool,
    /// Databases that the append-only file which was loaded leaves to snapshots, until loading is
    /// over.
    pub left_to_snapshots: Vec<usize>,
    /// Bytes that the server may take before rows that may be evicted go (`maxmemory`); 0 for no
    /// limit.
    pub memory_max: u64,
    /// The engine's source of chance.
    pub random: Random,
    /// Counters of reads and expiries.
    pub stats: KeyStats,
    /// What happened to keys.
    pub changes: Changes,
    /// What is to be logged.
    pub effects: Effects,
    /// What was removed and is not freed yet.
    pub reclaim: Reclaim,
    /// Streams with entries that nobody sees any more.
    weeding: Weeding,
    /// Which removals free lazily.
    pub lazy: LazySettings,
    /// Rows worth evicting, of each database.
    pools: Vec<Pools>,
    /// How many bytes databases may take.
    pub(crate) quotas: Quotas,
    /// The database the last row drawn by chance was evicted from.
    last_evicted_db: usize,
    /// The snapshot that is being taken.
    snapshot: Option<Running>,
    /// The text of the packed row that was read last.
    text: Vec<u8>,
    /// What can be undone.
    pub journal: Journal,
    /// How many databases are under a schema.
    governed: usize,
    /// No row that other tables depend on ends before this time.
    source_deadline: i64,
    /// Rows that went by themselves and that other tables depended on.
    ended: Vec<Ended>,
    /// Counts changes of schemas, after which nothing that was known about the
    /// tables of keys holds.
    schema_version: u64,
    /// How often a mode was changed by which no key comes to another table.
    mode_changes: u64,
    /// Rows that are to be looked at again.
    heeded: Heeded,
    /// Rows on the way to their tables under another schema.
    leaving: Option<Leaving>,
    /// Ends that go in steps.
    pending: Pending,
    /// Commands of the log of changes are carried out again.
    is_replaying: bool,
    /// All changes come from another server: no rule is asked, and nothing ends by itself.
    is_following: bool,
    /// Deadlines of rows that clients have written all the same.
    own_deadlines: OwnDeadlines,
    /// The database and the place in it up to which rows have the ends that others have of them,
    /// while that is looked through.
    told_ends: Option<(usize, u64)>,
}

/// What a write does to the lifetime of the key it overwrites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// The key lives on for ever.
    Forever,
    /// The key keeps the deadline it has.
    Keep,
    /// The key ends at this time, in milliseconds since the epoch.
    Until(i64),
}

/// Whether a look-up counts as a use of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The access clock moves.
    Touch,
    /// The access clock stays: TTL, TYPE, OBJECT.
    Peek,
}

fn is_stream(row: &Row) -> bool {
    matches!(row.value(), Value::Object(ObjectRef::Stream(_)))
}

impl Keyspace {
    /// Empty databases. Everything that looks like chance follows from `seed`.
    pub fn new(database_count: usize, seed: u64) -> Keyspace {
        let mut random = Random::from_seed(seed);
        let hasher = KeyHasher::new([random.next_u64(), random.next_u64()]);
        Keyspace {
            databases: (0..database_count).map(|_| Database::new(hasher, None)).collect(),
            now_ms: 0,
            due_ms: 0,
            access: AccessClock::new(MemoryLimit::default().rates),
            lists_looked_at_ms: 0,
            packed_by_need_at_ms: i64::MIN,
            hasher,
            is_expiry_held: false,
            is_logged: false,
            left_to_snapshots: Vec::new(),
            memory_max: 0,
            random,
            stats: KeyStats::default(),
            changes: Changes::new(hasher),
            effects: Effects::default(),
            reclaim: Reclaim::default(),
            weeding: Weeding::default(),
            lazy: LazySettings::default(),
            pools: (0..database_count).map(|_| Pools::default()).collect(),
            quotas: Quotas::default(),
            last_evicted_db: 0,
            snapshot: None,
            text: Vec::new(),
            journal: Journal::default(),
            governed: 0,
            source_deadline: i64::MAX,
            ended: Vec::new(),
            schema_version: 0,
            mode_changes: 0,
            heeded: Heeded::default(),
            leaving: None,
            pending: Pending::default(),
            is_replaying: false,
            is_following: false,
            own_deadlines: OwnDeadlines::default(),
            told_ends: None,
        }
    }

    /// The time everything is judged by until it is set again.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Whether what is given this deadline is over at once. While commands are carried out again
    /// nothing is: the ends of rows are part of them.
    pub fn is_past(&self, deadline: i64) -> bool {
        deadline <= self.due_ms
    }

    /// The time that holds until the next call.
    pub fn set_now_ms(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
        if !self.is_replaying {
            self.due_ms = now_ms;
        }
        self.access.set_now_ms(now_ms);
    }

    /// How many databases there are.
    pub fn database_count(&self) -> usize {
        self.databases.len()
    }

    /// Changes whenever a key may have come to belong to another table.
    #[inline(always)]
    pub fn schema_version(&self) -> u64 {
        self.schema_version
    }

    /// Changes whenever others are to be told of schemas: with [`Keyspace::schema_version`], and
    /// with any mode.
    #[inline(always)]
    pub fn told_version(&self) -> u64 {
        self.schema_version + self.mode_changes
    }

    /// The hash function of keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// The database of this number.
    #[inline(always)]
    pub fn database_at(&self, db: usize) -> &Database {
        &self.databases[db]
    }

    /// All databases, in order.
    pub fn databases(&self) -> impl Iterator<Item = &Database> {
        self.databases.iter()
    }

    /// A key of this database.
    #[inline]
    pub fn key_in<'a>(&self, db: usize, bytes: &'a [u8]) -> Key<'a> {
        let table = self.databases[db].table_of(bytes);
        Key { bytes, hash: self.hasher.hash(bytes), table, db: DbIndex::of(db) }
    }

    /// The table that a key is in, if it is anywhere.
    #[inline(always)]
    pub fn table(&self, key: Key<'_>) -> &Table {
        self.databases[key.db()].table(key)
    }

    #[inline(always)]
    fn row(&self, key: Key<'_>, spot: Spot) -> &Row {
        self.table(key).row(spot)
    }

    /// Where a living row is; a due one is removed first.
    #[inline(always)]
    fn seek(&mut self, key: Key<'_>) -> Option<Found> {
        let table = self.databases[key.db()].table(key);
        let found = table.seek(key)?;
        if let Some(deadline) = table.deadline_at(found)
            && deadline < self.due_ms
        {
            let lives_on = !self.end_due(key);
            return lives_on.then(|| self.databases[key.db()].table(key).seek(key))?;
        }
        Some(found)
    }

    /// As `seek`, but the row is a loose one then.
    #[inline(always)]
    fn locate(&mut self, key: Key<'_>) -> Option<Spot> {
        let found = self.seek(key)?;
        Some(self.loosen(key, found))
    }

    /// Makes the row that was found a loose one; returns where it is.
    #[inline(always)]
    fn loosen(&mut self, key: Key<'_>, found: Found) -> Spot {
        match found {
            Found::Loose(spot) => spot,
            Found::Packed(place) => self.databases[key.db()].loosen(key, place),
        }
    }

    /// Begins to count anew what happens to rows, here and in every table.
    pub fn reset_stats(&mut self) {
        self.stats = KeyStats::default();
        for table in self.databases.iter_mut().flat_map(Database::tables_mut) {
            table.stats.reset();
        }
    }

    /// Looks a key up for reading, counting a hit or a miss.
    #[inline(always)]
    pub fn read_with(&mut self, key: Key<'_>, access: Access) -> Option<&Row> {
        let found = self.seek_to_read(key, access)?;
        let spot = self.loosen(key, found);
        Some(self.row(key, spot))
    }

    /// Looks a key up for reading, counting a hit or a miss, and leaves the traces of
    /// that on the row.
    #[inline(always)]
    fn seek_to_read(&mut self, key: Key<'_>, access: Access) -> Option<Found> {
        let Some(found) = self.seek(key) else {
            self.stats.misses += 1;
            self.databases[key.db()].table_mut(key).stats.misses += 1;
            self.notify(Event::new(Class::KeyMiss, "keymiss"), key);
            return None;
        };
        self.stats.hits += 1;
        let table = self.databases[key.db()].table_mut(key);
        table.stats.hits += 1;
        if access == Access::Touch {
            let before = table.touch(found, &self.access, &mut self.random);
            if self.is_governed() && self.renews_on_read(key) {
                let spot = self.loosen(key, found);
                self.renew(key, spot);
                return Some(Found::Loose(spot));
            }
            if matches!(found, Found::Packed(_)) && self.is_worth_loosening(key, before) {
                return Some(Found::Loose(self.loosen(key, found)));
            }
        }
        Some(found)
    }

    /// Whether a packed row that had this mark before it was used again is in such demand
    /// that it takes less to read it as a loose one.
    fn is_worth_loosening(&self, key: Key<'_>, mark: u32) -> bool {
        let table = self.table(key);
        self.access.is_in_demand(table.reading(), mark)
            && table.has_room_for_demand()
            && self.now_ms.abs_diff(self.packed_by_need_at_ms) > EASE_MS
    }

    /// Looks a key up for reading.
    #[inline(always)]
    pub fn read(&mut self, key: Key<'_>) -> Option<&Row> {
        self.read_with(key, Access::Touch)
    }

    /// Looks a collection up for reading; an error if the key holds something else.
    pub fn read_as<T: Collection>(&mut self, key: Key<'_>) -> Result<Option<&T>, WireError> {
        match self.read(key).map(Row::value) {
            Some(Value::Object(object)) => T::of(object).map(Some).ok_or(WireError::WrongType),
            Some(_) => Err(WireError::WrongType),
            None => Ok(None),
        }
    }

    /// Looks a key up on the way to changing it: no hit or miss is counted.
    #[inline(always)]
    pub fn find(&mut self, key: Key<'_>) -> Option<&Row> {
        let spot = self.locate(key)?;
        self.touch(key, Found::Loose(spot));
        Some(self.row(key, spot))
    }

    /// Marks the row that was found as used; returns the mark it had.
    #[inline(always)]
    fn touch(&mut self, key: Key<'_>, found: Found) -> u32 {
        let table = self.databases[key.db()].table_mut(key);
        table.touch(found, &self.access, &mut self.random)
    }

    /// Decides whether rows keep their marks of use whatever is done with them; returns whether
    /// they did.
    pub fn hold_marks(&mut self, is_held: bool) -> bool {
        self.access.hold(is_held)
    }

    /// The mark of a new row.
    fn first_mark(&self, key: Key<'_>) -> u32 {
        self.access.first_mark(self.table(key).reading())
    }

    /// Decides when keys that no pattern speaks for go if memory is short.
    pub fn set_policy(&mut self, policy: Option<Policy>) {
        let standing = policy.map(Standing::by_policy);
        self.databases.iter_mut().for_each(|database| database.set_standing(standing));
    }

    /// Stores a value under a key, new or not.
    #[inline]
    pub fn set(&mut self, key: Key<'_>, value: NewValue<'_>, lifetime: Lifetime, event: Event) {
        match self.seek(key) {
            Some(found) => self.replace(key, found, value, lifetime),
            None => {
                let is_object = matches!(value, NewValue::Object(_));
                if self.journal.is_on() {
                    self.journal.replaced(key, None);
                }
                let deadline = match lifetime {
                    Lifetime::Until(at) => Some(at),
                    Lifetime::Forever | Lifetime::Keep => None,
                };
                let mut row = Row::new(key.bytes, value, deadline);
                row.set_clock(self.first_mark(key));
                self.place_row(key, row);
                self.notify(Event::new(Class::New, "new"), key);
                // As in Redis 7.0, who waits is not served by a row that replaces one.
                if is_object {
                    self.changes.ready(key.db(), key.bytes);
                }
            }
        }
        self.changed(key, event, 1);
    }

    /// Puts a value in the place of a row that was found. Nobody is told.
    #[inline]
    fn replace(&mut self, key: Key<'_>, found: Found, value: NewValue<'_>, lifetime: Lifetime) {
        let table = self.databases[key.db()].table_mut(key);
        let deadline = match lifetime {
            Lifetime::Forever => None,
            Lifetime::Keep => table.deadline_at(found),
            Lifetime::Until(at) => Some(at),
        };
        let before = table.clock_at(found);
        let clock = self.access.next_mark(table.reading(), before, &mut self.random);
        match found {
            Found::Packed(place) if !table.is_being_captured() => {
                let mut row = Row::new(key.bytes, value, deadline);
                row.set_clock(clock);
                if self.journal.is_on() {
                    let before = table.exchange_packed(place, key.hash, row);
                    self.journal.replaced(key, Some(before));
                } else {
                    // What nobody wants to see again need not be unpacked.
                    table.replace_packed(place, key.hash, row);
                }
            }
            found => {
                let spot = self.loosen(key, found);
                if self.changes.waiting.has_group_readers() && self.holds_stream(key, spot) {
                    self.changes.ready(key.db(), key.bytes);
                }
                let freeing = Freeing::lazily_if(self.lazy.server_del);
                let is_kept = self.journal.is_on() || self.is_borrowed(key);
                let table = self.databases[key.db()].table_mut(key);
                if is_kept {
                    let new = Row::new(key.bytes, value, deadline);
                    let before = table.exchange(spot, key.hash, new);
                    table.set_clock_at(Found::Loose(spot), clock);
                    self.discard(key, before, freeing);
                } else {
                    table.yield_large(key);
                    let old = table.replace(spot, key.hash, value, deadline);
                    table.set_clock_at(Found::Loose(spot), clock);
                    if let Some(old) = old {
                        self.reclaim.row(old, freeing);
                    }
                }
            }
        }
        self.note_deadline(key);
    }

    /// Stores a string, as a number where its bytes are one.
    #[inline]
    pub fn set_text(&mut self, key: Key<'_>, text: &[u8], lifetime: Lifetime, event: Event) {
        self.set(key, crate::values::text::encode(text), lifetime, event);
    }

    /// Gives, moves or takes away the deadline of a key; whether it is there.
    pub fn set_deadline(&mut self, key: Key<'_>, deadline: Option<i64>, event: Event) -> bool {
        let Some(spot) = self.locate(key) else { return false };
        let table = self.databases[key.db()].table_mut(key);
        if self.journal.is_on() {
            self.journal.deadline(key, table.row(spot).deadline());
        }
        table.set_deadline(spot, key.hash, deadline);
        self.note_deadline(key);
        self.changed(key, event, 1);
        true
    }

    /// Removes a key on the way to something else; whether it was there.
    pub fn remove(&mut self, key: Key<'_>, event: Event) -> bool {
        self.delete(key, event, Freeing::lazily_if(self.lazy.server_del))
    }

    /// Removes a key and frees what it held at once or lazily; whether it was
    /// there.
    pub fn delete(&mut self, key: Key<'_>, event: Event, freeing: Freeing) -> bool {
        if self.seek(key).is_none() {
            return false;
        }
        self.yield_large(key);
        let is_removed = !self.journal.is_on() && self.remove_packed(key);
        if !is_removed && let Some(row) = self.take_row(key) {
            self.discard(key, row, freeing);
        }
        self.changed(key, event, 1);
        true
    }

    /// Frees a row that left its table, unless that may still be undone.
    fn discard(&mut self, key: Key<'_>, row: Row, freeing: Freeing) {
        if self.is_borrowed(key) {
            self.discard_borrowed(key, row);
        } else if self.journal.is_on() {
            self.journal.replaced(key, Some(row));
        } else {
            self.reclaim.row(row, freeing);
        }
    }

    /// Takes a row out of its table; nobody is told.
    fn take_row(&mut self, key: Key<'_>) -> Option<Row> {
        if self.has_pending() {
            self.unlist(key);
        }
        let row = self.databases[key.db()].remove(key);
        self.note_stream_gone(key, row.as_ref());
        row
    }

    /// Who waits as a consumer of a stream is told if its row goes.
    #[inline(always)]
    fn note_stream_gone(&mut self, key: Key<'_>, row: Option<&Row>) {
        if self.changes.waiting.has_group_readers() && row.is_some_and(is_stream) {
            self.changes.ready(key.db(), key.bytes);
        }
    }

    fn holds_stream(&self, key: Key<'_>, spot: Spot) -> bool {
        is_stream(self.row(key, spot))
    }

    /// A stream got an entry, or lost a group: whoever waits for it may go on.
    pub fn entries_came(&mut self, key: Key<'_>) {
        self.changes.ready(key.db(), key.bytes);
    }

    /// Removes a row that nobody wants to see again, if it is packed; whether it did.
    fn remove_packed(&mut self, key: Key<'_>) -> bool {
        if self.has_pending() {
            self.unlist(key);
        }
        self.databases[key.db()].remove_packed(key)
    }

    /// Puts a row that is not there into its table; nobody is told.
    fn place_row(&mut self, key: Key<'_>, row: Row) {
        self.databases[key.db()].insert(key, row);
        self.note_deadline(key);
    }

    /// The same of a row that was there before, wherever that was.
    fn put_row_back(&mut self, key: Key<'_>, row: Row) {
        self.databases[key.db()].insert(key, row);
        self.note_source_deadline(key);
    }

    /// Moves a living row to another place, replacing what is there; the events are told of
    /// the old and of the new place.
    pub fn relocate(&mut self, from: Key<'_>, to: Key<'_>, events: [Event; 2]) {
        let row = self.take_row(from).expect("callers have found the row");
        let deadline = row.deadline();
        let row = row.into_value().into_row(to.bytes, deadline);
        self.insert_row(to, row);
        self.follow_borrowed(from, to);
        if self.journal.is_on() {
            self.journal.moved(from, to);
        }
        self.changed(from, events[0], 0);
        self.changed(to, events[1], 1);
    }

    /// Puts a row of this key into its table, replacing what was there without an event
    /// of its own.
    pub fn put(&mut self, key: Key<'_>, row: Row, event: Event) {
        self.insert_row(key, row);
        self.changed(key, event, 1);
    }

    fn insert_row(&mut self, key: Key<'_>, mut row: Row) {
        self.locate(key);
        row.set_clock(self.first_mark(key));
        self.yield_large(key);
        match self.take_row(key) {
            Some(old) => self.discard(key, old, Freeing::lazily_if(self.lazy.server_del)),
            None if self.journal.is_on() => self.journal.replaced(key, None),
            None => {}
        }
        self.note_weeds(key, &row);
        self.place_row(key, row);
        self.notify(Event::new(Class::New, "new"), key);
        self.changes.ready(key.db(), key.bytes);
    }

    /// Records that a key changed: the one place all changes pass through.
    #[inline(always)]
    fn changed(&mut self, key: Key<'_>, event: Event, count: u64) {
        self.record(key, count);
        self.changes.notify(key.db(), event, key.bytes);
    }

    /// Records a change of which no event tells.
    #[inline(always)]
    fn record(&mut self, key: Key<'_>, count: u64) {
        if self.journal.is_on() {
            // The rest is done when the change is known to stay.
            self.changes.dirty += count;
        } else {
            self.databases[key.db()].count_write(key.table);
            self.changes.changed(key.db(), key.bytes, count);
            self.heed(key.db(), key.bytes);
        }
    }

    /// Records a change that nobody is told of.
    fn changed_quietly(&mut self, key: Key<'_>, count: u64) {
        self.changes.dirty += count;
        if !self.journal.is_on() {
            self.databases[key.db()].count_write(key.table);
        }
    }

    /// Tells subscribers of an event that is not a change by itself, or is a
    /// second event of one change.
    #[inline(always)]
    pub fn notify(&mut self, event: Event, key: Key<'_>) {
        self.changes.notify(key.db(), event, key.bytes);
    }

    /// Hints that a key will be looked up soon.
    #[inline(always)]
    pub fn prefetch_bucket(&self, key: Key<'_>) {
        self.table(key).prefetch_bucket(key.hash);
    }

    /// Hints that a key's row will be read soon; returns whether it may be packed.
    #[inline(always)]
    pub fn prefetch_row(&self, key: Key<'_>) -> bool {
        self.table(key).prefetch_row(key.hash)
    }

    /// Hints that a key's row will be read soon, if it is packed.
    #[inline(always)]
    pub fn prefetch_packed_row(&self, key: Key<'_>) {
        self.table(key).prefetch_packed_row(key.hash);
    }
}
