//! KW0006: the value is of the wrong kind.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::table::{Entry, kind_of};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0006",
    level: Level::Error,
    title: "the value is of the wrong kind",
    why: "
The setting wants another kind of value, or one of certain words.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
mode = "strict"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
mode = "enforce"
"#,
};

pub(crate) fn found(entry: Entry<'_>, expected: &str) -> Diagnostic {
    RULE.at(entry.value.span().into(), format!("this is {}", kind_of(entry.value)))
        .saying(format!("`{}` wants {expected}", entry.name))
}

pub(crate) fn not_among(name: &str, word: &str, words: &[&str], at: Span) -> Diagnostic {
    let near = nearest(word, words.iter().copied()).or(words.first().copied());
    RULE.at(at, "not one of them")
        .saying(format!("`{name}` is one of {}", words.join(", ")))
        .maybe_help(near.map(|near| format!("{name} = \"{near}\"")))
}
