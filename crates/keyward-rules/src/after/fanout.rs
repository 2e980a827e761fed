//! How many elements of mirrors a command changes, counted before any mirror is read.
//!
//! A set and its mirror agree, so each member that came or left is one element of the
//! mirror that changes. A command that changes too many is therefore refused by the sets
//! it wrote: their lengths say how many, and of their members no more are looked at than
//! the limit allows, to be sure that they name mirrors at all.
//!
//! What is not sure here is left to be counted when all follow-ups are known
//! (`dependents`): elements of computed keys, and of mirrors that the command wrote itself.

use super::{Aftermath, Cause, Fate, Objection};
use crate::book::RuleBook;
use crate::change::{Change, What};
use crate::derived::wanted::{State, each_touched};
use crate::view::{Element, Row, RowType};
use keyward_schema::KeyId;

/// Elements of one mirror.
struct Tally {
    /// How many change, as far as is known.
    count: u64,
    /// Of how many of them that is sure.
    sure: u64,
    /// How many may change.
    most: u64,
}

impl Tally {
    fn is_over(&self) -> bool {
        self.sure > self.most
    }
}

impl Aftermath<'_> {
    /// Refuses a command that changes more elements of a mirror than one may.
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
            if self.book.is_enforced(mirror)
                && let Some(count) = self.too_many(mirror)
            {
                self.object(self.book.refuse_fanout(mirror, count))?;
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

    /// How many elements of a mirror change, if those are surely too many.
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
        match (change.what, set_of(change.after)) {
            (What::Lifetime, Some(row)) if is_gone => all_of(row, tally),
            (What::Whole(before), None) => {
                if let Some(before) = set_of(before) {
                    all_of(before, tally);
                }
            }
            // What the command changed and then made end is seldom much.
            (_, Some(_)) if is_gone => {}
            (What::Whole(before), Some(after)) if set_of(before).is_none() => all_of(after, tally),
            (_, after) => each_touched(change, RowType::Set, &mut |member, before| {
                if before != State::of(after, RowType::Set, member) {
                    tally.count += 1;
                    self.make_sure(change, member, tally);
                }
            }),
        }
    }

    /// Looks whether a member that came or left names a mirror that the command has not
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

/// A row, if it is a set.
fn set_of(row: Option<&dyn Row>) -> Option<&dyn Row> {
    row.filter(|row| row.row_type() == RowType::Set)
}

/// How many members a change of a set touched, at most.
fn touched_at_most(change: &Change<'_>) -> u64 {
    let len = |row: Option<&dyn Row>| row.map_or(0, Row::len) as u64;
    match change.what {
        What::Parts(parts) => parts.len() as u64,
        What::Whole(before) => len(before) + len(change.after),
        What::Lifetime => len(change.after),
    }
}

impl RuleBook {
    /// The table of the sets that mirror those of this one.
    fn mirror_of(&self, table: KeyId) -> Option<KeyId> {
        self.links(table).mirror.and_then(|mirror| mirror.table(self.schema(), table))
    }
}
