//! Whether a computed row holds what its sources demand, member by member.
//!
//! Asked of rows that clients wrote to in spite of their sources, where the schema only
//! warns. The member of a lookup is its text.

use super::entries::Holds;
use super::wanted::{any_element, each_touched};
use crate::book::RuleBook;
use crate::change::{Change, What};
use crate::facts::Moment;
use crate::naming::named_key;
use crate::view::{NotYet, Row, RowType, View};
use keyward_schema::{Derived, Finds, KeyId};
use std::collections::BTreeSet;

/// What is known of a derived row that does not hold what its sources demand.
#[derive(Clone, Copy)]
pub struct Contradicted<'a> {
    /// The row, if it is there.
    pub row: Option<&'a dyn Row>,
    /// Elements in question.
    pub members: &'a [&'a [u8]],
    /// Whether these are all.
    pub is_all: bool,
}

impl RuleBook {
    /// The members of a computed row that a change touched, each once; of a whole row no more
    /// than so many of them.
    pub fn touched_members(&self, table: KeyId, change: &Change<'_>, most: usize) -> Vec<Vec<u8>> {
        let mut members = Vec::new();
        if self.traits(table).row_type == Some(RowType::String) {
            let before = match change.what {
                What::Whole(before) => before,
                What::Lifetime | What::Parts(_) => None,
            };
            let texts = [before, change.after].into_iter().flatten();
            members.extend(texts.filter_map(Row::text).map(|text| text.into_owned()));
        } else if let What::Whole(before) = change.what
            && [before, change.after].into_iter().flatten().map(Row::len).sum::<usize>() > most
        {
            let mut some = BTreeSet::new();
            for row in [before, change.after].into_iter().flatten() {
                any_element(row, &mut |member| {
                    let is_full = some.len() >= most;
                    if !is_full {
                        some.insert(member.to_vec());
                    }
                    is_full
                });
            }
            members.extend(some);
        } else if let Some(row_type) = self.traits(table).row_type {
            each_touched(change, row_type, &mut |member, _| members.push(member.to_vec()));
        }
        members
    }

    /// The key of the row that alone can demand a member of a computed row, or that a member of
    /// a set that follows others names.
    pub fn source_of(&self, table: KeyId, key: &[u8], member: &[u8]) -> Option<Vec<u8>> {
        let source = self.schema().key(table).derived.as_ref()?.source();
        let own = self.placeholders(table, key);
        named_key(source, &self.schema().key(source.key).pattern, &own, member)
    }

    /// Whether a computed row, if it is there, holds of a member what is demanded.
    ///
    /// # Errors
    /// If the host has to fetch the source first.
    pub fn agrees(
        &self,
        view: &dyn View,
        (table, key): (KeyId, &[u8]),
        row: Option<&dyn Row>,
        member: &[u8],
    ) -> Result<bool, NotYet> {
        let mut demanded = None;
        if let Some(source) = self.source_of(table, key, member)
            && let Some(of) = self.table_of(&source)
            && let Some(there) = view.row(&source)?
        {
            let entries = self.computed_entries(of, &source, Moment::Now(there));
            let mut entries = entries.into_iter();
            demanded = entries
                .find(|entry| (entry.table, &*entry.key, &*entry.member) == (table, key, member))
                .map(|entry| entry.holds);
        }
        let as_text = match self.schema().key(table).derived {
            Some(Derived::Lookup { finds: Finds::Field(_), .. }) => Holds::Value,
            _ => Holds::Text,
        };
        let row = row.filter(|row| Some(row.row_type()) == self.traits(table).row_type);
        let held = row.and_then(|row| match row.row_type() {
            RowType::String => row.text().filter(|text| **text == *member).map(|_| as_text),
            RowType::Zset => row.score(member).map(Holds::Score),
            _ => row.contains(member).then_some(Holds::Member),
        });
        Ok(demanded == held)
    }
}
