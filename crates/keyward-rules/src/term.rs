//! Terms: what the schema demands of the lifetime of one row.
//!
//! Owns the way from a declared lifetime to a [`Term`]: it looks up the value
//! that decides, in the key, in the row or in the key that it lives with.
//! Not here: what follows from a term (`lifetime`).

use std::borrow::Cow;

use keyward_schema::{
    Content, Duration, Excess, Key, KeyId, Lifetime, Object, Renew, Shape, Subject, Total, Type,
    parse_timestamp,
};

use crate::book::{RuleBook, placeholder};
use crate::lifetime::{Term, end_of, renewed_up_to};
use crate::view::{NotYet, Row, View};

/// The field whose value decides a lifetime, if one does.
pub(crate) fn deciding_field(lifetime: &Lifetime) -> Option<usize> {
    match lifetime {
        Lifetime::By { subject: Subject::Field(field), .. } | Lifetime::Until { field } => {
            Some(*field)
        }
        Lifetime::Renewed { total: Some(total), .. } => Some(total.from),
        _ => None,
    }
}

impl RuleBook {
    /// The field of a row that decides on its lifetime, by its index.
    pub(crate) fn deciding_field(&self, table: KeyId) -> Option<usize> {
        deciding_field(&self.schema().key(table).lifetime)
    }

    /// What the schema demands of the lifetime of this row. `deciding` is the
    /// text of its deciding field, where there is one. A row that lacks it breaks
    /// the schema in a graver way, and its lifetime is left alone.
    ///
    /// # Errors
    /// If the host has to fetch the key that it lives with.
    pub(crate) fn term(
        &self,
        view: &dyn View,
        table: KeyId,
        key: &[u8],
        deciding: Option<&[u8]>,
    ) -> Result<Term, NotYet> {
        let declared = self.schema().key(table);
        // What Keyward keeps lives as long as it is kept.
        if declared.derived.is_some() {
            return Ok(Term::Forever);
        }
        Ok(match &declared.lifetime {
            Lifetime::Free => Term::Free,
            Lifetime::Forever => Term::Forever,
            Lifetime::Within { after, excess } => Term::Within { after: *after, excess: *excess },
            Lifetime::Window { after } => Term::Window { after: *after },
            Lifetime::Renewed { after, total: None, .. } => Term::Renewed { after: *after },
            Lifetime::Renewed { after, total: Some(total), .. } => {
                let last = deciding.and_then(|birth| last_moment(declared, *total, birth));
                match last {
                    Some(last) => Term::RenewedUpTo { after: *after, total: total.max, last },
                    None => Term::Renewed { after: *after },
                }
            }
            Lifetime::By { subject, cases, renew } => {
                let value = match subject {
                    Subject::Field(_) => deciding,
                    Subject::Placeholder(index) => {
                        Some(placeholder(&declared.pattern, key, *index))
                    }
                };
                value.and_then(|value| case(cases, value)).map_or(Term::Free, |after| match renew {
                    None => Term::Within { after, excess: Excess::Refuse },
                    Some(Renew::Never) => Term::Window { after },
                    Some(Renew::Write | Renew::Access) => Term::Renewed { after },
                })
            }
            Lifetime::Until { field } => {
                let shape = declared.content.object().map(|object| &object.fields[*field].shape);
                let end = deciding.zip(shape).and_then(|(text, shape)| time(shape, text));
                end.map_or(Term::Free, |end| Term::At(Some(end)))
            }
            Lifetime::With { key: leader } => match self.referred(table, key, leader, b"") {
                Some(named) => match view.row(&named)? {
                    Some(row) => self.term_with(leader.key, row.deadline()),
                    None => Term::Leaderless,
                },
                None => Term::Leaderless,
            },
            Lifetime::Given { min, max, default, excess } => {
                Term::Given { min: *min, max: *max, default: *default, excess: *excess }
            }
        })
    }

    /// What the lifetime of a row must be that lives with one of this table, which ends then.
    pub(crate) fn term_with(&self, leader: KeyId, deadline: Option<i64>) -> Term {
        Term::With { leader: deadline, end: deadline.map(|end| self.rounded_end(leader, end)) }
    }

    /// The end that a row of this table has for those that live with it: where reads renew
    /// it, a later one, which few reads move. It takes them along when it ends.
    pub fn rounded_end(&self, table: KeyId, deadline: i64) -> i64 {
        let Some(step) = self.traits(table).renewal_step_ms else { return deadline };
        match deadline.rem_euclid(step) {
            0 => deadline,
            over => deadline.saturating_add(step - over),
        }
    }

    /// The end that the log is told of a row that a read renewed up to a deadline: never
    /// sooner, and never beyond its total.
    pub fn told_end(&self, table: KeyId, row: &dyn Row, deadline: i64) -> i64 {
        let rounded = self.rounded_end(table, deadline);
        let declared = self.schema().key(table);
        let Lifetime::Renewed { total: Some(total), .. } = &declared.lifetime else {
            return rounded;
        };
        let birth = field_of(declared, row, total.from);
        let last = birth.and_then(|birth| last_moment(declared, *total, &birth));
        last.map_or(rounded, |last| rounded.min(last)).max(deadline)
    }

    /// The deadline that a read of this row gives it, if it gives it any.
    pub fn renewal(&self, table: KeyId, key: &[u8], row: &dyn Row, now_ms: i64) -> Option<i64> {
        if !self.traits(table).renews_on_read {
            return None;
        }
        let declared = self.schema().key(table);
        let after = match &declared.lifetime {
            Lifetime::Renewed { after, total, .. } => {
                let last = total.and_then(|total| {
                    let birth = field_of(declared, row, total.from)?;
                    last_moment(declared, total, &birth)
                });
                if let Some(last) = last {
                    return Some(renewed_up_to(*after, last, now_ms, row.deadline()));
                }
                Some(*after)
            }
            Lifetime::By { subject: Subject::Placeholder(index), cases, .. } => {
                case(cases, placeholder(&declared.pattern, key, *index))
            }
            Lifetime::By { subject: Subject::Field(field), cases, .. } => {
                field_of(declared, row, *field).and_then(|value| case(cases, &value))
            }
            _ => None,
        };
        after.map(|after| end_of(after, now_ms))
    }
}

/// A declared field of a row: of a hash, or of the JSON that a string holds,
/// there without quotes and escapes. `None` if it is not there or the row is not
/// what the table declares.
pub(crate) fn field_of<'r>(key: &Key, row: &'r dyn Row, field: usize) -> Option<Cow<'r, [u8]>> {
    let object = key.content.object()?;
    match &key.content {
        Content::Fields(_) => row.field(object.fields[field].name.as_bytes()),
        Content::Json(_) => {
            let text = row.text()?;
            json_field(object, &text, field).map(|value| Cow::Owned(value.into_owned()))
        }
        _ => None,
    }
}

/// A declared field of a JSON text that fits. JSON's `null` is no value.
pub(crate) fn json_field<'v>(
    object: &Object,
    text: &'v [u8],
    field: usize,
) -> Option<Cow<'v, [u8]>> {
    let mut value = None;
    let found = object.check_json(text, |found| {
        if found.index == field && found.raw != b"null" {
            value = Some(found.text());
        }
    });
    found.ok().and(value)
}

/// When a row ends that is renewed up to then at most.
fn last_moment(key: &Key, total: Total, birth: &[u8]) -> Option<i64> {
    let field = &key.content.object()?.fields[total.from];
    Some(end_of(total.max, time(&field.shape, birth)?))
}

fn case(cases: &[(Box<str>, Duration)], value: &[u8]) -> Option<Duration> {
    cases.iter().find(|(word, _)| word.as_bytes() == value).map(|(_, after)| *after)
}

/// The time that a field holds, in milliseconds since the epoch.
pub(crate) fn time(shape: &Shape, text: &[u8]) -> Option<i64> {
    match shape.ty {
        Type::Timestamp => parse_timestamp(text),
        Type::TimestampMs => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}
