//! Compiling patterns into the automaton.
//!
//! Builds all states segment by segment: from each set of patterns, the sets
//! that its words and its kinds lead to. Every step stands for a segment that
//! really exists (a word, or a sample of a combination of kinds), so every
//! state is reached by some key, and two closed patterns meet at the end of a
//! state exactly if a key belongs to both. That is how conflicts are found
//! without comparing all pairs; only `rest` is compared with every pattern.
//! Invariant: work and size are bounded by `MAX_STATES` and `MAX_MEMBERS`,
//! since sets of patterns can multiply without end (enums that share some of
//! their words, segment after segment).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::{NonZeroU8, NonZeroU32};

use super::kinds::KindSet;
use super::words::Words;
use super::{Answer, Branch, Matcher, Next, State};
use crate::{Kind, Pattern, Relation, Segment, relate};

/// The most states that an automaton may have.
pub const MAX_STATES: usize = 1 << 18;

/// The most patterns that all sets computed for an automaton may have together.
pub const MAX_MEMBERS: usize = 1 << 22;

/// Why patterns cannot be matched together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatcherError {
    /// Both accept some key, and neither accepts a proper subset of the other's keys.
    #[error("{first} and {second} accept the same keys, and neither is the narrower one")]
    Conflict {
        /// The one that comes first in the list.
        first: NamedPattern,
        /// The other one.
        second: NamedPattern,
    },
    /// The automaton would exceed `MAX_STATES` or `MAX_MEMBERS`.
    #[error(
        "{} patterns are too entangled: {}",
        .patterns.len(),
        .patterns.iter().map(NamedPattern::to_string).collect::<Vec<_>>().join(", ")
    )]
    Entangled {
        /// The patterns that could not be told apart within the limits.
        patterns: Vec<NamedPattern>,
    },
}

/// A pattern by its place in the list and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPattern {
    /// Its place in the list.
    pub index: usize,
    /// The pattern as it is written.
    pub text: Box<str>,
}

impl fmt::Display for NamedPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.text)
    }
}

/// Indices of patterns, ascending.
type Set = Box<[u32]>;

pub(super) fn build(patterns: Vec<&Pattern>) -> Result<Matcher, MatcherError> {
    let mut builder = Builder {
        patterns,
        states: Vec::new(),
        words: Words::default(),
        branches: Vec::new(),
        state_count: 1,
        member_count: 0,
    };
    builder.compare_rests()?;
    let mut level: Vec<Set> = vec![(0..builder.patterns.len() as u32).collect()];
    let mut depth = 0;
    while !level.is_empty() {
        let mut next_level = Level::default();
        for set in &level {
            builder.add_state(set, depth, &mut next_level)?;
        }
        level = next_level.sets;
        depth += 1;
    }
    Ok(Matcher {
        states: builder.states.into(),
        words: builder.words,
        branches: builder.branches.into(),
    })
}

struct Builder<'p> {
    patterns: Vec<&'p Pattern>,
    states: Vec<State>,
    words: Words,
    branches: Vec<Branch>,
    /// How many states exist or have been promised an index.
    state_count: usize,
    member_count: usize,
}

/// The sets that keys of one more segment lead to, in the order of their states.
#[derive(Default)]
struct Level {
    sets: Vec<Set>,
    known: HashMap<Set, Next>,
}

/// What the patterns of a set accept as their next segment.
#[derive(Default)]
struct Choices {
    /// The patterns that end before it.
    ends: Vec<u32>,
    /// The patterns whose `rest` it begins.
    rests: Vec<u32>,
    /// The words spelled out, and by which patterns.
    words: BTreeMap<Vec<u8>, Vec<u32>>,
    /// The patterns with any other placeholder there.
    kinds: Vec<(KindSet, u32)>,
}

impl Builder<'_> {
    fn add_state(
        &mut self,
        set: &Set,
        depth: usize,
        level: &mut Level,
    ) -> Result<(), MatcherError> {
        let choices = self.choices(set, depth);
        let kinds = choices.kinds.iter().fold(KindSet::EMPTY, |all, (kind, _)| all.union(*kind));

        let mut nexts = Vec::with_capacity(choices.words.len());
        for (word, spelled) in &choices.words {
            let set = choices.accepting(kinds.of(word), spelled);
            nexts.push((&word[..], self.next(set, level)?));
        }
        let words = self.words.add_table(&nexts);

        let branches_start = self.branches.len();
        for kinds in kinds.outcomes() {
            let next = self.next(choices.accepting(kinds, &[]), level)?;
            self.branches.push(Branch { kinds, next });
        }
        let rest = self.smallest(&choices.rests)?;
        self.states.push(State {
            is_turn: rest.is_some() || (words.is_empty() && kinds.is_empty()),
            words,
            end: self.smallest(&choices.ends)?,
            rest,
            any: kinds.is_only_str().then(|| self.branches[branches_start].next),
            kinds,
            branches_start: branches_start as u32,
            branch_count: (self.branches.len() - branches_start) as u8,
        });
        Ok(())
    }

    fn choices(&self, set: &Set, depth: usize) -> Choices {
        let mut choices = Choices::default();
        for &index in set {
            let pattern = self.patterns[index as usize];
            let placeholder = match pattern.segments().get(depth) {
                None => {
                    choices.ends.push(index);
                    continue;
                }
                Some(Segment::Literal(word)) => {
                    choices.add_word(word.to_string(), index);
                    continue;
                }
                Some(Segment::Placeholder(placeholder)) => &pattern.placeholders()[*placeholder],
            };
            match &placeholder.kind {
                Kind::Rest => choices.rests.push(index),
                Kind::Enum(words) if placeholder.tagged => {
                    words.iter().for_each(|word| choices.add_word(format!("{{{word}}}"), index));
                }
                Kind::Enum(words) => {
                    words.iter().for_each(|word| choices.add_word(word.to_string(), index));
                }
                _ => choices.kinds.push((KindSet::of_placeholder(placeholder), index)),
            }
        }
        choices
    }

    /// The state of a set on the next level.
    fn next(&mut self, set: Set, level: &mut Level) -> Result<Next, MatcherError> {
        self.member_count += set.len();
        let known = level.known.get(&set).copied();
        let state_count = self.state_count + usize::from(known.is_none());
        if state_count > MAX_STATES || self.member_count > MAX_MEMBERS {
            let patterns = set.iter().map(|&index| self.named(index)).collect();
            return Err(MatcherError::Entangled { patterns });
        }
        if let Some(known) = known {
            return Ok(known);
        }
        let next = NonZeroU32::new(self.state_count as u32).expect("the first state is counted");
        self.state_count = state_count;
        level.sets.push(set.clone());
        level.known.insert(set, next);
        Ok(next)
    }

    /// The smallest of some patterns that accept one and the same key.
    fn smallest(&self, indices: &[u32]) -> Result<Option<Answer>, MatcherError> {
        // Sorted by inclusion. The neighbours of a newcomer are among those
        // the search compares it with, and inclusion is transitive, so in the
        // end every two patterns have been found to be nested.
        let mut chain: Vec<u32> = Vec::with_capacity(indices.len());
        for &index in indices {
            let (mut low, mut high) = (0, chain.len());
            while low < high {
                let middle = (low + high) / 2;
                match self.relate(index, chain[middle]) {
                    Relation::Subset => high = middle,
                    Relation::Superset => low = middle + 1,
                    _ => return Err(self.conflict(index, chain[middle])),
                }
            }
            chain.insert(low, index);
        }
        Ok(chain.first().map(|&index| self.answer(index)))
    }

    /// Compares each pattern that ends in `rest` with every other one.
    fn compare_rests(&self) -> Result<(), MatcherError> {
        let count = self.patterns.len() as u32;
        for rest in (0..count).filter(|&index| self.patterns[index as usize].ends_in_rest()) {
            for other in (0..count).filter(|&other| other != rest) {
                if matches!(self.relate(rest, other), Relation::Equal | Relation::Overlap) {
                    return Err(self.conflict(rest, other));
                }
            }
        }
        Ok(())
    }

    fn relate(&self, left: u32, right: u32) -> Relation {
        relate(self.patterns[left as usize], self.patterns[right as usize]).0
    }

    fn answer(&self, index: u32) -> Answer {
        let pattern = self.patterns[index as usize];
        let segment_count = u8::try_from(pattern.segments().len()).ok().and_then(NonZeroU8::new);
        let bits = |tagged_only: bool| {
            let chosen = pattern.placeholders().iter().filter(|p| p.tagged || !tagged_only);
            chosen.fold(0, |bits, placeholder| bits | 1 << placeholder.segment)
        };
        Answer {
            pattern: index,
            placeholders: bits(false),
            tagged: bits(true),
            segment_count: segment_count.expect("a pattern has 1 to MAX_SEGMENTS segments"),
        }
    }

    fn conflict(&self, one: u32, other: u32) -> MatcherError {
        MatcherError::Conflict {
            first: self.named(one.min(other)),
            second: self.named(one.max(other)),
        }
    }

    fn named(&self, index: u32) -> NamedPattern {
        let index = index as usize;
        NamedPattern { index, text: self.patterns[index].text().into() }
    }
}

impl Choices {
    fn add_word(&mut self, word: String, index: u32) {
        self.words.entry(word.into_bytes()).or_default().push(index);
    }

    /// The patterns that accept a segment which is of these kinds, together
    /// with those that spell it out.
    fn accepting(&self, kinds: KindSet, spelled: &[u32]) -> Set {
        let by_kind = self.kinds.iter().filter(|(kind, _)| kinds.meets(*kind));
        let mut set: Vec<u32> =
            by_kind.map(|(_, index)| *index).chain(spelled.iter().copied()).collect();
        set.sort_unstable();
        set.into()
    }
}
