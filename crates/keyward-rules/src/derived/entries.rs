//! Entries: what a row demands of the rows that are computed from its table.
//!
//! A pure function of the row and its key. A row demands nothing of a derived
//! key where it lacks the field in question, where its key is not one of those
//! that `of` names, or where the value makes no key of the derived pattern:
//! because it does not fit its shape, or because the key would be read as other
//! values ([`RuleBook::misread_entry`]), which is refused.

use crate::book::RuleBook;
use crate::facts::{Facts, Moment};
use crate::naming::Origin;
use crate::view::{Element, Row};
use keyward_resp::number::parse_f64;
use keyward_schema::{Derived, Finds, KeyId, RankBy, Schema, Type, parse_timestamp};

/// One element of a derived row, demanded by a source row.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The derived key's pattern.
    pub table: KeyId,
    /// The derived key.
    pub key: Vec<u8>,
    /// Which source row demands it: its id; of a lookup that holds a field, that.
    pub member: Vec<u8>,
    /// How the derived row holds it.
    pub holds: Holds,
}

/// How a derived row holds an entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Holds {
    /// The member is its text, which several rows may claim.
    Text,
    /// The member is its text, and only one row can demand it.
    Value,
    /// The member is in its set.
    Member,
    /// The member is in its sorted set with this score.
    Score(f64),
}

impl Entry {
    /// Whether both speak of the same element.
    pub(crate) fn is_of_same_element(&self, other: &Entry) -> bool {
        (self.table, &self.key, &self.member) == (other.table, &other.key, &other.member)
    }
}

impl RuleBook {
    /// What a row demands of the rows that are derived from its table: of
    /// lookups, rankings and sets of members, and of the mirror of a set.
    pub fn entries_of(&self, table: KeyId, key: &[u8], row: &dyn Row) -> Vec<Entry> {
        let mut entries = self.computed_entries(table, key, Moment::Now(row));
        if self.links(table).mirror.is_some() {
            let own = self.placeholders(table, key);
            row.each(&mut |element| {
                if let Element::Member(member) = element {
                    entries.extend(self.reflection(table, &own, member));
                }
            });
        }
        entries
    }

    /// What a row demands of computed keys.
    pub(crate) fn computed_entries(&self, table: KeyId, key: &[u8], row: Moment<'_>) -> Vec<Entry> {
        let links = self.links(table);
        let placeholders = self.placeholders(table, key);
        Facts::tell(&links.reading, &links.fields, row, |facts| {
            let derived = self.traits(table).dependents.iter();
            let entries = derived.filter_map(|id| entry(self.schema(), *id, &placeholders, facts));
            let is_named = |(entry, values): &(Entry, Vec<&[u8]>)| {
                self.links(entry.table).is_named_surely
                    || (self.table_of(&entry.key) == Some(entry.table)
                        && self.reads_back(entry, values))
            };
            entries.filter(is_named).map(|(entry, _)| entry).collect()
        })
    }

    /// The first of the entries that a row would demand if its key read back as the values that
    /// it is made of.
    pub(crate) fn misread_entry(&self, table: KeyId, key: &[u8], row: Moment<'_>) -> Option<Entry> {
        let links = self.links(table);
        if !links.may_be_misread {
            return None;
        }
        let placeholders = self.placeholders(table, key);
        Facts::tell(&links.reading, &links.fields, row, |facts| {
            let mut derived = self.traits(table).dependents.iter();
            derived.find_map(|id| {
                let (entry, values) = entry(self.schema(), *id, &placeholders, facts)?;
                (!self.reads_back(&entry, &values)).then_some(entry)
            })
        })
    }

    fn reads_back(&self, entry: &Entry, values: &[&[u8]]) -> bool {
        let pattern = &self.schema().key(entry.table).pattern;
        pattern.read(&entry.key).is_some_and(|read| *read == *values)
    }
}

/// What a source row, by its placeholders and facts, demands of one derived table, with the
/// values that the derived key is made of.
fn entry<'f>(
    schema: &Schema,
    table: KeyId,
    source: &[&'f [u8]],
    facts: &'f Facts<'_>,
) -> Option<(Entry, Vec<&'f [u8]>)> {
    let key = schema.key(table);
    let derived = key.derived.as_ref()?;
    let mut origin = Origin::of(derived.source(), source)?;
    let holds = match derived {
        Derived::Lookup { when, .. }
        | Derived::Rank { when, .. }
        | Derived::Members { when, .. }
            if !when.iter().all(|condition| condition.is_met(facts.field(condition.field))) =>
        {
            return None;
        }
        Derived::Lookup { finds: Finds::Field(held), .. } => {
            origin.member = facts.field(*held)?;
            Holds::Value
        }
        Derived::Lookup { finds: Finds::Member { field, slot }, .. } => {
            let value = field.map_or_else(|| facts.text(), |field| facts.field(field))?;
            origin.placeholders[*slot] = Some(value);
            Holds::Text
        }
        Derived::Rank { of, by: RankBy::Field(by), .. } => {
            let object = schema.key(of.key).content.object()?;
            Holds::Score(score(&object.fields[*by].shape.ty, facts.field(*by)?)?)
        }
        Derived::Rank { by: RankBy::Placeholder(index), .. } => {
            Holds::Score(parse_f64(source[*index])?)
        }
        Derived::Members { split, .. } => {
            for (slot, field) in split {
                origin.placeholders[*slot] = Some(facts.field(*field)?);
            }
            Holds::Member
        }
        Derived::Inverse { .. } | Derived::Follows { .. } => return None,
    };
    let member = origin.member.to_vec();
    let values = origin.values(&key.pattern)?;
    Some((Entry { table, key: key.pattern.fill(&values), member, holds }, values))
}

/// A field as a score: times in milliseconds, numbers as they are.
fn score(ty: &Type, value: &[u8]) -> Option<f64> {
    match ty {
        Type::Timestamp => parse_timestamp(value).map(|ms| ms as f64),
        _ => parse_f64(value).filter(|score| score.is_finite()),
    }
}
