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
