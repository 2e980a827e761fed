use std::process::Stdio;

use insta::assert_snapshot;

use crate::run::Folder;

const CLEAN: &str = "[keyspace]\nname = \"shop\"\n\n[key.\"user:{id}\"]\ntype = \"hash\"\n";
const OVERLAP: &str = r#"[keyspace]
name = "shop"

[key."user:{id}"]
type = "hash"

[key."user:{name}"]
type = "hash"
"#;
const WARNING: &str = r#"[keyspace]
name = "social"
db   = 1

[key."events:{user}"]
type = "list"
ttl  = "none"
"#;

#[test]
fn a_sound_file_is_told_to_be_so() {
    let folder = Folder::new(&[("shop.toml", CLEAN)]);
    assert_snapshot!(folder.run(&["check", "shop.toml"]));
}

#[test]
fn all_problems_of_all_files_are_shown() {
    let folder = Folder::new(&[("shop.toml", OVERLAP), ("social.toml", WARNING)]);
    assert_snapshot!(folder.run(&["check", "shop.toml", "social.toml"]));
}

#[test]
fn warnings_fail_only_when_denied() {
    let folder = Folder::new(&[("social.toml", WARNING)]);
    assert!(folder.run(&["check", "social.toml"]).starts_with("exit 0\n"));
    assert!(folder.run(&["check", "--deny-warnings", "social.toml"]).starts_with("exit 1\n"));
}

#[test]
fn files_of_one_database_contradict_each_other() {
    let other = "[keyspace]\nname = \"events\"\npersist = \"none\"\n\n[key.a]\ntype = \"string\"\n";
    let folder = Folder::new(&[("shop.toml", CLEAN), ("events.toml", other)]);
    assert_snapshot!(folder.run(&["check", "shop.toml", "events.toml"]));
}

#[test]
fn scripts_get_a_record_for_each_problem() {
    let folder = Folder::new(&[("shop.toml", OVERLAP), ("social.toml", WARNING)]);
    assert_snapshot!(folder.run(&["check", "--format", "json", "shop.toml", "social.toml"]));
}

#[test]
fn files_that_cannot_be_read_do_not_hide_the_others() {
    let folder = Folder::new(&[("shop.toml", OVERLAP), ("social/keyward.toml", WARNING)]);
    folder.write("empty/schema.toml", WARNING.as_bytes());
    assert_snapshot!(folder.run(&["check", "missing.toml", "empty", "social", "shop.toml"]));
}

#[test]
fn a_directory_means_the_schema_in_it() {
    let folder = Folder::new(&[("shop/keyward.toml", OVERLAP)]);
    let by_file = folder.run(&["check", "shop/keyward.toml"]);
    assert!(by_file.contains("shop/keyward.toml:"), "{by_file}");
    for directory in ["shop", "shop/"] {
        assert_eq!(folder.run(&["check", directory]), by_file, "{directory}");
    }
    folder.write(
        "sound/keyward.toml",
        b"[keyspace]\nname = \"sound\"\n[key.\"a:{id}\"]\ntype = \"string\"\nttl = \"none\"\n",
    );
    let matched = folder.run(&["match", "sound", "a:1"]);
    assert!(matched.contains("sound/keyward.toml:3"), "{matched}");
    // It is not written over by its document either.
    let refused = folder.run(&["docs", "sound", "-o", "sound/keyward.toml"]);
    assert!(refused.contains("is one of the schemas"), "{refused}");
}

#[test]
fn colours_are_for_terminals_and_those_who_insist() {
    let folder = Folder::new(&[("shop.toml", OVERLAP)]);
    assert!(!folder.run(&["check", "shop.toml"]).contains('\u{1b}'));
    let colours = |variable: &str| {
        let mut command = folder.command(&["check", "shop.toml"]);
        let output = command.env(variable, "1").output().expect("the binary runs");
        output.stdout.contains(&0x1b)
    };
    assert!(colours("CLICOLOR_FORCE"));
    assert!(!colours("NO_COLOR"));
}

#[test]
fn a_closed_pipe_is_success() {
    let many: String = (0..200)
        .map(|index| format!("[key.\"list{index}:{{id}}\"]\ntype = \"list\"\nttl = \"none\"\n"))
        .collect();
    let folder = Folder::new(&[("many.toml", &format!("[keyspace]\nname = \"many\"\n{many}"))]);
    for arguments in [&["check", "many.toml"][..], &["explain-code"], &["completions", "bash"]] {
        let mut command = folder.command(arguments);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command.stdout(writer).stderr(Stdio::piped()).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        assert_eq!(stderr, "", "{arguments:?}");
    }
}

#[test]
fn what_is_wrong_with_an_included_file_is_drawn_there() {
    let shop =
        "include = ['lib/b.toml']\n[keyspace]\nname = 'shop'\n[key.'user:{id}']\ntype = 'hash'\n";
    let folder = Folder::new(&[
        ("shop.toml", shop),
        ("lib/b.toml", "# Users.\n[key.'user:{name}']\ntype = 'hash'\n"),
    ]);
    assert_snapshot!("included", folder.run(&["check", "shop.toml"]));
    assert_snapshot!("included_json", folder.run(&["check", "--format", "json", "shop.toml"]));
    let refused = folder.run(&["docs", "-o", "lib/b.toml", "shop.toml"]);
    assert!(refused.starts_with("exit 2\n"), "{refused}");
    folder.write("lib/b.toml", b"[key.'x:{name}']\ntype = 'hash'\n");
    let refused = folder.run(&["docs", "-o", "lib/b.toml", "shop.toml"]);
    assert!(refused.contains("lib/b.toml is one of the schemas"), "{refused}");
}

#[test]
fn the_last_line_counts_the_files_that_findings_stand_in() {
    let shop = "include = ['b.toml', 'c.toml']\n[keyspace]\nname = 'shop'\n";
    let wrong = |name: &str| format!("[key.'{name}:{{id}}']\ntype = 'hsah'\n");
    let folder = Folder::new(&[
        ("shop.toml", &format!("{shop}{}", wrong("a"))),
        ("b.toml", &wrong("b")),
        ("c.toml", &wrong("c")),
    ]);
    let told = folder.run(&["check", "shop.toml"]);
    assert!(told.contains("3 errors in 3 files"), "{told}");
}

#[test]
fn many_overlaps_are_told_in_part_and_the_rest_is_counted() {
    let keys: String =
        (0..400).map(|n| format!("[key.\"{{a{n}}}:x{{b:rest}}\"]\ntype = \"hsah\"\n")).collect();
    let folder = Folder::new(&[("many.toml", &format!("[keyspace]\nname = \"many\"\n{keys}"))]);
    let told = folder.run(&["check", "many.toml"]);
    assert_eq!(told.matches("error[KW").count(), 100, "{told}");
    assert!(told.contains("and 350 more, which --format json shows"), "{told}");
    assert!(told.contains("patterns behind this one were not compared"), "{told}");
}

const TIED: &str = r#"[keyspace]
name = "shop"

[key."user:{id}"]
type   = "hash"
ttl    = "none"
fields = { email = "str" }

[key."by_email:{email}"]
type   = "string"
lookup = { of = "user:{id}", field = "email" }
"#;

#[test]
fn a_host_is_told_to_keep_every_rule_or_not() {
    let folder = Folder::new(&[("shop.toml", TIED)]);
    let told = folder.run(&["check", "--host", "valkey=9.1", "shop.toml"]);
    assert!(told.starts_with("exit 0\n"), "{told}");
    for line in [
        "shop.toml:4: atomic: user:{id}: type, shape and bounds",
        "shop.toml:9: atomic: by_email:{email}: lookup",
        "4 rules on Valkey 9.1: 4 atomic, 0 eventual, 0 impossible; the module loads it",
    ] {
        assert!(told.contains(line), "{line} in {told}");
    }
    let told = folder.run(&["check", "--host", "redis", "--cluster", "shop.toml"]);
    assert!(told.starts_with("exit 1\n"), "{told}");
    assert!(told.contains("shop.toml:9: impossible: by_email:{email}: lookup: "), "{told}");
    assert!(told.contains("on a cluster of Redis: "), "{told}");
    let told = folder.run(&["check", "--format", "json", "--host", "valkey", "shop.toml"]);
    assert!(told.contains(r#""guarantee":"atomic""#), "{told}");
}

#[test]
fn a_host_that_is_too_old_or_unknown_is_refused() {
    let folder = Folder::new(&[("shop.toml", TIED)]);
    let told = folder.run(&["check", "--host", "redis=7.0", "shop.toml"]);
    assert!(told.starts_with("exit 1\n"), "{told}");
    assert!(told.contains("Redis 7.0 cannot have the module"), "{told}");
    let told = folder.run(&["check", "--host", "memcached", "shop.toml"]);
    assert!(told.starts_with("exit 2\n"), "{told}");
    let told = folder.run(&["check", "--cluster", "shop.toml"]);
    assert!(told.starts_with("exit 2\n"), "{told}");
}
