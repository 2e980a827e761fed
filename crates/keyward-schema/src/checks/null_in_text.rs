//! KW0204: null exists in JSON only.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

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

pub(crate) fn found(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "is not JSON")
        .saying(format!("`{name}` is plain text and cannot be null"))
        .help("make the field optional instead: \"string?\"")
}
