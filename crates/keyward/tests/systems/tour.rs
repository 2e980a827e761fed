//! The tour in a system's README: the blocks marked `console`.
//!
//! A block reads as a wire script does: `> COMMAND`, then the reply as redis-cli prints
//! it. All blocks are one session, in the system's database.

use crate::{System, all};
use keyward_testkit::wire;

pub(crate) fn is_true(system: &System) {
    let readme = system.text("README.md");
    let tour =
        wire::commands(&console(&readme)).unwrap_or_else(|error| panic!("README.md:{error}"));
    assert!(!tour.is_empty(), "README.md has a tour");
    let server = system.on_keyward();
    let mut client = system.client(&server);
    // Refusals name the schema as it was given; the README is read in the repository.
    let root = all().display().to_string().trim_end_matches("systems").to_owned();
    let mut differences = Vec::new();
    for told in tour {
        let reply = wire::text(&client.call(&told.command).expect("an answer"));
        let reply = reply.replace(&root, "");
        let printed = told.reply.unwrap_or_default();
        if reply != printed {
            let line = told.line;
            differences.push(format!("README.md:{line}\nprinted:\n{printed}\nanswered:\n{reply}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

/// The blocks of the console; every other line is empty, so that lines keep their numbers.
fn console(readme: &str) -> String {
    let mut is_inside = false;
    let line = |line: &str| {
        let is_fence = line.starts_with("```");
        let is_kept = is_inside && !is_fence;
        if is_fence {
            is_inside = line == "```console";
        }
        if is_kept { format!("{line}\n") } else { "\n".to_owned() }
    };
    readme.lines().map(line).collect()
}
