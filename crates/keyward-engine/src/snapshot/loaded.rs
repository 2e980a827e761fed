//! What loading came to.

/// What loading came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Rows that are there now.
    pub rows: u64,
    /// Rows whose time was over.
    pub expired: u64,
    /// Rows with an empty collection, of which there are none.
    pub empty: u64,
    /// Rows there should be, as far as the file says so.
    pub told: u64,
}
