//! KW0514: the source decides this.

use crate::diagnostic::{Level, Report, Rule};
use crate::lifetime::Lifetime;
use crate::read::KeyDraft;

pub(crate) static RULE: Rule = Rule {
    code: "KW0514",
    level: Level::Error,
    title: "the source decides this",
    why: "
What a derived key holds, how long it lives and how large it grows follow from
its source. It has no lifetime but `none`, no bound and, unless it is a
mirrored set, no shape of its own.
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
ttl = "1h"
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

/// Settings that a derived key does not take.
const FOREIGN: [&str; 7] =
    ["value", "items", "score", "max_len", "max_members", "max_size", "compress"];

pub(crate) fn check(draft: &KeyDraft<'_>, lifetime: Option<&Lifetime>, report: &mut Report) {
    let is_computed = |name: &str| draft.table.entry(name).is_some();
    let is_mirror = !["lookup", "rank", "members"].into_iter().any(is_computed);
    if !matches!(lifetime, None | Some(Lifetime::Free | Lifetime::Forever))
        && let Some(entry) = draft.table.entry("ttl")
    {
        report.push(
            RULE.at(entry.value.span().into(), "not its own")
                .saying("a derived key lives as long as its source says")
                .see(draft.at, "derived")
                .help("remove `ttl`"),
        );
    }
    for name in FOREIGN {
        // Both sides of a mirror are written by clients.
        if is_mirror && matches!(name, "items" | "max_members") {
            continue;
        }
        if let Some(entry) = draft.table.entry(name) {
            report.push(
                RULE.at(entry.name_at, "not its own")
                    .saying(format!("`{name}` of a derived key follows from its source"))
                    .see(draft.at, "derived")
                    .help(format!("remove `{name}`")),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn the_source_decides() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}" }
ttl = "5m"
"#,
            "KW0514 7:7 a derived key lives as long as its source says [not its own] | see 4:6 derived | help: remove `ttl`",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}" }
max_members = 3
items = "int"
"#,
            r#"
KW0514 7:1 `max_members` of a derived key follows from its source [not its own] | see 4:6 derived | help: remove `max_members`
KW0514 8:1 `items` of a derived key follows from its source [not its own] | see 4:6 derived | help: remove `items`
"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}" }
ttl = "none"
"#,
            "",
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
ttl = "5m"
"#,
            "KW0514 8:7 a derived key lives as long as its source says [not its own] | see 5:6 derived | help: remove `ttl`",
        );
    }
}
