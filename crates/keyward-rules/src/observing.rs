//! Observing: what a schema says is counted, and nothing of it is done.
//!
//! Owns what a book says where some of its keys observe (`mode = "observe"`, or what
//! overrules it). An observing key has no lifetime, no bounds and no tie to another key; a tie
//! is kept only if neither of its two keys observes. Where a keyspace observes, its `max_memory`
//! and `persist` are suspended too: the server's own settings hold.
//!
//! A book of such a schema carries out what is left, and keeps the *declared* book, which says
//! what would be refused, filled in, derived and removed if nothing observed. Nobody carries
//! that out.
//! Invariants: which keys observe is fixed when the book is made, because storage depends on
//! it: another mode is another book. Patterns, types and shapes are the same in both.
//! Not here: what is left of the schema (`suspended`), counting (the host).

use crate::after::{Cause, Consequences, Deferred, Objection};
use crate::book::{RuleBook, Suspension};
use crate::change::Change;
use crate::reason::Reason;
use crate::refusal::Refusal;
use crate::suspended::{keyspace_observes, observing};
use crate::verdict::Judged;
use crate::view::View;
use keyward_resp::{ArgBuf, Args};
use keyward_schema::{Derived, KeyId, Mode, Schema, Unknown};

/// What a schema would have done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Given a row another end.
    Dated,
    /// Brought an element to a derived key.
    Derived,
    /// Removed a row or elements.
    Removed,
    /// Removed elements beyond those that a row may have.
    Trimmed,
}

impl Deed {
    /// What a follow-up does.
    pub fn of(follow_up: Args<'_>) -> Deed {
        match follow_up.at(0) {
            b"PEXPIREAT" | b"PERSIST" => Deed::Dated,
            b"SET" | b"SADD" | b"ZADD" => Deed::Derived,
            b"LTRIM" | b"XTRIM" | b"ZREMRANGEBYRANK" => Deed::Trimmed,
            _ => Deed::Removed,
        }
    }
}

impl RuleBook {
    /// Whether a table observes: nothing is refused, filled in, derived or removed there.
    #[inline]
    pub fn observes(&self, table: KeyId) -> bool {
        self.suspension().is_some_and(|suspension| suspension.observes[table.index()])
    }

    /// Whether any table observes.
    pub fn observes_any(&self) -> bool {
        self.suspension().is_some()
    }

    /// Whether all tables observe.
    pub fn observes_all(&self) -> bool {
        self.suspension().is_some_and(|suspension| suspension.observes.iter().all(|own| *own))
    }

    /// Whether something that is said of a table is suspended: it observes, or a key that it
    /// is tied to does.
    pub fn is_suspended(&self, table: KeyId) -> bool {
        self.suspension().is_some_and(|suspension| suspension.is_suspended[table.index()])
    }

    /// Whether a key that belongs to no table would be refused if nothing observed.
    pub fn would_refuse_unknown(&self) -> bool {
        let Some(Suspension { declared, .. }) = self.suspension() else { return false };
        let modes = self.modes();
        let observes = |place: usize| keyspace_observes(declared.schema(), &modes, place);
        declared.would_be_unknown() == Unknown::Reject && (0..modes.len()).any(observes)
    }

    /// Whether a refusal by the declared book is one that only observing holds back.
    pub(crate) fn is_told_of(&self, refusal: &Refusal) -> bool {
        match refusal.table() {
            Some(table) => self.is_suspended(table),
            // A call of a function, or a key that belongs to no table.
            None => refusal.reason() == Reason::Call || self.would_refuse_unknown(),
        }
    }

    /// What a row of a table is judged by when it is asked what is wrong with it: where
    /// something of the table is suspended, the declared book.
    pub fn judging(&self, table: KeyId) -> &RuleBook {
        if self.is_suspended(table) { self.declared_book() } else { self }
    }

    /// The book that the rows of a table are compared with their sources by, where nobody keeps
    /// them as these demand: the table is derived, and that is suspended.
    pub fn compared_by(&self, table: KeyId) -> Option<&RuleBook> {
        let declared = self.judging(table);
        let follows =
            || matches!(declared.schema().key(table).derived, Some(Derived::Follows { .. }));
        let is_derived = || declared.traits(table).is_computed || follows();
        (declared.is_hypothetical() && is_derived()).then_some(declared)
    }

    /// The schema as it is declared, with what is suspended.
    pub fn declared(&self) -> &Schema {
        self.declared_book().schema()
    }

    /// The book of that, which nobody carries out; the book itself if nothing observes.
    pub fn declared_book(&self) -> &RuleBook {
        self.suspension().map_or(self, |suspension| &suspension.declared)
    }

    /// Whether the tables that observe are the same if the modes of one keyspace are overruled
    /// like this.
    pub fn observes_the_same(&self, keyspace: usize, mode: Option<Mode>) -> bool {
        let mut modes = self.modes();
        modes[keyspace] = mode;
        observing(self.declared(), &modes) == observing(self.declared(), &self.modes())
    }

    /// What the schema would have said of changes, and done about them, if nothing observed;
    /// `None` where nothing does. Only what is suspended is told. Within a unit `unit` says
    /// whether something is left to its end already, and more may be.
    ///
    /// # Errors
    /// If the host has to fetch something first.
    pub fn observed(
        &self,
        view: &dyn View,
        changes: &[Change<'_>],
        unit: Option<bool>,
    ) -> Result<Option<Consequences>, Objection> {
        let Some(suspension) = self.suspension() else { return Ok(None) };
        let declared = &suspension.declared;
        let would = match unit {
            None => declared.after(view, changes, Judged::Nothing, Cause::Command)?,
            Some(has_deferred) => {
                declared.after_in_unit(view, changes, Judged::Nothing, has_deferred)?
            }
        };
        Ok(Some(self.suspended_of(would)))
    }

    /// The same of what a unit left to its end.
    ///
    /// # Errors
    /// If the host has to fetch something first.
    pub fn observed_at_end(
        &self,
        view: &dyn View,
        deferred: &[Deferred],
    ) -> Result<Option<Consequences>, Objection> {
        let Some(suspension) = self.suspension() else { return Ok(None) };
        let would = suspension.declared.at_end(view, deferred)?;
        Ok(Some(self.suspended_of(would)))
    }

    /// What of it concerns tables of which something is suspended.
    fn suspended_of(&self, mut would: Consequences) -> Consequences {
        let is_meant = |table: Option<KeyId>| table.is_some_and(|table| self.is_suspended(table));
        would.warnings.retain(|warning| self.is_told_of(warning));
        would.follow_ups.retain(|command: &ArgBuf| {
            is_meant(command.args().get(1).and_then(|key| self.table_of(key)))
        });
        would.deferred.retain(|deferred| is_meant(Some(deferred.table())));
        would
    }
}
