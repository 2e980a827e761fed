//! What eviction goes by: limits, what each table says of its rows, and the pool of
//! candidates.
//!
//! Owns these as plain values over rows and tables.
//! Not here: the loop that makes room (`evict`), which row is the next (`keyspace::victim`).

mod limit;
mod pool;
mod quota;
mod standing;

pub use limit::MemoryLimit;
pub(crate) use pool::{Candidate, Pools};
pub(crate) use quota::Quotas;
pub use standing::Policy;
pub(crate) use standing::{Order, Rivals, Scope, Standing, Turn};

/// Allocations freed as one piece of work.
pub(crate) const FREED_PER_WORK: usize = 16;
