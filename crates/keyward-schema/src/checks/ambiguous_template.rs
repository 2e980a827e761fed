//! KW0515: it is open which key is meant.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::read::table::Located;
use crate::source::Span;
use crate::toml_form::text_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0515",
    level: Level::Error,
    title: "it is open which key is meant",
    why: "
A reference to another key need not repeat the types of its placeholders. Where
several declared patterns look like it, and the names of the placeholders do not
tell them apart either, the type must be given.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."cart:{id:uint}"]
type = "hash"
ttl = "30d"
[key."cart:{id:uuid}"]
type = "hash"
ttl = "1d"
[key."cart:{id:uuid}:coupon"]
type = "string"
ttl = { with = "cart:{id}" }
"#,
    right: r#"
[keyspace]
name = "shop"

[key."cart:{id:uint}"]
type = "hash"
ttl = "30d"
[key."cart:{id:uuid}"]
type = "hash"
ttl = "1d"
[key."cart:{id:uuid}:coupon"]
type = "string"
ttl = { with = "cart:{id:uuid}" }
"#,
};

/// How many of the patterns are shown.
const MAX_SHOWN: usize = 4;

/// `exact` is the template as it would be written for one of the keys.
pub(crate) fn found(
    setting: &str,
    template: Located<&str>,
    exact: &str,
    places: impl Iterator<Item = Span>,
) -> Diagnostic {
    let exact = text_form(exact);
    let exact = if setting == "keys" { exact } else { format!("{setting} = {exact}") };
    let found = RULE
        .at(template.at, "looks like several")
        .saying(format!("more than one key is declared like `{}`", template.value))
        .help(format!("give the types: {exact}"));
    places.take(MAX_SHOWN).fold(found, |found, at| found.see(at, "could be meant"))
}
