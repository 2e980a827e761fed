//! Loads: what the users of a system do.
//!
//! A load is a function of its chance and the time, and needs no reply to go on.
//! Not here: their pace and their replies (`driver`).

use std::time::{SystemTime, UNIX_EPOCH};

use keyward_schema::timestamp_text;

use crate::call::Call;
use crate::chance::Chance;

/// What the users of one system do.
pub(crate) trait Load: Send {
    /// Adds what is there before they come.
    fn lay_ground(&mut self, scene: &mut Scene);
    /// Adds the next thing that somebody does: one command, or a few.
    fn act(&mut self, scene: &mut Scene);
    /// Adds a command of code that has a mistake in it: the schema refuses it.
    fn err(&mut self, scene: &mut Scene);
}

/// Chance, the time, and what is to be sent.
pub(crate) struct Scene {
    pub(crate) chance: Chance,
    pub(crate) now_ms: i64,
    pub(crate) calls: Vec<Call>,
}

impl Scene {
    pub(crate) fn new(chance: Chance) -> Scene {
        Scene { chance, now_ms: clock_ms(), calls: Vec::new() }
    }

    pub(crate) fn add(&mut self, call: Call) {
        self.calls.push(call);
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// The time, as rows write it.
    pub(crate) fn now(&self) -> String {
        timestamp_text(self.now_ms)
    }

    /// The time in so many days.
    pub(crate) fn in_days(&self, days: usize) -> String {
        timestamp_text(self.now_ms + days as i64 * 86_400_000)
    }
}

pub(crate) fn clock_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
