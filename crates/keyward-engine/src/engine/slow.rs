//! Noting what took long: the slow log and the latency monitor.

use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use crate::sessions::slowlog::Occasion;
use keyward_commands::Command;
use keyward_commands::flags::Flag;
use keyward_resp::Args;
use keyward_rules::Sender;
use keyward_store::keyspace::Keyspace;

impl Shared {
    /// Notes a command that took long where it is to be noted.
    #[cold]
    pub(crate) fn note_slow(
        &mut self,
        host: &mut dyn Host,
        (keys, db): (&Keyspace, usize),
        session: &Session,
        (command, args, sender): (&Command, Args<'_>, Sender),
        ns: u64,
    ) {
        let is_fast = command.flags.has(Flag::Fast);
        self.note_latency(if is_fast { "fast-command" } else { "command" }, ns);
        let us = ns / 1000;
        let is_slow = self.tunables.slow_log_us_min.is_some_and(|min| us >= min);
        if is_slow && !command.flags.has(Flag::SkipSlowlog) {
            let occasion = Occasion {
                time_s: self.now_us / 1_000_000,
                us,
                address: host.connection(session.id).address,
                client_name: session.name.as_deref().unwrap_or_default(),
            };
            let shown = keys.shown(db, command, args, sender);
            self.stats.slow_log.push(&shown, occasion, self.tunables.slow_log_len_max);
        }
    }

    /// Notes an event for the latency monitor if it took long enough.
    pub(crate) fn note_latency(&mut self, event: &'static str, ns: u64) {
        let (ms, ms_min) = (ns / 1_000_000, self.tunables.latency_ms_min);
        if ms_min > 0 && ms >= ms_min {
            self.stats.latency.add(event, self.now_us / 1_000_000, ms);
        }
    }
}
