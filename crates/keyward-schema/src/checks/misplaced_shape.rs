//! KW0203: keys of this type have no such shape.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::schema::DataType;
use crate::settings::Setting;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0203",
    level: Level::Error,
    title: "keys of this type have no such shape",
    why: "
`value` is for Redis strings, `fields` and `extra` for `json` and `hash`,
`items` for lists and sets, `score` for sorted sets. A key of type `any` holds
what its writer likes, so nothing can be said of its shape.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."tags:{id}"]
type = "set"
ttl = "1h"
value = "string"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."tags:{id}"]
type = "set"
ttl = "1h"
items = "string"
"#,
};

pub(crate) fn found(setting: &Setting, data: DataType, at: Span) -> Diagnostic {
    let right = match data {
        DataType::Hash | DataType::Json | DataType::Stream => Some("fields"),
        DataType::List | DataType::Set | DataType::Zset => Some("items"),
        DataType::Hll | DataType::Any => None,
        _ => Some("value"),
    };
    let types: Vec<&str> = setting.types.iter().map(|data| data.name()).collect();
    RULE.at(at, format!("the type is {}", data.name()))
        .saying(format!("`{}` is for {}", setting.name, types.join(", ")))
        .maybe_help(right.map(|right| format!("write `{right}`")))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn each_type_has_its_shape() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
items = "int"
"#,
            "KW0203 3:1 `items` is for list, set, zset [the type is hash] | help: write `fields`",
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
fields = { n = "int" }
"#,
            "KW0203 3:1 `fields` is for json, hash, stream [the type is string] | help: write `value`",
        );
        check(
            r#"
[key."a:{x}"]
type = "set"
max_members = 3
score = "int"
"#,
            "KW0203 4:1 `score` is for zset [the type is set] | help: write `items`",
        );
        check(
            r#"
[key."a:{x}"]
type = "stream"
max_len = 5
items = "int"
"#,
            "KW0203 4:1 `items` is for list, set, zset [the type is stream] | help: write `fields`",
        );
        check(
            r#"
[key."a:{x}"]
type = "hll"
value = "int"
"#,
            "KW0203 3:1 `value` is for string, int, float, decimal, flag, json, bytes [the type is hll]",
        );
        check(
            r#"
[key."a:{x}"]
type = "any"
fields = { n = "int" }
"#,
            "KW0203 3:1 `fields` is for json, hash, stream [the type is any]",
        );
    }
}
