//! KW0305: the lifetime depends on something of the wrong type.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Kind;
use crate::shape::Field;
use crate::source::Span;
use crate::toml_form::name_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0305",
    level: Level::Error,
    title: "the lifetime depends on something of the wrong type",
    why: "
`by` needs an enum, so that each value can have its duration; `until` and `from`
need a `timestamp` or `timestamp_ms`.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = { until = "valid_until" }
[key."coupon:{code}".fields]
valid_until = "string"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = { until = "valid_until" }
[key."coupon:{code}".fields]
valid_until = "timestamp"
"#,
};

pub(crate) fn by(field: &Field, at: Span) -> Diagnostic {
    RULE.at(at, "not an enum")
        .saying(format!(
            "`by` needs an enum, and `{}` is {}",
            field.name,
            field.shape.ty.in_words()
        ))
        .see(field.at, "declared here")
        .help(format!("{} = \"accepted | rejected\"", name_form(&field.name)))
}

pub(crate) fn placeholder(name: &str, kind: &Kind, at: Span) -> Diagnostic {
    RULE.at(at, "not an enum")
        .saying(format!("`by` needs an enum, and `{{{name}}}` is {}", kind.in_words()))
        .help(format!("list its words: {{{name}:minute|hour}}"))
}

pub(crate) fn time(setting: &str, field: &Field, at: Span) -> Diagnostic {
    RULE.at(at, "not a time")
        .saying(format!(
            "`{setting}` needs a time, and `{}` is {}",
            field.name,
            field.shape.ty.in_words()
        ))
        .see(field.at, "declared here")
        .help(format!("{} = \"timestamp\"", name_form(&field.name)))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn by_needs_an_enum_and_until_a_time() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { s = "string" }
ttl = { by = "s", open = "1h" }
"#,
            r#"KW0305 4:14 `by` needs an enum, and `s` is text [not an enum] | see 3:12 declared here | help: s = "accepted | rejected""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { by = "{x}", open = "1h" }
"#,
            "KW0305 3:14 `by` needs an enum, and `{x}` is anything without a colon [not an enum] | see 1:6 declared here | help: list its words: {x:minute|hour}",
        );
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
fields = { t = "date" }
ttl = { until = "t" }
"#,
            r#"t = "date""#,
            r#"t = "timestamp""#,
        );
    }
}
