//! KW0508: a value could not stand in a key's name.

use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::{Kind, Placeholder};
use crate::read::KeyDraft;
use crate::shape::{Field, Shape, Type};
use crate::source::Span;

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
        Type::String | Type::Timestamp if placeholder.kind == Kind::Str => {
            "could hold a colon".to_owned()
        }
        _ => format!("is {}, and not always {}", shape.ty.in_words(), placeholder.kind.in_words()),
    };
    RULE.at(at, format!("`{{{name}}}` takes {}", placeholder.kind.in_words()))
        .saying(format!("`{subject}` of `{}` {why}", source.text))
        .see(field.map_or(source.at, |field| field.at), "declared here")
        .help(match placeholder.kind {
            Kind::Enum(_) => {
                format!("{subject} = \"{}\"", placeholder.kind.to_string().replace('|', " | "))
            }
            _ => format!("{subject} = \"{}\"", placeholder.kind),
        })
}
