//! Keeping within `maxmemory`: rows go while memory is above the limit.
//!
//! Owns the policies and the loop that makes room before a command. How much
//! memory is in use only the host knows (`Host::used_memory`): what it answers is
//! an input like any other, so a replay that gives the same answers evicts the
//! same rows.
//!
//! Invariants: one call does a bounded amount of work (`maxmemory-eviction-tenacity`
//! says how much), and what is left to do is continued by ticks; while there is
//! anything to evict no command is refused.
//! Not here: which row is the next to go (`keyspace::victim`), how large values
//! are freed (`reclaim`).

mod pool;

pub(crate) use pool::Pool;

use crate::access::FrequencyRates;
use crate::engine::Engine;
use crate::governed;
use crate::host::Host;
use crate::session::Session;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::Args;
use keyward_schema::Evict;

/// Work per call at the lowest tenacity.
const WORK_MIN: usize = 16;
/// Allocations freed as one piece of work.
const FREED_PER_WORK: usize = 16;
/// Rows looked at to find one that goes, however many are asked for: work is bounded.
const SAMPLES_MAX: usize = 64;
/// Microseconds a piece of work takes, about: one row found and removed.
const WORK_US: usize = 2;

/// Which rows may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All.
    All,
    /// Those with a deadline.
    Expiring,
}

/// Which rows go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Those used longest ago.
    Recency,
    /// Those used most seldom.
    Frequency,
    /// Any.
    Chance,
    /// Those that end soonest.
    Deadline,
}

/// Whose turn it is: a schema has the rows of some patterns go before all others,
/// and those of others not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// That of patterns that go first.
    First,
    /// That of all others that may go.
    Others,
}

impl Turn {
    /// Whether it is the turn of patterns that say this.
    pub(crate) fn includes(self, evict: Evict) -> bool {
        match evict {
            Evict::Never => false,
            Evict::First => self == Turn::First,
            Evict::Lru | Evict::Lfu | Evict::Ttl => self == Turn::Others,
        }
    }
}

/// What goes when memory is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Which rows may go.
    pub scope: Scope,
    /// Which go first.
    pub order: Order,
}

impl Policy {
    /// The policy of a name `maxmemory-policy` takes; `None` for `noeviction`.
    pub fn by_name(name: &str) -> Option<Policy> {
        let (scope, order) = match name {
            "allkeys-lru" => (Scope::All, Order::Recency),
            "allkeys-lfu" => (Scope::All, Order::Frequency),
            "allkeys-random" => (Scope::All, Order::Chance),
            "volatile-lru" => (Scope::Expiring, Order::Recency),
            "volatile-lfu" => (Scope::Expiring, Order::Frequency),
            "volatile-random" => (Scope::Expiring, Order::Chance),
            "volatile-ttl" => (Scope::Expiring, Order::Deadline),
            _ => return None,
        };
        Some(Policy { scope, order })
    }
}

/// How much memory may be used, and what happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// `maxmemory`; 0 for no limit.
    pub bytes_max: u64,
    /// `maxmemory-policy`; `None` if nothing may go.
    pub policy: Option<Policy>,
    /// `maxmemory-samples`: rows of each database looked at to find one that goes.
    pub samples: usize,
    /// `maxmemory-eviction-tenacity`: how much work is done before a command, from
    /// 0 to 100.
    pub tenacity: u32,
    /// How often-used rows are told from others.
    pub rates: FrequencyRates,
}

impl Default for MemoryLimit {
    fn default() -> MemoryLimit {
        MemoryLimit {
            bytes_max: 0,
            policy: None,
            samples: 5,
            tenacity: 10,
            rates: FrequencyRates { log_factor: 10, decay_minutes: 1 },
        }
    }
}

impl MemoryLimit {
    /// How use is recorded under this policy.
    pub(crate) fn frequency(&self) -> Option<FrequencyRates> {
        let counts = self.policy.is_some_and(|policy| policy.order == Order::Frequency);
        counts.then_some(self.rates)
    }

    /// The most pieces of work done at a time. Redis's scale of time: linear to
    /// half a millisecond at 10, then 15 % more per step, at 100 without end.
    fn work_max(&self) -> usize {
        let microseconds = match self.tenacity {
            0..=10 => 50.0 * f64::from(self.tenacity),
            11..=99 => 500.0 * 1.15f64.powi(self.tenacity as i32 - 10),
            _ => return usize::MAX,
        };
        (microseconds as usize / WORK_US).max(WORK_MIN)
    }
}

/// What making room came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relief {
    /// Memory is within the limit.
    Done,
    /// It is not, but there is more that can go.
    Underway,
    /// It is not, and nothing more can go.
    Impossible,
}

impl Engine {
    /// Makes room before a command, or refuses it.
    pub(crate) fn make_room(
        &mut self,
        host: &mut dyn Host,
        session: &mut Session,
        command: &'static Command,
        args: Args<'_>,
    ) -> Result<(), WireError> {
        self.evict(host);
        if !self.keys.changes.news.is_empty() {
            self.shared.spread_news(&mut self.keys, Some(session));
        }
        if self.shared.relief != Relief::Impossible || !self.needs_memory(session, command, args) {
            return Ok(());
        }
        Err(WireError::OutOfMemory)
    }

    /// Does as much eviction as may be done at a time; answers whether there is
    /// more to do.
    pub(crate) fn evict(&mut self, host: &mut dyn Host) -> bool {
        self.shared.relief = match self.shared.pause {
            // During a pause the data stay as they are.
            Some(_) => Relief::Done,
            None => self.relieve(host),
        };
        self.shared.relief == Relief::Underway
    }

    /// Frees and evicts until memory is within the limit or enough work was done.
    fn relieve(&mut self, host: &mut dyn Host) -> Relief {
        let limit = self.shared.tunables.memory;
        let mut work = limit.work_max();
        while limit.bytes_max > 0 && host.used_memory() > limit.bytes_max {
            if work == 0 {
                return Relief::Underway;
            }
            // What is no longer reachable goes before what still is.
            let done = match self.keys.reclaim.step(FREED_PER_WORK) {
                0 => match self.evict_one(&limit, host) {
                    Some(freed) => 1 + freed / FREED_PER_WORK,
                    None => return Relief::Impossible,
                },
                _ => 1,
            };
            work = work.saturating_sub(done);
        }
        Relief::Done
    }

    /// Removes the row that is the next to go, and what depended on it.
    fn evict_one(&mut self, limit: &MemoryLimit, host: &mut dyn Host) -> Option<usize> {
        let freed = self.keys.evict_one(limit.policy?, limit.samples.min(SAMPLES_MAX))?;
        governed::follow_ended_by_itself(&mut self.keys, &mut self.shared, host);
        Some(freed)
    }

    /// Whether a command is refused while there is no memory. What is queued in a
    /// transaction takes memory too.
    fn needs_memory(&self, session: &Session, command: &Command, args: Args<'_>) -> bool {
        let takes = |command: &Command, args: Args<'_>| {
            command.flags.has(Flag::DenyOom) || self.shared.scripts.needs_memory(command.id, args)
        };
        match (&session.transaction, command.id) {
            (Some(transaction), CommandId::Exec) => {
                transaction.queue.iter().any(|(queued, args)| takes(queued, args.args()))
            }
            (Some(_), CommandId::Discard | CommandId::Quit | CommandId::Reset) => false,
            (Some(_), _) => true,
            (None, _) => takes(command, args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_tenacity_is_more_work() {
        let work = |tenacity| MemoryLimit { tenacity, ..MemoryLimit::default() }.work_max();
        assert_eq!((work(0), work(10), work(11), work(100)), (WORK_MIN, 250, 287, usize::MAX));
        assert!((0..100).all(|tenacity| work(tenacity) <= work(tenacity + 1)));
    }
}
