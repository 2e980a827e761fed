//! KW0201: there is no such type of key.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::table::Located;
use crate::schema::DataType;

pub(crate) static RULE: Rule = Rule {
    code: "KW0201",
    level: Level::Error,
    title: "there is no such type of key",
    why: "
The types of keys are `string`, `int`, `float`, `decimal`, `flag`, `json` and
`bytes`, which are Redis strings, `hash`, `list`, `set`, `zset`, `stream` and
`hll`, and `any` for keys that hold whatever their writer likes.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hsah"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
"#,
};

/// What people call the types elsewhere.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("sorted_set", "zset"),
    ("sorted set", "zset"),
    ("sortedset", "zset"),
    ("leaderboard", "zset"),
    ("str", "string"),
    ("text", "string"),
    ("varchar", "string"),
    ("boolean", "flag"),
    ("bool", "flag"),
    ("integer", "int"),
    ("counter", "int"),
    ("long", "int"),
    ("number", "float"),
    ("double", "float"),
    ("money", "decimal"),
    ("numeric", "decimal"),
    ("binary", "bytes"),
    ("blob", "bytes"),
    ("bitmap", "bytes"),
    ("object", "hash"),
    ("map", "hash"),
    ("dict", "hash"),
    ("hashmap", "hash"),
    ("queue", "list"),
    ("array", "list"),
    ("stack", "list"),
    ("log", "stream"),
    ("hyperloglog", "hll"),
];

pub(crate) fn found(word: Located<&str>) -> Diagnostic {
    let lower = word.value.trim().to_ascii_lowercase();
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == lower).map(|(_, name)| *name);
    let near = known.or_else(|| nearest(word.value, DataType::NAMES.iter().copied()));
    RULE.at(word.at, "unknown")
        .saying(format!(
            "there is no type {:?}; there are {}",
            word.value,
            DataType::NAMES.join(", ")
        ))
        .maybe_help(near.map(|near| format!("type = \"{near}\"")))
}

#[cfg(test)]
mod tests {
    use super::OTHER_NAMES;
    use crate::checks::testing::{check, check_help};

    #[test]
    fn every_usual_name_leads_to_a_type() {
        for (other, ours) in OTHER_NAMES {
            let (wrong, right) = (format!("type = \"{other}\""), format!("type = \"{ours}\""));
            check_help(&format!("[key.\"a:{{x}}\"]\n{wrong}\nttl = \"1h\"\n"), &wrong, &right);
        }
    }

    #[test]
    fn the_nearest_type_or_the_usual_name_is_offered() {
        check_help(
            r#"
[key."a:{x}"]
type = "hsah"
"#,
            r#"type = "hsah""#,
            r#"type = "hash""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "sorted_set"
"#,
            r#"KW0201 2:8 there is no type "sorted_set"; there are string, int, float, decimal, flag, json, bytes, hash, list, set, zset, stream, hll, any [unknown] | help: type = "zset""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "bool"
"#,
            r#"KW0201 2:8 there is no type "bool"; there are string, int, float, decimal, flag, json, bytes, hash, list, set, zset, stream, hll, any [unknown] | help: type = "flag""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "document"
"#,
            r#"KW0201 2:8 there is no type "document"; there are string, int, float, decimal, flag, json, bytes, hash, list, set, zset, stream, hll, any [unknown]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = 5
"#,
            "KW0006 2:8 `type` wants a text in quotes [this is a whole number]",
        );
    }
}
