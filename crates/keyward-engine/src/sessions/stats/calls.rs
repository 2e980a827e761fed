//! Counters per command, in the order of the command table.

use super::histogram::Histogram;
use keyward_commands::{COMMANDS, Command, CommandId};

/// What is counted of one command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counters {
    /// How often it ran.
    pub calls: u64,
    /// How long it took in all.
    pub ns: u64,
    /// How often it was refused before it ran.
    pub rejected: u64,
    /// How often it answered with an error.
    pub failed: u64,
    /// How long it took, if that is tracked and it ran.
    latencies: Option<Box<Histogram>>,
}

impl Counters {
    /// Remembers how long a call took.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        self.latencies.get_or_insert_default().record(ns);
    }

    /// How long its calls took.
    pub(crate) fn latencies(&self) -> Option<&Histogram> {
        self.latencies.as_deref()
    }

    /// Whether anything was counted.
    pub(crate) fn is_used(&self) -> bool {
        self.calls + self.rejected + self.failed > 0
    }
}

/// The counters of all commands.
#[derive(Debug)]
pub(crate) struct CallStats(Box<[Counters]>);

impl Default for CallStats {
    fn default() -> CallStats {
        CallStats(vec![Counters::default(); CommandId::COUNT].into())
    }
}

impl CallStats {
    /// The counters of a command.
    #[inline]
    pub(crate) fn of_mut(&mut self, id: CommandId) -> &mut Counters {
        &mut self.0[id as usize]
    }

    /// The counters of a command.
    pub(crate) fn of(&self, id: CommandId) -> &Counters {
        &self.0[id as usize]
    }

    /// All commands and their counters.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static Command, &Counters)> {
        COMMANDS.iter().zip(&self.0)
    }
}
