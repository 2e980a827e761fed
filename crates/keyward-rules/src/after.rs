//! The second stage: what a command did, judged by its effects.
//!
//! Owns the order in which effects are judged:
//! 1. each row by itself: type, shape, bounds, lifetime, those first that lean on
//!    no other row's lifetime (`rows`);
//! 2. the rows that live with them (`companions`);
//! 3. how many elements come to derived keys (`fanout`), before they are worked out;
//! 4. what all of them demand of derived keys, uniqueness last (`dependents`);
//! 5. what goes to tables of PostgreSQL (`sinks`).
//!
//! Follow-ups come in the same order. They run with the rules off, so the book
//! itself thinks of what follows from a follow-up: a row whose end lies in the
//! past takes its companions and its derived entries along. What goes by the thousand is
//! no follow-up, but goes in steps (`large`).
//!
//! Within a unit (MULTI/EXEC, a script) what the rest of it may mend is not refused but kept
//! ([`Deferred`]), and judged again at the unit's end (`unit`).
//! Invariants: a command is refused by the first thing that is wrong, and in a
//! table in warn mode by none; what ended by itself is never refused; the same
//! changes have the same follow-ups in the same order.

mod companions;
mod dependents;
mod fanout;
mod large;
mod rows;
mod sinks;
mod unit;
mod words;

pub use large::{LargeEnd, Leavers};
pub use unit::Deferred;

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::book::RuleBook;
use crate::change::Change;
use crate::refusal::Refusal;
use crate::verdict::Judged;
use crate::view::{NotYet, View};
use keyward_resp::ArgBuf;
use keyward_schema::Unknown;

/// Why rows changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A client's command, which can be refused.
    Command,
    /// Their time was over.
    Expiry,
    /// Memory was short.
    Eviction,
}

/// What follows from changes.
#[derive(Clone, Debug, Default)]
pub struct Consequences {
    /// Commands to run, in this order, with the rules off.
    pub follow_ups: Vec<ArgBuf>,
    /// What broke the schema and passes all the same.
    pub warnings: Vec<Refusal>,
    /// What goes in steps, and must not be seen until it is gone. It begins once the
    /// follow-ups have run.
    pub ends: Vec<LargeEnd>,
    /// What is wrong for now, and judged again at the end of the unit.
    pub deferred: Vec<Deferred>,
}

/// Why nothing follows from changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Objection {
    /// The host has to fetch something first, and ask again.
    NotYet,
    /// All of it must be undone.
    Refused(Box<Refusal>),
}

impl From<NotYet> for Objection {
    fn from(NotYet: NotYet) -> Objection {
        Objection::NotYet
    }
}

impl RuleBook {
    /// Judges what changed, all of it at once; the view shows what is now.
    ///
    /// What was due before the command, in the tables that [`Traits::due_first`]
    /// names for those of the command, must have been completed before it ran:
    /// a row that is over, but whose end was not reported yet, still owns its
    /// unique values.
    ///
    /// [`Traits::due_first`]: crate::Traits::due_first
    ///
    /// # Errors
    /// If the changes break the schema, or the host has to fetch something first.
    pub fn after(
        &self,
        view: &dyn View,
        changes: &[Change<'_>],
        judged: Judged,
        cause: Cause,
    ) -> Result<Consequences, Objection> {
        let judges_rows = judged == Judged::Nothing && cause == Cause::Command;
        Aftermath::new(self, view, changes, (judges_rows, cause)).judge()
    }

    /// As [`RuleBook::after`], of a command within a unit: what the rest of the unit may mend
    /// is deferred to its end. `has_deferred` says whether anything of the unit is already: then
    /// no row is known to fit because of where it came from.
    ///
    /// # Errors
    /// If the changes break the schema whatever else the unit does, or the host has to fetch
    /// something first.
    pub fn after_in_unit(
        &self,
        view: &dyn View,
        changes: &[Change<'_>],
        judged: Judged,
        has_deferred: bool,
    ) -> Result<Consequences, Objection> {
        let judges_rows = judged == Judged::Nothing;
        let mut aftermath = Aftermath::new(self, view, changes, (judges_rows, Cause::Command));
        aftermath.is_in_unit = true;
        aftermath.heeds_known_fit = !has_deferred;
        aftermath.judge()
    }
}

/// How a row stands once all follow-ups have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is gone.
    Gone,
    /// It lives up to this time, or for ever.
    Lives(Option<i64>),
}

/// Changes being judged.
struct Aftermath<'a> {
    book: &'a RuleBook,
    view: &'a dyn View,
    changes: &'a [Change<'a>],
    judges_rows: bool,
    cause: Cause,
    /// What the rest of the unit may mend is deferred.
    is_in_unit: bool,
    /// Rows that are known to fit are not judged.
    heeds_known_fit: bool,
    /// Of each change; unknown until it is judged.
    fates: Vec<Option<Fate>>,
    /// What became of rows that the command did not touch but that live with
    /// those it did.
    moved: BTreeMap<Vec<u8>, Fate>,
    /// Where in `changes` a key stands.
    places: OnceCell<BTreeMap<&'a [u8], usize>>,
    consequences: Consequences,
}

impl<'a> Aftermath<'a> {
    fn new(
        book: &'a RuleBook,
        view: &'a dyn View,
        changes: &'a [Change<'a>],
        (judges_rows, cause): (bool, Cause),
    ) -> Aftermath<'a> {
        Aftermath {
            book,
            view,
            changes,
            judges_rows,
            cause,
            is_in_unit: false,
            heeds_known_fit: true,
            fates: vec![None; changes.len()],
            moved: BTreeMap::new(),
            places: OnceCell::new(),
            consequences: Consequences::default(),
        }
    }

    fn judge(mut self) -> Result<Consequences, Objection> {
        self.judge_rows()?;
        self.judge_dependents()?;
        self.follow_sinks()?;
        Ok(self.consequences)
    }

    /// Refuses, or warns where that is all that is to be done.
    fn object(&mut self, refusal: Refusal) -> Result<(), Objection> {
        let is_enforced = match refusal.table() {
            Some(table) => self.book.is_enforced(table),
            None => self.book.unknown() == Unknown::Reject,
        };
        if is_enforced && self.cause == Cause::Command {
            return Err(Objection::Refused(Box::new(refusal)));
        }
        self.consequences.warnings.push(refusal);
        Ok(())
    }

    fn follow_up<const N: usize>(&mut self, command: [&[u8]; N]) {
        self.consequences.follow_ups.push(command.iter().collect());
    }

    /// Gives a row its end; one in the past is now.
    fn set_deadline(&mut self, key: &[u8], deadline: Option<i64>) -> Fate {
        match deadline {
            Some(end) if end <= self.view.now_ms() => {
                self.follow_up([b"DEL", key]);
                return Fate::Gone;
            }
            Some(end) => self.follow_up([b"PEXPIREAT", key, end.to_string().as_bytes()]),
            None => self.follow_up([b"PERSIST", key]),
        }
        Fate::Lives(deadline)
    }

    /// The change of a key, if the command touched it.
    fn place(&self, key: &[u8]) -> Option<usize> {
        let places = self.places.get_or_init(|| {
            self.changes.iter().enumerate().map(|(place, change)| (change.key, place)).collect()
        });
        places.get(key).copied()
    }

    /// How a row stands once all follow-ups so far have run.
    fn fate(&self, key: &[u8]) -> Result<Fate, NotYet> {
        if let Some(fate) = self.moved.get(key) {
            return Ok(*fate);
        }
        if let Some(fate) = self.place(key).and_then(|place| self.fates[place]) {
            return Ok(fate);
        }
        let row = self.view.row(key)?;
        Ok(row.map_or(Fate::Gone, |row| Fate::Lives(row.deadline())))
    }
}
