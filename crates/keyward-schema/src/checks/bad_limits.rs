//! KW0205: a limit does not fit the type.

use crate::decimal::Decimal;
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::shape::Shape;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0205",
    level: Level::Error,
    title: "a limit does not fit the type",
    why: "
`min` and `max` bound numbers, `len` the bytes of a text or the items of an
array, `prefix` the beginning of a text; and the least is not above the
greatest.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{id}".fields]
name = { type = "string", min = 3 }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{id}".fields]
name = { type = "string", len = "3.." }
"#,
};

pub(crate) fn misfit(limit: &str, shape: &Shape, at: Span) -> Diagnostic {
    let help = match limit {
        "min" if shape.ty.is_text() => Some("len = \"3..\" bounds the length"),
        "max" if shape.ty.is_text() => Some("len = \"..64\" bounds the length"),
        "len" if shape.ty.is_number() => Some("min = 0, max = 100 bound the number"),
        _ => None,
    };
    RULE.at(at, format!("the type is {shape}"))
        .saying(format!("`{limit}` does not bound {}", shape.ty.in_words()))
        .maybe_help(help.map(str::to_owned))
}

pub(crate) fn reversed(min: &Decimal, max: &Decimal, at: Span) -> Diagnostic {
    RULE.at(at, "below the least")
        .saying(format!("no number is at least {min} and at most {max}"))
        .help(format!("min = {max}, max = {min}"))
}

pub(crate) fn below_zero(shape: &Shape, max: &Decimal, at: Span) -> Diagnostic {
    RULE.at(at, "below zero")
        .saying(format!("no {shape} is at most {max}"))
        .help("type = \"int\" may be below zero")
}

pub(crate) fn prefix_too_long(prefix: &str, at: Span) -> Diagnostic {
    RULE.at(at, "shorter than `prefix`")
        .saying(format!("no text begins with {prefix:?} and is shorter than that"))
        .help(format!("len = \"{}..\"", prefix.len()))
}
