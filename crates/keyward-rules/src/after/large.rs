//! Large ends: what so many rows or elements lose that it goes in steps.
//!
//! Owns which losses those are. The elements of a mirror that go with the members of a
//! large set, and the rows that live with another, are no follow-ups then: the host is told
//! whose they are ([`LargeEnd`]), hides them, and removes them in steps. What comes is never
//! put off.
//! Not here: the steps (the host's).

use super::{Aftermath, Fate};
use crate::change::{Change, Part, What};
use crate::view::{Element, Row, RowType};
use keyward_schema::KeyId;

/// What is lost with a row, by so many that they go in steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LargeEnd {
    /// The elements of its mirror, for members that left a set.
    Members {
        /// The set's table.
        table: KeyId,
        /// Its key.
        key: Vec<u8>,
        /// Who left.
        left: Leavers,
    },
    /// The rows that lived with this one, which is gone.
    Companions {
        /// The leader's table.
        table: KeyId,
        /// Its key.
        key: Vec<u8>,
    },
    /// The rows that live with this one get its deadline.
    Deadlines {
        /// The leader's table.
        table: KeyId,
        /// Its key.
        key: Vec<u8>,
    },
}

/// Members that left a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leavers {
    /// All that the row held before the command.
    All,
    /// Those that left together: the host has them ([`Part::Left`]).
    Together,
    /// These.
    These(Vec<Vec<u8>>),
}

impl Aftermath<'_> {
    /// Puts the fate of a row's companions off if they are many; whether it did.
    pub(super) fn puts_off_companions(&mut self, table: KeyId, key: &[u8], fate: Fate) -> bool {
        if self.view.companion_count(key) <= self.view.removed_at_once() {
            return false;
        }
        let key = key.to_vec();
        self.consequences.ends.push(match fate {
            Fate::Gone => LargeEnd::Companions { table, key },
            Fate::Lives(_) => LargeEnd::Deadlines { table, key },
        });
        true
    }

    /// Puts off what the mirror of a set loses if that is much; whether it did.
    pub(super) fn puts_off_members(
        &mut self,
        table: KeyId,
        change: &Change<'_>,
        is_gone: bool,
    ) -> bool {
        let few = self.view.removed_at_once();
        let is_large = |row: &&dyn Row| row.row_type() == RowType::Set && row.len() > few;
        let after = change.after.filter(|_| !is_gone);
        let left = match change.what {
            What::Whole(Some(before)) if is_large(&before) => {
                if change.is_kept {
                    Leavers::All
                } else {
                    Leavers::These(members_of(before))
                }
            }
            _ if !change.is_kept => return false,
            What::Lifetime if is_gone && change.after.as_ref().is_some_and(is_large) => {
                Leavers::All
            }
            // What the command changed and then made end is seldom much.
            What::Parts(_) if is_gone && change.after.is_some() => return false,
            What::Parts([Part::Left(row)]) if row.len() > few => Leavers::Together,
            What::Parts(parts) if parts.iter().map(elements).sum::<usize>() > few => {
                Leavers::These(who_left(parts, after))
            }
            What::Whole(_) | What::Lifetime | What::Parts(_) => return false,
        };
        if matches!(&left, Leavers::These(left) if left.len() <= few) {
            return false;
        }
        self.consequences.ends.push(LargeEnd::Members { table, key: change.key.to_vec(), left });
        true
    }
}

/// The members of a set.
fn members_of(row: &dyn Row) -> Vec<Vec<u8>> {
    let mut members = Vec::with_capacity(row.len());
    row.each(&mut |element| {
        if let Element::Member(member) = element {
            members.push(member.to_vec());
        }
    });
    members
}

/// Whether a member came into a set.
pub(super) fn brings(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Member { came: true, .. }))
}

/// How many elements a part may concern.
fn elements(part: &Part<'_>) -> usize {
    match part {
        Part::Left(row) => row.len(),
        _ => 1,
    }
}

/// The members that parts took out of a set.
fn who_left(parts: &[Part<'_>], after: Option<&dyn Row>) -> Vec<Vec<u8>> {
    let has = |row: Option<&dyn Row>, member: &[u8]| row.is_some_and(|row| row.contains(member));
    // Where nothing came, nothing came back.
    let came_back = after.filter(|_| brings(parts));
    let mut left = Vec::new();
    for part in parts {
        match *part {
            Part::Member { member, came: false } if !has(came_back, member) => {
                left.push(member.to_vec());
            }
            Part::Left(row) => {
                left.extend(members_of(row).into_iter().filter(|member| !has(after, member)));
            }
            _ => {}
        }
    }
    left
}
