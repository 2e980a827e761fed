//! KW0206: a key of this type cannot hold such values.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::schema::DataType;
use crate::shape::{Shape, Type};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0206",
    level: Level::Error,
    title: "a key of this type cannot hold such values",
    why: "
`value` makes the type of a key more exact, it does not change it: an `int`
key holds `int`, `uint` or `timestamp_ms`, a `flag` certain words. JSON values
are for keys of type `json`. Scores are numbers.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."views:{id}"]
type = "int"
value = "string"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."views:{id}"]
type = "int"
value = "uint"
"#,
};

pub(crate) fn value(data: DataType, shape: &Shape, at: Span) -> Diagnostic {
    let better = match &shape.ty {
        ty if ty.is_json() => "json",
        ty if *ty == Type::Float => "float",
        Type::Decimal { .. } => "decimal",
        ty if ty.is_number() => "int",
        _ => "string",
    };
    RULE.at(at, format!("not a value of {}", data.name()))
        .saying(format!("a key of type {} cannot hold {}", data.name(), shape.ty.in_words()))
        .help(format!("type = \"{better}\""))
}

pub(crate) fn value_and_fields(at: Span) -> Diagnostic {
    RULE.at(at, "beside `fields`")
        .saying("`value` and `fields` both say what the JSON is")
        .help("value = { type = \"object\", fields = { … } }, or `fields` alone")
}

pub(crate) fn score(shape: &Shape, at: Span) -> Diagnostic {
    RULE.at(at, "not a number")
        .saying(format!("a score is a number, not {}", shape.ty.in_words()))
        .help("score = \"float\"")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn values_refine_their_type() {
        check_help(
            r#"
[key."a:{x}"]
type = "int"
value = "string"
"#,
            r#"type = "int""#,
            r#"type = "string""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
value = "json"
"#,
            r#"KW0206 3:9 a key of type string cannot hold JSON [not a value of string] | help: type = "json""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "flag"
value = "uint"
"#,
            r#"KW0206 3:9 a key of type flag cannot hold a whole number not below zero [not a value of flag] | help: type = "int""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "float"
value = "int"
"#,
            r#"KW0206 3:9 a key of type float cannot hold a whole number [not a value of float] | help: type = "int""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "bytes"
value = "decimal"
"#,
            r#"KW0206 3:9 a key of type bytes cannot hold a decimal number [not a value of bytes] | help: type = "decimal""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "decimal"
value = "float"
"#,
            r#"KW0206 3:9 a key of type decimal cannot hold a number [not a value of decimal] | help: type = "float""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "int"
value = "timestamp_ms"
[key."b:{x}"]
type = "flag"
value = "bool"
[key."c:{x}"]
type = "string"
value = "a | b"
"#,
            "",
        );
    }

    #[test]
    fn json_has_one_description_and_a_score_is_a_number() {
        check(
            r#"
[key."a:{x}"]
type = "json"
value = "int[]"
fields = { n = "int" }
"#,
            r#"KW0206 3:1 `value` and `fields` both say what the JSON is [beside `fields`] | help: value = { type = "object", fields = { … } }, or `fields` alone"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "zset"
ttl = "1h"
score = "string"
"#,
            r#"KW0206 4:9 a score is a number, not text [not a number] | help: score = "float""#,
        );
    }
}
