//! KW0207: money is kept as a float.

use crate::diagnostic::{Diagnostic, Level, Report, Rule};
use crate::pattern::Segment;
use crate::read::KeyDraft;
use crate::schema::{Content, DataType};
use crate::shape::{Object, Shape, Type};
use crate::source::Span;

pub(crate) static RULE: Rule = Rule {
    code: "KW0207",
    level: Level::Warning,
    title: "money is kept as a float",
    why: "
Floats round: 0.1 + 0.2 is 0.30000000000000004, and HINCRBYFLOAT adds such
errors up. `decimal` is exact at any size and costs no more.
",
    wrong: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{id}".fields]
balance_usd = "float"
"#,
    right: r#"
[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"
[key."user:{id}".fields]
balance_usd = "decimal"
"#,
};

/// Words in the name of a field that speak of money.
const MONEY_WORDS: [&str; 10] =
    ["balance", "amount", "usd", "eur", "gbp", "cost", "fee", "payment", "salary", "refund"];

pub(crate) fn check(drafts: &[KeyDraft<'_>], report: &mut Report) {
    for draft in drafts {
        let last_literal = draft.pattern.as_ref().and_then(|pattern| {
            pattern.segments().iter().rev().find_map(|segment| match segment {
                Segment::Literal(literal) => Some(literal),
                Segment::Placeholder(_) => None,
            })
        });
        if let (Some(DataType::Float), Some(name)) = (draft.data, last_literal)
            && speaks_of_money(name)
        {
            let at = draft.table.entry("type").map_or(draft.at, |entry| entry.value.span().into());
            report.push(found(name, at).help("type = \"decimal\""));
        }
        if let Some(content) = &draft.content {
            check_content(&content.content, report);
        }
    }
}

fn check_content(content: &Content, report: &mut Report) {
    match content {
        Content::Fields(object) => check_object(object, report),
        Content::Json(shape) | Content::Value(shape) | Content::Items(shape) => {
            check_shape(shape, report);
        }
        Content::Scored { .. } | Content::Opaque => {}
    }
}

fn check_object(object: &Object, report: &mut Report) {
    for field in &object.fields {
        if field.shape.ty == Type::Float && speaks_of_money(&field.name) {
            report.push(found(&field.name, field.at).help(format!("{} = \"decimal\"", field.name)));
        }
        check_shape(&field.shape, report);
    }
}

fn check_shape(shape: &Shape, report: &mut Report) {
    match &shape.ty {
        Type::Object(object) => check_object(object, report),
        Type::Array(item) | Type::Map { value: item, .. } => check_shape(item, report),
        _ => {}
    }
}

fn speaks_of_money(name: &str) -> bool {
    name.to_ascii_lowercase().split(['_', '-', '.']).any(|word| MONEY_WORDS.contains(&word))
}

fn found(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "a float").saying(format!("`{name}` looks like money and is a float"))
}
