//! KW0701: the example is no key of its pattern.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Pattern;
use crate::read::table::Located;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0701",
    level: Level::Error,
    title: "the example is no key of its pattern",
    why: "
Examples are shown in documents and used in tests, so they must be true.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
example = "user:john"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
example = "user:42"
"#,
};

pub(crate) fn found(key: Located<&str>, pattern: &Pattern, pattern_at: Span) -> Diagnostic {
    RULE.at(key.at, "does not match")
        .saying(format!("`{}` is no key of `{pattern}`", key.value.escape_debug()))
        .see(pattern_at, "the pattern")
}
