//! KW0402: what must stay cannot be evicted.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::table::Located;
use crate::read::{KeyDraft, sink};
use crate::schema::Evict;

pub(crate) static RULE: Rule = Rule {
    code: "KW0402",
    level: Level::Error,
    title: "what must stay cannot be evicted",
    why: r#"
`ttl = "none"` says that a key lives until it is deleted, and a derived key
lists what its sources say, also one whose members `follow` them, and an archived
row must not be gone before it is in the archive, and a mirror would lose what is
evicted; none of these may go because memory is short. Drop `evict`, or give the key a lifetime.
"#,
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "none"
evict = "lru"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "7d"
evict = "lru"
"#,
};

pub(crate) fn found(draft: &KeyDraft<'_>, evict: Located<Evict>) -> Diagnostic {
    let found = RULE.at(evict.at, "may go");
    let found = match draft.table.entry("ttl") {
        _ if sink::is_of_rows(draft) => {
            let at = draft.table.entry("sink").map_or(draft.at, |sink| sink.name_at);
            found.see(at, "its rows are in a table")
        }
        Some(ttl) if !draft.is_related() => found.see(ttl.value.span().into(), "must stay"),
        _ => found.see(draft.at, "is derived"),
    };
    found.help("evict = \"never\"")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn what_is_archived_is_not_evicted_before() {
        let schema = |evict: &str| {
            format!(
                "[key.\"a:{{x}}\"]\ntype = 'hash'\nsink = {{ archive = 'a' }}\nttl = '1d'{evict}"
            )
        };
        check(&schema(""), "");
        check(&schema("\nevict = 'never'"), "");
        check(
            &schema("\nevict = 'lru'"),
            "KW0402 5:9 what must stay cannot be evicted [may go] | see 3:1 its rows are in a table | help: evict = \"never\"",
        );
    }

    #[test]
    fn what_must_stay_stays() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
ttl = "none"
evict = "lru"
"#,
            r#"evict = "lru""#,
            r#"evict = "never""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
[key."all"]
type = "set"
evict = "first"
members = { of = "u:{id}" }
"#,
            r#"KW0402 5:9 what must stay cannot be evicted [may go] | see 3:6 is derived | help: evict = "never""#,
        );
        check(
            r#"
[key."message:{id}"]
type = "hash"
ttl = "1h"
[key."recent"]
type = "set"
ttl = "1h"
evict = "ttl"
follows = "message:{member}"
"#,
            r#"KW0402 7:9 what must stay cannot be evicted [may go] | see 4:6 is derived | help: evict = "never""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
evict = "ttl"
[key."b:{x}"]
type = "hash"
ttl = "5m"
evict = "never"
"#,
            "",
        );
    }
}
