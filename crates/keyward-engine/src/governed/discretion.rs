//! Whether a refusal shows what was found.
//!
//! Owns the question, asked once something is refused or passes with a warning: what a
//! command takes from a secret is not shown. Not here: what decides it
//! (`keyward_rules::Books::shows_found`).

use crate::engine::context::Ctx;
use keyward_commands::Command;
use keyward_resp::Args;
use keyward_rules::{Refusal, Sender};
use keyward_store::keyspace::Keyspace;

/// A command, as far as it decides what a refusal of it shows.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    /// The database it was sent to.
    pub(crate) db: usize,
    pub(crate) command: &'a Command,
    pub(crate) args: Args<'a>,
    pub(crate) sender: Sender,
}

impl<'a> Call<'a> {
    /// The command of a context.
    pub(super) fn of(ctx: &Ctx<'a>) -> Call<'a> {
        let Ctx { db, command, args, mode, .. } = *ctx;
        Call { db, command, args, sender: mode.sender() }
    }

    /// Whether its refusal may show what was found.
    pub(super) fn shows_found(&self, keys: &Keyspace) -> bool {
        keys.shows_found(self.db, self.command, self.args, self.sender)
    }
}

/// A refusal as it may be shown; without a command it is discreet.
pub(super) fn shown(keys: &Keyspace, call: Option<Call<'_>>, refusal: &Refusal) -> Refusal {
    let refusal = refusal.clone();
    match call {
        Some(call) if call.shows_found(keys) => refusal,
        _ => refusal.discreet(),
    }
}
