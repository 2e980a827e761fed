//! Which schemas are to be read, and what came of it.

use crate::files::schemas::SchemaFile;
use crate::serve::agenda::{Agenda, Notice};
use keyward_engine::{Proposal, Told};
use std::collections::VecDeque;
use std::rc::Rc;

/// What is to be read, and what came of it.
#[derive(Debug)]
pub(crate) struct Readings {
    /// Files, of which there is one for each schema that came from one.
    pub(crate) files: Vec<SchemaFile>,
    /// What clients want to be read.
    pub(super) proposals: VecDeque<Proposal>,
    /// What the primary tells of schemas.
    pub(super) told: Option<Told>,
    pub(crate) proposal_wanted: Rc<Notice>,
    pub(crate) told_wanted: Rc<Notice>,
    pub(crate) reload_wanted: Rc<Notice>,
    /// Told when all is loaded: nothing is reloaded before.
    pub(crate) is_ready: Rc<Notice>,
    /// What the engine said of the reload.
    pub(super) outcome: Option<Result<Vec<String>, String>>,
    pub(super) reloaded: Rc<Notice>,
}

impl Readings {
    pub(crate) fn new(agenda: &Rc<Agenda>) -> Readings {
        let notice = || Rc::new(Notice::new(agenda));
        Readings {
            files: Vec::new(),
            proposals: VecDeque::new(),
            told: None,
            proposal_wanted: notice(),
            told_wanted: notice(),
            reload_wanted: notice(),
            is_ready: notice(),
            outcome: None,
            reloaded: notice(),
        }
    }

    /// A client's text is to be read.
    pub(crate) fn want(&mut self, proposal: Proposal) {
        self.proposals.push_back(proposal);
        self.proposal_wanted.give();
    }

    /// What the primary tells of schemas is to be read.
    pub(crate) fn want_told(&mut self, told: Told) {
        self.told = Some(told);
        self.told_wanted.give();
    }

    /// The engine is done with a reload.
    pub(crate) fn end_reload(&mut self, outcome: Result<Vec<String>, String>) {
        self.outcome = Some(outcome);
        self.reloaded.give();
    }
}
