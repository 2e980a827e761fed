//! KW0113: a pattern has one `rest`.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0113",
    level: Level::Error,
    title: "a pattern has one `rest`",
    why: "
`rest` takes what the others leave: what stands before it is read from the
left, what stands behind it from the right. With a second one a key could be
read in several ways.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."file:{folder:rest}/{name:rest}"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."file:{folder:rest}/{name}"]
type = "hash"
"#,
};

pub(crate) fn found(at: Span) -> Diagnostic {
    RULE.at(at, "the second one").help("remove its type: then it ends at the next text, or colon")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn one_may_stand_anywhere() {
        check(
            r#"
[key."{x:rest}:a:{y:rest}"]
type = "hash"
"#,
            r#"KW0113 1:18 a pattern has one `rest` [the second one] | help: remove its type: then it ends at the next text, or colon"#,
        );
        check(
            r#"
[key."{x:rest}:a"]
type = "hash"
"#,
            r#""#,
        );
        check(
            r#"
[key."a:{{{x:rest}}}"]
type = "hash"
"#,
            r#""#,
        );
    }
}
