//! What a server does on other threads: reading schemas, and freeing what is large.
//!
//! Owns what it is given until the time of it is not taken.

use keyward_engine::{
    ClientId, ConfigRefusal, Connection, Facts, Host, Proposal, Rewrite, Section, Tunables,
};
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
    fn config_get(&mut self, _patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        Vec::new()
    }

    fn config_set(
        &mut self,
        _client: ClientId,
        _pairs: &[(&[u8], &[u8])],
    ) -> Result<Tunables, ConfigRefusal> {
        Err("there are no settings".to_owned())
    }

    fn config_rewrite(&mut self, _scope: Rewrite) -> Result<(), ConfigRefusal> {
        Err("there are no settings".to_owned())
    }

    fn reset_stats(&mut self) {}

    fn info(&mut self, _section: Section, _facts: &Facts, _out: &mut String) {}

    fn connection(&self, _client: ClientId) -> Connection {
        Connection::default()
    }

    fn read_schema(&mut self, proposal: Proposal) -> Option<Proposal> {
        self.proposal = Some(proposal);
        None
    }

    fn discard(&mut self, remains: Box<dyn Any + Send>) {
        self.remains.push(remains);
    }
}
