//! What a server does on other threads: reading schemas, and freeing what is large.
//!
//! Owns what it is given until the time of it is not taken.

use keyward_engine::{Host, Proposal};
use std::any::Any;

/// A host that does nothing but that.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// A schema to be read.
    pub(super) proposal: Option<Proposal>,
    /// What is to be freed.
    pub(super) remains: Vec<Box<dyn Any + Send>>,
}

impl Host for Elsewhere {
    fn read_schema(&mut self, proposal: Proposal) -> Option<Proposal> {
        self.proposal = Some(proposal);
        None
    }

    fn discard(&mut self, remains: Box<dyn Any + Send>) {
        self.remains.push(remains);
    }
}
