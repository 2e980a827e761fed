//! The scripts of `tests/schema`, each under the schema of the same name.
//!
//! Redis has no schema to compare with: two servers of ours run them, and the
//! replies are those that the script tells.

use keyward_testkit::{Server, wire};
use std::path::Path;

#[test]
fn a_schema_is_kept_by_plain_commands() {
    // Refusals name the file as it was given: from the folder that tests run in.
    let entries = std::fs::read_dir("../../tests/schema").expect("the scripts are there");
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wire"));
    assert!(!paths.is_empty(), "there are scripts");
    for path in paths {
        let schema = path.with_extension("toml");
        let options = [schema.to_str().expect("the path is text")];
        let program = Path::new(env!("CARGO_BIN_EXE_keyward"));
        let servers = [(); 2].map(|()| Server::keyward(program, &options));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a script is text");
        let failures = wire::run(&name, &text, &servers[0], &servers[1]);
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    }
}
