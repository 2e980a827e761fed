//! KW0508: a value could not stand in a key's name.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::{Kind, Placeholder};
use crate::read::KeyDraft;
use crate::schema::shape_of_kind;
use crate::shape::{Field, Shape, Type};
use crate::source::Span;
use crate::toml_form::name_form;

pub(crate) static RULE: Rule = Rule {
    code: "KW0508",
    level: Level::Error,
    title: "a value could not stand in a key's name",
    why: "
The value of the field becomes a segment of the derived key's name. So each
value that the field accepts must be one that the placeholder accepts: not
empty, and without a colon unless the placeholder is `rest`. `string` may be
anything; `str` is text without a colon.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{user_id}"]
type = "hash"
[key."user:{user_id}".fields]
email = "string"
[key."by_email:{email}"]
type = "string"
lookup = { of = "user:{user_id}", field = "email" }
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

pub(crate) fn found(
    shape: &Shape,
    field: Option<&Field>,
    placeholder: &Placeholder,
    source: &KeyDraft<'_>,
    at: Span,
) -> Diagnostic {
    let name = &placeholder.name;
    let subject = field.map_or("value", |field| &*field.name);
    let why = match shape.ty {
        _ if shape.nullable => "could be null".to_owned(),
        Type::String | Type::Timestamp if placeholder.kind == Kind::Str => {
            "could hold a colon".to_owned()
        }
        Type::String if placeholder.kind == Kind::Rest => "could be empty".to_owned(),
        _ => format!("is {}, and not always {}", shape.ty.in_words(), placeholder.kind.in_words()),
    };
    let optional = field.is_some_and(|field| !field.required);
    let wanted = match placeholder.kind {
        Kind::Rest => "{ type = \"string\", len = \"1..\" }".to_owned(),
        ref kind => {
            format!("\"{}{}\"", shape_of_kind(kind), if optional { "?" } else { "" })
        }
    };
    RULE.at(at, format!("`{{{name}}}` takes {}", placeholder.kind.in_words()))
        .saying(format!("`{subject}` of `{}` {why}", source.text))
        .see(field.map_or(source.at, |field| field.at), "declared here")
        .help(format!("{} = {wanted}", name_form(subject)))
}

/// Items of a set that could not stand where they name a key.
pub(crate) fn items(items: &Shape, slot: &Placeholder, slot_at: Span, at: Span) -> Diagnostic {
    let words = slot.kind.in_words();
    RULE.at(at, format!("`{{{}}}` takes {words}", slot.name))
        .saying(format!("an item is {}, and not always {words}", items.ty.in_words()))
        .see(slot_at, "what it names")
        .help(format!("items = \"{}\"", shape_of_kind(&slot.kind)))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn a_field_that_could_hold_a_colon() {
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "string" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
"#,
            r#"KW0508 4:6 `e` of `u:{id}` could hold a colon [`{e}` takes anything without a colon] | see 3:12 declared here | help: e = "str""#,
        );
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "string?" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
"#,
            r#"e = "string?""#,
            r#"e = "str?""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "hash"
fields = { e = "timestamp" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
"#,
            r#"KW0508 4:6 `e` of `u:{id}` could hold a colon [`{e}` takes anything without a colon] | see 3:12 declared here | help: e = "str""#,
        );
        check(
            r#"
[key."u:{id}"]
type = "json"
fields = { e = "str | null" }
[key."by:{e}"]
type = "string"
lookup = { of = "u:{id}", field = "e" }
"#,
            r#"KW0508 4:6 `e` of `u:{id}` could be null [`{e}` takes anything without a colon] | see 3:12 declared here | help: e = "str""#,
        );
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { p = "string" }
[key."all:{p:a|b}"]
type = "set"
members = { of = "u:{id}" }
"#,
            r#"p = "string""#,
            r#"p = "a | b""#,
        );
        check_help(
            r#"
[key."u:{id}"]
type = "hash"
fields = { p = "string" }
[key."by:{p:rest}"]
type = "string"
lookup = { of = "u:{id}", field = "p" }
"#,
            r#"p = "string""#,
            r#"p = { type = "string", len = "1.." }"#,
        );
        check(
            r#"
[key."u:{id}"]
type = "string"
[key."by:{v}"]
type = "string"
lookup = { of = "u:{id}" }
"#,
            r#"KW0508 3:6 `value` of `u:{id}` could hold a colon [`{v}` takes anything without a colon] | see 1:6 declared here | help: value = "str""#,
        );
    }

    #[test]
    fn items_that_could_name_no_key() {
        check_help(
            r#"
[key."m:{id:uint}"]
type = "hash"
[key."recent"]
type = "set"
ttl = "1h"
items = "string"
follows = "m:{member}"
"#,
            r#"items = "string""#,
            r#"items = "uint""#,
        );
        check_help(
            r#"
[key."f:{id:uint}"]
type = "set"
max_members = 5
inverse = "g:{member}"
items = "uuid"
[key."g:{id:uint}"]
type = "set"
max_members = 5
"#,
            r#"items = "uuid""#,
            r#"items = "uint""#,
        );
        check_help(
            r#"
[key."f:{id:uint}"]
type = "set"
max_members = 5
inverse = "g:{member}"
[key."g:{id:uint}"]
type = "set"
max_members = 5
items = "uuid"
"#,
            r#"items = "uuid""#,
            r#"items = "uint""#,
        );
        check(
            r#"
[key."f:{id:uint}"]
type = "set"
max_members = 5
items = "uint"
inverse = "g:{member}"
[key."g:{id:uint}"]
type = "set"
max_members = 5
items = "uint"
inverse = "f:{member}"
"#,
            "",
        );
    }
}
