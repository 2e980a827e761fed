//! Rows that are looked at together, to find one that goes.
//!
//! Owns drawing several rows at a time. The rows of a page lie side by side, and those of
//! a bucket can be fetched at once: looking at all of them costs little more than looking
//! at one. Which rows are neighbours their hashes decide, so each is as good as one drawn
//! by itself.
//!
//! Invariant: every row of a table is in one group, packed or not.
//! Not here: what is made of them (`keyspace::victim`).

use super::packed::PackedRows;
use super::{Place, Table};
use crate::tables::eviction::Scope;
use crate::values::random::Random;
use crate::values::row::Row;
use std::borrow::Cow;

/// A row that is looked at.
pub(crate) enum Neighbour<'a> {
    /// A loose one.
    Loose(&'a Row),
    /// A packed one.
    Packed(&'a PackedRows, Place),
}

impl Neighbour<'_> {
    /// The mark of its use.
    pub(crate) fn mark(&self) -> u32 {
        match self {
            Neighbour::Loose(row) => row.clock(),
            Neighbour::Packed(rows, place) => rows.clock(*place),
        }
    }

    /// Its key.
    pub(crate) fn key(&self) -> Cow<'_, [u8]> {
        match self {
            Neighbour::Loose(row) => Cow::Borrowed(row.key()),
            Neighbour::Packed(rows, place) => Cow::Owned(rows.key(*place)),
        }
    }
}

impl Table {
    /// How many groups of neighbours there are among the rows of a scope.
    pub fn groups(&self, scope: Scope) -> usize {
        match scope {
            Scope::All => self.rows.bucket_count() + self.pages(),
            Scope::Expiring => self.expiring(),
        }
    }

    fn pages(&self) -> usize {
        self.packed.as_ref().map_or(0, |packed| packed.page_count())
    }

    /// Visits the rows of one group; some have none.
    pub(crate) fn visit_group(
        &self,
        (scope, group): (Scope, usize),
        random: &mut Random,
        mut visit: impl FnMut(Neighbour<'_>),
    ) {
        if scope == Scope::Expiring {
            // Those that end together came together: each is drawn by itself.
            let row = self.deadlines.sample(random).map(|entry| self.row_of(entry));
            return row.iter().for_each(|row| visit(Neighbour::Loose(row)));
        }
        match (&self.packed, group.checked_sub(self.rows.bucket_count())) {
            (Some(packed), Some(page)) => {
                packed.places_of(page).for_each(|place| visit(Neighbour::Packed(packed, place)));
            }
            _ => self.rows.visit_bucket(group, |row| visit(Neighbour::Loose(row))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::hasher::KeyHasher;
    use crate::values::row::NewValue;
    use std::collections::BTreeMap;

    /// A table of which so many rows are packed.
    fn table(rows: usize, packed: usize) -> Table {
        let schema =
            "[keyspace]\nname = \"k\"\n[key.\"k:{id}\"]\ntype = \"string\"\nttl = \"1h\"\n";
        let checked = keyward_schema::check("k.toml", schema.as_bytes());
        let schema = checked.schema.expect("the schema is sound");
        let hasher = KeyHasher::new([1, 2]);
        let mut table = Table::governed(hasher, &schema.keys[0]);
        for number in 0..rows {
            if number == packed {
                while table.pack(1) > 0 {}
            }
            let key = format!("k:{number}");
            let row = Row::new(key.as_bytes(), NewValue::Text(&[b'x'; 40]), Some(1));
            table.insert(hasher.hash(key.as_bytes()), row);
        }
        table
    }

    #[test]
    fn every_row_is_looked_at_as_often_as_any_other() {
        let table = table(3_000, 2_000);
        let is_packed = table.packed.as_ref().is_some_and(|packed| packed.len() == 2_000);
        assert!(is_packed && table.rows.len() == 1_000);
        let mut random = Random::from_seed(1);
        for scope in [Scope::All, Scope::Expiring] {
            let mut seen: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
            for group in (0..100).flat_map(|_| 0..table.groups(scope)) {
                table.visit_group((scope, group), &mut random, |row| {
                    *seen.entry(row.key().into_owned()).or_default() += 1;
                });
            }
            assert_eq!(seen.len(), 3_000, "{scope:?}");
            let (least, most) = (seen.values().min().unwrap(), seen.values().max().unwrap());
            let expected = if scope == Scope::All { 100..=100 } else { 50..=160 };
            let is_even = expected.contains(least) && expected.contains(most);
            assert!(is_even, "{scope:?}: {least} to {most} times");
        }
    }
}
