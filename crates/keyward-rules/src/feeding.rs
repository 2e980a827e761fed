//! Whether a command may add to the changefeed, before it runs.
//!
//! Owns what the table of commands and the table of a key tell of that. It is a guess that is
//! rarely too low and sometimes too high, for those who must decide before a unit begins;
//! what a command did is told exactly by `after::sinks`.

use crate::book::RuleBook;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId};
use keyward_schema::{KeyId, SinkKind};

impl RuleBook {
    /// The changefeed that a command may add to by changing a row of a table. Rows
    /// that change with others go nowhere by themselves.
    pub fn may_tell(&self, command: &Command, table: KeyId) -> Option<&[u8]> {
        if !command.flags.has(Flag::Write) {
            return None;
        }
        self.feed_of(table, |kind| tells(kind, command))
    }

    /// The changefeed that whatever changes a row of a table may add to.
    pub fn may_be_told(&self, table: KeyId) -> Option<&[u8]> {
        self.feed_of(table, |_| true)
    }

    fn feed_of(&self, table: KeyId, tells: impl Fn(SinkKind) -> bool) -> Option<&[u8]> {
        if !self.has_sinks() {
            return None;
        }
        let sink = self.schema().key(table).sink.as_ref();
        let is_told = sink.is_some_and(|sink| tells(sink.kind));
        is_told.then(|| self.changefeed_of(table))
    }
}

/// Whether a command that writes may have something to tell of a row: those that take no memory
/// end rows, the others add to them, but for those that bring whole rows.
fn tells(kind: SinkKind, command: &Command) -> bool {
    let brings_rows = matches!(
        command.id,
        CommandId::Rename | CommandId::RenameNx | CommandId::Copy | CommandId::Restore
    );
    match kind {
        SinkKind::Mirror => true,
        SinkKind::Archive => brings_rows || !command.flags.has(Flag::DenyOom),
        SinkKind::Append | SinkKind::Drain => brings_rows || command.flags.has(Flag::DenyOom),
    }
}
