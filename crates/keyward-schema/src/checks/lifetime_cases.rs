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

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn each_value_has_its_lifetime() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { s = "open | done" }
ttl = { by = "s", open = "1h" }
"#,
            r#"KW0304 4:14 there is no lifetime for done [has more values] | help: add done = "1h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { s = "in stock | sold" }
ttl = { by = "s", sold = "1h" }
"#,
            r#"KW0304 4:14 there is no lifetime for in stock [has more values] | help: add "in stock" = "1h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { s = "open | done" }
ttl = { by = "s", open = "1h", dne = "1h" }
"#,
            "KW0304 4:32 `dne` is not one of open, done [not a value] | help: write `done`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { s = "open | done" }
ttl = { by = "s", open = "1h", done = "1h", lost = "2h" }
"#,
            "KW0304 4:45 `lost` is not one of open, done [not a value] | help: remove `lost`",
        );
    }

    #[test]
    fn a_value_may_be_called_like_a_form() {
        check(
            r#"
[key."a:{w:after|until}"]
type = "hash"
ttl = { by = "{w}", after = "1h", until = "2h" }
"#,
            "",
        );
        check(
            r#"
[key."a:{w:by|day}"]
type = "hash"
ttl = { by = "{w}", day = "1h" }
"#,
            "KW0304 3:14 a value called `by` can have no lifetime of its own [has the value `by`] | help: call the value something else",
        );
    }
}
