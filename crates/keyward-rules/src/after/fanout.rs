//! How many elements a command brings to derived keys, counted before all of them are
//! worked out.
//!
//! A set and its mirror agree, so each member that came is one element that the mirror gets.
//! A command that brings too many is therefore refused by the sets it wrote: their lengths
//! say how many, and of their members no more are looked at than the limit allows, to be
//! sure that they name mirrors at all. What leaves has no limit: it goes in steps (`large`).
//!
//! A row demands at most one element of a computed key, so only a command that changes very
//! many rows brings too many to those. Its rows are looked at one after the other until
//! there are.
//!
//! What is not sure here is left to be counted when all follow-ups are known
//! (`dependents`): elements of derived keys that the command wrote itself, and those of few
//! rows.

use super::dependents::Demands;
use super::{Aftermath, Cause, Fate, Objection};
use crate::change::{Change, Part, What};
use crate::derived::wanted::{State, each_new, each_touched};
use crate::derived::{Entry, Holds};
use crate::view::{Element, NotYet, Row, RowType};
use keyward_schema::KeyId;
use std::collections::BTreeMap;

/// What so few rows demand is worked out at once: that takes no longer than to count it.
const FEW_ROWS: usize = 16;

/// Elements of one mirror.
struct Tally {
    /// How many come, as far as is known.
    count: u64,
    /// Of how many of them that is sure.
    sure: u64,
    /// How many may come.
    most: u64,
}

impl Tally {
    fn is_over(&self) -> bool {
        self.sure > self.most
    }
}

impl Aftermath<'_> {
    /// Refuses a command that brings more elements to a mirror than one may.
    pub(super) fn judge_fanout(&mut self) -> Result<(), Objection> {
        if self.cause != Cause::Command {
            return Ok(());
        }
        let (mut touched, mut least) = (0, u64::MAX);
        for (mirror, _, change) in self.mirrored() {
            touched += touched_at_most(change);
            least = least.min(self.book.schema().key(mirror).max_fanout);
        }
        // Nearly all commands touch few members.
        if touched <= least {
            return Ok(());
        }
        let mut mirrors: Vec<KeyId> = self.mirrored().map(|(mirror, ..)| mirror).collect();
        mirrors.sort_unstable();
        mirrors.dedup();
        for mirror in mirrors {
            if self.book.would_enforce(mirror)
                && let Some(count) = self.too_many(mirror)
            {
                self.object(self.book.refuse_fanout(mirror, Some(count)))?;
            }
        }
        Ok(())
    }

    /// The changes of mirrored sets: with the mirror's table, and their place.
    fn mirrored(&self) -> impl Iterator<Item = (KeyId, usize, &Change<'_>)> {
        self.changes.iter().enumerate().filter_map(|(place, change)| {
            let mirror = self.book.mirror_of(change.table?)?;
            Some((mirror, place, change))
        })
    }

    /// How many elements a mirror gets, if those are surely too many.
    fn too_many(&self, mirror: KeyId) -> Option<u64> {
        let most = self.book.schema().key(mirror).max_fanout;
        let mut tally = Tally { count: 0, sure: 0, most };
        for (_, place, change) in self.mirrored().filter(|(other, ..)| *other == mirror) {
            let is_gone = self.fates[place] == Some(Fate::Gone);
            self.count_change(change, is_gone, &mut tally);
        }
        tally.is_over().then_some(tally.count)
    }

    fn count_change(&self, change: &Change<'_>, is_gone: bool, tally: &mut Tally) {
        let all_of = |row: &dyn Row, tally: &mut Tally| {
            tally.count += row.len() as u64;
            let mut cursor = 0;
            while !tally.is_over() {
                cursor = row.each_some(cursor, &mut |element| {
                    if let Element::Member(member) = element {
                        self.make_sure(change, member, tally);
                    }
                });
                if cursor == 0 {
                    break;
                }
            }
        };
        let Some(after) = set_of(change.after).filter(|_| !is_gone) else { return };
        let mut count_new = |member: &[u8], before: State| {
            if before == State::Absent && after.contains(member) {
                tally.count += 1;
                self.make_sure(change, member, tally);
            }
        };
        match change.what {
            What::Lifetime => {}
            What::Whole(before) => match set_of(before) {
                Some(before) => each_new(before, Some(after), &mut count_new),
                None => all_of(after, tally),
            },
            What::Parts(_) => each_touched(change, RowType::Set, &mut count_new),
        }
    }

    /// Looks whether a member that came names a mirror that the command has not
    /// written to itself; that one holds otherwise what is demanded already.
    fn make_sure(&self, change: &Change<'_>, member: &[u8], tally: &mut Tally) {
        let Some(table) = change.table.filter(|_| !tally.is_over()) else { return };
        let own = self.book.placeholders(table, change.key);
        let entry = self.book.reflection(table, &own, member);
        if entry.is_some_and(|entry| self.place(&entry.key).is_none()) {
            tally.sure += 1;
        } else {
            tally.count -= 1;
        }
    }
}

impl Aftermath<'_> {
    /// Refuses a command whose rows bring more elements to a computed key than one may.
    pub(super) fn judge_sources(&mut self) -> Result<(), Objection> {
        if self.cause != Cause::Command || self.changes.len() <= FEW_ROWS {
            return Ok(());
        }
        for derived in self.crowded() {
            if self.book.would_enforce(derived) && self.is_overrun(derived)? {
                self.object(self.book.refuse_fanout(derived, None))?;
            }
        }
        Ok(())
    }

    /// The derived tables whose sources changed so often that it may be too much, but for
    /// those that the command itself wrote to.
    fn crowded(&self) -> Vec<KeyId> {
        let mut sources: BTreeMap<KeyId, u64> = BTreeMap::new();
        for change in self.changes {
            if let Some(table) = change.table {
                *sources.entry(table).or_default() += u64::from(change.after.is_some());
            }
        }
        let mut elements: BTreeMap<KeyId, u64> = BTreeMap::new();
        for id in self.book.schema().ids() {
            let count = sources.get(&id).copied().unwrap_or(0);
            for derived in self.book.traits(id).dependents.iter().filter(|_| count > 0) {
                *elements.entry(*derived).or_default() += count;
            }
        }
        elements.retain(|derived, count| {
            *count > self.book.schema().key(*derived).max_fanout
                && self.book.traits(*derived).is_computed
                && !sources.contains_key(derived)
        });
        elements.into_keys().collect()
    }

    /// Whether surely more elements come to a derived table than one command may bring.
    fn is_overrun(&self, derived: KeyId) -> Result<bool, NotYet> {
        let most = self.book.schema().key(derived).max_fanout;
        let feeds = |table: &KeyId| self.book.traits(*table).dependents.contains(&derived);
        let mut sure = 0;
        for (place, change) in self.changes.iter().enumerate() {
            let Some(table) = change.table.filter(feeds) else { continue };
            let mut demands = Demands::default();
            self.demand(table, change, self.fates[place] == Some(Fate::Gone), &mut demands);
            sure += self.count_unmet(derived, &demands)?;
            if sure > most {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many elements of a derived table are not what is demanded anew.
    fn count_unmet(&self, derived: KeyId, demands: &Demands<'_>) -> Result<u64, NotYet> {
        let row_type = self.type_of(derived);
        let state = |entry: &Entry| -> Result<State, NotYet> {
            let is_text = matches!(entry.holds, Holds::Text | Holds::Value);
            let name = if is_text { &[][..] } else { &entry.member };
            Ok(State::of(self.view.row_of(derived, &entry.key)?, row_type, name))
        };
        let mut count = 0;
        for (entry, ..) in demands.gained.iter().filter(|(entry, ..)| entry.table == derived) {
            // A text that is there is another's: it is lost, or cannot be gained.
            count += u64::from(match (state(entry)?, entry.holds) {
                (State::Absent, _) => true,
                (State::Text(before), Holds::Value) => before != entry.member,
                (State::Score(before), Holds::Score(score)) => before != score,
                _ => false,
            });
        }
        Ok(count)
    }
}

/// A row, if it is a set.
fn set_of(row: Option<&dyn Row>) -> Option<&dyn Row> {
    row.filter(|row| row.row_type() == RowType::Set)
}

/// How many members came by a change of a set, at most.
fn touched_at_most(change: &Change<'_>) -> u64 {
    let len = |row: Option<&dyn Row>| row.map_or(0, Row::len) as u64;
    match change.what {
        What::Parts(parts) => {
            let came = |part: &&Part<'_>| matches!(part, Part::Member { came: true, .. });
            parts.iter().filter(came).count() as u64
        }
        What::Whole(_) => len(change.after),
        What::Lifetime => 0,
    }
}
