//! KW0513: a key is derived in two ways.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::table::Entry;

pub(crate) static RULE: Rule = Rule {
    code: "KW0513",
    level: Level::Error,
    title: "a key is derived in two ways",
    why: "
A key is at most one of `lookup`, `rank`, `members`, `inverse` and `follows`.
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
follows = "user:{member}"
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

pub(crate) fn found(first: Entry<'_>, second: Entry<'_>) -> Diagnostic {
    RULE.at(second.name_at, "the second")
        .saying(format!("a key cannot be both `{}` and `{}`", first.name, second.name))
        .see(first.name_at, "the first")
        .help("remove one of them")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn one_derivation_at_most() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}" }
follows = "u:{member}"
"#,
            "KW0513 7:1 a key cannot be both `members` and `follows` [the second] | see 6:1 the first | help: remove one of them",
        );
    }
}
