//! Mirrored sets: `b` is in `a`'s set if `a` is in `b`'s.
//!
//! Owns the way from an element of one set to the element of the other that says
//! the same. Invariant: the reflection of a reflection is where one began.

use super::Mirror;
use super::entries::{Entry, Holds};
use crate::book::RuleBook;
use crate::naming::{Origin, named_key};
use keyward_schema::{Derived, KeyId};

impl RuleBook {
    /// What the mirror holds because of a member of a set: the set it is in, and the member
    /// of that. `None` if the set of this key has no mirror, or the member can name none.
    pub fn mirrored(&self, table: KeyId, key: &[u8], member: &[u8]) -> Option<Entry> {
        self.reflection(table, &self.placeholders(table, key), member)
    }

    /// The table of the sets that mirror those of this one.
    pub fn mirror_of(&self, table: KeyId) -> Option<KeyId> {
        self.links(table).mirror.and_then(|mirror| mirror.table(self.schema(), table))
    }

    /// The element of the mirror that says the same as this member of the set of
    /// that table with these placeholders. `None` if the set has no mirror, or
    /// the member can name none, because it does not fit the pattern.
    pub(crate) fn reflection(&self, table: KeyId, own: &[&[u8]], member: &[u8]) -> Option<Entry> {
        let namer = match self.links(table).mirror? {
            Mirror::Named => table,
            Mirror::NamedBy(namer) => namer,
        };
        let Some(Derived::Inverse { other, slot }) = &self.schema().key(namer).derived else {
            return None;
        };
        let (mirror, key, id) = if namer == table {
            let pattern = &self.schema().key(other.key).pattern;
            (other.key, named_key(other, pattern, own, member)?, own[*slot])
        } else {
            let pattern = &self.schema().key(namer).pattern;
            let mut origin = Origin::of(other, own)?;
            origin.placeholders[*slot] = Some(member);
            (namer, origin.key(pattern)?, origin.member)
        };
        let is_named = self.table_of(&key) == Some(mirror);
        is_named.then(|| Entry { table: mirror, key, member: id.to_vec(), holds: Holds::Member })
    }
}
