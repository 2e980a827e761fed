//! KW0006: the value is of the wrong kind.

use toml::de::DeValue;

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::table::{Entry, kind_of};
use crate::source::Span;
use crate::toml_form::{name_form, text_form};

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
    let better = match entry.value.get_ref() {
        DeValue::String(text) if expected == "true or false" => {
            ["true", "false"].into_iter().find(|word| *word == &**text).map(str::to_owned)
        }
        DeValue::String(text) if expected.starts_with("the number") => {
            text.trim().parse::<u8>().ok().map(|number| number.to_string())
        }
        DeValue::String(text) if expected.starts_with("an array of") => {
            Some(format!("[{}]", text_form(text)))
        }
        _ => None,
    };
    RULE.at(entry.value.span().into(), format!("this is {}", kind_of(entry.value)))
        .saying(format!("`{}` wants {expected}", entry.name))
        .maybe_help(better.map(|better| format!("{} = {better}", name_form(entry.name))))
}

pub(crate) fn empty(entry: Entry<'_>) -> Diagnostic {
    RULE.at(entry.value.span().into(), "empty")
        .saying(format!("`{}` wants a text that is not empty", entry.name))
}

pub(crate) fn not_among(name: &str, word: &str, words: &[&str], at: Span) -> Diagnostic {
    let near = nearest(word, words.iter().copied()).or(words.first().copied());
    RULE.at(at, "not one of them")
        .saying(format!("`{name}` is one of {}", words.join(", ")))
        .maybe_help(near.map(|near| format!("{name} = \"{near}\"")))
}
