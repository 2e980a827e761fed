//! KW0115: a word holds the text that ends its placeholder.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0115",
    level: Level::Error,
    title: "a word holds the text that ends its placeholder",
    why: "
A placeholder ends at the first occurrence of the text that follows it. A word
that holds this text is never read whole, so no key has it.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."limit-{window:day|half-day}-{id}"]
type = "hash"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."limit-{window:day|half-day}/{id}"]
type = "hash"
"#,
};

pub(crate) fn found(word: &str, text: &str, at: Span) -> Diagnostic {
    let (word, text) = (word.escape_debug(), text.escape_debug());
    RULE.at(at, format!("`{word}` would end at `{text}`"))
        .help("let other text follow it, or name the word otherwise")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn text_that_ends_the_pattern_is_no_matter() {
        check(
            r#"
[key."{x:a|a-b}-{y}"]
type = "hash"
"#,
            r#"KW0115 1:7 a word holds the text that ends its placeholder [`a-b` would end at `-`] | help: let other text follow it, or name the word otherwise"#,
        );
        check(
            r#"
[key."{x:a|a-b}-"]
type = "hash"
"#,
            r#""#,
        );
        check(
            r#"
[key."{x:a|a-b}:-{y}"]
type = "hash"
"#,
            r#""#,
        );
    }
}
