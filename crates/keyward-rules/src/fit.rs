//! Whether a row by itself is what its table declares: type, shape, size, and what it
//! needs as a whole.
//!
//! A change is judged by what it leaves behind: of a string all of it, of a
//! collection the elements that came and, in hashes, what they need as a whole (`whole`).
//! What was there before the command, and is no longer allowed since the
//! schema changed, is kept until it is written.
//!
//! [`RuleBook::refuse_unfit`] judges all of that, for a command by itself and for the end of a
//! unit. A command within a unit is judged by [`RuleBook::refuse_unfit_at_once`], which leaves
//! out what the rest of the unit may still mend: what a row needs as a whole
//! (`whole`), and what [`at_once`] takes out of the declared content.
//! Not here: bounds that are kept by trimming (`after`), lifetimes (`lifetime`).

mod at_once;

pub(crate) use at_once::at_once;

use crate::book::RuleBook;
use crate::change::{Part, What};
use crate::entry::EntryFields;
use crate::refusal::Refusal;
use crate::view::{Element, Row};
use keyward_schema::{Content, DataType, KeyId, Misfit, Object, check_hyperloglog};

impl RuleBook {
    /// Why a row is not what its table declares, if it is not. Judges all of it,
    /// bounds included; lifetimes and what it has to do with other rows are left
    /// out.
    pub fn misfit_of(&self, table: KeyId, key: &[u8], row: &dyn Row) -> Option<Refusal> {
        let bounds = self.schema().key(table).bounds;
        let most = bounds.max_len.or(bounds.max_members);
        let is_of_type = self.traits(table).row_type == Some(row.row_type());
        let count = row.len() as u64;
        // Counted first: whoever has far too many is judged again with every one that comes.
        if is_of_type && most.is_some_and(|most| count > most) {
            return Some(self.refuse_count(table, key, count));
        }
        self.refuse_unfit(table, key, row, What::Whole(None))
    }

    /// Whether a row has more elements than its bound admits, and the bound drops elements
    /// instead of refusing more: the next write does so.
    pub(crate) fn is_cut(&self, table: KeyId, row: &dyn Row) -> bool {
        let key = self.schema().key(table);
        let dropped_beyond = match key.data {
            DataType::List | DataType::Stream => key.bounds.max_len,
            DataType::Zset => key.bounds.max_members,
            _ => None,
        };
        let is_of_type = self.traits(table).row_type == Some(row.row_type());
        is_of_type && dropped_beyond.is_some_and(|most| row.len() as u64 > most)
    }

    /// Whether what fits the rows of one table fits those of another: the same is said of what they
    /// hold and how large they may be, and both are judged.
    pub fn fits_alike(&self, one: KeyId, other: KeyId) -> bool {
        let is_judged = |table| !self.observes(table) && !self.traits(table).is_computed;
        let [this, that] = [one, other].map(|table| self.schema().key(table));
        one == other
            || is_judged(one)
                && is_judged(other)
                && (this.data, this.bounds) == (that.data, that.bounds)
                && this.content == that.content
    }

    /// Why what a change left behind is not what the table declares.
    pub(crate) fn refuse_unfit(
        &self,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
        what: What<'_>,
    ) -> Option<Refusal> {
        let content = &self.schema().key(table).content;
        self.refuse_parts(content, table, key, row, what).or_else(|| {
            if matches!(what, What::Lifetime) {
                return None;
            }
            let misfit = self.check_whole(table, key, row, what).err()?;
            Some(self.refuse_misfit(table, key, &misfit))
        })
    }

    /// Why what a change left behind is wrong whatever else happens to the row: what is judged
    /// at once within a unit.
    pub(crate) fn refuse_unfit_at_once(
        &self,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
        what: What<'_>,
    ) -> Option<Refusal> {
        self.refuse_parts(self.content_at_once(table), table, key, row, what)
    }

    /// Why the parts that a change left behind are not what this content of a table declares.
    fn refuse_parts(
        &self,
        content: &Content,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
        what: What<'_>,
    ) -> Option<Refusal> {
        let declared = self.schema().key(table);
        if !self.traits(table).takes(row.row_type()) {
            return Some(self.refuse_type(table, key, row.row_type()));
        }
        if let Some(most) = declared.bounds.max_size.filter(|most| row.len() as u64 > *most) {
            return Some(self.refuse_size(table, key, row.len(), most));
        }
        let is_fit = match declared.data {
            DataType::Hll => check_hyperloglog(&row.text().unwrap_or_default()),
            _ => check(content, self.names(table, key).values(), row, what),
        };
        is_fit.err().map(|misfit| self.refuse_misfit(table, key, &misfit))
    }
}

fn check(content: &Content, names: &[&[u8]], row: &dyn Row, what: What<'_>) -> Result<(), Misfit> {
    match content {
        Content::Value(shape) => shape.check(&row.text().unwrap_or_default()),
        Content::Json(shape) => shape.check_json_under(names, &row.text().unwrap_or_default()),
        Content::Fields(object) => check_fields(object, names, row, what),
        // A large row comes to such a key by RENAME in no time for its members.
        Content::Items(shape) if shape.takes_any_text() => Ok(()),
        Content::Items(shape) => each_new(row, what, |item, _| shape.check_under(names, item)),
        Content::Scored { member, score } => each_new(row, what, |name, number| {
            member.check_under(names, name)?;
            number.map_or(Ok(()), |number| score.check_score(number))
        }),
        Content::Entries(object) => {
            each_entry(row, what, |entry| object.check_hash(names, entry.pairs()))
        }
        Content::Opaque => Ok(()),
    }
}

/// Judges each item or member that came, with its score where it has one.
fn each_new(
    row: &dyn Row,
    what: What<'_>,
    mut judge: impl FnMut(&[u8], Option<f64>) -> Result<(), Misfit>,
) -> Result<(), Misfit> {
    match what {
        What::Lifetime => Ok(()),
        What::Whole(_) => {
            let mut result = Ok(());
            row.each(&mut |element| {
                let (name, score) = match element {
                    Element::Item(name) | Element::Member(name) | Element::Field(name, _) => {
                        (name, None)
                    }
                    Element::Scored(name, score) => (name, Some(score)),
                    // Entries are judged by their fields.
                    Element::Entry(_) => return,
                };
                if result.is_ok() {
                    result = judge(name, score);
                }
            });
            result
        }
        What::Parts(parts) => parts.iter().try_for_each(|part| match *part {
            Part::Pushed(_, item) | Part::Placed(item) => judge(item, None),
            Part::Member { member, came: true } => judge(member, None),
            Part::Score { member, after: Some(score), .. } => judge(member, Some(score)),
            Part::Member { .. }
            | Part::Left(_)
            | Part::Score { .. }
            | Part::Field { .. }
            | Part::Entry(_) => Ok(()),
        }),
    }
}

/// Judges each entry that came.
fn each_entry(
    row: &dyn Row,
    what: What<'_>,
    mut judge: impl FnMut(EntryFields<'_>) -> Result<(), Misfit>,
) -> Result<(), Misfit> {
    match what {
        What::Lifetime => Ok(()),
        What::Whole(_) => {
            let mut result = Ok(());
            row.each(&mut |element| {
                if let Element::Entry(entry) = element
                    && result.is_ok()
                {
                    result = judge(entry);
                }
            });
            result
        }
        What::Parts(parts) => parts.iter().try_for_each(|part| match part {
            Part::Entry(entry) => judge(*entry),
            _ => Ok(()),
        }),
    }
}

fn check_fields(
    object: &Object,
    names: &[&[u8]],
    row: &dyn Row,
    what: What<'_>,
) -> Result<(), Misfit> {
    match what {
        What::Lifetime => Ok(()),
        What::Whole(_) => {
            let mut result = Ok(());
            row.each(&mut |element| {
                if let Element::Field(name, value) = element
                    && result.is_ok()
                {
                    result = object.check_hash_field(names, name, value);
                }
            });
            result
        }
        // A field that was written twice is judged by what it holds in the end.
        What::Parts(parts) => parts.iter().try_for_each(|part| match part {
            Part::Field { name, after: Some(_), .. } => match row.field(name) {
                Some(value) => object.check_hash_field(names, name, &value),
                None => Ok(()),
            },
            _ => Ok(()),
        }),
    }
}
