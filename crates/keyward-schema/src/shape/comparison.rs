//! Checks: comparisons between the fields of one object.
//!
//! Owns the model of `check` and of `same`, and whether they hold. Invariants: fields are
//! those of the object that a check stands in; both sides have one [`Order`]. A comparison
//! holds where a side is not there, is JSON's `null`, or is nothing that its type accepts,
//! which is told as such.
//! Not here: reading them (`read::comparison`), digits (`exact`).

use std::borrow::Cow;
use std::cmp::Ordering;

use super::fit::{Misfit, shown};
use super::{Object, Type};
use crate::decimal::Decimal;
use crate::derived::Condition;
use crate::exact::{Instant, Number};
use crate::pattern::Kind;
use crate::settings::choice;
use crate::source::Span;
use crate::timestamp::parse_instant;

/// The most checks one object may have.
pub const MAX_CHECKS: usize = 64;

/// A comparison that must hold. Two are equal if the same values pass both: how they are
/// told, and where they stand, does not count.
#[derive(Clone, Debug)]
pub struct Check {
    /// The field on its left.
    pub left: usize,
    /// How it must lie to the other side.
    pub operator: Operator,
    /// The other side.
    pub right: Operand,
    /// What the two are compared as.
    pub order: Order,
    /// It is judged only where all of these hold.
    pub when: Vec<Condition>,
    /// The same as it is told: `registered <= capacity`.
    pub text: Box<str>,
    /// Where it stands.
    pub at: Span,
}

impl PartialEq for Check {
    fn eq(&self, other: &Check) -> bool {
        let Check { left, operator, right, order, when, text: _, at: _ } = self;
        (left, operator, right, order, when)
            == (&other.left, &other.operator, &other.right, &other.order, &other.when)
    }
}

choice! {
    /// How two values must lie to each other.
    pub enum Operator {
        /// Equal.
        Equal = "=",
        /// Not equal.
        Unequal = "!=",
        /// Less.
        Less = "<",
        /// Not more.
        AtMost = "<=",
        /// More.
        More = ">",
        /// Not less.
        AtLeast = ">=",
    }
}

impl Operator {
    fn admits(self, order: Ordering) -> bool {
        match self {
            Operator::Equal => order.is_eq(),
            Operator::Unequal => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::AtMost => order.is_le(),
            Operator::More => order.is_gt(),
            Operator::AtLeast => order.is_ge(),
        }
    }

    /// Whether it asks which of two comes first.
    pub(crate) fn is_of_order(self) -> bool {
        !matches!(self, Operator::Equal | Operator::Unequal)
    }
}

/// What a field is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// The field of this index.
    Field(usize),
    /// This number.
    Number(Decimal),
}

/// What two values are compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Numbers.
    Number,
    /// Times, of which at least one is written as RFC 3339 has it.
    Time,
    /// Bytes: days, months, and whether texts are the same.
    Bytes,
}

impl Order {
    /// What values of two types can be compared as by this operator.
    pub(crate) fn of(left: &Type, operator: Operator, right: &Type) -> Option<Order> {
        let is_time = |ty: &Type| matches!(ty, Type::Timestamp | Type::TimestampMs);
        let is_dated = |ty: &Type| matches!(ty, Type::Kind(Kind::Date | Kind::Month));
        match (left, right) {
            _ if left.is_number() && right.is_number() => Some(Order::Number),
            _ if is_time(left) && is_time(right) => Some(Order::Time),
            (Type::Timestamp, _) | (_, Type::Timestamp) => None,
            _ if is_dated(left) && left == right => Some(Order::Bytes),
            _ if left.is_text() && right.is_text() && !operator.is_of_order() => Some(Order::Bytes),
            _ => None,
        }
    }
}

/// The placeholder that a field must equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Same {
    /// Its index in the key's pattern.
    pub placeholder: usize,
    /// Its name.
    pub name: Box<str>,
}

impl Same {
    /// Why a value is not that of the placeholder, if it is not.
    pub(super) fn misfit(&self, names: &[&[u8]], value: &[u8], is_secret: bool) -> Option<Misfit> {
        let named = names.get(self.placeholder)?;
        if *named == value {
            return None;
        }
        let discreet = format!("must be {{{}}} of its key", self.name);
        let told = format!("{discreet}, which is {}, not {}", shown(named), shown(value));
        Some(Misfit::told_so(told, discreet).discreet_if(is_secret))
    }
}

impl Check {
    /// The fields that it depends on; one may occur more than once.
    pub fn fields(&self) -> impl Iterator<Item = usize> + '_ {
        let right = match self.right {
            Operand::Field(index) => Some(index),
            Operand::Number(_) => None,
        };
        let tested = self.when.iter().map(|condition| condition.field);
        [self.left].into_iter().chain(right).chain(tested)
    }

    /// Whether it holds in an object whose fields have these values.
    ///
    /// # Errors
    /// Says what is compared, and with which values.
    pub fn judge<'v>(
        &self,
        object: &Object,
        value: impl Fn(usize) -> Option<Cow<'v, [u8]>>,
    ) -> Result<(), Misfit> {
        if !self.when.iter().all(|condition| condition.is_met(value(condition.field).as_deref())) {
            return Ok(());
        }
        let Some(left) = value(self.left) else { return Ok(()) };
        let right = match &self.right {
            Operand::Field(index) => value(*index),
            Operand::Number(number) => Some(Cow::Owned(number.to_string().into_bytes())),
        };
        let Some(right) = right else { return Ok(()) };
        match self.compare(object, &left, &right) {
            Some(order) if !self.operator.admits(order) => Err(self.misfit(object, &left, &right)),
            _ => Ok(()),
        }
    }

    /// Whether it holds where fields may have several values each: for every choice of one of
    /// each. Takes as long as sorting them does.
    ///
    /// # Errors
    /// Says what is compared, and with which values.
    pub(super) fn judge_each<'v>(
        &self,
        object: &Object,
        values: impl Fn(usize) -> Vec<&'v [u8]>,
    ) -> Result<(), Misfit> {
        let is_met = |condition: &Condition| match &*values(condition.field) {
            [] => condition.is_met(None),
            given => given.iter().any(|value| condition.is_met(Some(value))),
        };
        if !self.when.iter().all(is_met) {
            return Ok(());
        }
        let number;
        let right = match &self.right {
            Operand::Field(index) => values(*index),
            Operand::Number(decimal) => {
                number = decimal.to_string().into_bytes();
                vec![&*number]
            }
        };
        let left = self.sorted(object, Side::Left, values(self.left));
        let right = self.sorted(object, Side::Right, right);
        let (Some(least), Some(most)) = (right.first(), right.last()) else { return Ok(()) };
        let is_broken = |left: &Rank<'_>, right: &Rank<'_>| !self.operator.admits(left.cmp(right));
        for (rank, value) in left {
            // Of many on the right, the nearest to breaking it: one equal, or either end.
            let equal = || right.binary_search_by(|(other, _)| other.cmp(&rank)).ok();
            let against = match self.operator {
                Operator::Unequal => equal().map(|index| &right[index]),
                _ => [least, most].into_iter().find(|(other, _)| is_broken(&rank, other)),
            };
            if let Some((_, other)) = against {
                return Err(self.misfit(object, value, other));
            }
        }
        Ok(())
    }

    /// The values of one side with what they are compared as, in that order.
    fn sorted<'t>(
        &self,
        object: &Object,
        side: Side,
        values: Vec<&'t [u8]>,
    ) -> Vec<(Rank<'t>, &'t [u8])> {
        let ranked = |value| Some((self.rank(object, side, value)?, value));
        let mut ranked: Vec<_> = values.into_iter().filter_map(ranked).collect();
        ranked.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        ranked
    }

    fn compare(&self, object: &Object, left: &[u8], right: &[u8]) -> Option<Ordering> {
        let left = self.rank(object, Side::Left, left)?;
        Some(left.cmp(&self.rank(object, Side::Right, right)?))
    }

    /// What a value of one side is compared as.
    fn rank<'t>(&self, object: &Object, side: Side, value: &'t [u8]) -> Option<Rank<'t>> {
        let index = match (side, &self.right) {
            (Side::Left, _) => Some(self.left),
            (Side::Right, Operand::Field(index)) => Some(*index),
            (Side::Right, Operand::Number(_)) => None,
        };
        match self.order {
            Order::Bytes => Some(Rank::Bytes(value)),
            Order::Number => Number::parse(value).map(Rank::Number),
            Order::Time => instant(&object.fields[index?].shape.ty, value).map(Rank::Time),
        }
    }

    /// Secrets are compared without a word of what either side holds: each would tell a
    /// bound of the other.
    fn misfit(&self, object: &Object, left: &[u8], right: &[u8]) -> Misfit {
        let discreet = format!("breaks {}", self.text);
        let shown = |value: &[u8]| match self.order {
            Order::Bytes => shown(value),
            Order::Number | Order::Time => shown(value).trim_matches('"').to_owned(),
        };
        let names = |index: usize| &object.fields[index].name;
        let mut told = format!("{discreet}: {} is {}", names(self.left), shown(left));
        if let Operand::Field(other) = self.right {
            told.push_str(&format!(", {} is {}", names(other), shown(right)));
        }
        let is_secret = self.fields().any(|index| object.fields[index].shape.has_secret());
        Misfit::told_so(told, discreet).discreet_if(is_secret).declared_at(self.at)
    }
}

/// Of a comparison.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// What is compared; of one check always the same kind.
enum Rank<'t> {
    Bytes(&'t [u8]),
    Number(Number<'t>),
    Time(Instant<'t>),
}

impl Rank<'_> {
    fn cmp(&self, other: &Rank<'_>) -> Ordering {
        match (self, other) {
            (Rank::Bytes(left), Rank::Bytes(right)) => left.cmp(right),
            (Rank::Number(left), Rank::Number(right)) => left.cmp(right),
            (Rank::Time(left), Rank::Time(right)) => left.cmp(right),
            _ => unreachable!("both sides of a check have one order"),
        }
    }
}

/// A time of either type.
fn instant<'t>(ty: &Type, text: &'t [u8]) -> Option<Instant<'t>> {
    match ty {
        Type::TimestampMs => {
            std::str::from_utf8(text).ok()?.parse().ok().map(|ms| Instant::of_ms(ms))
        }
        _ => parse_instant(text),
    }
}
