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

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn the_type_must_be_given_where_the_name_does_not_tell() {
        check_help(
            r#"
[key."cart:{id:uint}"]
type = "hash"
[key."cart:{id:uuid}"]
type = "hash"
[function.f]
keys = ["cart:{id}"]
"#,
            r#""cart:{id}""#,
            r#""cart:{id:uint}""#,
        );
        check(
            r#"
[key."c:{a:uint}"]
type = "hash"
[key."c:{b:uuid}"]
type = "hash"
[key."all"]
type = "set"
members = { of = "c:{x}" }
"#,
            r#"KW0515 7:18 more than one key is declared like `c:{x}` [looks like several] | see 1:6 could be meant | see 3:6 could be meant | help: give the types: of = "c:{x:uint}""#,
        );
        check(
            r#"
[key."c:{a:uint}"]
type = "hash"
[key."c:{b:uuid}"]
type = "hash"
[key."all"]
type = "set"
members = { of = "c:{b}" }
"#,
            "",
        );
    }
}
