//! How memory stands before a command.

/// What making room came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Relief {
    /// There is more that can go, and must.
    pub(crate) is_underway: bool,
    /// The server has too little memory, and nothing more can go.
    pub(crate) is_impossible: bool,
    /// The databases that take more than they may, and of which nothing more can go.
    pub(crate) full: Vec<usize>,
}

impl Relief {
    /// Whether commands on a database that take memory are refused.
    pub(crate) fn refuses(&self, db: usize) -> bool {
        self.is_impossible || self.full.contains(&db)
    }
}
