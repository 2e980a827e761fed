//! Which arguments of a call are channels that the client must have a right to.
//!
//! Not here: who listens to them. Unsubscribing needs no right.

use crate::command::Command;
use crate::table::CommandId;
use std::ops::Range;

/// The channels of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Which arguments.
    pub places: Range<usize>,
    /// Whether they are patterns of channels.
    pub are_patterns: bool,
}

impl Command {
    /// The channels of a call with so many arguments, its name included; `None` where the
    /// command has none.
    pub fn channels_in(&self, count: usize) -> Option<Channels> {
        let (end, are_patterns) = match self.id {
            CommandId::Subscribe | CommandId::SSubscribe => (count, false),
            CommandId::PSubscribe => (count, true),
            CommandId::Publish | CommandId::SPublish => (count.min(2), false),
            _ => return None,
        };
        Some(Channels { places: 1..end.max(1), are_patterns })
    }
}
