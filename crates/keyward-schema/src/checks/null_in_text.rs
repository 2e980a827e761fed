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

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn null_is_json_only() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
fields = { "first name" = "string | null" }
"#,
            r#""first name" = "string | null""#,
            r#""first name" = "string?""#,
        );
        check_help(
            r#"
[key."a:{x}"]
type = "string"
value = "uint | null"
"#,
            r#"value = "uint | null""#,
            r#"value = "uint""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "list"
ttl = "1h"
items = "a | b | null"
"#,
            r#"KW0204 4:9 `items` is plain text and cannot be null [is not JSON] | help: items = "a | b""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "zset"
ttl = "1h"
score = "float | null"
"#,
            r#"KW0204 4:9 `score` is plain text and cannot be null [is not JSON] | help: score = "float""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
extra = "int | null"
"#,
            r#"KW0204 3:9 `extra` is plain text and cannot be null [is not JSON] | help: extra = "int""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
[function.f]
args = ["n: int | null"]
"#,
            r#"KW0204 4:9 `n` is plain text and cannot be null [is not JSON] | help: "n: int?""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
fields = { n = "string | null" }
[key."b:{x}"]
type = "hash"
fields = { n = "string[] | null" }
"#,
            "",
        );
    }
}
