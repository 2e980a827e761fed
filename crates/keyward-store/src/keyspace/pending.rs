//! Large ends: rows and elements that have gone for everybody and are removed in steps
//! (incremental deletion).
//!
//! Owns the ends that are pending, and what each has left to remove. An end hides what it
//! will remove: who touches a key has it [finished](Keyspace::unfinished) first, and scans
//! leave out [hidden](Keyspace::hides) ones. What hides an element or a row is looked up,
//! not written down: the element of a mirror is stale if its set had the member once and has
//! it no more, a companion if the end of its leader still lists it. So a source or a leader
//! that is made anew is a new generation by itself, whose elements and companions no step
//! takes.
//!
//! Invariants: ends are taken up in the order in which they began; an end that may still be
//! undone has `stands` unset, and no step works on it. A row that leaves its table leaves
//! the end that lists it.
//! Not here: carrying the steps out (`governed` of the engine), what is large (the rule
//! book).

use super::Keyspace;
use super::journal::JournalMark;
use crate::tables::database::Database;
use crate::tables::reclaim::Freeing;
use crate::tables::table::Found;
use crate::values::hasher::{Key, TableIndex};
use crate::values::packed::Item;
use crate::values::packed_limits::PackedLimits;
use crate::values::row::{NewValue, Row};
use crate::values::set::{self, Set};
use crate::values::value::{Collection, ObjectMut, ObjectRef, Value};
use keyward_resp::{ArgBuf, Args};
use keyward_rules::{Cause, LargeEnd, RuleBook};
use keyward_schema::KeyId;
use std::collections::VecDeque;
use std::rc::Rc;

/// Where the log of changes says that an end begins or is over: a set that is never there,
/// so that removing from it does nothing on a plain Redis.
pub const ENDS: &[u8] = b"keyward:ends";
const MEMBERS: &[u8] = b"members";
const COMPANIONS: &[u8] = b"companions";
const DONE: &[u8] = b"done";

/// The ends that are pending.
#[derive(Debug, Default)]
pub struct Pending {
    ends: VecDeque<PendingEnd>,
    /// How many began since the keyspace was made.
    begun: u64,
}

/// An end that is pending.
#[derive(Debug)]
struct PendingEnd {
    /// They are counted.
    number: u64,
    db: usize,
    /// The table and the key of the row that ended, shrank or has another deadline.
    table: KeyId,
    key: Box<[u8]>,
    cause: Cause,
    /// The unit in which it began is known to stay.
    stands: bool,
    remains: Remains,
    /// Tables of which nothing can be said key by key before it is over.
    beyond: Box<[KeyId]>,
}

/// What is left to do.
#[derive(Debug)]
enum Remains {
    /// To take `element` out of the mirrors that these members of a set name.
    Members { left: Rc<Row>, element: Vec<u8>, cursor: u64 },
    /// To remove these companions, a set of keys for each table.
    Companions { sets: Vec<(TableIndex, Row)>, cursor: u64 },
    /// To give companions the deadline of their leader: table by table, from a cursor on.
    Deadlines { tables: Vec<TableIndex>, cursor: u64 },
}

/// A command that removes what an end has hidden, or a part of it.
#[derive(Debug)]
pub struct Finish {
    /// Its database.
    pub db: usize,
    /// A plain command.
    pub command: ArgBuf,
    /// Whether rows may follow the one it changes.
    pub is_followed: bool,
    /// Whether it must stay, whatever becomes of the running unit.
    pub stands: bool,
    /// Why the end began.
    pub cause: Cause,
}

impl Pending {
    /// How many ends began so far.
    pub fn begun(&self) -> u64 {
        self.begun
    }
}

impl PendingEnd {
    fn set(&self, table: TableIndex) -> Option<&Set> {
        let Remains::Companions { sets, .. } = &self.remains else { return None };
        sets.iter().find(|(of, _)| *of == table).and_then(|(_, row)| set_of(row))
    }

    fn finish(&self, words: &[&[u8]]) -> Finish {
        Finish {
            db: self.db,
            command: words.iter().collect(),
            is_followed: !matches!(self.remains, Remains::Members { .. }),
            stands: self.stands,
            cause: self.cause,
        }
    }
}

impl Keyspace {
    /// Whether an end is pending.
    #[inline(always)]
    pub fn has_pending(&self) -> bool {
        !self.pending.ends.is_empty()
    }

    /// How many ends are pending.
    pub fn pending_ends(&self) -> usize {
        self.pending.ends.len()
    }

    /// The number of the last end that is over, all before it being so too.
    pub fn ended_up_to(&self) -> u64 {
        self.pending.ends.front().map_or(self.pending.begun, |end| end.number - 1)
    }

    /// The number of the last end that began.
    pub fn ends_begun(&self) -> u64 {
        self.pending.begun
    }

    /// Begins an end that a command of the running unit brought about. The row that ended is
    /// in the journal since `since`, and the unit's commands in the log since `logged`.
    pub fn begin_end(
        &mut self,
        db: usize,
        end: LargeEnd,
        since: JournalMark,
        logged: usize,
        limits: &PackedLimits,
    ) {
        let left = match &end {
            LargeEnd::Members { key, left: None, .. } => self.journal.keep_row(since, db, key),
            LargeEnd::Members { key, left: Some(left), .. } => {
                let mut set = Set::default();
                let growth = set::Growth::of(limits, self.hasher);
                left.iter().for_each(|member| {
                    set.add(&growth, Item::of(member));
                });
                let row = Row::new(key, NewValue::Object(set.into_object()), None);
                Some(Rc::new(row))
            }
            LargeEnd::Companions { .. } | LargeEnd::Deadlines { .. } => None,
        };
        let stands = !self.journal.is_on();
        self.begin(db, end, left, (Cause::Command, stands), Some(logged));
    }

    /// Begins an end of a row that went by itself, whose removal is in the log at `logged`.
    /// It gives the row back if that is not needed.
    pub fn begin_own_end(
        &mut self,
        db: usize,
        end: LargeEnd,
        row: &mut Option<Row>,
        cause: Cause,
        logged: usize,
    ) {
        let left = match &end {
            LargeEnd::Members { .. } => row.take().map(Rc::new),
            LargeEnd::Companions { .. } | LargeEnd::Deadlines { .. } => None,
        };
        self.begin(db, end, left, (cause, true), Some(logged));
    }

    fn begin(
        &mut self,
        db: usize,
        end: LargeEnd,
        left: Option<Rc<Row>>,
        (cause, stands): (Cause, bool),
        logged: Option<usize>,
    ) {
        let Some(book) = self.databases[db].book().cloned() else { return };
        let (table, key, remains) = match end {
            LargeEnd::Members { table, key, .. } => {
                let element = left.as_deref().and_then(set_of).and_then(|set| {
                    let mirrored =
                        |member: Item<'_>| book.mirrored(table, &key, member.text().as_bytes());
                    set.iter().find_map(mirrored).map(|entry| entry.member)
                });
                let (Some(left), Some(element)) = (left, element) else { return };
                (table, key, Remains::Members { left, element, cursor: 0 })
            }
            LargeEnd::Companions { table, key } => {
                self.pending.ends.retain(|other| {
                    !(matches!(other.remains, Remains::Deadlines { .. })
                        && (other.db, &*other.key) == (db, &*key))
                });
                let sets = self.databases[db].take_companions(&key);
                (table, key, Remains::Companions { sets, cursor: 0 })
            }
            LargeEnd::Deadlines { table, key } => {
                self.pending.ends.retain(|other| {
                    !(matches!(other.remains, Remains::Deadlines { .. })
                        && (other.db, &*other.key) == (db, &*key))
                });
                let companions = book.traits(table).companions.iter();
                let tables = companions.map(|table| TableIndex::of(*table)).collect();
                (table, key, Remains::Deadlines { tables, cursor: 0 })
            }
        };
        let kind = match remains {
            Remains::Members { .. } => Some(MEMBERS),
            Remains::Companions { .. } => Some(COMPANIONS),
            // Who loads the log finds the leader's deadline, and gives it to them.
            Remains::Deadlines { .. } => None,
        };
        if let Some((kind, at)) = kind.zip(logged) {
            self.effects.insert(at, db, [b"SREM".as_slice(), ENDS, kind, &key]);
        }
        let beyond = beyond(&book, table, &remains);
        self.pending.begun += 1;
        let (number, key) = (self.pending.begun, key.into());
        let end = PendingEnd { number, db, table, key, cause, stands, remains, beyond };
        self.pending.ends.push_back(end);
    }

    /// Carries out again what a command of the log of changes says of an end, before the
    /// commands of its unit. Most say nothing of one.
    pub fn replay_end(&mut self, db: usize, words: Args<'_>) {
        let (Some(ENDS), Some(kind), Some(key)) = (words.get(1), words.get(2), words.get(3)) else {
            return;
        };
        let book = self.databases[db].book().filter(|_| words.at(0) == b"SREM");
        let Some(table) = book.and_then(|book| book.table_of(key)) else { return };
        let key = key.to_vec();
        if kind == MEMBERS {
            let row = self.databases[db].find_of(table, &key);
            let left = row.map(|row| Rc::new(row.to_value().into_row(&key, None)));
            let end = LargeEnd::Members { table, key, left: None };
            self.begin(db, end, left, (Cause::Expiry, true), None);
        } else if kind == COMPANIONS {
            let end = LargeEnd::Companions { table, key };
            self.begin(db, end, None, (Cause::Expiry, true), None);
        } else if kind == DONE {
            let is_it = |end: &PendingEnd| (end.db, &*end.key) == (db, &*key);
            if let Some(place) = self.pending.ends.iter().position(is_it) {
                self.pending.ends.remove(place);
            }
        }
    }

    /// The log of changes is about to write a key: what an end lists of it was gone before.
    pub fn replay_write(&mut self, db: usize, key: &[u8]) {
        let key = self.key_in(db, key);
        let ends = self.pending.ends.iter().filter(|end| end.db == db);
        if ends.clone().any(|end| holds(end.set(key.table), key.bytes))
            && let Some(row) = self.take_row(db, key)
        {
            self.reclaim.row(row, Freeing::AtOnce);
        }
    }

    /// The ends that began since this number of them are undone with their unit, but for
    /// those of rows that went by themselves.
    pub fn take_ends_back(&mut self, begun: u64) {
        let Keyspace { pending, databases, .. } = self;
        for end in std::mem::take(&mut pending.ends) {
            if end.number <= begun || end.stands {
                pending.ends.push_back(end);
                continue;
            }
            if let Remains::Companions { sets, .. } = end.remains {
                databases[end.db].give_companions_back(sets);
            }
        }
    }

    /// The unit of the ends that are pending is known to stay.
    pub(super) fn let_ends_stand(&mut self) {
        self.pending.ends.iter_mut().rev().take_while(|end| !end.stands).for_each(|end| {
            end.stands = true;
        });
    }

    /// A database was emptied for good: nothing is left that its ends could remove.
    pub(super) fn drop_ends(&mut self, db: usize) {
        for end in std::mem::take(&mut self.pending.ends) {
            match end.db == db {
                true => self.bury(end.remains),
                false => self.pending.ends.push_back(end),
            }
        }
    }

    /// Frees what an end has kept.
    fn bury(&mut self, remains: Remains) {
        match remains {
            Remains::Members { left, .. } => {
                // If the journal has it too, that frees it.
                if let Ok(row) = Rc::try_unwrap(left) {
                    self.reclaim.row(row, Freeing::Lazily);
                }
            }
            Remains::Companions { sets, .. } => {
                sets.into_iter().for_each(|(_, row)| self.reclaim.row(row, Freeing::Lazily));
            }
            Remains::Deadlines { .. } => {}
        }
    }

    /// A row leaves its table: no end lists it any more.
    #[cold]
    pub(super) fn unlist(&mut self, db: usize, key: Key<'_>) {
        for end in self.pending.ends.iter_mut().filter(|end| end.db == db) {
            let Remains::Companions { sets, .. } = &mut end.remains else { continue };
            for (_, row) in sets.iter_mut().filter(|(table, _)| *table == key.table) {
                set_of_mut(row).remove(Item::of(key.bytes));
            }
        }
    }

    /// The number of the last end that has to be over before rows of this table can be
    /// touched.
    pub fn awaited_end(&self, db: usize, table: TableIndex) -> Option<u64> {
        let pattern = self.databases[db].pattern(table)?;
        let is_awaited = |end: &&PendingEnd| end.db == db && end.beyond.contains(&pattern);
        self.pending.ends.iter().rev().find(is_awaited).map(|end| end.number)
    }

    /// The same, before rows of any table can be shown; zero if none has to be.
    pub fn awaited_by_scans(&self) -> u64 {
        let reaches_further = |end: &&PendingEnd| !end.beyond.is_empty();
        self.pending.ends.iter().rev().find(reaches_further).map_or(0, |end| end.number)
    }

    /// What is to be done before a key can be touched, as the ends that are pending have it.
    pub fn unfinished(&self, db: usize, key: &[u8]) -> Vec<Finish> {
        let key = self.key_in(db, key);
        let ends = self.pending.ends.iter().filter(|end| end.db == db);
        ends.filter_map(|end| self.unfinished_by(end, key)).collect()
    }

    fn unfinished_by(&self, end: &PendingEnd, key: Key<'_>) -> Option<Finish> {
        let database = &self.databases[end.db];
        let (book, pattern) = database.book().zip(database.pattern(key.table))?;
        match &end.remains {
            Remains::Members { left, element, .. } => {
                if book.mirror_of(end.table) != Some(pattern) {
                    return None;
                }
                let source = book.mirrored(pattern, key.bytes, element)?;
                let is_its = (source.table, &*source.key) == (end.table, &*end.key);
                let is_stale = is_its
                    && holds(set_of(left), &source.member)
                    && !self.contains_now(database, end, &source.member)
                    && has_member(database, pattern, key.bytes, element);
                is_stale.then(|| end.finish(&[b"SREM", key.bytes, element]))
            }
            Remains::Companions { .. } => {
                let is_listed = holds(end.set(key.table), key.bytes);
                is_listed.then(|| end.finish(&[b"DEL", key.bytes]))
            }
            Remains::Deadlines { .. } => {
                let leads = book.traits(pattern).leader == Some(end.table)
                    && book.leader(pattern, key.bytes).as_deref() == Some(&*end.key);
                let row = database.find_of(pattern, key.bytes).filter(|_| leads)?;
                self.redating(database, end, key.bytes, row.deadline())
            }
        }
    }

    /// What gives a companion the deadline of its leader, if it has another.
    fn redating(
        &self,
        database: &Database,
        end: &PendingEnd,
        companion: &[u8],
        has: Option<i64>,
    ) -> Option<Finish> {
        let leader = database.find_of(end.table, &end.key)?;
        // One whose time is over takes them along when it goes.
        let wanted = Some(leader.deadline()).filter(|_| !self.is_due(&leader))?;
        match wanted {
            _ if wanted == has => None,
            Some(at) => Some(end.finish(&[b"PEXPIREAT", companion, at.to_string().as_bytes()])),
            None => Some(end.finish(&[b"PERSIST", companion])),
        }
    }

    /// Whether the set of an end has a member now: again, or still.
    fn contains_now(&self, database: &Database, end: &PendingEnd, member: &[u8]) -> bool {
        let row = database.find_of(end.table, &end.key);
        row.is_some_and(|row| !self.is_due(&row) && holds(set_of(&row), member))
    }

    /// Whether a key is there only as what an end has yet to remove.
    pub fn hides(&self, db: usize, key: &[u8]) -> bool {
        let unfinished = self.unfinished(db, key);
        let is_gone = |finish: &Finish| finish.command.args().at(0) == b"DEL";
        if unfinished.is_empty() || unfinished.iter().any(is_gone) {
            return !unfinished.is_empty();
        }
        // Each element that goes is named by one end; the same by two if its set ended twice.
        let mut going: Vec<&[u8]> = unfinished
            .iter()
            .filter(|finish| finish.command.args().at(0) == b"SREM")
            .map(|finish| finish.command.args().at(2))
            .collect();
        going.sort_unstable();
        going.dedup();
        let row = self.databases[db].find(key);
        let len = row.as_deref().and_then(set_of).map_or(usize::MAX, Set::len);
        len == going.len()
    }

    /// Whether a companion that seems to be due has yet to get a later deadline.
    pub(super) fn has_later_deadline(&self, db: usize, key: &[u8]) -> bool {
        let unfinished = self.unfinished(db, key);
        let is_redated =
            |finish: &Finish| matches!(finish.command.args().at(0), b"PERSIST" | b"PEXPIREAT");
        unfinished.len() == 1 && unfinished.iter().all(is_redated)
    }

    /// Gives a companion that seems to be due the deadline of its leader, if a pending end
    /// has yet to do so; whether it lives on.
    pub(super) fn outlives(&mut self, db: usize, key: Key<'_>) -> bool {
        let unfinished = self.unfinished(db, key.bytes);
        let [finish] = &unfinished[..] else { return false };
        let args = finish.command.args();
        let deadline = match args.at(0) {
            b"PERSIST" => None,
            b"PEXPIREAT" => keyward_resp::number::parse_i64(args.at(2)),
            _ => return false,
        };
        let table = self.databases[db].table_mut(key);
        let Some(found) = table.seek(key) else { return false };
        if let Found::Packed(place) = found {
            self.databases[db].loosen(key, place);
        }
        let table = self.databases[db].table_mut(key);
        let Some(spot) = table.locate(key) else { return false };
        table.set_deadline(spot, key.hash, deadline);
        self.note_source_deadline(db, key);
        self.heed(db, key.bytes);
        self.effects.beside(db, args.iter());
        true
    }

    /// A command that removes something hidden has run.
    pub fn finished(&mut self, finish: &Finish) {
        let args = finish.command.args();
        if args.at(0) == b"DEL" {
            let key = self.key_in(finish.db, args.at(1));
            self.unlist(finish.db, key);
        }
    }

    /// What about `budget` rows more are to lose by the first end that is pending; nothing
    /// if that is over, or none is.
    pub fn next_steps(&mut self, budget: usize) -> Vec<Finish> {
        let Some(mut end) = self.pending.ends.pop_front() else { return Vec::new() };
        let mut steps = Vec::new();
        let is_over = self.gather_steps(&mut end, budget, &mut steps);
        if !is_over {
            self.pending.ends.push_front(end);
            return steps;
        }
        if !matches!(end.remains, Remains::Deadlines { .. }) {
            self.effects.beside(end.db, [b"SREM".as_slice(), ENDS, DONE, &end.key]);
        }
        self.bury(end.remains);
        steps
    }

    /// Gathers steps of an end; whether it is over with them.
    fn gather_steps(&self, end: &mut PendingEnd, budget: usize, steps: &mut Vec<Finish>) -> bool {
        let database = &self.databases[end.db];
        let Some(book) = database.book() else { return true };
        let mut visited = 0;
        while visited < budget {
            let mut names: Vec<Box<[u8]>> = Vec::new();
            let mut name = |item: Item<'_>| names.push(item.text().as_bytes().into());
            let is_over = match &mut end.remains {
                Remains::Members { left, cursor, .. } => {
                    *cursor = set_of(left).map_or(0, |set| set.scan(*cursor, &mut name));
                    *cursor == 0
                }
                Remains::Companions { sets, cursor } => {
                    sets.retain(|(_, row)| set_of(row).is_some_and(|set| !set.is_empty()));
                    if let Some((_, row)) = sets.first() {
                        *cursor = set_of(row).map_or(0, |set| set.scan(*cursor, &mut name));
                    }
                    // Whoever is gone is not listed any more: they are looked for again.
                    sets.is_empty()
                }
                Remains::Deadlines { tables, cursor } => match tables.first() {
                    None => true,
                    Some(table) => {
                        *cursor = database.scan_companions(*table, &end.key, *cursor, &mut name);
                        if *cursor == 0 {
                            tables.remove(0);
                        }
                        false
                    }
                },
            };
            visited += names.len().max(1);
            for name in names {
                steps.extend(self.step_of(database, book, end, &name));
            }
            if is_over {
                return true;
            }
            if matches!(end.remains, Remains::Companions { cursor: 0, .. }) {
                // Until these are gone the same ones would be found.
                return false;
            }
        }
        false
    }

    fn step_of(
        &self,
        database: &Database,
        book: &RuleBook,
        end: &PendingEnd,
        name: &[u8],
    ) -> Option<Finish> {
        match &end.remains {
            Remains::Members { .. } => {
                let entry = book.mirrored(end.table, &end.key, name)?;
                let is_stale = !self.contains_now(database, end, name)
                    && has_member(database, entry.table, &entry.key, &entry.member);
                is_stale.then(|| end.finish(&[b"SREM", &entry.key, &entry.member]))
            }
            Remains::Companions { .. } => Some(end.finish(&[b"DEL", name])),
            Remains::Deadlines { .. } => {
                let row = database.find(name)?;
                self.redating(database, end, name, row.deadline())
            }
        }
    }
}

/// Tables whose rows may be concerned by way of others: those cannot be looked at key by key.
fn beyond(book: &RuleBook, table: KeyId, remains: &Remains) -> Box<[KeyId]> {
    let mut found: Vec<KeyId> = Vec::new();
    let mut to_see: Vec<KeyId> = book.traits(table).companions.to_vec();
    let is_gone = matches!(remains, Remains::Companions { .. });
    if matches!(remains, Remains::Members { .. }) {
        to_see.clear();
    }
    while let Some(companion) = to_see.pop() {
        let traits = book.traits(companion);
        let (others, own): (Vec<KeyId>, bool) = match is_gone {
            true => {
                let ties = traits.dependents.iter().chain(&traits.source).chain(&traits.companions);
                (ties.copied().collect(), traits.is_tied())
            }
            false => (traits.companions.to_vec(), false),
        };
        for concerned in others.into_iter().chain(own.then_some(companion)) {
            if !found.contains(&concerned) {
                found.push(concerned);
            }
        }
        to_see.extend_from_slice(&traits.companions);
    }
    found.into()
}

fn set_of(row: &Row) -> Option<&Set> {
    match row.value() {
        Value::Object(ObjectRef::Set(set)) => Some(set),
        _ => None,
    }
}

fn set_of_mut(row: &mut Row) -> &mut Set {
    match row.object_mut() {
        Some(ObjectMut::Set(set)) => set,
        _ => unreachable!("companions are listed in sets"),
    }
}

fn holds(set: Option<&Set>, member: &[u8]) -> bool {
    set.is_some_and(|set| set.contains(Item::of(member)))
}

fn has_member(database: &Database, table: KeyId, key: &[u8], member: &[u8]) -> bool {
    database.find_of(table, key).is_some_and(|row| holds(set_of(&row), member))
}
