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
    /// The elements of its mirror, for members that left a set: these, or all that the row
    /// held before the command.
    Members {
        /// The set's table.
        table: KeyId,
        /// Its key.
        key: Vec<u8>,
        /// Who left; `None` for all that it held.
        left: Option<Vec<Vec<u8>>>,
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
                (!change.is_kept).then(|| members_of(before))
            }
            _ if !change.is_kept => return false,
            What::Lifetime if is_gone && change.after.as_ref().is_some_and(is_large) => None,
            // What the command changed and then made end is seldom much.
            What::Parts(parts) if parts.len() > few && (!is_gone || change.after.is_none()) => {
                Some(who_left(parts, after))
            }
            What::Whole(_) | What::Lifetime | What::Parts(_) => return false,
        };
        if left.as_ref().is_some_and(|left| left.len() <= few) {
            return false;
        }
        self.consequences.ends.push(LargeEnd::Members { table, key: change.key.to_vec(), left });
        true
    }
}

/// The members of a set that lives on under another key.
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

/// The members that parts took out of a set.
fn who_left(parts: &[Part<'_>], after: Option<&dyn Row>) -> Vec<Vec<u8>> {
    // Where nothing came, nothing came back.
    let after = after.filter(|_| brings(parts));
    let stays = |member: &[u8]| after.is_some_and(|row| row.contains(member));
    let left = parts.iter().filter_map(|part| match *part {
        Part::Member { member, came: false } if !stays(member) => Some(member.to_vec()),
        _ => None,
    });
    left.collect()
}
