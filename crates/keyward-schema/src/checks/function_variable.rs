//! KW0603: a function uses one name for different things.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Kind;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0603",
    level: Level::Error,
    title: "a function uses one name for different things",
    why: "
The same placeholder name in two keys of a function stands for the same value,
so there must be values that both keys accept.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."day:{when:date}"]
type = "hash"
[key."month:{when:month}"]
type = "hash"
[function.report]
keys = ["day:{when}", "month:{when}"]
"#,
    right: r#"
[keyspace]
name = "shop"

[key."day:{when:date}"]
type = "hash"
[key."month:{when:month}"]
type = "hash"
[function.report]
keys = ["day:{day}", "month:{month}"]
"#,
};

pub(crate) fn found(name: &str, kind: &Kind, first: &Kind, at: Span) -> Diagnostic {
    RULE.at(at, format!("{} here", kind.in_words()))
        .saying(format!("`{{{name}}}` cannot be both {} and {}", first.in_words(), kind.in_words()))
        .help(format!("call one of them {{{name}_2}}"))
}
