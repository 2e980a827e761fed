//! KW0506: nothing can be derived from a key of this type so.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::KeyDraft;
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0506",
    level: Level::Error,
    title: "nothing can be derived from a key of this type so",
    why: "
A lookup indexes a field of a hash or of a JSON object, or the whole value of
a plain string. The mirror of a set is a set.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."recent:{user_id}"]
type = "list"
ttl = "7d"
[key."by_recent:{value}"]
type = "string"
lookup = { of = "recent:{user_id}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."nick:{user_id}"]
type = "string"
value = "str"
[key."by_nick:{nick}"]
type = "string"
lookup = { of = "nick:{user_id}" }
"#,
};

pub(crate) fn lookup(source: &KeyDraft<'_>, at: Span) -> Diagnostic {
    let data = source.data.map_or("unknown", |data| data.name());
    let found = RULE
        .at(at, format!("of type {data}"))
        .saying(format!("`{}` has no single value to index", source.text))
        .see(source.at, "declared here");
    match source.object().and_then(|object| object.fields.first()) {
        Some(field) => found.help(format!("name a field: field = {}", text_form(&field.name))),
        None => found,
    }
}

pub(crate) fn inverse(source: &KeyDraft<'_>, at: Span) -> Diagnostic {
    RULE.at(at, "not a set")
        .saying(format!("the mirror of a set is a set, and `{}` is none", source.text))
        .see(source.at, "declared here")
        .help("type = \"set\"")
}
