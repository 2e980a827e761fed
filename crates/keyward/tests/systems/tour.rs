//! The tour in a system's README: the blocks marked `console`.
//!
//! A block is a session of redis-cli: `> COMMAND`, then the reply. All blocks are one
//! session, in the system's database. The README at the root has a session of calls-bot too, and
//! what `keyward match` says of its keys.

use crate::{System, all, text_of};
use keyward_testkit::{Server, markdown, wire};
use std::path::Path;
use std::process::Command;

/// Replies tell times in whole seconds: on a slow machine one may pass within a tour,
/// which is then taken again.
const TRIES: usize = 3;

pub(crate) fn is_true(system: &System) {
    let path = system.folder.join("README.md");
    let page = system.text("README.md");
    let mut renewed = take(system, &page);
    for _ in 1..TRIES {
        if renewed == page {
            break;
        }
        renewed = take(system, &page);
    }
    markdown::keep(&path, &page, &renewed);
}

/// The page with the replies that a new server gives.
fn take(system: &System, page: &str) -> String {
    let server = system.on_keyward();
    let mut client = system.client(&server);
    // Refusals name the schema as it was given; the README is read in the repository.
    let root = all().display().to_string().trim_end_matches("systems").to_owned();
    let mut sessions = 0;
    let renewed = markdown::renew(page, |part| {
        (part.kind == "console").then(|| {
            sessions += 1;
            wire::replay(&part.text, &mut client).replace(&root, "")
        })
    });
    assert!(sessions > 0, "README.md has a tour");
    renewed
}

/// As redis-cli shows it where it was started without arguments.
const PROMPT: &str = "127.0.0.1:6379> ";

#[test]
fn the_readme_at_the_root_shows_what_calls_bot_answers() {
    let root = all().join("..");
    let path = root.join("README.md");
    let page = text_of(&path);
    let mut shown = 0;
    let renewed = markdown::renew(&page, |part| {
        let arguments = part.text.strip_prefix("$ keyward match ");
        let renewed = match arguments.and_then(|text| text.lines().next()) {
            Some(arguments) => matched(&root, arguments),
            None if part.text.contains(PROMPT) => session(&root, &part.text),
            None => return None,
        };
        shown += 1;
        Some(renewed)
    });
    assert_eq!(shown, 2, "a session and a match");
    markdown::keep(&path, &page, &renewed);
}

/// What `keyward match` prints, below its command.
fn matched(root: &Path, arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keyward"));
    command.current_dir(root).arg("match").args(arguments.split(' '));
    let output = command.output().expect("it is run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("$ keyward match {arguments}\n{}{}", text(&output.stdout), text(&output.stderr))
}

/// The session of a server that is started by the first line.
fn session(root: &Path, text: &str) -> String {
    let (start, rest) = text.split_once('\n').expect("a first line");
    let serve = start.strip_prefix("$ keyward serve ").and_then(|rest| rest.strip_suffix(" &"));
    let (schema, options) = serve.and_then(|words| words.split_once(' ')).expect("it is served");
    let (client, session) = rest.split_once('\n').expect("a second line");
    assert_eq!(client, "$ redis-cli");
    let schema = root.join(schema).display().to_string();
    let options: Vec<&str> = [&*schema].into_iter().chain(options.split(' ')).collect();
    let server = Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), &options);
    let replayed = wire::replay(&session.replace(PROMPT, "> "), &mut server.client());
    let replayed = replayed.replace(&format!("{}/", root.display()), "");
    let lines = replayed.lines().map(|line| match line.strip_prefix("> ") {
        Some(command) => format!("{PROMPT}{command}\n"),
        None => format!("{line}\n"),
    });
    format!("{start}\n{client}\n{}", lines.collect::<String>())
}
