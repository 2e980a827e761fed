//! When memory that lies scattered is gathered (defragmentation).
//!
//! Rows are loose when they are written and packed later, and most end some day; what
//! stays behind lies scattered over memory that nothing else can use: pages count as the
//! allocator's although little on them is in use. Where that is more than a small share,
//! everything is moved once at leisure (`Engine::gather`).
//!
//! Owns the decision. A walk costs about what copying all rows does, so there is none
//! before it can be expected to help: after the last one, memory must have become more
//! scattered than that one left it, or another amount be in use.
//! Not here: how the allocator is asked (`process/memory.rs`).

use crate::process::memory::{Allocator, without_thread_cache};
use keyward_engine::{Engine, Gathering};

/// So little is not worth a walk.
const SCATTERED_BYTES_MIN: u64 = 2 << 20;
/// One part in so many of what is in use is.
const SCATTERED_SHARE: u64 = 20;
/// Another amount is in use if it differs by one part in so many.
const CHANGED_SHARE: u64 = 32;

/// The walk, and what the last one left.
#[derive(Debug, Default)]
pub(crate) struct Gatherer {
    walk: Option<Gathering>,
    /// What the allocator held when the last walk was over.
    last: Option<Allocator>,
}

impl Gatherer {
    /// Whether there is something to do, by what the allocator holds now.
    pub(crate) fn is_wanted(&self, now: Allocator) -> bool {
        self.walk.is_some() || is_worth_it(now, self.last)
    }

    /// Takes a step; `look` tells what the allocator holds. What it was seen to hold a
    /// moment ago may have been in the midst of packing: a walk does not begin by that.
    pub(crate) fn step(&mut self, engine: &mut Engine, mut look: impl FnMut() -> Allocator) {
        if self.walk.is_none() && !is_worth_it(look(), self.last) {
            return;
        }
        let walk = self.walk.get_or_insert_default();
        if !without_thread_cache(|| engine.gather(walk)) {
            (self.walk, self.last) = (None, Some(look()));
        }
    }
}

/// Bytes of pages that nothing is on.
fn scattered(allocator: Allocator) -> u64 {
    allocator.active.saturating_sub(allocator.allocated)
}

fn is_worth_it(now: Allocator, last: Option<Allocator>) -> bool {
    let bytes = scattered(now);
    let is_much = bytes > SCATTERED_BYTES_MIN.max(now.allocated / SCATTERED_SHARE);
    let is_new = last.is_none_or(|last| {
        let changed = now.allocated.abs_diff(last.allocated);
        bytes > scattered(last) + scattered(last) / 2 || changed > last.allocated / CHANGED_SHARE
    });
    is_much && is_new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(allocated: u64, active: u64) -> Allocator {
        Allocator { allocated: allocated << 20, active: active << 20, resident: 0 }
    }

    #[test]
    fn only_what_is_scattered_more_than_before_or_among_other_rows_is_gathered() {
        assert!(!is_worth_it(held(1, 2), None), "it is little");
        assert!(!is_worth_it(held(1000, 1020), None), "it is a small share");
        assert!(is_worth_it(held(100, 110), None));
        let left = Some(held(100, 110));
        assert!(!is_worth_it(held(100, 110), left), "a walk has left it so");
        assert!(!is_worth_it(held(102, 114), left));
        assert!(is_worth_it(held(100, 120), left), "more is scattered");
        assert!(is_worth_it(held(60, 68), left), "many rows have gone");
        assert!(!is_worth_it(held(60, 61), left));
    }
}
