//! The passwords of Redis's own commands, which are redacted under any schema and
//! without one.
//!
//! The same arguments as Redis 7.0.15 redacts (its `redactClientCommandArgument`), and
//! some that it shows: those of calls that are wrong, where it gives up before it has seen
//! the password, the pass phrases of TLS keys, and those of a command that KEYWARD EXPLAIN or
//! ACL DRYRUN is asked about.

use keyward_commands::{Command, CommandId, args, find};
use keyward_resp::Args;

/// Settings whose values are secret.
const SETTINGS: [&str; 5] =
    ["requirepass", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass"];

/// Where the options of MIGRATE begin.
const MIGRATE_OPTIONS: usize = 6;

/// Hands over the index of each argument that is a password, or the name of a user
/// beside one. Options are read one by one: a password may be the word KEYS, and a client
/// may be called AUTH.
pub(super) fn each(command: &Command, args: Args<'_>, mut hide: impl FnMut(usize)) {
    let mut command = command;
    let mut start = 0;
    // One may be asked about a command that asks about another.
    while let Some(about) = asked_about(command) {
        start += about;
        match find(args.from(start.min(args.len()))) {
            Ok(inner) => command = inner,
            // It may be the other name of a command (`rename-command`).
            Err(_) => return (start + 1..args.len()).for_each(hide),
        }
    }
    each_of(command, args.from(start), |index| hide(start + index));
}

/// Where the command begins that a command is asked about.
fn asked_about(command: &Command) -> Option<usize> {
    match command.id {
        CommandId::KeywardExplain => Some(2),
        CommandId::AclDryRun => Some(3),
        _ => None,
    }
}

fn each_of(command: &Command, args: Args<'_>, mut hide: impl FnMut(usize)) {
    let is = |index: usize, word: &str| args.get(index).is_some_and(|a| args::is(a, word));
    let mut at = match command.id {
        CommandId::Auth | CommandId::Hello => 1,
        CommandId::ConfigSet | CommandId::AclSetUser => 2,
        CommandId::Migrate => MIGRATE_OPTIONS,
        _ => return,
    };
    while at < args.len() {
        let (hidden, words) = match command.id {
            CommandId::Auth | CommandId::AclSetUser => (at..at + 1, 1),
            CommandId::Hello if is(at, "AUTH") => (at + 1..at + 3, 3),
            CommandId::Hello if is(at, "SETNAME") => (at..at, 2),
            CommandId::ConfigSet if SETTINGS.iter().any(|name| is(at, name)) => (at + 1..at + 2, 2),
            CommandId::ConfigSet => (at..at, 2),
            CommandId::Migrate if is(at, "KEYS") => return,
            CommandId::Migrate if is(at, "AUTH") => (at + 1..at + 2, 2),
            CommandId::Migrate if is(at, "AUTH2") => (at + 1..at + 3, 3),
            _ => (at..at, 1),
        };
        hidden.filter(|index| *index < args.len()).for_each(&mut hide);
        at += words;
    }
}
