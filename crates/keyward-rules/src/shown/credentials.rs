//! The passwords of Redis's own commands, which are redacted under any schema and
//! without one.
//!
//! The same arguments as Redis 7.0.15 redacts (its `redactClientCommandArgument`), and
//! some that it shows: those of calls that are wrong, where it gives up before it has seen
//! the password, and the pass phrases of TLS keys.

use keyward_commands::{Command, CommandId, args};
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
