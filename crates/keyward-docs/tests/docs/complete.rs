//! Nothing of a schema is missing from its document.

use std::path::Path;

use keyward_docs::{html, markdown};
use keyward_schema::{Content, Extra, Object, Schema, Shape, Type};

use crate::{SHOP, schema};

#[test]
fn everything_declared_is_in_both_forms() {
    let shop = schema("shop.toml", SHOP);
    assert_complete("shop", &shop);
}

/// The systems of the repository, each by itself and all on one page.
#[test]
fn the_systems_are_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let mut schemas = Vec::new();
    for entry in std::fs::read_dir(&root).expect("the repository has systems") {
        let path = entry.expect("a readable folder").path().join("keyward.toml");
        if let Ok(text) = std::fs::read_to_string(&path) {
            schemas.push(schema(&path.display().to_string(), &text));
        }
    }
    assert!(!schemas.is_empty(), "no system has a schema");
    for schema in &schemas {
        assert_complete(&schema.keyspace.name, schema);
    }
    let all: Vec<&Schema> = schemas.iter().collect();
    let (text, page) = (markdown(&all), html(&all));
    for schema in &schemas {
        for name in names(schema) {
            assert!(text.contains(&in_markdown(&name)), "{name}");
            assert!(page.contains(&in_html(&name)), "{name}");
        }
    }
}

/// The document of api-billing puts 500,000 transactions at 150 MB; a Redis with them, each
/// twice, was measured to take 277 MB in all.
#[test]
fn the_estimate_of_api_billing_is_near_its_document_and_what_was_measured() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems/api-billing");
    let text = std::fs::read_to_string(root.join("keyward.toml")).expect("the system is there");
    let document = markdown(&[&schema("api-billing", &text)]);
    // The document's own table says "~250 MB", which is no number.
    let megabytes = |row: &str| -> f64 {
        let of_line = |line: &str| {
            let cell = line.trim_end_matches([' ', '|', '*']).rsplit('|').next()?;
            cell.trim_matches([' ', '*']).strip_suffix(" MB")?.parse().ok()
        };
        let mut lines = document.lines().filter(|line| line.starts_with(row));
        lines.find_map(of_line).expect("a row of the estimate")
    };
    let transactions = megabytes("| [`transactions:{user_id:uint}`]");
    assert!((110.0..190.0).contains(&transactions), "{transactions} MB");
    let total = megabytes("| **Total**");
    assert!((250.0..305.0).contains(&total), "{total} MB");
}

fn assert_complete(name: &str, schema: &Schema) {
    let (text, page) = (markdown(&[schema]), html(&[schema]));
    for wanted in names(schema) {
        assert!(text.contains(&in_markdown(&wanted)), "{name}: Markdown lacks {wanted}");
        assert!(page.contains(&in_html(&wanted)), "{name}: HTML lacks {wanted}");
    }
    for note in &schema.notes {
        let title: String =
            note.title.chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
        let word = title.split_whitespace().next().expect("a title");
        assert!(
            text.lines().any(|line| line.starts_with("## ") && line.contains(word)),
            "{name}: {title}"
        );
        let first = note.text.lines().find(|line| line.starts_with(char::is_alphabetic));
        if let Some(line) = first {
            assert!(text.contains(line), "{name}: the note {title} is not there: {line}");
        }
    }
}

/// What must be found as code: patterns, fields, functions, arguments, errors.
fn names(schema: &Schema) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for key in &schema.keys {
        names.push(key.pattern.text().to_owned());
        names.extend(
            key.pattern.placeholders().iter().map(|placeholder| placeholder.name.to_string()),
        );
        names.extend(key.allowed.iter().map(|allowance| allowance.code.to_string()));
        match &key.content {
            Content::Fields(object) => push_fields(&mut names, "", object),
            Content::Json(shape) | Content::Items(shape) => push_shape(&mut names, "", shape),
            _ => {}
        }
    }
    for function in &schema.functions {
        names.push(function.name.to_string());
        names.extend(function.args.iter().map(|argument| argument.name.to_string()));
        names.extend(function.errors.iter().map(|(code, _)| code.to_string()));
        if let Some(reply) = &function.reply {
            push_shape(&mut names, "", reply);
        }
    }
    names
}

fn push_fields(names: &mut Vec<String>, path: &str, object: &Object) {
    for field in &object.fields {
        let name = format!("{path}{}", field.name);
        push_shape(names, &name, &field.shape);
        names.push(name);
    }
    if let Extra::Typed(shape) = &object.extra {
        push_shape(names, &format!("{path}*"), shape);
    }
}

fn push_shape(names: &mut Vec<String>, path: &str, shape: &Shape) {
    match &shape.ty {
        Type::Object(object) if path.is_empty() => push_fields(names, "", object),
        Type::Object(object) => push_fields(names, &format!("{path}."), object),
        // The fields of a value's own items stand without a path.
        Type::Array(item) if path.is_empty() => push_shape(names, "", item),
        Type::Array(item) => push_shape(names, &format!("{path}[]"), item),
        Type::Map { value, .. } if path.is_empty() => push_shape(names, "", value),
        Type::Map { value, .. } => push_shape(names, &format!("{path}.*"), value),
        _ => {}
    }
}

fn in_markdown(name: &str) -> String {
    format!("`{}`", name.replace('|', "\\|")).replace("\\|", "|")
}

/// As code, with the places where it may be broken.
fn in_html(name: &str) -> String {
    let mut depth = 0;
    let mut html = String::from("<code>");
    for c in name.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        html.push(c);
        if c == ':' && depth == 0 {
            html.push_str("<wbr>");
        }
    }
    html + "</code>"
}
