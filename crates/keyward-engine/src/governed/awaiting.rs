//! Large ends: who has to wait for them before a command runs.
//!
//! Owns the decision, and what the host asks about ends. A command removes what it must not
//! see if that takes little, and waits for the ticks to do it otherwise; who writes waits too
//! while too many ends are pending, or somebody waits for long.
//! Not here: the removing, and who goes on when (`ends`).

use super::awaited::Awaited;
use super::ends::{DUE_PATIENCE_MS, STEPS_AT_ONCE, advance, awaited_by};
use super::{depends_on_others, follow_ended};
use crate::engine::Engine;
use crate::host::Host;
use crate::sessions::session::Session;
use crate::sessions::transaction;
use keyward_commands::Command;
use keyward_resp::Args;
use keyward_rules::host::policy;
use keyward_store::keyspace::ENDS_MAX;
use keyward_store::keyspace::client_id::ClientId;

/// Due rows that a command removes before it runs; it waits for more.
const SETTLED_AT_ONCE: usize = 32;
/// The same of who has waited for long.
const SETTLED_AT_LAST: usize = 128;
/// When somebody has waited so long for ends, those who write wait too: they begin others.
const ENDS_PATIENCE_MS: i64 = 1_000;
/// Who waits for fewer goes on when so many are left.
const ENDS_LEFT: u64 = 128;

impl Engine {
    /// Removes what a command must not see, if that takes little; has the client wait for it
    /// otherwise, and returns that it does.
    #[cold]
    pub(crate) fn await_ends(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        let is_exempt = session.id == ClientId(0) || session.is_monitor || session.is_replica;
        if is_exempt || transaction::queues(session, command) {
            return false;
        }
        let Engine { keys, shared, .. } = self;
        let mut is_settled = true;
        if keys.is_unsettled() && depends_on_others(keys, session, command, args) {
            keys.effects.begin_unit();
            // Where nothing is swept nobody else would remove them.
            let waited_ms = session.awaits_since_ms.map_or(0, |since| keys.now_ms() - since);
            let most = match waited_ms < DUE_PATIENCE_MS {
                true => SETTLED_AT_ONCE,
                false => SETTLED_AT_LAST,
            };
            is_settled = keys.settle(if shared.switches.sweeps { most } else { usize::MAX });
            follow_ended(keys, shared, session, host);
            shared.spread_news(keys, Some(session));
        }
        let mut end = match &session.transaction {
            Some(transaction) if policy::runs_queue(command) => {
                let queued = transaction.queue.iter();
                let awaited = queued
                    .map(|(command, args)| awaited_by(keys, session.db, command, args.args()));
                awaited.max().unwrap_or(0)
            }
            _ => awaited_by(keys, session.db, command, args),
        };
        let may_begin_ends = policy::may_begin_ends(command);
        let is_overdue = |awaited: &Awaited| keys.now_ms() - awaited.since_ms >= ENDS_PATIENCE_MS;
        if may_begin_ends && (shared.drains_ends || shared.awaiting.iter().any(is_overdue)) {
            end = keys.ends_begun();
        } else if may_begin_ends && keys.pending_ends() >= ENDS_MAX {
            end = end.max(keys.ends_begun().saturating_sub(ENDS_LEFT));
        }
        if is_settled && end <= keys.ended_up_to() {
            session.awaits_since_ms = None;
            return false;
        }
        session.postponed.push_front(args.into());
        session.is_paused = true;
        let (client, no_due_source) = (session.id, !is_settled);
        let since_ms = *session.awaits_since_ms.get_or_insert(keys.now_ms());
        shared.awaiting.push(Awaited { client, end, no_due_source, since_ms });
        true
    }

    /// Whether ends are pending: a snapshot of this instant would have what is gone. Those of a
    /// replica come by its primary's stream.
    pub fn has_pending_ends(&self) -> bool {
        self.keys.has_pending() && !self.keys.is_following()
    }

    /// Whether rows are still on their way to the tables of a schema that came into force: a
    /// snapshot would first bring them all, in one go.
    pub fn is_bringing_rows(&self) -> bool {
        self.keys.is_bringing_rows()
    }

    /// Lets who writes wait until all pending ends are over, or no longer so.
    pub fn drain_ends(&mut self, is_on: bool) {
        self.shared.drains_ends = is_on;
    }

    /// Takes all steps of pending ends at once, if they are this server's to take.
    pub fn finish_ends(&mut self, host: &mut dyn Host) {
        let Engine { keys, shared, .. } = self;
        let mut nobody = Session::new(ClientId(0), keys.now_ms(), true);
        keys.effects.begin_unit();
        while keys.has_pending() && !keys.is_following() {
            advance(keys, shared, &mut nobody, host, STEPS_AT_ONCE);
        }
    }
}
