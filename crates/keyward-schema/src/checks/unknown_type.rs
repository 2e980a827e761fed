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
`bytes`, which are Redis strings, and `hash`, `list`, `set`, `zset`, `stream`
and `hll`.
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
const OTHER_NAMES: [(&str, &str); 8] = [
    ("sorted_set", "zset"),
    ("sorted set", "zset"),
    ("sortedset", "zset"),
    ("boolean", "flag"),
    ("bool", "flag"),
    ("integer", "int"),
    ("number", "float"),
    ("binary", "bytes"),
];

pub(crate) fn found(word: Located<&str>) -> Diagnostic {
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == word.value).map(|(_, name)| *name);
    let near = known.or_else(|| nearest(word.value, DataType::NAMES.iter().copied()));
    RULE.at(word.at, "unknown")
        .saying(format!(
            "there is no type {:?}; there are {}",
            word.value,
            DataType::NAMES.join(", ")
        ))
        .maybe_help(near.map(|near| format!("type = \"{near}\"")))
}
