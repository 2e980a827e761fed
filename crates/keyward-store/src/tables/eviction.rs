//! What eviction goes by: limits, what each table says of its rows, and the pool of
//! candidates.
//!
//! Owns these as plain values over rows and tables.
//! Not here: the loop that makes room (`evict` of the engine), which row is the next (`keyspace::victim`).

use std::ops::Range;

pub mod forecast;
pub mod limit;
pub(crate) mod pool;
pub(crate) mod quota;
pub(crate) mod standing;
pub(crate) mod usage;

pub use forecast::{Forecast, Load};
pub use limit::MemoryLimit;
pub(crate) use pool::{Candidate, Pools};
pub(crate) use quota::Quotas;
pub use quota::Share;
pub use standing::Policy;
pub(crate) use standing::Rivals;
pub use standing::Standing;
pub use standing::{Order, Scope, Turn};
pub use usage::Usage;

/// Where rows go from: some databases, and in each of them some tables.
#[derive(Debug, Clone)]
pub struct Region {
    /// The databases.
    pub dbs: Range<usize>,
    /// Their tables, by index.
    pub tables: Range<usize>,
}

impl Region {
    /// All tables of some databases.
    pub fn of(dbs: Range<usize>) -> Region {
        Region { dbs, tables: 0..usize::MAX }
    }
}

/// Allocations freed as one piece of work.
pub const FREED_PER_WORK: usize = 16;
