//! Adding numbers: INCR, HINCRBY, INCRBYFLOAT and their kin.
//!
//! A sum of decimals is exact: the book adds them up itself and lets the host
//! set the result. It does so only where the stored number and the increment are
//! decimals; anything else that Redis would add is refused, because its sum would be
//! rounded.

use std::borrow::Cow;

use keyward_resp::ArgBuf;
use keyward_schema::{Content, Extra, Kind, Limits, Shape, Type};

use super::{Case, Judgement, Place, UNJUDGED};
use crate::book::RuleBook;
use crate::decimal_sum::sum;
use crate::reason::Reason;
use crate::refusal::shown_value;
use crate::verdict::{Substitute, Verdict};
use crate::view::{Row, RowType};
use crate::words::Problem;

/// What a call adds to.
#[derive(Clone, Copy)]
struct Addend<'a> {
    place: Place<'a>,
    field: Option<&'a [u8]>,
}

impl RuleBook {
    pub(super) fn count(
        &self,
        case: Case<'_>,
        field: Option<&[u8]>,
        by: i64,
    ) -> Judgement<Verdict> {
        let place = self.place(case, 1, Some(row_type(field)))?;
        if self.traits(place.table).is_any {
            let row = case.view.row_of(place.table, place.key)?;
            return self.counted(case, place, field, row);
        }
        let shape = self.shape_of(Addend { place, field })?;
        let row = case.view.row_of(place.table, place.key)?;
        let always_fits = match &shape.ty {
            _ if shape.limits != Limits::default() => false,
            Type::Kind(Kind::Int) => true,
            Type::Kind(Kind::Uint) => by >= 0 && is_uint(row, field),
            _ => false,
        };
        let is_compared = self.is_compared(place.table, field.into_iter());
        if !always_fits || is_compared || !self.has_required_fields(place, row) {
            return Err(UNJUDGED);
        }
        self.counted(case, place, field, row)
    }

    /// What is to be done with a count whose result fits.
    fn counted(
        &self,
        case: Case<'_>,
        place: Place<'_>,
        field: Option<&[u8]>,
        row: Option<&dyn Row>,
    ) -> Judgement<Verdict> {
        match (field, row) {
            (None, None) => self.begin(case, place),
            _ => Ok(Verdict::Run(self.judged_edit(place, row))),
        }
    }

    pub(super) fn sum<'a>(
        &self,
        case: Case<'a>,
        field: Option<&'a [u8]>,
        by: &[u8],
    ) -> Judgement<Verdict> {
        let place = self.place(case, 1, Some(row_type(field)))?;
        let addend = Addend { place, field };
        let shape = self.shape_of(addend)?;
        if !matches!(shape.ty, Type::Decimal { .. }) {
            return Err(UNJUDGED);
        }
        if sum(b"0", by).is_none() {
            return Err(self.not_plain(addend, shape, "the increment", by));
        }
        let row = case.view.row_of(place.table, place.key)?;
        if row.is_some_and(|row| row.row_type() != row_type(field)) {
            return Err(UNJUDGED);
        }
        let stored = stored(row, field).unwrap_or(Cow::Borrowed(b"0"));
        let Some(total) = sum(&stored, by) else {
            return Err(self.not_plain(addend, shape, "the number it is added to", &stored));
        };
        let command: ArgBuf = match field {
            None => [b"SET", place.key, &total, b"KEEPTTL"].iter().collect(),
            Some(field) => [b"HSET", place.key, field, &total].iter().collect(),
        };
        Ok(Verdict::Instead(Box::new(Substitute { command, reply: total.into() })))
    }

    /// The shape of what a call adds to. A field that is not declared ends the
    /// judgement.
    fn shape_of(&self, addend: Addend<'_>) -> Judgement<&Shape> {
        let Addend { place, field } = addend;
        match (&self.schema().key(place.table).content, field) {
            (Content::Value(shape), None) => Ok(shape),
            (Content::Fields(object), Some(name)) => {
                let declared = object.fields.iter().find(|field| field.name.as_bytes() == name);
                match (declared, &object.extra) {
                    (Some(field), _) => Ok(&field.shape),
                    (None, Extra::Typed(shape)) => Ok(shape),
                    (None, Extra::Allow) => Err(UNJUDGED),
                    (None, Extra::Reject) => {
                        let Err(misfit) = object.check_hash_field(&[], name, b"") else {
                            return Err(UNJUDGED);
                        };
                        Err(self
                            .stop(place, || self.refuse_misfit(place.table, place.key, &misfit)))
                    }
                }
            }
            _ => Err(UNJUDGED),
        }
    }

    /// Redis would add it, but not exactly.
    fn not_plain(
        &self,
        addend: Addend<'_>,
        shape: &Shape,
        what: &str,
        found: &[u8],
    ) -> super::Stop {
        let Place { table, key } = addend.place;
        self.stop(addend.place, || {
            let discreet = format!("{what} must be a decimal number such as 12.50 or 1e-05");
            let told = match shape.secret {
                true => discreet.clone(),
                false => format!("{discreet}, not {}", shown_value(found)),
            };
            let reason = Reason::Value;
            let problem = Problem { reason, told: &told, discreet: Some(discreet) };
            match addend.field {
                None => self.refusal(table, key, problem, None),
                Some(name) => self.refuse_field(table, key, name, problem),
            }
        })
    }
}

fn row_type(field: Option<&[u8]>) -> RowType {
    if field.is_some() { RowType::Hash } else { RowType::String }
}

/// Whether what is there, if anything, is a number that is not negative.
fn is_uint(row: Option<&dyn Row>, field: Option<&[u8]>) -> bool {
    let number = row.filter(|_| field.is_none()).and_then(|row| row.number());
    match number {
        Some(number) => number >= 0,
        None => stored(row, field).is_none_or(|text| Kind::Uint.accepts(&text)),
    }
}

/// The number that is there.
fn stored<'r>(row: Option<&'r dyn Row>, field: Option<&[u8]>) -> Option<Cow<'r, [u8]>> {
    match field {
        Some(name) => row?.field(name),
        None => row?.text(),
    }
}
