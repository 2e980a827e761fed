//! KW0504: a derived key is the source of another.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::KeyDraft;
use crate::source::Span;
use crate::toml_form::text_form;
use toml::de::DeValue;

pub(crate) static RULE: Rule = Rule {
    code: "KW0504",
    level: Level::Error,
    title: "a derived key is the source of another",
    why: "
Derived keys come from what clients write, in one step. If they could come
from each other, one write could set off a chain without end, or a circle.
Derive both from the same source.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
email = "str"
status = "active | closed"
seen_at = "timestamp?"

[key."active"]
type = "set"
members = { of = "user:{user_id}", when = "status = active" }
[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{user_id}", field = "email" }
[key."emails"]
type = "set"
members = { of = "by_email:{email}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
email = "str"
status = "active | closed"
seen_at = "timestamp?"

[key."active"]
type = "set"
members = { of = "user:{user_id}", when = "status = active" }
[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{user_id}", field = "email" }
"#,
};

pub(crate) fn found(setting: &str, source: &KeyDraft<'_>, at: Span) -> Diagnostic {
    let origin = source.derivations().next().and_then(|entry| match entry.value.get_ref() {
        DeValue::Table(table) => table.get("of").and_then(|of| of.get_ref().as_str()),
        of => of.as_str(),
    });
    RULE.at(at, "derived itself")
        .saying(format!("`{}` is derived and cannot be a source", source.text))
        .see(source.at, "derived here")
        .maybe_help(origin.map(|origin| format!("{setting} = {}", text_form(origin))))
}
