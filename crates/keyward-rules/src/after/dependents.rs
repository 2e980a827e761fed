//! What changed rows demand of derived keys.
//!
//! All that is lost is gathered before anything is gained, from all rows, so a
//! unique value can pass from one row to another within a command. Then what
//! clients themselves wrote to derived keys is compared with it: what agrees
//! passes, what contradicts is refused. What is still missing becomes follow-ups.

use super::large::brings;
use super::{Aftermath, Cause, Fate, Objection};
use crate::change::{Change, Part, What};
use crate::derived::repair::Repair;
use crate::derived::wanted::{Contradiction, State, Taken, Wanted, each_new, each_touched};
use crate::derived::{Entry, Holds};
use crate::facts::{Moment, Reading};
use crate::naming::named_key;
use crate::view::{NotYet, Row, RowType};
use keyward_schema::{Derived, KeyId};

/// What the rows of a command no longer demand, and what they demand anew.
#[derive(Default)]
pub(super) struct Demands<'c> {
    pub(super) lost: Vec<Entry>,
    /// With the source row that demands it.
    pub(super) gained: Vec<(Entry, KeyId, &'c [u8])>,
}

impl<'a> Aftermath<'a> {
    /// Judges what follows for derived keys.
    pub(super) fn judge_dependents(&mut self) -> Result<(), Objection> {
        self.judge_fanout()?;
        self.judge_sources()?;
        let mut demands = Demands::default();
        for (place, change) in self.changes.iter().enumerate() {
            let is_gone = self.fates[place] == Some(Fate::Gone);
            if let Some(table) = change.table {
                self.demand(table, change, is_gone, &mut demands);
                self.reflect(table, change, is_gone, &mut demands)?;
                if self.judges_rows && !is_gone {
                    self.judge_following(table, change)?;
                }
                if self.cause == Cause::Command && !is_gone {
                    self.judge_readable(table, change)?;
                }
            }
        }
        self.take_companions_out(&mut demands)?;
        let repairs = self.repairs(demands)?;
        if self.cause == Cause::Command {
            self.judge_repairs(&repairs)?;
        }
        let commands = repairs.into_iter().flat_map(|repair| repair.commands);
        self.consequences.follow_ups.extend(commands);
        Ok(())
    }

    /// What makes derived rows hold what is demanded.
    fn repairs(&mut self, mut demands: Demands<'_>) -> Result<Vec<Repair>, Objection> {
        let is_computed = |change: &Change<'_>| {
            change.table.is_some_and(|table| self.book.traits(table).is_computed)
        };
        let sole = match (&demands.lost[..], &demands.gained[..]) {
            _ if self.changes.iter().any(is_computed) => None,
            ([entry], []) => State::in_set(entry.holds).map(|_| State::Absent),
            ([], [(entry, ..)]) => State::in_set(entry.holds),
            _ => None,
        };
        let Some(state) = sole else {
            let wanted = self.sum_up(demands)?;
            self.judge_own_writes(&wanted)?;
            return Ok(wanted.repairs(self.view, |table| self.type_of(table))?);
        };
        // Most commands demand one element of one set: nothing is to be summed up.
        let gained = demands.gained.pop().map(|(entry, ..)| entry);
        let Entry { table, key, member, .. } =
            gained.or_else(|| demands.lost.pop()).expect("one entry is demanded");
        let row = self.view.row_of(table, &key)?;
        Ok(Repair::of(table, key, row, self.type_of(table), [(member, state)])
            .into_iter()
            .collect())
    }

    /// What the change of a row means for the keys that are computed from it, and for the
    /// sets whose members name it.
    pub(super) fn demand<'c>(
        &self,
        table: KeyId,
        change: &Change<'c>,
        is_gone: bool,
        demands: &mut Demands<'c>,
    ) {
        self.compare_entries(table, change, is_gone, demands);
        if is_gone && change.deadline_before.is_some() {
            self.leave_followers(table, change.key, demands);
        }
    }

    /// What the change of a row means for the keys that are computed from it.
    fn compare_entries<'c>(
        &self,
        table: KeyId,
        change: &Change<'c>,
        is_gone: bool,
        demands: &mut Demands<'c>,
    ) {
        if !self.has_computed(table) || (!is_gone && !self.touches_entries(table, change)) {
            return;
        }
        // A string that was written again as it was demands what it demanded.
        if let (What::Whole(Some(before)), Some(after)) = (change.what, change.after)
            && !is_gone
            && before.text().is_some_and(|text| after.text() == Some(text))
        {
            return;
        }
        let entries = |row| self.book.computed_entries(table, change.key, row);
        let before = Moment::before(change).map_or(Vec::new(), entries);
        // What a command wrote that need not be judged was found to fit.
        let is_fitting = self.cause == Cause::Command && !self.judges_rows;
        let moment = if is_fitting { Moment::Fitting } else { Moment::Now };
        let now = change.after.filter(|_| !is_gone).map(moment).map_or(Vec::new(), entries);
        if before.is_empty() {
            demands.gained.extend(now.into_iter().map(|entry| (entry, table, change.key)));
            return;
        }
        let lost = before.iter().filter(|old| !now.iter().any(|new| new.is_of_same_element(old)));
        demands.lost.extend(lost.cloned());
        let gained = now.into_iter().filter(|new| !before.contains(new));
        demands.gained.extend(gained.map(|entry| (entry, table, change.key)));
    }

    fn has_computed(&self, table: KeyId) -> bool {
        let dependents = &self.book.traits(table).dependents;
        dependents.iter().any(|dependent| self.book.traits(*dependent).is_computed)
    }

    /// Whether a change of a row that stays can change what it demands.
    fn touches_entries(&self, table: KeyId, change: &Change<'_>) -> bool {
        let links = self.book.links(table);
        match (change.what, &links.reading) {
            (What::Lifetime, _) => false,
            (What::Parts(parts), Reading::Hash(names)) if change.deadline_before.is_some() => {
                let decides =
                    |name: &[u8]| links.fields.iter().any(|field| names[*field].as_bytes() == name);
                parts.iter().any(|part| matches!(part, Part::Field { name, .. } if decides(name)))
            }
            _ => true,
        }
    }

    /// What the change of a set means for its mirror. A member that came must be
    /// able to name one.
    fn reflect<'c>(
        &mut self,
        table: KeyId,
        change: &Change<'c>,
        is_gone: bool,
        demands: &mut Demands<'c>,
    ) -> Result<(), Objection> {
        let book = self.book;
        if book.links(table).mirror.is_none() {
            return Ok(());
        }
        let own = book.placeholders(table, change.key);
        let after = change.after.filter(|_| !is_gone);
        let is_put_off = self.puts_off_members(table, change, is_gone);
        if is_gone
            && !is_put_off
            && let Some(row) = change.after
        {
            demands.lost.extend(book.entries_of(table, change.key, row));
        }
        let mut nameless = None;
        let mut reflect = |member: &[u8], before: State| {
            let now = State::of(after, RowType::Set, member);
            if before == now {
                return;
            }
            match (book.reflection(table, &own, member), now) {
                (_, State::Absent) if is_put_off => {}
                (Some(entry), State::Absent) => demands.lost.push(entry),
                (Some(entry), _) => demands.gained.push((entry, table, change.key)),
                (None, State::Absent) => {}
                (None, _) => nameless = Some(member.to_vec()),
            }
        };
        match change.what {
            What::Whole(Some(before)) if is_put_off => each_new(before, after, &mut reflect),
            // All that left is put off, and nothing came.
            What::Parts(parts) if is_put_off && !brings(parts) => {}
            _ => each_touched(change, RowType::Set, &mut reflect),
        }
        match nameless {
            Some(member) => self.object(book.refuse_nameless(table, change.key, &member)),
            None => Ok(()),
        }
    }

    /// A row that is gone leaves the sets whose members name it.
    fn leave_followers(&self, table: KeyId, key: &[u8], demands: &mut Demands<'_>) {
        demands.lost.extend(self.book.followed_as(table, key));
    }

    /// Rows that ended with another are no sources any more either.
    pub(super) fn take_companions_out(&self, demands: &mut Demands<'a>) -> Result<(), NotYet> {
        for (key, fate) in &self.moved {
            let (Fate::Gone, Some(table)) = (fate, self.book.table_of(key)) else { continue };
            self.take_out(table, key, demands)?;
        }
        Ok(())
    }

    /// A row that ended with another is no source any more either.
    pub(super) fn take_out(
        &self,
        table: KeyId,
        key: &[u8],
        demands: &mut Demands<'_>,
    ) -> Result<(), NotYet> {
        if self.book.traits(table).dependents.is_empty() && self.book.links(table).mirror.is_none()
        {
            return Ok(());
        }
        self.view.glance(key, &mut |row| {
            if let Some(row) = row {
                demands.lost.extend(self.book.entries_of(table, key, row));
                self.leave_followers(table, key, demands);
            }
        })
    }

    /// Each member that came must name a row that lives.
    fn judge_following(&mut self, table: KeyId, change: &Change<'_>) -> Result<(), Objection> {
        let declared = self.book.schema().key(table);
        let Some(Derived::Follows { of }) = &declared.derived else { return Ok(()) };
        let own = self.book.placeholders(table, change.key);
        let pattern = &self.book.schema().key(of.key).pattern;
        let mut named = Vec::new();
        each_touched(change, self.type_of(table), &mut |member, before| {
            if before == State::Absent && change.after.is_some_and(|row| row.contains(member)) {
                named.push((named_key(of, pattern, &own, member), member.to_vec()));
            }
        });
        for (name, member) in named {
            match name {
                Some(name) if self.fate(&name)? != Fate::Gone => {}
                Some(_) if self.is_in_unit => self.defer_member(table, change.key, member),
                Some(name) => self.object(self.book.refuse_stranger(table, change.key, &name))?,
                None => self.object(self.book.refuse_nameless(table, change.key, &member))?,
            }
        }
        Ok(())
    }

    /// The computed keys that a row demands must read back as the values they are made of.
    fn judge_readable(&mut self, table: KeyId, change: &Change<'_>) -> Result<(), Objection> {
        let Some(row) = change.after else { return Ok(()) };
        match self.book.misread_entry(table, change.key, Moment::Now(row)) {
            Some(entry) => self.object(self.book.refuse_misread(table, change.key, &entry)),
            None => Ok(()),
        }
    }

    pub(super) fn sum_up(&mut self, demands: Demands<'_>) -> Result<Wanted, Objection> {
        let mut wanted = Wanted::default();
        for entry in demands.lost {
            let text = self.text_before(&entry)?;
            wanted.lose(entry, text.as_deref());
        }
        for (entry, source, key) in demands.gained {
            let (derived, text) = (entry.table, self.text_before(&entry)?);
            if let Err(Taken { owner }) = wanted.gain(entry, text.as_deref()) {
                if self.is_in_unit {
                    self.defer_tie(source, key);
                    continue;
                }
                self.object(self.book.refuse_taken(source, key, derived, &owner))?;
            }
        }
        Ok(wanted)
    }

    /// What the string of an entry held before the command.
    fn text_before(&self, entry: &Entry) -> Result<Option<Vec<u8>>, NotYet> {
        if entry.holds != Holds::Text {
            return Ok(None);
        }
        let row = match self.place(&entry.key).map(|place| &self.changes[place]) {
            Some(change) => match change.what {
                What::Whole(before) => before,
                What::Parts(_) => None,
                What::Lifetime => change.after,
            },
            None => self.view.row_of(entry.table, &entry.key)?,
        };
        Ok(row.and_then(|row| row.text()).map(Into::into))
    }

    /// What clients wrote to computed keys must be what their sources demand.
    fn judge_own_writes(&mut self, wanted: &Wanted) -> Result<(), Objection> {
        for change in self.changes {
            let Some(table) = change.table.filter(|table| self.book.traits(*table).is_computed)
            else {
                continue;
            };
            match wanted.contradiction(change, self.type_of(table)) {
                Contradiction::None => {}
                Contradiction::OfOthers
                    if self.is_in_unit && !self.is_past_mending(table, change) =>
                {
                    self.defer_agreement(table, change);
                }
                Contradiction::OfOthers | Contradiction::OfItself => {
                    self.object(self.book.refuse_contradiction(table, change.key))?;
                }
            }
        }
        Ok(())
    }

    /// Whether so many elements of a computed row came or went at once that the rest of a unit
    /// is not waited for: to note and to judge each would hold everybody up.
    fn is_past_mending(&self, table: KeyId, change: &Change<'_>) -> bool {
        let What::Whole(before) = change.what else { return false };
        let len = |row: Option<&dyn Row>| row.map_or(0, |row| row.len() as u64);
        self.type_of(table) != RowType::String
            && self.book.is_enforced(table)
            && len(before).abs_diff(len(change.after)) > self.book.schema().key(table).max_fanout
    }

    pub(super) fn type_of(&self, table: KeyId) -> RowType {
        self.book.traits(table).row_type.expect("derived keys are strings, sets and sorted sets")
    }

    /// One command must not bring too many elements, nor make a mirror too large.
    fn judge_repairs(&mut self, repairs: &[Repair]) -> Result<(), Objection> {
        let mut brought: Vec<(KeyId, u64)> = Vec::with_capacity(1);
        for repair in repairs {
            let puts = (repair.changed - repair.taken) as u64;
            match brought.iter_mut().find(|(table, _)| *table == repair.table) {
                Some((_, count)) => *count += puts,
                None => brought.push((repair.table, puts)),
            }
            let most = self.book.schema().key(repair.table).bounds.max_members;
            if let Some(most) = most.filter(|_| repair.added > 0) {
                let count = self.view.row_of(repair.table, &repair.key)?.map_or(0, |row| row.len());
                let count = (count + 2 * repair.added - repair.changed) as u64;
                if count > most {
                    self.object(self.book.refuse_count(repair.table, &repair.key, count))?;
                }
            }
        }
        brought.sort_unstable();
        for (table, count) in brought {
            if count > self.book.schema().key(table).max_fanout {
                self.object(self.book.refuse_fanout(table, Some(count)))?;
            }
        }
        Ok(())
    }
}
