//! KW0001: the file is not valid TOML.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Source;

pub(crate) static RULE: Rule = Rule {
    code: "KW0001",
    level: Level::Error,
    title: "the file is not valid TOML",
    why: "
A schema is a TOML file. Where its syntax is broken, the rest of the file is
still read as far as possible, so other findings may follow; mend this first.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
"#,
};

pub(crate) fn found(error: &toml::de::Error, source: &Source) -> Diagnostic {
    let end = source.text.len();
    let span = error.span().unwrap_or(end..end);
    RULE.at(span.into(), "here").saying(format!("not valid TOML: {}", error.message()))
}
