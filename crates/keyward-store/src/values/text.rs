//! Strings: bytes, or the number whose decimal form they are.
//!
//! Owns the choice between the two forms. The bytes live in the row (`row`).
//! Invariant: a string is stored as a number only if its bytes are the canonical
//! decimal form of an `i64`, so that reading gives back what was written.
//! Not here: the commands (`commands::string` of the engine).

pub use crate::values::decimal::{Decimal, Text};

use crate::values::decimal::NUMBER_BYTES_MAX;
use crate::values::row::NewValue;
use crate::values::value::Value;
use keyward_resp::number::parse_i64;

/// `OBJECT ENCODING` calls strings up to this length `embstr`.
const EMBSTR_BYTES_MAX: usize = 44;

/// How a text is stored: as a number where its bytes are one.
#[inline]
pub fn encode(text: &[u8]) -> NewValue<'_> {
    if text.len() <= NUMBER_BYTES_MAX
        && let Some(number) = parse_i64(text)
    {
        return NewValue::Int(number);
    }
    NewValue::Text(text)
}

/// The name `OBJECT ENCODING` returns for a string.
pub fn encoding(value: Value<'_>, is_edited: bool) -> &'static str {
    match value {
        Value::Int(_) => "int",
        Value::Text(text) if text.len() <= EMBSTR_BYTES_MAX && !is_edited => "embstr",
        _ => "raw",
    }
}

impl<'a> Text<'a> {
    /// A row's string; `None` if it holds something else.
    #[inline(always)]
    pub fn of(value: Value<'a>) -> Option<Text<'a>> {
        match value {
            Value::Text(text) => Some(Text::Bytes(text)),
            Value::Int(number) => Some(Text::Number(Decimal::of(number))),
            Value::Object(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_numbers_are_stored_as_numbers() {
        let is_number = |text: &str| matches!(encode(text.as_bytes()), NewValue::Int(_));
        for text in ["0", "-1", "9223372036854775807", "-9223372036854775808"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-0", "007", "+1", " 1", "1.0", "9223372036854775808", "1e3"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
