//! Finding the pattern of a key.
//!
//! Owns the automaton that all patterns of a schema are compiled into. A state
//! is the set of patterns that fit the segments read so far; one step reads one
//! segment. A step first looks the segment up among the words that the state's
//! patterns spell out (`words`), and otherwise judges it by the kinds of their
//! placeholders, as far as this state tells them apart (`kinds`), and by those
//! that have text beside them, which the leading text finds (`forms`). All lead
//! to exactly the patterns that accept the segment, so nothing is ever tried
//! again. A pattern with a `rest` or an address, which may hold colons, is an
//! answer that stands once the segments before and the text that it begins with
//! are read; it counts if no closed pattern does and what follows is as it
//! demands (`tails`). A closed pattern
//! has a fixed number of colons, so it never holds all keys of such a one.
//!
//! Invariants: the answer is the one that [`Pattern::accepts`] and
//! [`crate::relate`] define, the smallest of the patterns that accept the key;
//! `find` allocates nothing; a step touches one state and, for a word, one
//! slot, each within a cache line, whatever the number of patterns. Estimate:
//! 15 ns a segment, half of it for branches that random keys make
//! unpredictable; measured in `bench/RESULTS.md`.
//! Not here: what a pattern accepts (`pattern`), reporting patterns that
//! contradict each other (`checks`).

mod alphabet;
mod build;
mod ends;
mod forms;
mod found;
mod gate;
mod kinds;
mod lane;
mod literal;
mod number;
mod routine;
mod tails;
mod text;
mod words;

use std::num::{NonZeroU8, NonZeroU32};

pub use build::{
    Limit, MAX_CANDIDATES, MAX_MEMBERS, MAX_STATES, MAX_TAILS, MatcherError, NamedPattern,
};
pub use found::{Match, Placeholders};

use crate::{MAX_SEGMENTS, Pattern};
use ends::Ends;
use forms::{Forms, FormsId};
use kinds::KindSet;
use routine::Routine;
use tails::{Tail, TailList};
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
    forms: Forms,
    /// The patterns whose rest or address stands at or before a state, for all states.
    tails: Box<[Tail]>,
    /// What reads those that are more than a `rest`.
    routines: Box<[Routine]>,
    /// The patterns that are not read by their segments alone, by their place in the list.
    readers: Box<[Option<Box<Pattern>>]>,
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
    /// The answers if nothing better turns up.
    tails: TailList,
    /// Where a segment leads that is none of the words, if any will do.
    any: Option<Next>,
    /// The kinds that it is judged by.
    kinds: KindSet,
    /// Which of the matcher's branches belong to this state.
    branches_start: u32,
    branch_count: u8,
    /// Whether nothing leads on.
    is_last: bool,
    /// The segments with text beside placeholders.
    forms: Option<FormsId>,
}

const _: () = assert!(size_of::<State>() == 64, "a state fills a cache line");

/// A pattern, and which of its segments are placeholders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Answer {
    pattern: u32,
    /// One bit for each segment that is a placeholder, from the lowest.
    placeholders: u16,
    segment_count: NonZeroU8,
    /// Whether its values are whole segments.
    is_plain: bool,
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
    pub fn find<'k>(&'k self, key: &'k [u8]) -> Option<Match<'k>> {
        Text::with(key, |text| {
            let ends = Ends::of(text);
            self.walk(text, ends).map(|answer| {
                let reader = match answer.is_plain {
                    true => None,
                    false => self.readers[answer.pattern as usize].as_deref(),
                };
                Match::new(key, ends, *answer, reader)
            })
        })
    }

    /// Steps through the segments of a key.
    #[inline(never)]
    fn walk(&self, key: Text<'_>, mut ends: Ends) -> Option<&Answer> {
        let mut state = &self.states[0];
        let mut start = 0;
        let all_ends = ends;
        loop {
            if state.is_last {
                return self.tail(state, key, all_ends, start);
            }
            let end = ends.next(key.bytes());
            let Some(next) = self.step(state, key, start, end) else {
                return self.tail(state, key, all_ends, start);
            };
            state = &self.states[next.get() as usize];
            start = end + 1;
            if end == key.length() {
                return match &state.end {
                    None => self.tail(state, key, all_ends, start),
                    end => end.as_ref(),
                };
            }
        }
    }

    /// The answer of a state that no closed pattern leads on from; `start` is where the next
    /// segment would start.
    #[inline]
    fn tail(&self, state: &State, key: Text<'_>, ends: Ends, start: usize) -> Option<&Answer> {
        let tails = state.tails.of(&self.tails);
        tails
            .iter()
            .find(|tail| tail.is_fitting(key, ends, start, &self.routines))
            .map(|tail| &tail.answer)
    }

    /// The state after the segment from `start` to `end`.
    #[inline]
    fn step(&self, state: &State, key: Text<'_>, start: usize, end: usize) -> Option<Next> {
        let word = self.words.find(&state.words, key, start, end);
        if word.is_some() {
            return word;
        }
        match (state.any, state.forms) {
            (Some(_), _) if start < end => state.any,
            (_, None) => self.next_by_kind(state, key, start, end),
            (_, Some(forms)) => {
                let kinds = state.kinds.of(key, start, end);
                self.forms.next(forms, kinds, key, (start, end))
            }
        }
    }

    /// The state after a segment that is none of the words.
    #[inline(never)]
    fn next_by_kind(&self, state: &State, key: Text<'_>, start: usize, end: usize) -> Option<Next> {
        let kinds = state.kinds.of(key, start, end);
        let from = state.branches_start as usize;
        let branches = &self.branches[from..from + usize::from(state.branch_count)];
        branches.iter().find(|branch| branch.kinds == kinds).map(|branch| branch.next)
    }
}
