//! Follow-ups that failed where nobody's command can be refused for it.
//!
//! Owns the line of the log that says so. What follows from a row that ended
//! by itself, from a large end, from a survey or from a start fits the keyspace, or nearly
//! always does: an archived row can be too large for an entry of the changefeed, and rows that
//! a snapshot brought can be of another type than the schema says. Then nothing can be
//! undone, and what the follow-up would have done is missing: people have to hear of it.
//! Not here: how many there were, and how often a line is written (`sessions::failures`),
//! follow-ups of a command, which is refused with its follow-up's error.

use crate::engine::context::Outcome;
use crate::engine::shared::Shared;
use crate::host::Host;
use keyward_commands::{CommandId, resolve};
use keyward_lua::LogLevel;
use keyward_resp::{ArgBuf, Args};
use keyward_rules::Sender;
use keyward_schema::escape_bytes;
use keyward_store::keyspace::Keyspace;

/// What a line shows of a key.
const KEY_BYTES_MAX: usize = 128;

/// Looks at what became of a follow-up in a database: if it failed, that is counted and told.
#[inline]
pub(crate) fn look_at(
    keys: &Keyspace,
    shared: &mut Shared,
    host: &mut dyn Host,
    (db, args): (usize, Args<'_>),
    outcome: Outcome,
) {
    if let Err(error) = outcome {
        note(keys, shared, host, db, &subject(keys, db, args), &error.text());
    }
}

/// Counts and tells that something failed which follows from a change of a database.
#[cold]
pub(crate) fn note(
    keys: &Keyspace,
    shared: &mut Shared,
    host: &mut dyn Host,
    db: usize,
    subject: &str,
    error: &[u8],
) {
    let Some(others) = shared.stats.failures.note(keys.now_ms()) else { return };
    let error = escape_bytes(error);
    let mut line = format!(
        "db{db}: {subject} failed, which follows from a change that nobody can be refused: {error}"
    );
    if others > 0 {
        line += &format!(" (and {others} others since the last such line)");
    }
    host.log(LogLevel::Warning, line.as_bytes());
}

/// What a follow-up is called: the command and its key, and of an entry of a changefeed the row
/// it tells of. Neither shows a secret.
fn subject(keys: &Keyspace, db: usize, args: Args<'_>) -> String {
    let name = escape_bytes(args.at(0));
    let key = args.get(1).map(|key| shown_key(keys, db, key)).unwrap_or_default();
    match (resolve(args), args.get(4)) {
        (Ok(command), Some(row)) if command.id == CommandId::XAdd => {
            format!("{name} {key} of {}", shown_key(keys, db, row))
        }
        _ => format!("{name} {key}"),
    }
}

fn shown_key(keys: &Keyspace, db: usize, key: &[u8]) -> String {
    let asked: ArgBuf = [b"EXISTS".as_slice(), key].iter().collect();
    let shown = CommandId::Exists.command();
    let key = keys.shown_at(db, shown, asked.args(), Sender::Client, 1);
    match key.get(..KEY_BYTES_MAX) {
        Some(beginning) => format!("{}…", escape_bytes(beginning)),
        None => escape_bytes(&key),
    }
}
