//! What is known of the link to the server that this one follows, between attempts.

use crate::serve::agenda::{Agenda, Notice};
use std::rc::Rc;

/// The link to the server that this one follows.
#[derive(Debug)]
pub(crate) struct Link {
    /// Counts changes of whom to follow: what was begun before the last one is void.
    pub(crate) order: u64,
    /// Given when there is something to look at: another primary, or the end of a connection.
    pub(crate) changed: Rc<Notice>,
}

impl Link {
    pub(crate) fn new(agenda: &Rc<Agenda>) -> Link {
        Link { order: 0, changed: Rc::new(Notice::new(agenda)) }
    }
}
