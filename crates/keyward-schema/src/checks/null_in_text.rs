//! KW0204: null exists in JSON only.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::shape::{Field, Shape};
use crate::source::Span;
use crate::toml_form::name_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0204",
    level: Level::Error,
    title: "null exists in JSON only",
    why: "
A hash field, an item or a plain string is bytes; there is no null among them,
only the absence of the field. Make a field optional with `?` instead.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{id}".fields]
email = "string | null"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{id}".fields]
email = "string?"
"#,
};

/// A field of a hash.
pub(crate) fn field(field: &Field) -> Diagnostic {
    let help = format!("{} = \"{}?\"", name_form(&field.name), without_null(&field.shape));
    found(&field.name, field.at).help(help)
}

/// A value, an item, a score.
pub(crate) fn value(setting: &str, shape: &Shape, at: Span) -> Diagnostic {
    found(setting, at).help(format!("{setting} = \"{}\"", without_null(shape)))
}

/// An argument of a function.
pub(crate) fn argument(name: &str, shape: &Shape, at: Span) -> Diagnostic {
    found(name, at).help(format!("\"{name}: {}?\"", without_null(shape)))
}

fn found(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "is not JSON").saying(format!("`{name}` is plain text and cannot be null"))
}

fn without_null(shape: &Shape) -> Shape {
    Shape { nullable: false, ..shape.clone() }
}
