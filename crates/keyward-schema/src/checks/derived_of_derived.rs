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

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn no_chain_of_any_kind() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
[key."all"]
type = "set"
members = { of = "by:{e}" }
"#,
            r#"KW0504 9:18 `by:{e}` is derived and cannot be a source [derived itself] | see 4:6 derived here | help: of = "u:{id}""#,
        );
        check(
            r#"
[key."m:{id}"]
type = "hash"
[key."b:{x}"]
type = "set"
ttl = "1h"
follows = "m:{x}:{member}"
[key."m:{x}:{y}"]
type = "hash"
[key."a"]
type = "set"
ttl = "1h"
follows = "b:{member}"
"#,
            r#"KW0504 12:11 `b:{x}` is derived and cannot be a source [derived itself] | see 3:6 derived here | help: follows = "m:{x}:{member}""#,
        );
        check(
            r#"
[key."f:{id}"]
type = "set"
max_members = 5
inverse = "g:{member}"
[key."g:{id}"]
type = "set"
max_members = 5
[key."all"]
type = "set"
members = { of = "g:{id}" }
"#,
            "KW0504 10:18 `g:{id}` is derived and cannot be a source [derived itself] | see 5:6 derived here",
        );
    }

    #[test]
    fn two_that_derive_from_each_other() {
        check(
            r#"
[key."a:{x}"]
type = "set"
members = { of = "b:{y}" }
[key."b:{y}"]
type = "set"
members = { of = "a:{x}" }
"#,
            r#"
KW0504 3:18 `b:{y}` is derived and cannot be a source [derived itself] | see 4:6 derived here | help: of = "a:{x}"
KW0504 6:18 `a:{x}` is derived and cannot be a source [derived itself] | see 1:6 derived here | help: of = "b:{y}"
"#,
        );
    }
}
