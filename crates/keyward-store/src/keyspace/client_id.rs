//! The number of a client, by which everybody but its connection knows it.

/// Numbers clients in the order they came; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);
