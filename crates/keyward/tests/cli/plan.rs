use insta::assert_snapshot;

use crate::run::Folder;

const OLD: &str = r#"[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl  = "none"
[key."user:{id:uint}".fields]
email = "str"
plan  = "free | paid"

[key."page:{path}"]
type = "string"
ttl  = "5m"
"#;

fn folder() -> Folder {
    let new = OLD
        .replace("name = \"shop\"", "name = \"shop\"\nunknown = \"allow\"")
        .replace("free | paid", "free | paid | gold")
        .replace("page:{path}", "pages:{path}");
    Folder::new(&[("old.toml", OLD), ("new.toml", &new)])
}

#[test]
fn differences_are_told_line_by_line() {
    assert_snapshot!(folder().run(&["plan", "old.toml", "new.toml"]));
}

#[test]
fn scripts_get_a_record_for_each_difference() {
    assert_snapshot!(folder().run(&["plan", "--format", "json", "old.toml", "new.toml"]));
}

#[test]
fn a_file_does_not_differ_from_itself() {
    let told = folder().run(&["plan", "old.toml", "old.toml"]);
    assert_eq!(told, "exit 0\n--- stderr\n0 differences\n");
}

#[test]
fn what_is_not_sound_cannot_be_compared() {
    let folder = folder();
    folder.write("bad.toml", b"[key");
    assert!(folder.run(&["plan", "old.toml", "bad.toml"]).starts_with("exit 2\n"));
    assert!(folder.run(&["plan", "missing.toml", "old.toml"]).starts_with("exit 2\n"));
}
