//! KW0507: the source has no such field.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::nearest::nearest;
use crate::pattern::Placeholder;
use crate::read::KeyDraft;
use crate::read::table::Located;
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0507",
    level: Level::Error,
    title: "the source has no such field",
    why: "
`field`, `by`, `when` and the placeholders that split a set name fields that
the source declares.
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

[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{user_id}", field = "e_mail" }
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

[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{user_id}", field = "email" }
"#,
};

pub(crate) fn found(name: Located<&str>, source: &KeyDraft<'_>) -> Diagnostic {
    RULE.at(name.at, "no such field")
        .saying(format!("`{}` has no field `{}`{}", source.text, name.value, known(source)))
        .see(source.at, "declared here")
        .maybe_help(near(name.value, source).map(|near| format!("write `{near}`")))
}

/// A placeholder of a split set that no field of the source gives a value.
pub(crate) fn for_placeholder(
    placeholder: &Placeholder,
    source: &KeyDraft<'_>,
    at: Span,
) -> Diagnostic {
    let name = &placeholder.name;
    RULE.at(at, format!("`{{{name}}}` is no field of the source"))
        .saying(format!("`{}` has no field `{name}` to split by{}", source.text, known(source)))
        .see(source.at, "declared here")
        .maybe_help(near(name, source).map(|near| format!("write {{{near}}}")))
}

fn near<'d>(name: &str, source: &'d KeyDraft<'_>) -> Option<&'d str> {
    nearest(name, source.object()?.fields.iter().map(|field| &*field.name))
}

fn known(source: &KeyDraft<'_>) -> String {
    match source.object().filter(|object| !object.fields.is_empty()) {
        Some(object) => {
            let names: Vec<&str> = object.fields.iter().map(|field| &*field.name).collect();
            format!("; it has {}", names.join(", "))
        }
        None => "; it declares none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn the_nearest_field_is_offered() {
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { email = "str" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "emial" }
"#,
            "emial",
            "email",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
[key."top"]
type = "zset"
rank = { of = "u:{id}", by = "n" }
"#,
            "KW0507 5:30 `u:{id}` has no field `n`; it declares none [no such field] | see 1:6 declared here",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { plan = "a | b" }
[key."all:{paln:a|b}"]
type = "set"
members = { of = "u:{id}" }
"#,
            "KW0507 4:6 `u:{id}` has no field `paln` to split by; it has plan [`{paln}` is no field of the source] | see 1:6 declared here | help: write {plan}",
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "str", n = "uint", s = "on | off", t = "timestamp?", j = "json?", free = "string?" }
[key."all"]
type = "set"
members = { of = "u:{id}", when = "{id} = 7" }
"#,
            "KW0507 6:35 `u:{id}` has no field `{id}`; it has e, n, s, t, j, free [no such field] | see 1:6 declared here",
        );
    }

    #[test]
    fn a_field_that_could_not_be_read_is_not_missed() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "strng" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
[key."all:{e}"]
type = "set"
members = { of = "u:{id}" }
[key."w:{id}"]
type = "string"
lookup = { of = "u:{z}" }
"#,
            r#"KW0202 3:17 there is no type `strng` [here] | help: "string""#,
        );
    }
}
