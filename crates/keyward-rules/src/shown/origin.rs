//! Where a command has the values from that it writes.
//!
//! The arguments of a call its client knows. What is read from a row, or by a script, may
//! be secret there, and not where it is written: then a refusal does not show it.

use keyward_commands::flags::KeyFlag;
use keyward_commands::{Command, CommandId};
use keyward_resp::Args;

use super::{Books, Sender, Subject};
use crate::book::RuleBook;

/// Whether a call names every key that its arguments, and what is found by it, can be of. A
/// program may touch any other, what a script calls has its arguments from anywhere, SORT reads
/// keys that nobody names, and EXEC names none.
pub fn names_its_keys(command: &Command, args: Args<'_>, sender: Sender) -> bool {
    sender == Sender::Client
        && Subject::of(command) != Subject::Program
        && !matches!(command.id, CommandId::Sort | CommandId::SortRo)
        && command.keys_in(args).len() > 0
}

impl Books<'_> {
    /// Whether a refusal of a call, or a warning about it, may show what was found: values,
    /// and names of fields that are not declared. It may not where something secret can be
    /// among them: the call reads a key that is secret in any part, or that belongs to no
    /// pattern, or keys that nobody names (SORT); a script calls it; or it writes a payload
    /// (RESTORE).
    pub fn shows_found(&self, command: &Command, args: Args<'_>, sender: Sender) -> bool {
        if !self.has_secrets() {
            return true;
        }
        if sender == Sender::Script || matches!(command.id, CommandId::Restore | CommandId::Sort) {
            return false;
        }
        let keys = command.keys_in(args);
        let takes = keys.len() > 1 || command.id == CommandId::Move;
        let mut read = keys.filter(|key| takes && !key.flags.has(KeyFlag::Ow));
        // Of a database without a schema nobody knows where its values come from.
        read.all(|key| self.own.is_some_and(|book| book.is_public(args.at(key.index))))
    }
}

impl RuleBook {
    /// Whether a key has a pattern, and neither its name nor what it holds is secret.
    fn is_public(&self, key: &[u8]) -> bool {
        let names_none = |table| self.schema().key(table).secret_placeholders.is_empty();
        self.shows_values_of(key) && self.table_of(key).is_some_and(names_none)
    }
}
