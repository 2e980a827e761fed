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
