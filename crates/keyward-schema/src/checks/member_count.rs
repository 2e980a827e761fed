//! KW0503: a derived key needs exactly one member.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Pattern;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0503",
    level: Level::Error,
    title: "a derived key needs exactly one member",
    why: "
The members of a derived key are the values of the one placeholder of its
source that the derived key does not have itself. With none there is nothing
to list; with two it is unclear which is meant.
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

[key."active:{user_id}"]
type = "set"
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

pub(crate) fn found(setting: &str, free: &[&str], own: &Pattern, at: Span) -> Diagnostic {
    let message = match free {
        [] => {
            format!("`{own}` has every placeholder of its source, so none is left to be the member")
        }
        several => {
            let names: Vec<String> = several.iter().map(|name| format!("{{{name}}}")).collect();
            format!("either of {} could be the member", names.join(", "))
        }
    };
    let help = match free {
        [] if setting == "inverse" || setting == "follows" => "call the member {member}",
        [] => "drop one placeholder from the derived key",
        _ => "add the others to the derived key",
    };
    RULE.at(at, "the source").saying(message).help(help)
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn exactly_one_member() {
        check(
            r#"
[key."u:{a}:{b}"]
type = "hash"
[key."all"]
type = "set"
members = { of = "u:{a}:{b}" }
"#,
            "KW0503 5:18 either of {a}, {b} could be the member [the source] | see 3:6 this key | help: add the others to the derived key",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all:{id}"]
type = "set"
members = { of = "u:{id}" }
"#,
            "KW0503 6:18 `all:{id}` has every placeholder of its source, so none is left to be the member [the source] | see 4:6 this key | help: drop one placeholder from the derived key",
        );
        check(
            r#"
[key."f:{id}"]
type = "set"
max_members = 5
inverse = "g:{id}"
[key."g:{id}"]
type = "set"
max_members = 5
"#,
            "KW0503 4:11 `f:{id}` has every placeholder of its source, so none is left to be the member [the source] | see 1:6 this key | help: call the member {member}",
        );
        check(
            r#"
[key."u:{a}:{b}"]
type = "hash"
[key."all:{a}"]
type = "set"
members = { of = "u:{a}:{b}" }
"#,
            "",
        );
    }
}
