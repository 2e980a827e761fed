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

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn limits_fit_their_type() {
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "string", min = 3 } }
"#,
            r#"KW0205 3:35 `min` does not bound text [the type is string] | help: len = "3.." bounds the length"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "string", max = 3 } }
"#,
            r#"KW0205 3:35 `max` does not bound text [the type is string] | help: len = "..64" bounds the length"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "int", len = 3 } }
"#,
            "KW0205 3:32 `len` does not bound a whole number [the type is int] | help: min = 0, max = 100 bound the number",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "int", prefix = "x" } }
"#,
            "KW0205 3:32 `prefix` does not bound a whole number [the type is int]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "bool", min = 0 } }
"#,
            "KW0205 3:33 `min` does not bound true or false [the type is bool]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "int[]", min = 0 } }
"#,
            "KW0205 3:34 `min` does not bound a JSON array [the type is int[]]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "int", min = 5, max = 3 } }
"#,
            "KW0205 3:47 no number is at least 5 and at most 3 [below the least] | help: min = 3, max = 5",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "uint", max = -1 } }
"#,
            r#"KW0205 3:39 no uint is at most -1 [below zero] | help: type = "int" may be below zero"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "string", prefix = "abc", len = "..2" } }
"#,
            r#"KW0205 3:57 no text begins with "abc" and is shorter than that [shorter than `prefix`] | help: len = "3..""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "string", len = "5..3" } }
"#,
            r#"KW0006 3:41 `len` wants a length such as 32, "1..64" or "8.." [this is a text]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "int", min = "x" } }
"#,
            "KW0006 3:38 `min` wants a decimal number [this is a text]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "int", min = 1e3 } }
"#,
            "KW0006 3:38 `min` wants a decimal number [this is a number]",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { a = { type = "decimal", min = 0, max = "0.50" }, b = { type = "string", len = 3, prefix = "abc" }, c = { type = "int[]", len = "1.." }, d = { type = "int", max = -1 } }
"#,
            "",
        );
    }

    #[test]
    fn a_misspelt_limit_is_no_field() {
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "decimal", minn = 0 } }
"#,
            "KW0004 3:36 a field has no setting `minn` [unknown] | help: write `min`",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "string", prefx = "x_" } }
"#,
            "KW0004 3:35 a field has no setting `prefx` [unknown] | help: write `prefix`",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { f = { type = "string", lat = "float", lon = "float" } }
"#,
            "",
        );
    }
}
