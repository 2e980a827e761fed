//! KW0304: the cases of a lifetime are not those of its subject.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;
use crate::toml_form::name_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0304",
    level: Level::Error,
    title: "the cases of a lifetime are not those of its subject",
    why: "
A lifetime `by` an enum gives a duration for each of its words, and for
nothing else.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."claim:{id}"]
type = "json"
ttl = { by = "status", open = "1d" }
[key."claim:{id}".fields]
status = "open | done"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."claim:{id}"]
type = "json"
ttl = { by = "status", open = "1d", done = "1h" }
[key."claim:{id}".fields]
status = "open | done"
"#,
};

pub(crate) fn missing(words: &[&str], at: Span) -> Diagnostic {
    let cases: Vec<String> =
        words.iter().map(|word| format!("{} = \"1h\"", name_form(word))).collect();
    RULE.at(at, "has more values")
        .saying(format!("there is no lifetime for {}", words.join(", ")))
        .help(format!("add {}", cases.join(", ")))
}

pub(crate) fn surplus(word: &str, words: &[Box<str>], near: Option<&str>, at: Span) -> Diagnostic {
    RULE.at(at, "not a value").saying(format!("`{word}` is not one of {}", words.join(", "))).help(
        match near {
            Some(near) => format!("write `{}`", name_form(near)),
            None => format!("remove `{}`", name_form(word)),
        },
    )
}

/// A value whose name is taken by a setting.
pub(crate) fn unnameable(word: &str, at: Span) -> Diagnostic {
    RULE.at(at, format!("has the value `{word}`"))
        .saying(format!("a value called `{word}` can have no lifetime of its own"))
        .help("call the value something else")
}
