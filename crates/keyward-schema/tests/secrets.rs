//! What is declared secret appears in no refusal, at whatever depth it stands.

use keyward_schema::{Content, check};

/// The refusal of a value by the only key of a schema.
#[track_caller]
fn refusal(key: &str, value: &str) -> String {
    let file = format!("{key}\n[keyspace]\nname = \"test\"\n");
    let checked = check("test.toml", file.as_bytes());
    let schema = checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
    let found = match &schema.keys[0].content {
        Content::Json(shape) => shape.check_json(value.as_bytes()),
        Content::Value(shape) | Content::Items(shape) => shape.check(value.as_bytes()),
        Content::Fields(object) => object.check_hash_field(&[], b"pins", value.as_bytes()),
        other => panic!("{other:?}"),
    };
    found.expect_err("it does not fit").to_string()
}

#[test]
fn what_is_within_a_secret_is_secret() {
    let check = |key: &str, value: &str| {
        let told = refusal(key, value);
        assert!(!told.contains("hunter2"), "{told}");
    };
    let field = |shape: &str| format!("[key.a]\ntype = \"json\"\n[key.a.fields]\nf = {shape}\n");
    check(&field(r#"{ type = "uint", secret = true }"#), r#"{"f":"hunter2"}"#);
    check(&field(r#"{ type = "uint[]", secret = true }"#), r#"{"f":["hunter2"]}"#);
    check(&field(r#"{ type = "{string: uint}", secret = true }"#), r#"{"f":{"hunter2":"x"}}"#);
    check(&field(r#"{ type = "{uint: uint}", secret = true }"#), r#"{"f":{"hunter2":1}}"#);
    check(
        &field(r#"{ type = "object", secret = true, fields = { pin = "uint" } }"#),
        r#"{"f":{"pin":"hunter2"}}"#,
    );
    check(
        &field(r#"{ type = "object", secret = true, fields = {}, extra = "uint" }"#),
        r#"{"f":{"pin":"hunter2"}}"#,
    );
}

#[test]
fn a_secret_key_is_secret_throughout() {
    let check = |settings: &str, value: &str| {
        let told = refusal(&format!("[key.a]\nsecret = true\nttl = \"1h\"\n{settings}"), value);
        assert!(!told.contains("hunter2"), "{told}");
    };
    check("type = \"int\"", "hunter2");
    check("type = \"list\"\nitems = \"uint\"", "hunter2");
    check("type = \"hash\"\nfields = { pins = \"uint\" }", "hunter2");
    check("type = \"hash\"\nfields = { pins = \"uint[]\" }", "[\"hunter2\"]");
    check("type = \"json\"\nvalue = \"uint[][]\"", "[[\"hunter2\"]]");
}

#[test]
fn what_is_not_secret_is_shown() {
    assert!(refusal("[key.a]\ntype = \"int\"", "hunter2").contains("hunter2"));
}
