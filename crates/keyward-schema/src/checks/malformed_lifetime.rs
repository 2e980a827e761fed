//! KW0301: the lifetime cannot be read.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::table::Located;
use crate::source::Span;
use crate::units::Duration;

pub(crate) static RULE: Rule = Rule {
    code: "KW0301",
    level: Level::Error,
    title: "the lifetime cannot be read",
    why: r#"
A lifetime is `"none"`, a duration, or a table of exactly one form:
`{ after = "30m" }` with `renew` or `excess`, where it is renewed also with
`max` and `from`; `{ by = "status", … }`,
`{ until = "expires_at" }`, `{ with = "coupon:{code}" }`, or
`{ given = true }` with `min`, `max`, `default`, `excess`.
"#,
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = { renew = "access" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
ttl = { after = "30m", renew = "access" }
"#,
};

pub(crate) fn found(forms: &[&str], at: Span) -> Diagnostic {
    let (message, label) = match forms {
        [] => (
            "a lifetime needs one of `after`, `by`, `until`, `with`, `given`".to_owned(),
            "none of them",
        ),
        several => {
            (format!("a lifetime has one form, not {}", several.join(" and ")), "several forms")
        }
    };
    RULE.at(at, label).saying(message).help("ttl = { after = \"30m\", renew = \"access\" }")
}

/// A setting of another form.
pub(crate) fn stray(name: &str, form: &str, at: Span) -> Diagnostic {
    RULE.at(at, "of another form")
        .saying(format!("`{name}` has no meaning beside `{form}`"))
        .help("remove it")
}

/// A most in all for what nothing renews.
pub(crate) fn without_renewal(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "nothing renews it")
        .saying(format!("`{name}` has a meaning beside `renew = \"write\"` or \"access\" only"))
        .help("ttl = { after = \"30m\", renew = \"access\", max = \"24h\", from = \"created_at\" }")
}

/// `max` without `from`, or the other way round.
pub(crate) fn half_a_total(name: &str, at: Span) -> Diagnostic {
    let other = if name == "max" { "from" } else { "max" };
    RULE.at(at, format!("without `{other}`"))
        .saying(format!("`{name}` needs `{other}`: how long in all, and since when"))
        .help("max = \"24h\", from = \"created_at\"")
}

/// `max` is not above `after`.
pub(crate) fn total_too_short(after: Located<Duration>, max: Located<Duration>) -> Diagnostic {
    RULE.at(max.at, "not above `after`")
        .saying(format!("`after` is {}, and `max` only {}", after.value, max.value))
        .see(after.at, "`after`")
        .help(format!("ttl = \"{}\"", max.value))
}

/// `given = false`.
pub(crate) fn not_given(at: Span) -> Diagnostic {
    RULE.at(at, "says nothing")
        .saying("`given` is either true or not there")
        .help("ttl = { given = true, max = \"1h\" }")
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::check;

    #[test]
    fn one_form_and_its_own_settings() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { }
"#,
            r#"KW0301 3:1 a lifetime needs one of `after`, `by`, `until`, `with`, `given` [none of them] | help: ttl = { after = "30m", renew = "access" }"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { after = "1h", until = "t" }
"#,
            r#"KW0301 3:1 a lifetime has one form, not after and until [several forms] | help: ttl = { after = "30m", renew = "access" }"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { after = "1h", max = "1h" }
"#,
            r#"KW0301 3:23 `max` has a meaning beside `renew = "write"` or "access" only [nothing renews it] | help: ttl = { after = "30m", renew = "access", max = "24h", from = "created_at" }"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { after = "1h", renew = "write", excess = "clamp" }
"#,
            "KW0301 3:40 `excess` has no meaning beside `renew` [of another form] | help: remove it",
        );
        check(
            r#"
[key."a:{x}"]
type = "string"
ttl = { given = false }
"#,
            r#"KW0301 3:17 `given` is either true or not there [says nothing] | help: ttl = { given = true, max = "1h" }"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
ttl = { renew = "access" }
"#,
            r#"KW0301 3:1 a lifetime needs one of `after`, `by`, `until`, `with`, `given` [none of them] | help: ttl = { after = "30m", renew = "access" }"#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { s = "open | done" }
ttl = { by = "s", open = "1h", done = "1h", after = "1h" }
"#,
            r#"KW0301 4:1 a lifetime has one form, not by and after [several forms] | help: ttl = { after = "30m", renew = "access" }"#,
        );
    }

    #[test]
    fn a_total_has_a_birth_and_is_longer_than_a_use() {
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { at = "timestamp" }
ttl = { after = "1h", renew = "write", max = "2h" }
"#,
            r#"KW0301 4:40 `max` needs `from`: how long in all, and since when [without `from`] | help: max = "24h", from = "created_at""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { at = "timestamp" }
ttl = { after = "2h", renew = "write", max = "2h", from = "at" }
"#,
            r#"KW0301 4:46 `after` is 2h, and `max` only 2h [not above `after`] | see 4:17 `after` | help: ttl = "2h""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { at = "string" }
ttl = { after = "1h", renew = "access", max = "2h", from = "at" }
"#,
            r#"KW0305 4:60 `from` needs a time, and `at` is text [not a time] | see 3:12 declared here | help: at = "timestamp""#,
        );
    }
}
