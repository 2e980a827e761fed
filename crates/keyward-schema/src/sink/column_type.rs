//! Types of columns, and which values each holds as they are.
//!
//! A type that would round a value, or drop a part of it without an error, is not offered for
//! it: PostgreSQL rounds 0.001 to two digits in `numeric(10,2)`, and drops the zone of a time
//! in `timestamp`. What PostgreSQL refuses by itself (a text that is too long, a number that
//! is too large) stays with whoever declares such a column.

use std::fmt;

use crate::decimal::DecimalText;
use crate::pattern::Kind;
use crate::shape::{Limits, Shape, Type};

/// The type of a column in PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// `text`
    Text,
    /// `varchar(n)`
    Varchar(u32),
    /// `uuid`
    Uuid,
    /// `inet`
    Inet,
    /// `smallint`
    SmallInt,
    /// `integer`
    Integer,
    /// `bigint`
    BigInt,
    /// `numeric`, or `numeric(p,s)`
    Numeric(Option<(u16, u16)>),
    /// `double precision`
    Double,
    /// `boolean`
    Boolean,
    /// `timestamptz`
    Timestamptz,
    /// `date`
    Date,
    /// `jsonb`
    Jsonb,
    /// `bytea`
    Bytea,
}

impl ColumnType {
    /// The types that a schema can name, as it writes them.
    pub const NAMES: [&'static str; 14] = [
        "text",
        "varchar(n)",
        "uuid",
        "inet",
        "smallint",
        "integer",
        "bigint",
        "numeric",
        "double precision",
        "boolean",
        "timestamptz",
        "date",
        "jsonb",
        "bytea",
    ];

    /// Reads a type as PostgreSQL writes it, in small or capital letters, and by the names
    /// that it knows it by as well.
    pub fn named(text: &str) -> Option<ColumnType> {
        let text = text.trim().to_ascii_lowercase();
        let (name, numbers) = match text.split_once('(') {
            None => (text.as_str(), None),
            Some((name, rest)) => (name.trim_end(), Some(rest.strip_suffix(')')?)),
        };
        let plain = match name {
            "text" => ColumnType::Text,
            "uuid" => ColumnType::Uuid,
            "inet" => ColumnType::Inet,
            "smallint" | "int2" => ColumnType::SmallInt,
            "integer" | "int" | "int4" => ColumnType::Integer,
            "bigint" | "int8" => ColumnType::BigInt,
            "double precision" | "float8" => ColumnType::Double,
            "boolean" | "bool" => ColumnType::Boolean,
            "timestamptz" | "timestamp with time zone" => ColumnType::Timestamptz,
            "date" => ColumnType::Date,
            "jsonb" => ColumnType::Jsonb,
            "bytea" => ColumnType::Bytea,
            "varchar" | "character varying" => {
                let length = numbers?
                    .trim()
                    .parse()
                    .ok()
                    .filter(|length| (1..=10_485_760).contains(length))?;
                return Some(ColumnType::Varchar(length));
            }
            "numeric" | "decimal" => {
                let Some(numbers) = numbers else { return Some(ColumnType::Numeric(None)) };
                let (precision, scale) = numbers.split_once(',').unwrap_or((numbers, "0"));
                let precision: u16 = precision.trim().parse().ok()?;
                let scale: u16 = scale.trim().parse().ok()?;
                let is_known = (1..=1000).contains(&precision) && scale <= precision;
                return is_known.then_some(ColumnType::Numeric(Some((precision, scale))));
            }
            _ => return None,
        };
        numbers.is_none().then_some(plain)
    }

    /// The type for values of a shape, where the schema names none.
    pub fn of_shape(shape: &Shape) -> ColumnType {
        match &shape.ty {
            Type::Kind(Kind::Uint) if fits_bigint(&shape.limits) => ColumnType::BigInt,
            Type::Kind(kind) => ColumnType::of_kind(kind),
            Type::String if shape.bytes => ColumnType::Bytea,
            Type::String => ColumnType::Text,
            Type::Float => ColumnType::Double,
            Type::Decimal { .. } => ColumnType::Numeric(None),
            Type::Bool => ColumnType::Boolean,
            Type::Timestamp => ColumnType::Timestamptz,
            Type::TimestampMs => ColumnType::BigInt,
            Type::Json | Type::Array(_) | Type::Map { .. } | Type::Object(_) => ColumnType::Jsonb,
        }
    }

    /// The type for values of a placeholder, where the schema names none.
    pub fn of_kind(kind: &Kind) -> ColumnType {
        match kind {
            Kind::Int => ColumnType::BigInt,
            // It may be above what a bigint holds.
            Kind::Uint => ColumnType::Numeric(Some((20, 0))),
            Kind::Uuid => ColumnType::Uuid,
            Kind::Date | Kind::Month => ColumnType::Date,
            _ => ColumnType::Text,
        }
    }

    /// Whether it holds every value of a shape, or refuses it: never another value.
    pub fn holds(self, ty: &Type) -> bool {
        use ColumnType::*;
        match ty {
            _ if self == Text => true,
            Type::Kind(Kind::Int | Kind::Uint) => {
                matches!(self, SmallInt | Integer | BigInt | Numeric(_))
            }
            Type::TimestampMs => matches!(self, BigInt | Numeric(_) | Timestamptz),
            Type::Kind(Kind::Date | Kind::Month) => self == Date,
            Type::Kind(Kind::Uuid) => matches!(self, Uuid | Varchar(_)),
            Type::Kind(Kind::Ip) => matches!(self, Inet | Varchar(_)),
            Type::Kind(_) => matches!(self, Varchar(_) | Uuid),
            Type::String => matches!(self, Varchar(_) | Uuid | Inet | Jsonb | Bytea),
            Type::Float => self == Double,
            Type::Decimal { scale } => match self {
                Numeric(None) => true,
                Numeric(Some((_, digits))) => scale.is_some_and(|scale| u16::from(scale) <= digits),
                _ => false,
            },
            Type::Bool => self == Boolean,
            Type::Timestamp => self == Timestamptz,
            Type::Json | Type::Array(_) | Type::Map { .. } | Type::Object(_) => self == Jsonb,
        }
    }

    /// Whether it is a number that can be added to another.
    pub fn is_number(self) -> bool {
        use ColumnType::*;
        matches!(self, SmallInt | Integer | BigInt | Numeric(_) | Double)
    }
}

/// Whether no number within the limits is above what a bigint holds.
fn fits_bigint(limits: &Limits) -> bool {
    let most = DecimalText::parse(b"9223372036854775807");
    limits.max.as_ref().zip(most).is_some_and(|(max, most)| max.as_text() <= most)
}

/// As PostgreSQL writes it.
impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ColumnType::Text => "text",
            ColumnType::Varchar(length) => return write!(f, "varchar({length})"),
            ColumnType::Uuid => "uuid",
            ColumnType::Inet => "inet",
            ColumnType::SmallInt => "smallint",
            ColumnType::Integer => "integer",
            ColumnType::BigInt => "bigint",
            ColumnType::Numeric(None) => "numeric",
            ColumnType::Numeric(Some((precision, 0))) => return write!(f, "numeric({precision})"),
            ColumnType::Numeric(Some((precision, scale))) => {
                return write!(f, "numeric({precision},{scale})");
            }
            ColumnType::Double => "double precision",
            ColumnType::Boolean => "boolean",
            ColumnType::Timestamptz => "timestamptz",
            ColumnType::Date => "date",
            ColumnType::Jsonb => "jsonb",
            ColumnType::Bytea => "bytea",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_postgresql_writes_them() {
        let check = |text: &str, expected: Option<&str>| {
            let read = ColumnType::named(text).map(|ty| ty.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        };
        check("BIGINT", Some("bigint"));
        check("int", Some("integer"));
        check("VARCHAR(255)", Some("varchar(255)"));
        check("character varying (20)", Some("varchar(20)"));
        check("DECIMAL(10, 2)", Some("numeric(10,2)"));
        check("numeric(20)", Some("numeric(20)"));
        check("numeric(20,0)", Some("numeric(20)"));
        check("timestamp with time zone", Some("timestamptz"));
        for unknown in [
            "",
            "varchar",
            "varchar(0)",
            "numeric(2,3)",
            "numeric(0)",
            "timestamp",
            "real",
            "text(3)",
            "bigint; drop",
            "varchar(3",
        ] {
            check(unknown, None);
        }
    }

    #[test]
    fn what_would_be_rounded_is_not_held() {
        let cents = Type::Decimal { scale: Some(2) };
        let any = Type::Decimal { scale: None };
        let two = ColumnType::Numeric(Some((10, 2)));
        assert!(two.holds(&cents) && !two.holds(&any) && ColumnType::Numeric(None).holds(&any));
        assert!(!ColumnType::Double.holds(&cents) && !ColumnType::BigInt.holds(&any));
        assert!(!ColumnType::Date.holds(&Type::Timestamp));
        assert!(ColumnType::Text.holds(&any));
    }

    #[test]
    fn bytes_are_no_text() {
        let shape = Shape { bytes: true, ..Shape::of(Type::String) };
        assert_eq!(ColumnType::of_shape(&shape), ColumnType::Bytea);
        assert_eq!(ColumnType::of_shape(&Shape::of(Type::String)), ColumnType::Text);
        assert!(ColumnType::Bytea.holds(&Type::String) && !ColumnType::Bytea.holds(&Type::Json));
    }

    #[test]
    fn a_uint_is_a_bigint_only_where_it_cannot_be_larger() {
        let shape = |max: Option<&str>| {
            let mut shape = Shape::of(Type::Kind(Kind::Uint));
            shape.limits.max = max.and_then(crate::Decimal::parse);
            ColumnType::of_shape(&shape)
        };
        assert_eq!(shape(None), ColumnType::Numeric(Some((20, 0))));
        assert_eq!(shape(Some("9223372036854775807")), ColumnType::BigInt);
        assert_eq!(shape(Some("9223372036854775808")), ColumnType::Numeric(Some((20, 0))));
    }
}
