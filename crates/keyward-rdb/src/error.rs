//! Why data cannot be read.

use std::borrow::Cow;
use std::io;

/// Why data cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source failed.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The data ends within something.
    #[error("ends too early, at byte {offset}")]
    Truncated {
        /// How many bytes there are.
        offset: u64,
    },
    /// The data says something impossible.
    #[error("is damaged before byte {offset}: {what}")]
    Malformed {
        /// How far it was read.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// The data holds something that is not served.
    #[error("holds {what}, which is not supported, at byte {offset}")]
    Unsupported {
        /// How far it was read.
        offset: u64,
        /// What it is.
        what: Cow<'static, str>,
    },
    /// A collection without elements, which no database holds. What follows it
    /// can be read.
    #[error("has an empty collection before byte {offset}")]
    Empty {
        /// How far it was read.
        offset: u64,
    },
    /// The file does not begin as such files do.
    #[error("is not an RDB file")]
    NotRdb,
    /// The file is of a version that is not known.
    #[error("is of version {0}, which is not known")]
    Version(u32),
    /// The sum over the data is not the one it ends with.
    #[error("has the checksum {found:016x}, but says {told:016x}")]
    Checksum {
        /// The sum over what was read.
        found: u64,
        /// The sum that was told.
        told: u64,
    },
}
