//! KW0112: two placeholders stand side by side.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0112",
    level: Level::Error,
    title: "two placeholders stand side by side",
    why: "
A placeholder ends where the text that follows it begins. With no text between
two placeholders a key could be read in several ways. This holds for types of a
fixed length too: text between tells a reader of the key where one ends.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."day:{day:date}{hour:uint}"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."day:{day:date}-{hour:uint}"]
type = "hash"
"#,
};

pub(crate) fn found(at: Span) -> Diagnostic {
    RULE.at(at, "no text before it").help("put text between them, or make them one placeholder")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn whatever_the_types_are() {
        check(
            r#"
[key."a:{x}{y}"]
type = "hash"
"#,
            r#"KW0112 1:12 two placeholders stand side by side [no text before it] | help: put text between them, or make them one placeholder"#,
        );
        check(
            r#"
[key."a:{x:uuid}{y:date}"]
type = "hash"
"#,
            r#"KW0112 1:17 two placeholders stand side by side [no text before it] | help: put text between them, or make them one placeholder"#,
        );
        check(
            r#"
[key."a:{x}-{y}.{z}"]
type = "hash"
"#,
            r#""#,
        );
    }
}
