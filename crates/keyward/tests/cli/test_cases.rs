use insta::assert_snapshot;

use crate::run::Folder;

const SCHEMA: &str = r#"[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl  = "none"
[key."user:{id:uint}".fields]
age = "uint"

[key."page:{path}"]
type = "string"
ttl  = "5m"
"#;

const CASES: &str = r#"["user:{id:uint}"]
keys       = ["user:42"]
not_keys   = { "user:abc" = "an id is a number" }
values     = [{ age = 30 }]
not_values = [{ value = { age = -1 }, because = "age must be" }]
"#;

fn folder() -> Folder {
    let wrong = CASES.replace("user:42", "page:42").replace("age = 30", "age = \"old\"");
    Folder::new(&[("shop.toml", SCHEMA), ("cases.toml", CASES), ("wrong.toml", &wrong)])
}

#[test]
fn cases_that_hold_are_counted() {
    let told = folder().run(&["test", "shop.toml", "cases.toml"]);
    assert_eq!(told, "exit 0\n--- stderr\n4 cases of 1 of 2 patterns, none failed\n");
}

#[test]
fn cases_that_fail_are_told_with_their_lines() {
    assert_snapshot!(folder().run(&["test", "shop.toml", "wrong.toml"]));
    assert_snapshot!(folder().run(&["test", "--format", "json", "shop.toml", "wrong.toml"]));
}

#[test]
fn a_pattern_without_cases_fails_only_where_all_are_asked_for() {
    let told = folder().run(&["test", "--complete", "shop.toml", "cases.toml"]);
    let expected = "exit 1\n--- stdout\ncases.toml: page:{path}: no cases\n--- stderr\n\
                    4 cases of 1 of 2 patterns, none failed\n";
    assert_eq!(told, expected);
}

#[test]
fn what_cannot_be_read_is_neither_right_nor_wrong() {
    let folder = folder();
    folder.write("bad.toml", b"keys = [\n");
    folder.write("bytes.toml", b"\xff\xfe");
    for cases in ["missing.toml", "bytes.toml", "bad.toml"] {
        let told = folder.run(&["test", "shop.toml", cases]);
        assert!(told.starts_with("exit 2\n"), "{cases}: {told}");
    }
    let told = folder.run(&["test", "shop.toml", "bad.toml"]);
    assert!(told.contains("bad.toml:1:9: "), "{told}");
}
