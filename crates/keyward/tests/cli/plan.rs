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
fn github_gets_an_annotation_for_each_difference() {
    assert_snapshot!(folder().run(&["plan", "--format", "github", "old.toml", "new.toml"]));
}

#[test]
fn the_exit_code_tells_the_worst_that_can_become_of_rows() {
    let folder = folder();
    let destroyer = OLD.to_owned()
        + "[key.\"all\"]\ntype = \"set\"\nttl = \"none\"\nmembers = { of = \"user:{id}\" }\n";
    folder.write("more.toml", OLD.replace("\"5m\"", "\"1h\"").as_bytes());
    folder.write("dates.toml", OLD.replace("\"5m\"", "\"none\"").as_bytes());
    folder.write("lets_go.toml", OLD.replace("\"none\"", "\"1h\"").as_bytes());
    folder.write(
        "limits.toml",
        OLD.replace(
            "[key.\"user:{id:uint}\"]\ntype",
            "max_memory = \"1mb\"\n[key.\"user:{id:uint}\"]\ntype",
        )
        .as_bytes(),
    );
    folder.write("destroys.toml", destroyer.as_bytes());
    for (old, new, codes) in [
        ("old.toml", "old.toml", [0, 0, 0]),
        ("old.toml", "more.toml", [1, 0, 0]),
        ("old.toml", "dates.toml", [1, 1, 0]),
        ("destroys.toml", "old.toml", [1, 1, 1]),
        ("old.toml", "lets_go.toml", [1, 1, 1]),
        ("old.toml", "limits.toml", [1, 1, 1]),
    ] {
        for (word, code) in ["difference", "rewrites", "destroys"].into_iter().zip(codes) {
            let told = folder.run(&["plan", "--fail-on", word, old, new]);
            assert!(told.starts_with(&format!("exit {code}\n")), "{new} {word}: {told}");
        }
    }
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

#[test]
fn files_that_share_a_database_are_compared_together() {
    let jobs = OLD.replace("shop", "jobs").replace("user:", "job:").replace("page:", "run:");
    let shorter = jobs.replace("5m", "1m");
    let files = [("old.toml", OLD), ("jobs.toml", &jobs), ("new.toml", &shorter)];
    let folder = Folder::new(&files);
    let told = folder.run(&["plan", "old.toml", "jobs.toml", "--to", "old.toml", "new.toml"]);
    assert_snapshot!(told);
    let github = ["plan", "--format", "github", "old.toml", "jobs.toml", "--to", "old.toml"];
    assert_snapshot!(folder.run(&[&github[..], &["new.toml"]].concat()));
    assert_snapshot!(folder.run(&["plan", "old.toml", "--to", "old.toml", "old.toml"]));
    assert_snapshot!(folder.run(&["plan", "old.toml"]));
}
