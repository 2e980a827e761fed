//! What fits a shape, said as plainly as can be.

use keyward_schema::{Extra, Kind, Length, Object, Shape, Type, parse_timestamp};

use super::tree::Tree;

/// Whether a tree is of a shape.
pub(crate) fn fits(shape: &Shape, tree: &Tree) -> bool {
    match (&shape.ty, tree) {
        (Type::Json, _) => true,
        (_, Tree::Null) => shape.nullable,
        (Type::Bool, Tree::Bool(_)) => true,
        (Type::Array(item), Tree::Array(items)) => {
            holds(shape.limits.len, items.len()) && items.iter().all(|tree| fits(item, tree))
        }
        (Type::Map { key, value }, Tree::Object(members)) => {
            let key = Shape::of((**key).clone());
            members.iter().all(|(name, tree)| text_fits(&key, name) && fits(value, tree))
        }
        (Type::Object(object), Tree::Object(members)) => object_fits(object, members),
        (Type::Decimal { .. }, Tree::Number(text) | Tree::Text(text)) => text_fits(shape, text),
        (ty, Tree::Number(text)) if ty.is_number() => text_fits(shape, text),
        (ty, Tree::Text(text)) if ty.is_text() => text_fits(shape, text),
        _ => false,
    }
}

fn object_fits(object: &Object, members: &[(String, Tree)]) -> bool {
    let all_fit = members.iter().all(|(name, tree)| {
        match (object.fields.iter().find(|field| *field.name == **name), &object.extra) {
            (Some(field), _) => fits(&field.shape, tree),
            (None, Extra::Reject) => false,
            (None, Extra::Allow) => true,
            (None, Extra::Typed(shape)) => fits(shape, tree),
        }
    });
    all_fit
        && object.fields.iter().all(|field| {
            match members.iter().filter(|(name, _)| **name == *field.name).count() {
                0 => !field.required,
                count => count == 1,
            }
        })
}

fn holds(length: Option<Length>, count: usize) -> bool {
    length.is_none_or(|length| length.min <= count as u64 && count as u64 <= length.max)
}

fn text_fits(shape: &Shape, text: &str) -> bool {
    let limits = &shape.limits;
    let in_order = |number: Option<f64>| {
        number.is_none_or(|number| {
            let bound = |bound: &keyward_schema::Decimal| bound.to_string().parse::<f64>();
            limits.min.as_ref().is_none_or(|min| bound(min).is_ok_and(|min| number >= min))
                && limits.max.as_ref().is_none_or(|max| bound(max).is_ok_and(|max| number <= max))
        })
    };
    // A float is too coarse for what has to be exact.
    let exactly_in_order = || {
        let bound = |bound: &keyward_schema::Decimal| in_line(&bound.to_string());
        limits.min.as_ref().is_none_or(|min| in_line(text) >= bound(min))
            && limits.max.as_ref().is_none_or(|max| in_line(text) <= bound(max))
    };
    of_type(&shape.ty, text)
        && match shape.ty {
            Type::Decimal { .. } => exactly_in_order(),
            _ => in_order(text.parse().ok().filter(|_| shape.ty.is_number())),
        }
        && holds(limits.len, text.len())
        && limits.prefix.as_deref().is_none_or(|prefix| text.starts_with(prefix))
}

fn of_type(ty: &Type, text: &str) -> bool {
    let whole = || text.parse::<i64>().ok().filter(|number| number.to_string() == text);
    match ty {
        Type::String => true,
        Type::Kind(Kind::Str) => !text.is_empty() && !text.contains(':'),
        Type::Kind(Kind::Int) => whole().is_some(),
        Type::Kind(Kind::Uint) | Type::TimestampMs => whole().is_some_and(|number| number >= 0),
        Type::Kind(Kind::Enum(words)) => words.iter().any(|word| **word == *text),
        Type::Kind(Kind::Hex) => {
            !text.is_empty() && text.chars().all(|letter| letter.is_ascii_hexdigit())
        }
        Type::Kind(kind) => kind.accepts(text.as_bytes()),
        Type::Float => {
            let is_sign = |letter: char| letter.is_ascii_digit() || "+-.eE".contains(letter);
            text.chars().all(is_sign) && text.parse::<f64>().is_ok_and(f64::is_finite)
        }
        Type::Decimal { scale } => is_decimal(text, *scale),
        Type::Timestamp => parse_timestamp(text.as_bytes()).is_some(),
        Type::Bool | Type::Json | Type::Array(_) | Type::Map { .. } | Type::Object(_) => false,
    }
}

fn is_decimal(text: &str, scale: Option<u8>) -> bool {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let number = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let Ok(exponent) = exponent.parse::<i64>() else { return false };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let behind = fraction.map_or(0, str::len) as i64 - exponent;
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.abs() <= 400
        && scale.is_none_or(|scale| behind <= i64::from(scale))
}

/// Digits behind and before the point that any number of these tests fits in.
const DIGITS: usize = 512;

/// A decimal as a line of signed digits, which are in the order of the numbers.
fn in_line(text: &str) -> Vec<i8> {
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => (-1, number),
        None => (1, text),
    };
    let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i64 = exponent.parse().expect("a whole number");
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut line = vec![0; 2 * DIGITS];
    let first = DIGITS as i64 - whole.len() as i64 - exponent;
    for (place, digit) in (first..).zip(format!("{whole}{fraction}").bytes()) {
        line[place as usize] = sign * (digit - b'0') as i8;
    }
    line
}
