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
fn cases_beside_the_schema_need_no_name() {
    let folder = folder();
    let holds = "exit 0\n--- stderr\n4 cases of 1 of 2 patterns, none failed\n";
    assert_eq!(folder.run(&["test", "shop.toml"]), holds);
    folder.write("keyward.toml", SCHEMA.as_bytes());
    assert_eq!(folder.run(&["test", "."]), holds);
    let told = folder.run(&["test", "--complete", "."]);
    assert!(told.contains("./cases.toml: page:{path}: no cases"), "{told}");
    assert!(Folder::new(&[("keyward.toml", SCHEMA)]).run(&["test", "."]).starts_with("exit 2\n"));
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
                    4 cases of 1 of 2 patterns, none failed, but 1 pattern has no cases \
                    (--complete)\n";
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

/// Sizes, members, items, `same`, `check` and `any` are judged as a server does, which says so.
#[test]
fn values_are_judged_by_what_a_server_says_of_writing_them() {
    let schema = r#"[keyspace]
name = "shop"
mode = "warn"

[key."page:{path}"]
type     = "string"
ttl      = { given = true, max = "1h" }
max_size = "8"

[key."tags:{id}"]
type        = "set"
ttl         = "1h"
max_members = 2

[key."last:{id}"]
type    = "list"
ttl     = "1h"
max_len = 2

[key."top:{id}"]
type        = "zset"
ttl         = "1h"
max_members = 2

[key."user:{id:uint}"]
type   = "hash"
ttl    = "none"
fields = { id = { type = "uint", same = "{id}" }, low = "int", high = "int" }
check  = ["low <= high"]

[key."note:{id:uint}"]
type = "string"
ttl  = { with = "user:{id}" }

[key."ids"]
type    = "set"
members = { of = "user:{id}" }

[key."blob:{id}"]
type = "any"

[key."seen:{id}"]
type = "hll"
"#;
    let cases = r#"["page:{path}"]
values     = ["12345678"]
not_values = [{ value = "123456789", because = "(max_size)" }]
["tags:{id}"]
values     = [["a", "b", "b"]]
not_values = [{ value = ["a", "b", "c"], because = "(max_members)" }]
["last:{id}"]
values     = [["a", "b"]]
not_values = [{ value = ["a", "b", "c"], because = "of which 2 are kept" }]
["top:{id}"]
values     = [{ a = 1, b = 2 }]
not_values = [{ value = { a = 1, b = 2, c = 3 }, because = "of which 2 are kept" }]
["user:{id:uint}"]
keys       = ["user:7", "user:8"]
values     = [{ id = 7, low = 1, high = 2 }, { id = 8, low = 1, high = 1 }]
not_values = [{ value = { id = 9, low = 1, high = 2 }, because = "id must" },
              { value = { id = 7, low = 3, high = 2 }, because = "low" },
              { value = { id = 7, low = 3 }, because = "high" },
              { value = { }, because = "required" }]
["note:{id:uint}"]
values     = ["x"]
["ids"]
values     = [[1, 2]]
not_values = [{ value = ["x"], because = "whole number" }]
["blob:{id}"]
values     = ["x", 7, [1, 2], { a = 1 }]
["seen:{id}"]
values     = [["a", "b"]]
not_values = [{ value = "x", because = "HyperLogLog" }]
"#;
    let folder = Folder::new(&[("shop.toml", schema), ("cases.toml", cases)]);
    let told = folder.run(&["test", "shop.toml", "cases.toml"]);
    assert_eq!(told, "exit 0\n--- stderr\n25 cases of 9 of 9 patterns, none failed\n");
    let wrong = "[\"page:{path}\"]\nvalues = [\"123456789\"]\n";
    folder.write("wrong.toml", wrong.as_bytes());
    assert_snapshot!(folder.run(&["test", "shop.toml", "wrong.toml"]));
}

#[test]
fn the_cases_of_the_systems_hold_for_a_server() {
    let systems = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let folders = std::fs::read_dir(&systems).expect("the systems").flatten();
    let folders: Vec<_> =
        folders.map(|entry| entry.path()).filter(|path| path.join("cases.toml").exists()).collect();
    assert!(folders.len() >= 5);
    for folder in folders {
        let path = |name: &str| folder.join(name).display().to_string();
        let told = Folder::new(&[]).run(&["test", &path("keyward.toml"), &path("cases.toml")]);
        assert!(told.starts_with("exit 0\n"), "{told}");
    }
}
