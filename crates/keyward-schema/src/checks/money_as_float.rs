//! KW0207: money is kept as a float.

use super::warnings::Warnings;
use crate::diagnostic::{Diagnostic, Level, Rule};
use crate::pattern::Element;
use crate::read::KeyDraft;
use crate::schema::{Content, DataType};
use crate::shape::{Field, Object, Shape, Type};
use crate::source::Span;
use crate::toml_form::name_form;

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

pub(crate) fn check(drafts: &[KeyDraft<'_>], warnings: &mut Warnings<'_>) {
    for (owner, draft) in drafts.iter().enumerate() {
        if let (Some(DataType::Float), Some(name)) = (draft.data, last_literal(draft))
            && speaks_of_money(name)
        {
            let at = draft.table.entry("type").map_or(draft.at, |entry| entry.value.span().into());
            warnings.push_with(owner, &RULE, || found(name, at).help("type = \"decimal\""));
        }
        let mut fields = Vec::new();
        match draft.content.as_ref().map(|draft| &draft.content) {
            Some(Content::Fields(object) | Content::Entries(object)) => {
                collect_object(object, &mut fields);
            }
            Some(Content::Json(shape) | Content::Value(shape) | Content::Items(shape)) => {
                collect_shape(shape, &mut fields);
            }
            _ => {}
        }
        for field in fields {
            warnings.push_with(owner, &RULE, || {
                found(&field.name, field.at).help(written_as_decimal(field))
            });
        }
    }
}

fn last_literal<'d>(draft: &'d KeyDraft<'_>) -> Option<&'d str> {
    draft.pattern.as_ref()?.elements().iter().rev().find_map(|element| match element {
        Element::Literal(literal) => literal.split(':').rfind(|word| !word.is_empty()),
        Element::Placeholder(_) => None,
    })
}

/// The fields of an object, at any depth, that keep money as a float.
fn collect_object<'s>(object: &'s Object, found: &mut Vec<&'s Field>) {
    for field in &object.fields {
        if field.shape.ty == Type::Float && speaks_of_money(&field.name) {
            found.push(field);
        }
        collect_shape(&field.shape, found);
    }
}

fn collect_shape<'s>(shape: &'s Shape, found: &mut Vec<&'s Field>) {
    match &shape.ty {
        Type::Object(object) => collect_object(object, found),
        Type::Array(item) | Type::Map { value: item, .. } => collect_shape(item, found),
        _ => {}
    }
}

fn speaks_of_money(name: &str) -> bool {
    name.to_ascii_lowercase().split(['_', '-', '.']).any(|word| MONEY_WORDS.contains(&word))
}

fn found(name: &str, at: Span) -> Diagnostic {
    RULE.at(at, "a float").saying(format!("`{name}` looks like money and is a float"))
}

fn written_as_decimal(field: &Field) -> String {
    let shape = Shape { ty: Type::Decimal { scale: None }, ..field.shape.clone() };
    let optional = if field.required { "" } else { "?" };
    format!("{} = \"{shape}{optional}\"", name_form(&field.name))
}

#[cfg(test)]
mod tests {
    use crate::checks::testing::{check, check_help};

    #[test]
    fn money_in_any_place() {
        check_help(
            r#"
[key."a:{x}"]
type = "hash"
fields = { balance_usd = "float?" }
"#,
            r#"balance_usd = "float?""#,
            r#"balance_usd = "decimal?""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "json"
value = { type = "object[]", fields = { lines = { fee = "float | null" } } }
"#,
            r#"KW0207 3:51 `fee` looks like money and is a float [a float] | help: fee = "decimal | null""#,
        );
        check(
            r#"
[key."user:{x}:balance"]
type = "float"
"#,
            r#"KW0207 2:8 `balance` looks like money and is a float [a float] | help: type = "decimal""#,
        );
        check(
            r#"
[key."a:{x}"]
type = "hash"
fields = { coffee = "float", fee = "decimal", balance_sheet = "string" }
"#,
            "",
        );
    }
}
