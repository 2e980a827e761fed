//! A survey: what rows that no command was judged by need to be as the book says.
//!
//! Rows come from a snapshot, or were there before the schema. Owns the decision
//! what becomes of them:
//! - a row that does not fit is kept and counted; what is written to it must conform. So
//!   is one that lives longer than it may;
//! - a deadline that the schema demands and the row lacks begins now, one that it
//!   forbids goes; a row ends whose own time is over, or that lives with a key
//!   which is not there;
//! - computed rows come to hold exactly what their sources demand, mirrors agree
//!   by what either has, members that follow a key leave if it is not there;
//! - of several rows that claim a unique value the present owner keeps it, or
//!   else the first by its bytes; the others are counted as conflicts.
//!
//! Rows that return under the schema that governed them ([`Survey::of_return`]) were accepted by
//! it, some of them with a warning: none of them ends, is dated or shortened, no entry leaves a
//! derived row, nor do members leave that follow a key which is not there. What derived rows lack
//! comes to them, and where writes are refused a row that lives with another one which reads
//! have renewed does so too. Everything else about them is a misfit.
//!
//! Where derived rows are only observed, each entry is compared with its source by itself: what a
//! source does not demand stays, and the row does not fit.
//!
//! What came from a row whose time is over is none of this: it goes with that row, when its end
//! is carried out, and is only counted.
//!
//! It is made in two parts, both as slowly as the host likes. Every row that may be
//! concerned (`scope`) is met once, in any order, and noted if there is something
//! to be done about it; a row that changes meanwhile is looked at again. Then the
//! notes are concluded (`conclude`): the time this takes, and the memory of the
//! notes, follow what is to be done. A host that is to act on the conclusion keeps
//! the rows and the time as they are until it has done so; otherwise every row is
//! judged as it was when its turn came.
//!
//! Pure, so that planning a change of the schema and making it cannot disagree:
//! both are this survey.
//! Invariants: what is left does not depend on the order in which rows come; a
//! row that is not noted needs nothing.
//! Not here: carrying it out, which is the host's.

mod conclude;
mod scope;
mod standing;

pub use conclude::Conclusion;
pub use standing::{CONTRADICTIONS_KEPT, FOLLOWERS_LOOKED_AT};

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::book::RuleBook;
use crate::refusal::Refusal;
use crate::view::{NotYet, Row, View};
use keyward_resp::ArgBuf;
use keyward_schema::{Derived, KeyId};
use scope::Scope;

/// What a survey is made of.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// What rows are judged by.
    pub book: &'a RuleBook,
    /// What they were judged by until now, if by anything.
    pub before: Option<&'a RuleBook>,
    /// The rows as they are now.
    pub view: &'a dyn View,
}

/// The rows that something is to be done about.
#[derive(Debug)]
pub struct Survey {
    scope: Scope,
    occasion: Occasion,
    notes: BTreeMap<Box<[u8]>, Note>,
    /// Of keys without a pattern first, then of each pattern.
    met: Vec<Met>,
    /// Rows that lose their pattern, of those that changed meanwhile.
    strays: BTreeSet<Box<[u8]>>,
}

/// Why rows are surveyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occasion {
    /// They come under the book: from elsewhere, or from another one.
    Change,
    /// They were loaded, and the book governed them before.
    Return,
}

/// What is to be looked into of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Note {
    /// The row itself.
    judge: bool,
    /// What it demands of others, and others of it.
    relate: bool,
}

/// How many rows of a table were met.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    rows: u64,
    moved: u64,
    weight: Weight,
}

/// What rows take, for the host to tell what of it comes to which table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of the rows by themselves.
    pub bytes: u64,
    /// How many of them have a deadline.
    pub expiring: u64,
}

/// One in so many rows of a pattern is evicted or not as memory happens to be laid out: three times
/// what was measured.
const EVICTED_VARY_BY: u64 = 128;

/// What the rows of a keyspace need.
#[derive(Debug)]
pub struct Report {
    /// What is to be done, as plain commands in this order, none of them long.
    pub commands: VecDeque<ArgBuf>,
    /// What was found: of keys without a pattern first, then of each pattern in
    /// the schema's order.
    pub tables: Vec<Findings>,
    /// The rows that are kept as they are, though something is wrong with them.
    pub faults: BTreeMap<Vec<u8>, Faults>,
    /// What they hold that their sources do not demand, or lack, of those that are derived: the
    /// elements of each, or [`CONTRADICTIONS_KEPT`] and one of them.
    pub contradictions: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// Some of those in words, with what was found, which may be a secret.
    pub problems: Vec<Refusal>,
    /// The keyspaces that would take more than they may; the host tells.
    pub excesses: Vec<Excess>,
    /// Bytes beyond which rows go that may be evicted, where entries are built that take more of
    /// them; the host tells.
    pub memory_max: Option<u64>,
}

/// A keyspace that would take more than it may, so that rows go at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    /// Its place among those of the database.
    pub keyspace: usize,
    /// What it takes.
    pub bytes: u64,
    /// What it may take: its `max_memory`.
    pub bytes_max: u64,
}

impl Report {
    /// Whether any row changes by it: one goes, gets another end, or is built.
    pub fn changes_rows(&self) -> bool {
        self.tables.iter().any(Findings::changes_rows)
    }

    /// Whether it changes what is there already. Derived rows that are built where there are none
    /// change nothing that somebody has written.
    pub fn changes_what_is_there(&self) -> bool {
        self.tables.iter().any(Findings::changes_what_is_there)
    }

    /// How much goes for good: at once, for want of memory, and at the next start.
    pub fn destroyed(&self) -> u64 {
        self.tables.iter().map(|table| table.destroyed + table.evicted + table.unkept).sum()
    }

    /// The least of that. How many rows are evicted is estimated by the memory that rows take, which
    /// differs from one start to the next: whoever has accepted one estimate has not refused the
    /// other.
    pub fn destroyed_at_least(&self) -> u64 {
        let varying = |table: &Findings| table.evicted.min(1 + table.rows / EVICTED_VARY_BY);
        self.destroyed() - self.tables.iter().map(varying).sum::<u64>()
    }

    /// Forgets some of what it says in single; whether there is more.
    pub fn shed(&mut self, budget: usize) -> bool {
        self.commands.truncate(self.commands.len().saturating_sub(budget));
        std::iter::from_fn(|| self.faults.pop_first()).take(budget).for_each(drop);
        std::iter::from_fn(|| self.contradictions.pop_first()).take(budget).for_each(drop);
        !(self.commands.is_empty() && self.faults.is_empty() && self.contradictions.is_empty())
    }
}

/// What is wrong with a row that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// It does not fit.
    pub is_misfit: bool,
    /// Its claim to a unique value fails.
    pub is_conflict: bool,
}

/// What was found in one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Rows that were met. Those of tables that are not concerned are not.
    pub rows: u64,
    /// Those among them that belonged to another pattern, or to none.
    pub moved: u64,
    /// Rows that do not fit, and are kept.
    pub misfits: u64,
    /// Rows whose claim to a unique value fails.
    pub conflicts: u64,
    /// Rows that live longer than they may, and are kept.
    pub overlong: u64,
    /// Rows that get another deadline, or none.
    pub redated: u64,
    /// Those among them that had none.
    pub dated: u64,
    /// Those among them that end sooner than they would have.
    pub shortened: u64,
    /// Entries that come to derived rows.
    pub built: u64,
    /// Rows of clients that end, and entries that leave derived rows.
    pub destroyed: u64,
    /// Entries and members that go with a row whose time is over, when its end is carried out.
    pub ending: u64,
    /// About how many rows go because their keyspace takes more than it may; the host tells.
    pub evicted: u64,
    /// Rows that the next start is without, since files are to have them no more; the host
    /// tells.
    pub unkept: u64,
    /// Rows with more elements than they may have, of which the next write drops some.
    pub cut_later: u64,
    /// Those that live longer than they may, and get a nearer end by their next use.
    pub shortened_later: u64,
}

impl Findings {
    /// Whether any row changes: one goes, now or by the next start, gets another end, now or by
    /// its next use, is cut by its next write, or is built.
    pub fn changes_rows(&self) -> bool {
        self.takes_from_rows() || self.built > 0
    }

    /// The same without what comes later, by a write, a use or a start.
    pub fn changes_at_once(&self) -> bool {
        self.destroyed + self.redated + self.built + self.evicted + self.unkept > 0
    }

    /// Whether any row changes that is there.
    fn takes_from_rows(&self) -> bool {
        let now = self.destroyed + self.redated + self.evicted + self.unkept;
        now + self.cut_later + self.shortened_later > 0
    }

    /// The same without entries that are built where the pattern has no row.
    pub fn changes_what_is_there(&self) -> bool {
        self.takes_from_rows() || self.built > 0 && self.rows > 0
    }
}

impl Survey {
    /// A survey by a book, where rows were kept by the book `before` until now, if
    /// by any, that has met no row yet. `is_true` tells whether a table of that one
    /// holds all that it demanded, or was written to in spite of it.
    pub fn new(
        book: &RuleBook,
        before: Option<&RuleBook>,
        is_true: impl Fn(KeyId) -> bool,
    ) -> Survey {
        let met = vec![Met::default(); book.schema().keys.len() + 1];
        Survey {
            scope: Scope::of(book, before, &is_true),
            occasion: Occasion::Change,
            notes: BTreeMap::new(),
            met,
            strays: BTreeSet::new(),
        }
    }

    /// A survey of all rows, which return under the book that governed them when they were
    /// written.
    pub fn of_return(book: &RuleBook) -> Survey {
        Survey { occasion: Occasion::Return, ..Survey::new(book, None, |_| false) }
    }

    /// Whether the rows of a table of the book before have to be met; `None` is
    /// for keys without a pattern. What belongs to other tables is as it must be.
    pub fn meets(&self, table_before: Option<KeyId>) -> bool {
        self.scope.past(table_before).is_met
    }

    /// The table that has the pattern of a table of the book before, if there is one;
    /// keys without a pattern have one too, `None`.
    pub fn heir(&self, table_before: Option<KeyId>) -> Option<Option<KeyId>> {
        self.scope.past(table_before).heir
    }

    /// Whether all rows of a table of the book before come to its heir, and no others
    /// do. Rows that live with others go one by one: with whom may be said anew.
    pub fn goes_whole(&self, table_before: Option<KeyId>) -> bool {
        self.scope.past(table_before).goes_whole
    }

    /// Whether it tells anew which rows of a table do not fit.
    pub fn judges(&self, table: KeyId) -> bool {
        let concern = self.scope.concern(table);
        concern.judges || concern.doubts
    }

    /// Whether it tells anew which rows of a table claim what another has.
    pub fn relates(&self, table: KeyId) -> bool {
        self.scope.concern(table).relates
    }

    /// Forgets some of its notes; whether there are more.
    pub fn shed(&mut self, budget: usize) -> bool {
        std::iter::from_fn(|| self.notes.pop_first()).take(budget).for_each(drop);
        std::iter::from_fn(|| self.strays.pop_first()).take(budget).for_each(drop);
        !(self.notes.is_empty() && self.strays.is_empty())
    }

    /// How many rows that clients own changed since the survey began and are going to have no
    /// pattern, although they had one. Of those that did not change, [`Findings::moved`] of
    /// keys without a pattern tells.
    pub fn strays(&self) -> u64 {
        self.strays.len() as u64
    }

    /// Adds a row that was met to what its table takes.
    pub fn weigh(&mut self, table: Option<KeyId>, row: Weight) {
        let sum = &mut self.met[place(table)].weight;
        sum.bytes += row.bytes;
        sum.expiring += row.expiring;
    }

    /// What the rows take that were weighed, by table; keys without a pattern come first.
    pub fn weights(&self) -> Vec<Weight> {
        self.met.iter().map(|met| met.weight).collect()
    }

    /// Meets a row on the way through all of them; returns its table.
    ///
    /// # Errors
    /// If the host has to fetch another row first.
    pub fn meet(
        &mut self,
        ground: Ground<'_>,
        key: &[u8],
        row: &dyn Row,
    ) -> Result<Option<KeyId>, NotYet> {
        let table = ground.book.table_of(key);
        let met = &mut self.met[place(table)];
        met.rows += 1;
        met.moved += u64::from(ground.before.is_some_and(|before| {
            let text = |book: &RuleBook, id: KeyId| book.schema().key(id).pattern.text().to_owned();
            let was = before.table_of(key).map(|id| text(before, id));
            was != table.map(|id| text(ground.book, id))
        }));
        self.note(ground, key, Some(row))?;
        Ok(table)
    }

    /// Looks at a row again that changed, came or went.
    ///
    /// # Errors
    /// If the host has to fetch a row first.
    pub fn look_again(&mut self, ground: Ground<'_>, key: &[u8]) -> Result<(), NotYet> {
        let mut looked = Ok(());
        let mut is_there = false;
        ground.view.glance(key, &mut |row| {
            is_there = row.is_some();
            looked = self.note(ground, key, row);
        })?;
        let loses_pattern = ground.book.table_of(key).is_none()
            && ground.before.is_some_and(|before| {
                before.table_of(key).is_some_and(|table| !before.traits(table).is_computed)
            });
        if is_there && loses_pattern {
            self.strays.insert(key.into());
        } else if !self.strays.is_empty() {
            self.strays.remove(key);
        }
        looked
    }

    fn note(
        &mut self,
        ground: Ground<'_>,
        key: &[u8],
        row: Option<&dyn Row>,
    ) -> Result<(), NotYet> {
        let note = match row {
            Some(row) => self.note_of(ground, key, row)?,
            None => Note::default(),
        };
        if note == Note::default() {
            self.notes.remove(key);
        } else {
            self.notes.insert(key.into(), note);
        }
        Ok(())
    }

    fn note_of(&self, ground: Ground<'_>, key: &[u8], row: &dyn Row) -> Result<Note, NotYet> {
        let Ground { book, before, view } = ground;
        let Some(table) = book.table_of(key) else {
            let judge = before.is_some_and(|before| goes_with(before, book, key));
            return Ok(Note { judge, relate: false });
        };
        let concern = self.scope.concern(table);
        let traits = book.traits(table);
        let judge = match traits.is_computed {
            true => concern.judges || concern.doubts,
            false => {
                concern.judges
                    && (traits.leader.is_some()
                        || book.compared_by(table).is_some()
                        || !book.is_settled(view, table, key, row)?)
            }
        };
        let demands = || {
            let is_computed = |id: &KeyId| book.traits(*id).is_computed;
            traits.dependents.iter().any(is_computed) || book.links(table).mirror.is_some()
        };
        let follows = || matches!(book.schema().key(table).derived, Some(Derived::Follows { .. }));
        let relate = (concern.relates && demands()) || (concern.doubts && follows());
        Ok(Note { judge, relate })
    }
}

/// The place of a table: keys without a pattern come first.
fn place(table: Option<KeyId>) -> usize {
    table.map_or(0, |table| table.index() + 1)
}

/// Whether a key without a pattern belonged to rows that the book before computed, and goes
/// with that. Who only observes lets nothing go.
fn goes_with(before: &RuleBook, book: &RuleBook, key: &[u8]) -> bool {
    let was_computed = |table| before.traits(table).is_computed;
    !book.observes_all() && before.table_of(key).is_some_and(was_computed)
}
