//! KW0011: nothing here needs to be allowed.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0011",
    level: Level::Warning,
    title: "nothing here needs to be allowed",
    why: "
The warning that this `allow` silences does not occur. Either it was mended,
and the entry can go, or the entry names another code than was meant.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "30m"
allow = ["KW0310: small"]
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = "30m"
"#,
};

pub(crate) fn found(code: &str, at: Span) -> Diagnostic {
    RULE.at(at, "not needed").saying(format!("{code} does not occur here")).help("remove it")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_whole_file};

    #[test]
    fn what_silences_nothing_is_told() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = "5m"
allow = ["kw0310: small"]
"#,
            "KW0011 4:10 KW0310 does not occur here [not needed] | help: remove it",
        );
        check_whole_file(
            r#"
[keyspace]
name = "x"
allow = ["KW0109: x", "KW0310: all of them"]
[key."a"]
type = "list"
[key."b"]
type = "set"
"#,
            "KW0011 3:10 KW0109 does not occur here [not needed] | help: remove it",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
allow = ["KW0310: kept for later", "KW0011: it comes back"]
"#,
            "",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
allow = ["KW0011: for nothing"]
"#,
            "KW0011 3:10 KW0011 does not occur here [not needed] | help: remove it",
        );
    }
}
