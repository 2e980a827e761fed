//! Shapes: what a value may look like.
//!
//! Owns the types of values, fields and their limits, and in the modules
//! below their notation and the checks of real bytes. Invariants: the nesting
//! of a shape is at most `MAX_SHAPE_DEPTH`; limits fit their type; `Enum` is
//! never empty; field names of one object differ.
//! Not here: reading shapes from TOML tables (`read::shape`).

mod comparison;
mod expr;
mod fit;
mod hyperloglog;
mod json;

use std::fmt;

pub use comparison::{Check, MAX_CHECKS, Operand, Operator, Order, Same};
pub use expr::TYPE_NAMES;
pub(crate) use expr::{ExprError, ExprProblem, MAX_WORDS, parse as parse_expr};
pub use fit::Misfit;
pub use hyperloglog::check_hyperloglog;
pub use json::{JsonField, MAX_JSON_DEPTH};

use crate::pattern::Kind;
use crate::source::Span;

/// How deep a declared shape may nest. `json` within may go deeper.
pub const MAX_SHAPE_DEPTH: usize = 16;

/// The most fields one object may declare.
pub const MAX_FIELDS: usize = 256;

/// What a value may look like.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Its type.
    pub ty: Type,
    /// Whether JSON's `null` may stand in its place.
    pub nullable: bool,
    /// Bounds on it.
    pub limits: Limits,
    /// Whether it is kept out of logs, errors and dashboards; then so is all
    /// that is within.
    pub secret: bool,
    /// Whether it is masked on pages and in reports.
    pub personal: bool,
    /// Whether it is declared as bytes, of which nobody is to make a text; any may stand in either.
    pub bytes: bool,
}

/// The type of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Any text.
    String,
    /// A number, a UUID, a date … as a placeholder of that kind accepts it;
    /// `str` is text of at least one byte without a colon.
    Kind(Kind),
    /// A floating-point number.
    Float,
    /// An exact number with at most `scale` digits behind the point.
    Decimal {
        /// No bound where there is none.
        scale: Option<u8>,
    },
    /// `true` or `false`; outside JSON also `1` or `0`.
    Bool,
    /// A time as RFC 3339 has it.
    Timestamp,
    /// A time in milliseconds since 1970.
    TimestampMs,
    /// Any JSON.
    Json,
    /// A JSON array.
    Array(Box<Shape>),
    /// A JSON object whose keys are all of one kind.
    Map {
        /// What its keys look like.
        key: Box<Type>,
        /// What its values look like.
        value: Box<Shape>,
    },
    /// A JSON object with known fields.
    Object(Object),
}

/// An object's fields.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Object {
    /// The declared ones in the order of the file.
    pub fields: Vec<Field>,
    /// What is to be thought of others.
    pub extra: Extra,
    /// What must hold between its fields.
    pub checks: Vec<Check>,
    /// Whether all of it is kept out of logs, errors and dashboards: names and values of
    /// fields that are not declared too.
    pub secret: bool,
}

/// One declared field. Two are equal if the same values fit both: what is told of
/// them, and where, does not count.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Box<str>,
    /// Whether it must be there.
    pub required: bool,
    /// What it holds.
    pub shape: Shape,
    /// The placeholder of the key that it must equal.
    pub same: Option<Same>,
    /// What it means.
    pub doc: Option<Box<str>>,
    /// Where its name stands.
    pub at: Span,
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        let Field { name, required, shape, same, doc: _, at: _ } = self;
        (name, required, shape, same) == (&other.name, &other.required, &other.shape, &other.same)
    }
}

/// What an object thinks of fields that it does not declare.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Extra {
    /// They are refused.
    #[default]
    Reject,
    /// They may hold anything.
    Allow,
    /// They must be of this shape.
    Typed(Box<Shape>),
}

/// Bounds on a value.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Limits {
    /// A number is not below this.
    pub min: Option<crate::Decimal>,
    /// A number is not above this.
    pub max: Option<crate::Decimal>,
    /// A text has this many bytes, an array this many items.
    pub len: Option<Length>,
    /// A text begins so.
    pub prefix: Option<Box<str>>,
}

/// How long something may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// At least.
    pub min: u64,
    /// At most.
    pub max: u64,
}

impl Shape {
    /// Whether any text fits it.
    pub fn takes_any_text(&self) -> bool {
        self.ty == Type::String && self.limits == Limits::default()
    }

    /// A shape of this type without limits.
    pub fn of(ty: Type) -> Shape {
        let limits = Limits::default();
        Shape { ty, nullable: false, limits, secret: false, personal: false, bytes: false }
    }

    /// The object within, if it is one.
    pub fn object(&self) -> Option<&Object> {
        match &self.ty {
            Type::Object(object) => Some(object),
            _ => None,
        }
    }

    /// How many levels it has: one for itself, and those within.
    pub(crate) fn depth(&self) -> usize {
        let object = |object: &Object| {
            let extra = match &object.extra {
                Extra::Typed(shape) => shape.depth(),
                Extra::Reject | Extra::Allow => 0,
            };
            object.fields.iter().map(|field| field.shape.depth()).fold(extra, usize::max)
        };
        1 + match &self.ty {
            Type::Array(item) | Type::Map { value: item, .. } => item.depth(),
            Type::Object(fields) => object(fields),
            _ => 0,
        }
    }

    /// Whether it is secret, or any part of it is.
    pub fn has_secret(&self) -> bool {
        self.secret
            || match &self.ty {
                Type::Array(item) | Type::Map { value: item, .. } => item.has_secret(),
                Type::Object(object) => object.has_secret(),
                _ => false,
            }
    }

    /// Whether it is personal, or any part of it is.
    pub fn has_personal(&self) -> bool {
        self.personal
            || match &self.ty {
                Type::Array(item) | Type::Map { value: item, .. } => item.has_personal(),
                Type::Object(object) => object.has_personal(),
                _ => false,
            }
    }

    /// Makes secret what is personal of it.
    pub(crate) fn hide_personal(&mut self) {
        if self.personal {
            self.make_secret();
        }
        match &mut self.ty {
            Type::Array(item) | Type::Map { value: item, .. } => item.hide_personal(),
            Type::Object(object) => object.hide_personal(),
            _ => {}
        }
    }

    /// Whether a field within must equal a placeholder of the key.
    pub fn has_same(&self) -> bool {
        match &self.ty {
            Type::Array(item) | Type::Map { value: item, .. } => item.has_same(),
            Type::Object(object) => object.has_same(),
            _ => false,
        }
    }

    /// Makes it secret, and every part of it.
    pub fn make_secret(&mut self) {
        self.secret = true;
        match &mut self.ty {
            Type::Array(item) | Type::Map { value: item, .. } => item.make_secret(),
            Type::Object(object) => object.make_secret(),
            _ => {}
        }
    }

    /// Whether it accepts every value that a placeholder of that kind does.
    pub(crate) fn takes_all_of(&self, kind: &Kind) -> bool {
        let has_limits = self.limits != Limits::default();
        !has_limits
            && match &self.ty {
                Type::String => true,
                Type::Kind(own) => kind.is_within(own),
                Type::TimestampMs => kind.is_within(&Kind::Uint),
                _ => false,
            }
    }

    /// Whether every text of this shape is accepted by a placeholder of that
    /// kind, so that the text can be a segment of a key.
    pub fn fits_in(&self, kind: &Kind) -> bool {
        if self.nullable {
            return false;
        }
        match (&self.ty, kind) {
            (Type::Kind(Kind::Enum(words)), kind) => {
                words.iter().all(|word| kind.accepts(word.as_bytes()))
            }
            (Type::Kind(own), kind) => own == kind || own.is_within(kind),
            (Type::TimestampMs, kind) => Kind::Uint.is_within(kind),
            (Type::Bool | Type::Float | Type::Decimal { .. }, Kind::Str | Kind::Rest) => true,
            (Type::Timestamp, Kind::Rest) => true,
            // The empty text is no segment.
            (Type::String, Kind::Rest) => self.limits.len.is_some_and(|len| len.min > 0),
            _ => false,
        }
    }
}

impl Type {
    /// Whether it is text that JSON puts in quotes.
    pub fn is_text(&self) -> bool {
        match self {
            Type::String | Type::Timestamp => true,
            Type::Kind(kind) => !matches!(kind, Kind::Int | Kind::Uint),
            _ => false,
        }
    }

    /// Whether it is a number.
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            Type::Kind(Kind::Int | Kind::Uint)
                | Type::Float
                | Type::Decimal { .. }
                | Type::TimestampMs
        )
    }

    /// Whether it is written as JSON wherever it stands.
    pub fn is_json(&self) -> bool {
        matches!(self, Type::Json | Type::Array(_) | Type::Map { .. } | Type::Object(_))
    }

    /// What it is, in words that follow "must be".
    pub fn in_words(&self) -> String {
        match self {
            Type::String => "text".to_owned(),
            Type::Kind(Kind::Str) => "text without a colon".to_owned(),
            Type::Kind(Kind::Enum(words)) => match &**words {
                [only] => format!("{only:?}"),
                [first @ .., last] => format!("{} or {last}", first.join(", ")),
                [] => "nothing".to_owned(),
            },
            Type::Kind(kind) => kind.in_words(),
            Type::Float => "a number".to_owned(),
            Type::Decimal { scale: None } => "a decimal number".to_owned(),
            Type::Decimal { scale: Some(scale) } => {
                format!("a decimal number with at most {scale} digits behind the point")
            }
            Type::Bool => "true or false".to_owned(),
            Type::Timestamp => "a time as in 2025-12-25T10:00:00Z".to_owned(),
            Type::TimestampMs => "milliseconds since 1970".to_owned(),
            Type::Json => "JSON".to_owned(),
            Type::Array(_) => "a JSON array".to_owned(),
            Type::Map { .. } | Type::Object(_) => "a JSON object".to_owned(),
        }
    }
}

impl Object {
    /// Whether it is secret, or any of its fields is, or holds one that is.
    pub fn has_secret(&self) -> bool {
        let extra = match &self.extra {
            Extra::Typed(shape) => shape.has_secret(),
            Extra::Reject | Extra::Allow => false,
        };
        self.secret || extra || self.fields.iter().any(|field| field.shape.has_secret())
    }

    /// Whether one of its fields, or one within them, must equal a placeholder of the key.
    pub fn has_same(&self) -> bool {
        let extra = match &self.extra {
            Extra::Typed(shape) => shape.has_same(),
            Extra::Reject | Extra::Allow => false,
        };
        extra || self.fields.iter().any(|field| field.same.is_some() || field.shape.has_same())
    }

    /// Whether any of its fields is personal, or holds one that is.
    pub fn has_personal(&self) -> bool {
        let extra = match &self.extra {
            Extra::Typed(shape) => shape.has_personal(),
            Extra::Reject | Extra::Allow => false,
        };
        extra || self.fields.iter().any(|field| field.shape.has_personal())
    }

    /// Makes secret what is personal of it.
    pub(crate) fn hide_personal(&mut self) {
        self.fields.iter_mut().for_each(|field| field.shape.hide_personal());
        if let Extra::Typed(shape) = &mut self.extra {
            shape.hide_personal();
        }
    }

    pub(crate) fn make_secret(&mut self) {
        self.secret = true;
        self.fields.iter_mut().for_each(|field| field.shape.make_secret());
        if let Extra::Typed(shape) = &mut self.extra {
            shape.make_secret();
        }
    }

    /// The index of the field of that name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| &*field.name == name)
    }
}

impl Length {
    /// Whether a length is within.
    pub fn holds(self, length: u64) -> bool {
        (self.min..=self.max).contains(&length)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, max) if min == max => write!(f, "{min}"),
            (min, u64::MAX) => write!(f, "{min} or more"),
            (0, max) => write!(f, "at most {max}"),
            (min, max) => write!(f, "{min} to {max}"),
        }
    }
}

/// The notation of the schema, without limits.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.ty.fmt(f)?;
        f.write_str(if self.nullable { " | null" } else { "" })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::String => f.write_str("string"),
            Type::Kind(Kind::Enum(words)) => f.write_str(&expr::words_form(words)),
            Type::Kind(kind) => kind.fmt(f),
            Type::Float => f.write_str("float"),
            Type::Decimal { scale: None } => f.write_str("decimal"),
            Type::Decimal { scale: Some(scale) } => write!(f, "decimal({scale})"),
            Type::Bool => f.write_str("bool"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::TimestampMs => f.write_str("timestamp_ms"),
            Type::Json => f.write_str("json"),
            Type::Array(item) if item.nullable || matches!(item.ty, Type::Kind(Kind::Enum(_))) => {
                write!(f, "({item})[]")
            }
            Type::Array(item) => write!(f, "{item}[]"),
            Type::Map { key, value } => write!(f, "{{{key}: {value}}}"),
            Type::Object(_) => f.write_str("object"),
        }
    }
}
