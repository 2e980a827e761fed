//! Finding the pattern of a key.
//!
//! Owns the automaton that all patterns of a schema are compiled into. A state
//! is the set of patterns that fit the segments read so far; one step reads one
//! segment. A step first looks the segment up among the words that the state's
//! patterns spell out (`words`), and otherwise judges it by the kinds of their
//! placeholders, as far as this state tells them apart (`kinds`). Both lead to
//! exactly the patterns that accept the segment, so nothing is ever tried
//! again. A `rest` is an answer that stands once its prefix is read and counts
//! if no closed pattern does: it is carried along, never returned to.
//!
//! Invariants: the answer is the one that [`Pattern::accepts`] and
//! [`crate::relate`] define, the smallest of the patterns that accept the key;
//! `find` neither allocates nor reads a byte twice but to judge a placeholder;
//! a step touches one state and, for a word, one slot, whatever the number of
//! patterns. Estimate: 12 ns a segment, half of it branches that random keys
//! make unpredictable; measured in `bench/RESULTS.md`.
//! Not here: what a pattern accepts (`pattern`), reporting patterns that
//! contradict each other (`checks`).

mod build;
mod colons;
mod found;
mod kinds;
mod words;

use std::num::{NonZeroU8, NonZeroU32};

pub use build::{MAX_MEMBERS, MAX_STATES, MatcherError, NamedPattern};
pub use found::{Match, Placeholders};

use crate::{MAX_SEGMENTS, Pattern};
use colons::Colons;
use kinds::KindSet;
use words::{WordTable, Words};

/// The longest key that can match, in bytes: positions in it have 32 bits.
///
/// Redis's own limit is an eighth of that.
pub const MAX_KEY_BYTES: usize = u32::MAX as usize;

/// All patterns of a schema, ready to find the one that a key belongs to.
#[derive(Clone, Debug)]
pub struct Matcher {
    /// The first one is the start.
    states: Box<[State]>,
    words: Words,
    /// Where the kinds of a segment lead, for all states one after the other.
    branches: Box<[Branch]>,
}

/// The index of a state that a step leads to, which is never the first one.
type Next = NonZeroU32;

/// What is known after some segments: which patterns can still match.
#[derive(Clone, Debug)]
struct State {
    /// The words that lead on.
    words: WordTable,
    /// The answer if the key ends here.
    end: Option<Answer>,
    /// The answer if more follows and nothing better turns up.
    rest: Option<Answer>,
    /// The kinds that a segment which is none of the words is judged by.
    kinds: KindSet,
    /// Which of the matcher's branches belong to this state.
    branches_start: u32,
    branch_count: u32,
}

/// A pattern, and which of its segments are placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answer {
    pattern: u32,
    /// One bit for each segment that is a placeholder, from the lowest.
    placeholders: u16,
    /// One bit for each segment that is wrapped in the braces of a hash tag.
    tagged: u16,
    segment_count: NonZeroU8,
}

const _: () = assert!(MAX_SEGMENTS <= u16::BITS as usize, "an answer has 16 bits for segments");

/// Where a segment that is of exactly these kinds leads.
#[derive(Clone, Debug)]
struct Branch {
    kinds: KindSet,
    next: Next,
}

impl Matcher {
    /// Compiles patterns. A match names them by their place in this list.
    ///
    /// # Errors
    /// If two patterns accept the same key and neither is the smaller one, or
    /// if the patterns are so entangled that the automaton would burst.
    pub fn new<'p>(
        patterns: impl IntoIterator<Item = &'p Pattern>,
    ) -> Result<Matcher, MatcherError> {
        build::build(patterns.into_iter().collect())
    }

    /// The pattern that a key belongs to: the smallest one that accepts it.
    #[inline]
    pub fn find<'k>(&self, key: &'k [u8]) -> Option<Match<'k>> {
        if key.len() > MAX_KEY_BYTES {
            return None;
        }
        let mut ends = [0; MAX_SEGMENTS];
        let answer = self.walk(key, &mut ends)?;
        Some(Match::new(key, answer, ends))
    }

    /// Steps through the segments of a key and notes where those that a colon
    /// follows end.
    #[inline]
    fn walk(&self, key: &[u8], ends: &mut [u32; MAX_SEGMENTS]) -> Option<Answer> {
        let mut colons = Colons::of(key);
        let mut state = &self.states[0];
        let mut rest = None;
        let mut start = 0;
        for segment_end in ends {
            if state.rest.is_some() && start < key.len() {
                rest = state.rest;
            }
            if state.leads_nowhere() {
                return rest;
            }
            let colon = colons.next();
            let end = colon.unwrap_or(key.len());
            let Some(next) = self.step(state, key, start, end) else { return rest };
            state = &self.states[next.get() as usize];
            if colon.is_none() {
                return state.end.or(rest);
            }
            *segment_end = end as u32;
            start = end + 1;
        }
        // More segments than any pattern spells out.
        rest
    }

    /// The state after the segment from `start` to `end`.
    #[inline]
    fn step(&self, state: &State, key: &[u8], start: usize, end: usize) -> Option<Next> {
        let word = self.words.find(&state.words, key, start, end);
        if word.is_some() || state.kinds.is_empty() {
            return word;
        }
        let kinds = state.kinds.of(&key[start..end]);
        let from = state.branches_start as usize;
        let branches = &self.branches[from..from + state.branch_count as usize];
        branches.iter().find(|branch| branch.kinds == kinds).map(|branch| branch.next)
    }
}

impl State {
    #[inline]
    fn leads_nowhere(&self) -> bool {
        self.words.is_empty() && self.kinds.is_empty()
    }
}
