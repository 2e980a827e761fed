//! What does not let a server start is told once.

use crate::run::Folder;

/// A server that does not start says this.
fn refused(folder: &Folder, arguments: &[&str], said: &str) {
    let transcript = folder.run(&[&["serve"], arguments, &["--port", "0"]].concat());
    let told: Vec<&str> = transcript.lines().filter(|line| line.starts_with("keyward: ")).collect();
    assert_eq!(told, [format!("keyward: {said}")], "{transcript}");
}

#[test]
fn why_a_file_cannot_be_used_is_told_once() {
    let folder = Folder::new(&[("data/appendonlydir/appendonly.aof.manifest/file", "")]);
    let missing = "No such file or directory (os error 2)";
    let place = folder.path().canonicalize().expect("a directory");
    let manifest = place.join("data/appendonlydir/appendonly.aof.manifest");
    refused(&folder, &["./missing.conf"], &format!("./missing.conf: {missing}"));
    refused(&folder, &["--include", "missing.conf"], &format!("missing.conf: {missing}"));
    refused(&folder, &["--logfile", "missing/log"], &format!("the log: {missing}"));
    refused(
        &folder,
        &["--dir", "data"],
        &format!("cannot read {}: Is a directory (os error 21)", manifest.display()),
    );
}

#[test]
fn files_are_included_by_the_command_line_too() {
    let folder = Folder::new(&[("one.conf", "port 0\n"), ("two.conf", "\nnonsense yes\n")]);
    let said = "two.conf:2: there is no setting \"nonsense\"";
    refused(&folder, &["--include", "one.conf", "--include", "two.conf"], said);
    refused(&folder, &["--include", "two.conf", "--include", "one.conf"], said);
    refused(&folder, &["--include"], "command line: there is no setting \"include\"");
}

#[test]
fn a_missing_include_is_told_with_the_line_that_names_it() {
    let files = [("one.conf", "port 0\n\ninclude two.conf\n"), ("two.conf", "include none.conf\n")];
    let missing = "two.conf:1: include none.conf: No such file or directory (os error 2)";
    refused(&Folder::new(&files), &["./one.conf"], missing);
}

#[test]
fn a_setting_that_must_be_empty_says_so() {
    let folder = Folder::new(&[("a.conf", "tls-key-file-pass x\n")]);
    let transcript = folder.run(&["serve", "./a.conf", "--port", "0"]);
    assert!(transcript.contains("argument must be empty"), "{transcript}");
    assert!(!transcript.contains("one of the following"), "{transcript}");
}

#[test]
fn a_database_for_a_keyspace_that_is_not_there_names_those_that_are() {
    let schema = |name: &str| {
        format!("[keyspace]\nname = \"{name}\"\n[key.\"{name}\"]\ntype = \"set\"\nttl = \"none\"\n")
    };
    let (shop, jobs) = (schema("shop"), schema("jobs"));
    let folder = Folder::new(&[("shop.toml", shop.as_str()), ("jobs.toml", jobs.as_str())]);
    let said = "--db celery=1: there is no keyspace celery among shop, jobs";
    refused(&folder, &["shop.toml", "jobs.toml", "--db", "celery=1"], said);
}

#[test]
fn a_directory_without_a_schema_is_no_schema() {
    let folder = Folder::new(&[("shop/schema.toml", ""), ("data/file", "")]);
    let said = |directory: &str| format!("{directory}: there is no keyward.toml in this directory");
    refused(&folder, &["shop/"], &said("shop/"));
    refused(&folder, &["shop"], &said("shop"));
    refused(&folder, &["--dir", "data", "./shop"], &said("./shop"));
}
