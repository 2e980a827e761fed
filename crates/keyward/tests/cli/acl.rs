use insta::assert_snapshot;
use keyward_testkit::markdown;
use std::path::Path;

use crate::run::Folder;

/// Longer lines of a file of users are cut short on the page.
const LINE_CHARS_MAX: usize = 64;

const SHOP: &str = r#"[keyspace]
name = "shop"
owner = "Team Shop"
writers = ["shop"]

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
readers = ["reports"]

[key."user:{id:uint}:notes"]
type = "list"
ttl = "30d"
max_len = 10
writers = ["support"]

[function.touch]
keys = ["user:{id}"]
"#;

#[test]
fn rules_are_written_and_what_a_glob_admits_besides_is_told() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    assert_snapshot!(folder.run(&["acl", "shop.toml"]));
}

#[test]
fn rules_by_patterns_admit_nothing_else() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    assert_snapshot!(folder.run(&["acl", "--exact", "shop.toml"]));
}

#[test]
fn what_is_allowed_is_a_pattern_of_the_schema() {
    let folder = Folder::new(&[("shop.toml", SHOP)]);
    let told = folder.run(&["acl", "--allow", "user:{id:uint}:notes", "shop.toml"]);
    assert!(told.starts_with("exit 0\n") && !told.contains("also admits"), "{told}");
    let told = folder.run(&["acl", "--allow", "user:*", "shop.toml"]);
    assert!(told.starts_with("exit 2\n") && told.contains("no such pattern"), "{told}");
}

/// A schema of one pattern, with an owner.
fn owned(name: &str, db: u8, owner: &str, pattern: &str) -> String {
    format!(
        "[keyspace]\nname = \"{name}\"\ndb = {db}\nowner = \"{owner}\"\n\n[key.\"{pattern}\"]\n\
         type = \"string\"\nttl = \"none\"\n"
    )
}

#[test]
fn control_characters_of_patterns_are_in_the_rules() {
    let kombu = owned("jobs", 0, "a", r"kombu:{q}\u0006\u0016{n:uint}");
    let deleted = owned("jobs", 0, "a", r"del\u007f:{x}");
    let folder = Folder::new(&[("kombu.toml", &kombu), ("deleted.toml", &deleted)]);
    for (file, rules) in [
        ("kombu.toml", ["~kombu:*\x06\x16*", "=kombu:{q}\x06\x16{n:uint}"]),
        ("deleted.toml", ["~del\x7f:*", "=del\x7f:{x}"]),
    ] {
        for (exact, rule) in [None, Some("--exact")].into_iter().zip(rules) {
            let arguments: Vec<&str> = ["acl"].into_iter().chain(exact).chain([file]).collect();
            let output = folder.command(&arguments).output().expect("the binary runs");
            let line = String::from_utf8(output.stdout).expect("text");
            assert!(line.contains(&format!(" {rule} ")), "{line:?} lacks {rule:?}");
        }
    }
}

#[test]
fn the_same_pattern_in_another_database_is_told_of_exact_rules_too() {
    let one = owned("one", 0, "a", "user:{id:uint}");
    let two = owned("two", 1, "b", "user:{id:uint}");
    let folder = Folder::new(&[("one.toml", &one), ("two.toml", &two)]);
    let told = folder.run(&["acl", "--exact", "one.toml", "two.toml"]);
    assert!(told.starts_with("exit 1\n"), "{told}");
    let admitted = "a: =user:{id:uint} also admits user:{id:uint} of two, as user:0";
    assert!(told.contains(admitted), "{told}");
    let told = folder.run(&["acl", "--exact", "--allow", "user:{id:uint}", "one.toml", "two.toml"]);
    assert!(told.starts_with("exit 0\n") && !told.contains("also admits"), "{told}");
}

#[test]
fn the_default_user_is_not_locked_out() {
    let schema = owned("shop", 0, "default", "user:{id:uint}");
    let folder = Folder::new(&[("shop.toml", &schema)]);
    let told = folder.run(&["acl", "shop.toml"]);
    assert!(told.starts_with("exit 0\n") && !told.contains("user default"), "{told}");
    assert!(told.contains("default: keeps its rights"), "{told}");
}

/// What the program prints, as docs/users.md shows it.
fn shown(folder: &Folder, command: &str) -> String {
    let arguments: Vec<&str> = command.split(' ').skip(1).collect();
    let output = folder.command(&arguments).output().expect("the binary runs");
    let text = [output.stdout, output.stderr].concat();
    let mut shown = format!("$ {command}\n");
    for line in String::from_utf8(text).expect("text").lines() {
        let is_cut = line.starts_with("user ") && line.len() > LINE_CHARS_MAX;
        let end = line[..line.len().min(LINE_CHARS_MAX)].rfind(' ').filter(|_| is_cut);
        shown.push_str(&line[..end.unwrap_or(line.len())]);
        shown.push_str(if end.is_some() { " …\n" } else { "\n" });
    }
    shown
}

#[test]
fn the_page_of_users_shows_what_the_program_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/users.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let folder = Folder::new(&[]);
    let mut ran = 0;
    let renewed = markdown::renew(&page, |part| match part.kind {
        "toml" => {
            folder.write("keyward.toml", part.text.as_bytes());
            None
        }
        "console" => {
            let commands = part.text.lines().filter_map(|line| line.strip_prefix("$ "));
            let commands: Vec<&str> = commands.collect();
            ran += commands.len();
            Some(commands.into_iter().map(|command| shown(&folder, command)).collect())
        }
        _ => None,
    });
    assert!(ran > 0, "the page shows no command");
    markdown::keep(&path, &page, &renewed);
}

#[test]
fn a_schema_that_names_nobody_is_told() {
    let text =
        "[keyspace]\nname = \"shop\"\n\n[key.\"a:{id:uint}\"]\ntype = \"string\"\nttl = \"1h\"\n";
    let folder = Folder::new(&[("shop.toml", text)]);
    assert_snapshot!(folder.run(&["acl", "shop.toml"]));
}
