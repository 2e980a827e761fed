//! When the rows of a table go: what `maxmemory-policy` or a schema says of them.
//!
//! Owns the words of both. A table without a standing loses nothing to eviction.
//! Not here: which of its rows is the next (`keyspace::victim`).

use crate::values::access::Reading;
use keyward_rules::RuleBook;
use keyward_schema::{Evict, KeyId};

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

/// Whose turn it is to lose rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// That of patterns that go first.
    First,
    /// That of all others that may go.
    Others,
}

/// When the rows of a table go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Whose turn it is.
    pub turn: Turn,
    /// Which rows may go.
    pub scope: Scope,
    /// Which go first.
    pub order: Order,
}

impl Standing {
    /// What the server's policy says of the keys that no pattern speaks for.
    pub(crate) fn by_policy(Policy { scope, order }: Policy) -> Standing {
        Standing { turn: Turn::Others, scope, order }
    }

    /// What a schema says of a pattern's keys; `None` if they stay.
    pub(crate) fn by_schema(evict: Evict) -> Option<Standing> {
        let (turn, scope, order) = match evict {
            Evict::Never => return None,
            Evict::First => (Turn::First, Scope::All, Order::Recency),
            Evict::Lru => (Turn::Others, Scope::All, Order::Recency),
            Evict::Lfu => (Turn::Others, Scope::All, Order::Frequency),
            Evict::Ttl => (Turn::Others, Scope::Expiring, Order::Deadline),
        };
        Some(Standing { turn, scope, order })
    }

    /// What a book says of a pattern's keys. Those that observe go as the server's policy says.
    pub(crate) fn under(
        book: &RuleBook,
        pattern: KeyId,
        by_policy: Option<Standing>,
    ) -> Option<Standing> {
        match book.observes(pattern) {
            true => by_policy,
            false => Standing::by_schema(book.schema().key(pattern).evict),
        }
    }

    /// What decides which of the rows is the next to go, if their use does.
    pub(crate) fn by_use(self) -> Option<Reading> {
        match self.order {
            Order::Recency => Some(Reading::Recency),
            Order::Frequency => Some(Reading::Frequency),
            Order::Chance | Order::Deadline => None,
        }
    }
}

/// The rows that compete in going by their use: those of the tables with this standing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rivals {
    pub turn: Turn,
    pub reading: Reading,
}

impl Rivals {
    /// Whether the rows of a table are among them.
    pub(crate) fn include(self, standing: Standing) -> bool {
        standing.turn == self.turn && standing.by_use() == Some(self.reading)
    }
}
