//! KW0601: a function takes a key that no pattern matches.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::read::KeyDraft;
use crate::read::table::Located;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0601",
    level: Level::Error,
    title: "a function takes a key that no pattern matches",
    why: "
The keys of a function are keys of this schema, so that they can be checked
before it runs: each is written like one of the patterns, with names of its own
for the placeholders.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = "30d"
[function.redeem]
keys = ["coupons:{code}"]
"#,
    right: r#"
[keyspace]
name = "shop"

[key."coupon:{code}"]
type = "json"
ttl = "30d"
[function.redeem]
keys = ["coupon:{code}"]
"#,
};

pub(crate) fn found(template: Located<&str>, drafts: &[KeyDraft<'_>]) -> Diagnostic {
    let near = nearest(template.value, drafts.iter().map(|draft| draft.text));
    RULE.at(template.at, "matches no pattern")
        .saying(format!("no key is declared like `{}`", template.value))
        .maybe_help(near.map(text_form))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn keys_that_match_no_pattern() {
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[function.f]
keys = ["us:{id}"]
"#,
            r#""us:{id}""#,
            r#""u:{id}""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[function.f]
keys = ["something:else"]
"#,
            "KW0601 5:9 no key is declared like `something:else` [matches no pattern]",
        );
        check(
            r#"
[key."u:{id:uint}"]
type = "hash"
[function.f]
keys = ["u:john"]
"#,
            "KW0601 4:9 no key is declared like `u:john` [matches no pattern]",
        );
        check(
            r#"
[key."log:{r:rest}"]
type = "hash"
[function.f]
keys = ["log:a:b", "log:{r}..."]
"#,
            "",
        );
    }
}
