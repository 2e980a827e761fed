//! Whole files: what a database holds at one instant.
//!
//! Owns the frames around values. Both directions go one entry at a time, so that
//! whoever reads or writes can do something else in between.

mod compress;
mod parts;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use compress::Compressor;
pub use parts::{Ending, OpenRow, Part, fact};
pub use read::{FileReader, Record};
pub use write::FileWriter;

use std::ops::RangeInclusive;

/// The newest version that Redis writes and that is read: that of Redis 8.
pub(crate) const REDIS_VERSION_MAX: u32 = 12;
/// Valkey left Redis's numbering with version 9.
pub(crate) const VALKEY_VERSIONS: RangeInclusive<u32> = 80..=80;
/// The first version that ends with a checksum.
const SUM_VERSION_MIN: u32 = 5;

/// What is known of a row besides its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHead<'a> {
    /// The key.
    pub key: &'a [u8],
    /// When it ends, in milliseconds since the epoch.
    pub deadline_ms: Option<i64>,
    /// How it was used.
    pub usage: Option<Usage>,
}

/// How a row was used, as eviction wants to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// Seconds since it was used last.
    IdleSeconds(u64),
    /// The logarithmic counter of uses.
    Frequency(u8),
}

/// How many rows a database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// All rows.
    pub rows: u64,
    /// Those with a deadline.
    pub expiring: u64,
}
