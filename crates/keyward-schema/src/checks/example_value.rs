//! KW0702: the example does not fit the shape.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::shape::Misfit;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0702",
    level: Level::Error,
    title: "the example does not fit the shape",
    why: "
Examples are shown in documents and used in tests, so they must be true.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "json"
example = { key = "user:42", value = '{"name": 7}' }
[key."user:{id:uint}".fields]
name = "string"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "json"
example = { key = "user:42", value = '{"name": "Ann"}' }
[key."user:{id:uint}".fields]
name = "string"
"#,
};

pub(crate) fn found(misfit: &Misfit, at: Span) -> Diagnostic {
    RULE.at(at, "does not fit").saying(format!("in the example, {misfit}"))
}
