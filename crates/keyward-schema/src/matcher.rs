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
//! `find` allocates nothing; a step touches one state and, for a word, one
//! slot, each within a cache line, whatever the number of patterns. Estimate:
//! 15 ns a segment, half of it for branches that random keys make
//! unpredictable; measured in `bench/RESULTS.md`.
//! Not here: what a pattern accepts (`pattern`), reporting patterns that
//! contradict each other (`checks`).

mod build;
mod ends;
mod found;
mod kinds;
mod lane;
mod text;
mod words;

use std::num::{NonZeroU8, NonZeroU32};

pub use build::{MAX_MEMBERS, MAX_STATES, MatcherError, NamedPattern};
pub use found::{Match, Placeholders};

use crate::{MAX_SEGMENTS, Pattern};
use ends::Ends;
use kinds::KindSet;
use text::Text;
use words::{WordTable, Words};

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
#[repr(align(64))]
struct State {
    /// The words that lead on.
    words: WordTable,
    /// The answer if the key ends here.
    end: Option<Answer>,
    /// The answer if more follows and nothing better turns up.
    rest: Option<Answer>,
    /// Where a segment leads that is none of the words, if any will do.
    any: Option<Next>,
    /// The kinds that it is judged by.
    kinds: KindSet,
    /// Which of the matcher's branches belong to this state.
    branches_start: u32,
    branch_count: u8,
    /// Whether there is a rest, or nothing leads on.
    is_turn: bool,
}

const _: () = assert!(size_of::<State>() == 64, "a state fills a cache line");

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
        Text::with(key, |text| {
            let ends = Ends::of(text);
            self.walk(text, ends).map(|answer| Match::new(key, ends, *answer))
        })
    }

    /// Steps through the segments of a key.
    #[inline(never)]
    fn walk(&self, key: Text<'_>, mut ends: Ends) -> Option<&Answer> {
        let mut state = &self.states[0];
        let mut rest = None;
        let mut start = 0;
        loop {
            if state.is_turn {
                if state.rest.is_some() && start < key.length() {
                    rest = state.rest.as_ref();
                }
                if state.leads_nowhere() {
                    return rest;
                }
            }
            let end = ends.next(key.bytes());
            let Some(next) = self.step(state, key, start, end) else { return rest };
            state = &self.states[next.get() as usize];
            if end == key.length() {
                return state.end.as_ref().or(rest);
            }
            start = end + 1;
        }
    }

    /// The state after the segment from `start` to `end`.
    #[inline]
    fn step(&self, state: &State, key: Text<'_>, start: usize, end: usize) -> Option<Next> {
        let word = self.words.find(&state.words, key, start, end);
        if word.is_some() {
            return word;
        }
        match state.any {
            Some(_) if start < end => state.any,
            _ => self.next_by_kind(state, &key.bytes()[start..end]),
        }
    }

    /// The state after a segment that is none of the words.
    #[inline(never)]
    fn next_by_kind(&self, state: &State, segment: &[u8]) -> Option<Next> {
        let kinds = state.kinds.of(segment);
        let from = state.branches_start as usize;
        let branches = &self.branches[from..from + usize::from(state.branch_count)];
        branches.iter().find(|branch| branch.kinds == kinds).map(|branch| branch.next)
    }
}

impl State {
    fn leads_nowhere(&self) -> bool {
        self.words.is_empty() && self.kinds.is_empty()
    }
}
