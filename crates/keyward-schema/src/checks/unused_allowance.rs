//! KW0011: nothing here needs to be allowed.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0011",
    level: Level::Warning,
    title: "nothing here needs to be allowed",
    why: "
The warning that this `allow` silences does not occur. Either it was mended,
and the entry can go, or the entry names another code than was meant.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "30m"
allow = ["KW0310: small"]
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "30m"
"#,
};

pub(crate) fn found(code: &str, at: Span) -> Diagnostic {
    RULE.at(at, "not needed").saying(format!("{code} does not occur here")).help("remove it")
}
