//! The core reads no clock, no randomness, no file, no socket, no
//! environment, and starts no thread: all of that comes in as arguments.

use super::tree::{TextFile, Tree, Violation};

const CORE: [&str; 4] = [
    "crates/keyward-engine/src/",
    "crates/keyward-lua/src/",
    "crates/keyward-rules/src/",
    "crates/keyward-store/src/",
];

/// What only the outside has.
const OUTSIDE: [(&str, &str); 13] = [
    ("SystemTime", "the clock"),
    ("Instant", "the clock"),
    ("std::fs", "files"),
    ("std::net", "sockets"),
    ("std::os", "the system"),
    ("std::env::", "the environment"),
    ("std::process", "processes"),
    ("std::thread", "threads"),
    ("tokio", "sockets and threads"),
    ("RandomState", "randomness"),
    ("rand::", "randomness"),
    ("getrandom", "randomness"),
    ("std::io::std", "the terminal"),
];

/// Asks whether a panic is under way; starts nothing.
const HARMLESS: &str = "std::thread::panicking";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let in_core = |file: &&TextFile| CORE.iter().any(|core| file.path.starts_with(core));
    tree.rust_files()
        .filter(in_core)
        .filter(|file| file.name() != "tests.rs")
        .flat_map(check_file)
        .collect()
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    // Unit tests stand last in their file.
    for (line, code) in file.code_lines().take_while(|(_, code)| code.trim() != "#[cfg(test)]") {
        let code = code.replace(HARMLESS, "");
        for (name, what) in OUTSIDE.iter().filter(|(name, _)| code.contains(name)) {
            violations.push(file.violation(line, format!("the core has no {what}: {name}")));
        }
        let is_random = ["HashMap", "HashSet"].iter().any(|name| code.contains(name));
        if is_random && code.contains("std::collections") {
            violations.push(file.violation(line, "the standard hash tables have a random order"));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn the_outside_is_seen_in_the_core_alone() {
        let check_code = |path: &str, code: &str, expected: usize| {
            assert_eq!(found(check, &[(path, code)]).len(), expected, "{path}: {code}");
        };
        let engine = "crates/keyward-engine/src/a.rs";
        check_code(engine, "use std::time::Instant;", 1);
        check_code("crates/keyward-rules/src/a.rs", "use std::time::SystemTime;", 1);
        check_code("crates/keyward-server/src/a.rs", "use std::time::Instant;", 0);
        check_code(engine, "use std::time::Duration;", 0);
        check_code(engine, "use std::collections::{HashMap, VecDeque};", 1);
        check_code(engine, "use hashbrown::HashMap;", 0);
        check_code(engine, "std::thread::spawn(run)", 1);
        check_code(engine, "std::thread::panicking()", 0);
        check_code(engine, "std::fs::read(path)", 1);
        check_code(engine, "// no Instant here", 0);
        check_code(engine, "fn a() {}\n#[cfg(test)]\nmod tests { use std::time::Instant; }", 0);
        assert_eq!(
            found(check, &[(engine, "\nuse std::net::TcpStream;")]),
            ["crates/keyward-engine/src/a.rs:2: the core has no sockets: std::net"]
        );
    }
}
