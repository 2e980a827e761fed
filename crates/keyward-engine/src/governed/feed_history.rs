//! The history that a changefeed is in: what is kept of that between commands.
//!
//! Not here: when one begins (`changefeed`).

use keyward_rules::FeedMarks;

/// The history that a changefeed is in since a start, a promotion, or a change of sinks.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) db: usize,
    pub(crate) feed: Box<[u8]>,
    /// The group of the stream that tells of it.
    pub(crate) group: Box<[u8]>,
    pub(crate) marks: FeedMarks,
}
