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

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn each_derivation_has_its_types() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "list"
ttl = "1h"
members = { of = "u:{id}" }
"#,
            r#"
KW0514 6:7 a derived key lives as long as its source says [not its own] | see 4:6 derived | help: remove `ttl`
KW0505 7:1 `members` is for set [the type is list] | help: type = "set"
"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."top"]
type = "set"
max_members = 3
rank = { of = "u:{id}", by = "n" }
"#,
            r#"
KW0514 6:1 `max_members` of a derived key follows from its source [not its own] | see 4:6 derived | help: remove `max_members`
KW0505 7:1 `rank` is for zset [the type is set] | help: type = "zset"
"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."by:{e}"]
type = "hash"
lookup = { of = "u:{id}", field = "e" }
"#,
            r#"KW0505 6:1 `lookup` is for string and int [the type is hash] | help: type = "string""#,
        );
    }

    #[test]
    fn a_lookup_of_text_ids_is_no_int() {
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."by:{e}"]
type = "int"
lookup = { of = "u:{id}", field = "e" }
"#,
            r#"type = "int""#,
            r#"type = "string""#,
        );
        check(
            r#"
[key."u:{id:uint}"]
type = "hash"
fields = { e = "str" }
[key."by:{e}"]
type = "int"
lookup = { of = "u:{id}", field = "e" }
"#,
            "",
        );
    }
}
