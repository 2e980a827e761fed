//! Patterns with a `rest` or an address, whose end no number of segments tells.
//!
//! One whose tail begins with text is found by it, in the trie of the state where it begins
//! (`forms`), so that a state's list has only those that the text so far leaves.
//!
//! Invariant: the tails of a state are in an order in which a smaller pattern comes before a
//! larger one; all that accept one key are nested, so the first that fits is the answer.

use super::Answer;
use super::ends::Ends;
use super::routine::Routine;
use super::text::Text;

/// A pattern that a state may be the answer of, whatever follows.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    pub(super) answer: Answer,
    pub(super) demand: Demand,
}

/// What a tail demands of the key, given that its segments before the tail fit, and the text that
/// the tail begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Demand {
    /// Nothing: a `rest` began some segments ago.
    Nothing,
    /// A `rest` began one segment ago, and is not empty.
    SomethingBefore,
    /// A `rest` begins here, and is not empty.
    Something,
    /// That the routine of this number can read it, behind so many segments.
    Reading { routine: u32, segments_before: u8 },
}

/// Which part of the matcher's tails belongs to a state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailList {
    pub(super) start: u32,
    pub(super) count: u8,
}

impl TailList {
    #[inline]
    pub(super) fn of(self, tails: &[Tail]) -> &[Tail] {
        match self.count {
            0 => &[],
            count => &tails[self.start as usize..][..usize::from(count)],
        }
    }
}

impl Tail {
    /// Whether the pattern accepts the key; `start` is where the next segment would start.
    #[inline]
    pub(super) fn is_fitting(
        &self,
        key: Text<'_>,
        ends: Ends,
        start: usize,
        routines: &[Routine],
    ) -> bool {
        match self.demand {
            Demand::Nothing => true,
            Demand::Something => start < key.length(),
            Demand::SomethingBefore => {
                start <= key.length() || key.bytes().last().is_some_and(|last| *last != b':')
            }
            Demand::Reading { routine, segments_before } => {
                let from = ends.start_behind(key.bytes(), segments_before);
                // Where the key ends with the segments before, there is no tail.
                let (routine, to) = (&routines[routine as usize], key.length());
                from <= to && routine.admits(key, from, to) && routine.accepts(key, from, to)
            }
        }
    }
}
