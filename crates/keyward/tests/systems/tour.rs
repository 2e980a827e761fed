//! The tour in a system's README: the blocks marked `console`.
//!
//! A block is a session of redis-cli: `> COMMAND`, then the reply. All blocks are one
//! session, in the system's database.

use crate::{System, all};
use keyward_testkit::{markdown, wire};

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
