//! What a hash needs as a whole: required fields, `same`, `check`.
//!
//! Owns the judgement that takes more than the fields a command wrote: one field may lack
//! another, or contradict it, or the key. It is one function of the row as it is and of the
//! names of fields that are new, so whoever judges several commands at once asks it once.
//! JSON is written whole, so the same is part of its shape ([`keyward_schema::Shape`]).
//! Not here: fields by themselves (`fit`), how a refusal is worded (`words`).

use crate::book::RuleBook;
use crate::change::{Part, What};
use crate::view::Row;
use keyward_schema::{Content, KeyId, Misfit, Values};

/// What the placeholders of a key hold, as far as its table has to know.
pub(crate) struct Names<'k>(Option<Values<'k>>);

impl<'k> Names<'k> {
    /// The values in order; none where no field has to equal one.
    pub(crate) fn values(&self) -> &[&'k [u8]] {
        self.0.as_ref().map_or(&[], |values| values)
    }
}

impl RuleBook {
    /// What fields of this table may have to equal.
    pub(crate) fn names<'k>(&self, table: KeyId, key: &'k [u8]) -> Names<'k> {
        Names(self.traits(table).has_same.then(|| self.placeholders(table, key)))
    }

    /// What a hash lacks as a whole after a change. Of checks and of what must equal the key
    /// only what depends on fields that the change wrote or took.
    ///
    /// # Errors
    /// Says which field is missing or differs, or what does not hold.
    pub(crate) fn check_whole(
        &self,
        table: KeyId,
        key: &[u8],
        row: &dyn Row,
        what: What<'_>,
    ) -> Result<(), Misfit> {
        let Content::Fields(object) = &self.schema().key(table).content else { return Ok(()) };
        let names = self.names(table, key);
        let is_new = |name: &str| {
            match what {
            What::Whole(_) => true,
            What::Lifetime => false,
            What::Parts(parts) => parts.iter().any(|part| {
                matches!(part, Part::Field { name: changed, .. } if *changed == name.as_bytes())
            }),
        }
        };
        object.check_whole(names.values(), |name| row.field(name.as_bytes()), is_new)
    }

    /// Whether any check, or any field that must equal the key, of a hash depends on one of
    /// these fields: then the second stage has to see it.
    pub(crate) fn is_compared<'a>(
        &self,
        table: KeyId,
        mut fields: impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        let Content::Fields(object) = &self.schema().key(table).content else { return false };
        if !self.traits(table).is_compared {
            return false;
        }
        fields.any(|name| {
            let index = object.fields.iter().position(|field| field.name.as_bytes() == name);
            index.is_some_and(|index| {
                object.fields[index].same.is_some()
                    || object.checks.iter().any(|check| check.fields().any(|of| of == index))
            })
        })
    }
}
