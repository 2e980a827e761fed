//! From a derived row back to the rows that demand what it holds.
//!
//! Owns how a host tells, without looking at every source, whether what a derived row holds is
//! demanded by rows that go with another (`ttl = { with = … }`).

use super::entries::{Entry, Holds};
use crate::book::{RuleBook, leader};
use crate::naming::Origin;
use crate::view::Row;
use keyward_schema::{Binding, Derived, KeyId};

/// What tells whether the rows that demand what a row holds are going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToldBy {
    /// Nothing: what it holds is nobody's demand.
    Nothing,
    /// Its text, which names the one row: a lookup.
    Text,
    /// Its key: all rows that can demand something of it live with one other.
    Leader,
    /// Each of its elements, which names a row of its own.
    Elements,
}

impl RuleBook {
    /// The members of other sets that name a row, and leave them when it goes.
    pub(crate) fn followed_as(&self, table: KeyId, key: &[u8]) -> Vec<Entry> {
        let followers = self.traits(table).dependents.iter();
        let entry = |follower: &KeyId| {
            let declared = self.schema().key(*follower);
            let Some(Derived::Follows { of }) = &declared.derived else { return None };
            let placeholders = self.placeholders(table, key);
            let origin = Origin::of(of, &placeholders)?;
            let (member, key) = (origin.member.to_vec(), origin.key(&declared.pattern)?);
            Some(Entry { table: *follower, key, member, holds: Holds::Member })
        };
        followers.filter_map(entry).collect()
    }

    /// All that derived rows lose if a row goes.
    pub fn lost_with(&self, table: KeyId, key: &[u8], row: &dyn Row) -> Vec<Entry> {
        let mut lost = self.entries_of(table, key, row);
        lost.extend(self.followed_as(table, key));
        lost
    }

    /// What tells whether the rows that demand what a row of this table holds are going.
    pub fn told_by(&self, table: KeyId) -> ToldBy {
        if self.mirror_of(table).is_some() {
            return ToldBy::Elements;
        }
        match &self.schema().key(table).derived {
            None => ToldBy::Nothing,
            Some(Derived::Lookup { .. }) => ToldBy::Text,
            Some(Derived::Members { .. } | Derived::Rank { .. }) if self.has_one_leader(table) => {
                ToldBy::Leader
            }
            Some(_) => ToldBy::Elements,
        }
    }

    /// Whether it matters which members leave a row of this table: it is computed or mirrored,
    /// or goes to a table of PostgreSQL. What follows others, or leads some, is told only of
    /// members that come, and of its end.
    pub fn heeds_leavers(&self, table: KeyId) -> bool {
        let traits = self.traits(table);
        traits.is_computed || traits.is_stored || self.mirror_of(table).is_some()
    }

    /// Whether the key of a computed row of this table tells what all its sources live with.
    fn has_one_leader(&self, table: KeyId) -> bool {
        let Some(source) = self.schema().key(table).derived.as_ref().map(Derived::source) else {
            return false;
        };
        let is_one = |binding: &Binding| match binding {
            Binding::Bound(index) => !matches!(source.bindings[*index], Binding::Member),
            Binding::Member => false,
            Binding::Literal(_) => true,
        };
        let leader = leader(self.schema().key(source.key));
        leader.is_some_and(|leader| leader.bindings.iter().all(is_one))
    }

    /// The key that all rows live with which can demand something of a computed row, where its
    /// own key tells that ([`ToldBy::Leader`]).
    pub fn leader_of_sources(&self, table: KeyId, key: &[u8]) -> Option<Vec<u8>> {
        let source = self.schema().key(table).derived.as_ref()?.source();
        let leader = leader(self.schema().key(source.key))?;
        let own = self.placeholders(table, key);
        let mut values: Vec<&[u8]> = Vec::with_capacity(leader.bindings.len());
        for binding in &leader.bindings {
            let of_source = match binding {
                Binding::Bound(index) => &source.bindings[*index],
                other => other,
            };
            values.push(match of_source {
                Binding::Bound(index) => own[*index],
                Binding::Literal(text) => text.as_bytes(),
                Binding::Member => return None,
            });
        }
        self.schema().key(leader.key).pattern.fill_readably(&values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &[u8] = br#"
        [keyspace]
        name = "shop"

        [key."cart:{sid}"]
        type = "string"
        ttl  = "1h"

        [key."line:{sid}:{n:uint}"]
        type  = "string"
        value = "str"
        ttl   = { with = "cart:{sid}" }

        [key."lines:{sid}"]
        type    = "set"
        members = { of = "line:{sid}:{n}" }

        [key."carts:{n:uint}"]
        type    = "set"
        members = { of = "line:{sid}:{n}" }

        [key."badge:{id:uint}"]
        type  = "string"
        value = "str"
        ttl   = { with = "cart:staff" }

        [key."badges"]
        type    = "set"
        members = { of = "badge:{id}" }

        [key."owner:{code}"]
        type   = "string"
        lookup = { of = "badge:{id}" }

        [key."recent"]
        type    = "zset"
        ttl     = "none"
        follows = "badge:{member}"

        [key."fans:{id:uint}"]
        type    = "set"
        ttl     = "none"
        inverse = "idols:{member}"

        [key."idols:{id:uint}"]
        type    = "set"
        ttl     = "none"
        inverse = "fans:{member}"
    "#;

    #[test]
    fn a_row_is_told_by_its_text_its_key_or_its_elements() {
        let schema = keyward_schema::check("keyward.toml", SCHEMA).schema.expect("a sound schema");
        let book = RuleBook::new(schema);
        let cases = [
            ("cart:a", ToldBy::Nothing, None, false),
            ("line:a:1", ToldBy::Nothing, None, false),
            ("lines:a", ToldBy::Leader, Some("cart:a"), true),
            ("carts:1", ToldBy::Elements, None, true),
            ("badges", ToldBy::Leader, Some("cart:staff"), true),
            ("owner:x", ToldBy::Text, Some("cart:staff"), true),
            ("recent", ToldBy::Elements, Some("cart:staff"), false),
            ("fans:1", ToldBy::Elements, None, true),
        ];
        for (key, told_by, leader, heeds_leavers) in cases {
            let table = book.table_of(key.as_bytes()).expect(key);
            assert_eq!(book.told_by(table), told_by, "{key}");
            let found = book.leader_of_sources(table, key.as_bytes());
            assert_eq!(found.as_deref(), leader.map(str::as_bytes), "{key}");
            assert_eq!(book.heeds_leavers(table), heeds_leavers, "{key}");
        }
    }
}
