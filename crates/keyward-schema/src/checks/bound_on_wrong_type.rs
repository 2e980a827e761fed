//! KW0401: keys of this type have no such bound.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::schema::DataType;
use crate::settings::Setting;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0401",
    level: Level::Error,
    title: "keys of this type have no such bound",
    why: "
`max_len` bounds lists and streams, `max_members` sets and sorted sets,
`max_size` strings, JSON and bytes, and `compress` is for these, for hashes and
for lists. A key of type `any` has no bound: what one would count depends on the
type that its writer chooses.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."tags:{id}"]
type = "set"
ttl = "none"
max_len = 20
"#,
    right: r#"
[keyspace]
name = "shop"

[key."tags:{id}"]
type = "set"
ttl = "none"
max_members = 20
"#,
};

pub(crate) fn found(setting: &Setting, data: DataType, at: Span) -> Diagnostic {
    let right = match data {
        DataType::List | DataType::Stream => Some("max_len"),
        DataType::Set | DataType::Zset => Some("max_members"),
        DataType::String | DataType::Json | DataType::Bytes => Some("max_size"),
        _ => None,
    };
    let types: Vec<&str> = setting.types.iter().map(|data| data.name()).collect();
    let does = if setting.name == "compress" { "is for" } else { "bounds" };
    RULE.at(at, format!("the type is {}", data.name()))
        .saying(format!("`{}` {does} {}", setting.name, types.join(", ")))
        .maybe_help(right.map(|right| format!("write `{right}`")))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn the_right_bound_is_offered() {
        check_help(
            r#"
[key."a:{x}"]
type = "set"
ttl = "1h"
max_len = 20
"#,
            "max_len",
            "max_members",
        );
        check_help(
            r#"
[key."a:{x}"]
type = "list"
ttl = "1h"
max_members = 20
"#,
            "max_members",
            "max_len",
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
max_len = 20
"#,
            "KW0401 3:1 `max_len` bounds list, stream [the type is json] | help: write `max_size`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
max_size = "4kb"
"#,
            "KW0401 3:1 `max_size` bounds string, json, bytes [the type is hash]",
        );
        check(
            r#"
[key."a:{x}"]
type = "int"
compress = "4kb"
"#,
            "KW0401 3:1 `compress` is for string, json, bytes, hash, list [the type is int]",
        );
        check(
            r#"
[key."a:{x}"]
type = "any"
max_size = "4kb"
"#,
            "KW0401 3:1 `max_size` bounds string, json, bytes [the type is any]",
        );
    }
}
