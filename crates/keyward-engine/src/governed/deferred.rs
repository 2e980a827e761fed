//! What the unit that is running has left to its end.
//!
//! Owns the list, which a part of the unit that is undone takes its own off again.
//! Not here: when a unit begins and ends (`unit`), what is deferred (`keyward_rules`).

use keyward_rules::Deferred;

/// A unit that is running.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// With their databases, in the order in which it was left.
    pub(super) deferred: Vec<(usize, Deferred)>,
    /// Whether a command left something of which a refusal must not show what was found.
    pub(super) is_discreet: bool,
    /// What its commands would have left to its end in tables that only observe.
    pub(super) observed: Vec<(usize, Deferred)>,
}

impl Unit {
    /// Whether anything is left to its end so far.
    pub(super) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// A command has left this to its end; whether a refusal may show what was found.
    pub(super) fn defer(&mut self, deferred: Vec<(usize, Deferred)>, shows_found: bool) {
        self.is_discreet |= !shows_found;
        self.deferred.extend(deferred);
    }
}
