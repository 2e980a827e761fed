//! What is known of the link to the server that this one follows, between attempts.

use crate::serve::agenda::{Agenda, Notice};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The link to the server that this one follows.
#[derive(Debug)]
pub(crate) struct Link {
    /// Counts changes of whom to follow: what was begun before the last one is void.
    pub(crate) order: u64,
    /// Given when there is something to look at: another primary, or the end of a connection.
    pub(crate) changed: Rc<Notice>,
    /// A snapshot is loaded beside what there is, which is served meanwhile.
    pub(crate) loads_beside: bool,
    /// The primary has schemas: its snapshots go by way of a file.
    pub(crate) goes_by_file: Arc<AtomicBool>,
}

impl Link {
    pub(crate) fn new(agenda: &Rc<Agenda>) -> Link {
        Link {
            order: 0,
            changed: Rc::new(Notice::new(agenda)),
            loads_beside: false,
            goes_by_file: Arc::default(),
        }
    }
}
