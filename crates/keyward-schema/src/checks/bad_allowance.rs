//! KW0010: this cannot be allowed.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0010",
    level: Level::Error,
    title: "this cannot be allowed",
    why: "
`allow` silences warnings, each by its code, with the reason behind a colon:
who reads the schema later sees why the warning does not apply. Errors cannot
be allowed: a schema that has one means nothing definite.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
allow = ["KW0107"]
"#,
    right: r#"
[keyspace]
name = "shop"

[key."inbox:{id}"]
type = "list"
ttl = "none"
allow = ["KW0310: drained every minute"]
"#,
};

pub(crate) fn found(code: &str, at: Span) -> Diagnostic {
    match super::rule(code) {
        Some(rule) => RULE
            .at(at, "an error")
            .saying(format!("{code} is an error and cannot be allowed: {}", rule.title)),
        None => {
            let warnings = super::RULES.iter().filter(|rule| rule.level == Level::Warning);
            let codes = warnings.map(|rule| rule.code);
            RULE.at(at, "unknown").saying(format!("there is no diagnostic {code:?}")).maybe_help(
                nearest(code, codes).map(|near| format!("allow = [\"{near}: the reason\"]")),
            )
        }
    }
}

/// A warning that is silenced without a word.
pub(crate) fn without_reason(rule: &Rule, at: Span) -> Diagnostic {
    RULE.at(at, "no reason")
        .saying(format!("{} is allowed without a reason: {}", rule.code, rule.title))
        .help(format!("\"{}: why it does not apply\"", rule.code))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help, check_whole_file};

    #[test]
    fn an_allowance_has_a_reason() {
        for wrong in ["\"KW0310\"", "\"kw0310\"", "\"KW0310:\"", "\"KW0310: \""] {
            let schema = format!("[key.\"a:{{x}}\"]\ntype = \"list\"\nallow = [{wrong}]\n");
            check_help(&schema, wrong, "\"KW0310: why it does not apply\"");
        }
        check(
            r#"
[key."a:{x}"]
type = "list"
allow = ["KW0310"]
"#,
            r#"KW0010 3:10 KW0310 is allowed without a reason: a collection may live and grow for ever [no reason] | help: "KW0310: why it does not apply""#,
        );
    }

    #[test]
    fn only_known_warnings_can_be_allowed() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
allow = ["KW0107: no"]
"#,
            "KW0010 3:10 KW0107 is an error and cannot be allowed: two patterns accept the same keys [an error]",
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
allow = ["KW031: no"]
"#,
            r#"KW0010 3:10 there is no diagnostic "KW031" [unknown] | help: allow = ["KW0310: the reason"]"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
allow = ["everything"]
"#,
            r#"KW0010 3:10 there is no diagnostic "everything" [unknown]"#,
        );
        check_whole_file(
            r#"
[keyspace]
name = "x"
allow = ["KW0001", 3]
[key."a"]
type = "hash"
"#,
            r#"
KW0010 3:10 KW0001 is an error and cannot be allowed: the file is not valid TOML [an error]
KW0006 3:20 `allow` wants texts in quotes [this is a whole number]
"#,
        );
    }
}
