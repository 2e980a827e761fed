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
fn a_directory_without_a_schema_is_no_schema() {
    let folder = Folder::new(&[("shop/schema.toml", ""), ("data/file", "")]);
    let said = |directory: &str| format!("{directory}: there is no keyward.toml in this directory");
    refused(&folder, &["shop/"], &said("shop/"));
    refused(&folder, &["shop"], &said("shop"));
    refused(&folder, &["--dir", "data", "./shop"], &said("./shop"));
}
