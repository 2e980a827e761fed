//! KW0505: a key of this type cannot be derived so.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Placeholder;
use crate::read::KeyDraft;
use crate::schema::DataType;
use crate::settings::Setting;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0505",
    level: Level::Error,
    title: "a key of this type cannot be derived so",
    why: "
A `lookup` is a string, a `rank` a sorted set, `members` and `inverse` are
sets, `follows` is for sets and sorted sets.
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
type = "zset"
members = { of = "user:{user_id}", when = "status = active" }
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
"#,
};

pub(crate) fn found(setting: &Setting, data: DataType, at: Span) -> Diagnostic {
    let types: Vec<&str> = setting.types.iter().map(|data| data.name()).collect();
    RULE.at(at, format!("the type is {}", data.name()))
        .saying(format!("`{}` is for {}", setting.name, types.join(" and ")))
        .maybe_help(types.first().map(|data| format!("type = \"{data}\"")))
}

/// A lookup whose type does not admit every member of its source.
pub(crate) fn lookup(member: &Placeholder, source: &KeyDraft<'_>, at: Span) -> Diagnostic {
    RULE.at(at, "holds the member")
        .saying(format!("`{{{}}}` is {}, and so is this key", member.name, member.kind.in_words()))
        .see(source.at, "declared here")
        .help("type = \"string\"")
}
