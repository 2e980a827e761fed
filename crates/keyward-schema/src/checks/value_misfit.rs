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
