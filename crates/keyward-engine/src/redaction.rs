//! Which arguments are secret: passwords never get into a log or to an observer.

use keyward_commands::{Command, CommandId, args};
use keyward_resp::Args;

/// What is shown instead.
pub(crate) const PLACEHOLDER: &[u8] = b"(redacted)";

/// Settings whose values are secret.
const SECRET_SETTINGS: [&str; 5] =
    ["requirepass", "masterauth", "masteruser", "tls-key-file-pass", "tls-client-key-file-pass"];

/// Whether an argument of a command must not be shown.
pub(crate) fn is_secret(command: &Command, args: Args<'_>, index: usize) -> bool {
    let is = |index: usize, word: &str| args.get(index).is_some_and(|a| args::is(a, word));
    match command.id {
        CommandId::Auth => index >= 1,
        CommandId::Hello => {
            index >= 3 && (is(index - 1, "AUTH") || (index >= 4 && is(index - 2, "AUTH")))
        }
        CommandId::ConfigSet => {
            let is_value = index >= 3 && !index.is_multiple_of(2);
            is_value && SECRET_SETTINGS.iter().any(|name| is(index - 1, name))
        }
        CommandId::Migrate => {
            index >= 7
                && (is(index - 1, "AUTH")
                    || is(index - 1, "AUTH2")
                    || (index >= 8 && is(index - 2, "AUTH2")))
        }
        _ => false,
    }
}
