//! Compiling patterns into the automaton.
//!
//! Builds all states segment by segment: from each set of patterns, the sets
//! that its words, its kinds and its forms lead to. Every segment that exists
//! has its step, so two closed patterns that accept one key meet at the end of
//! a state. That is how conflicts are found without comparing all pairs; only
//! patterns with a tail are compared with every other. Forms are combined as
//! far as comparing two by two allows, so a few states may be reached by no
//! key: patterns that meet in them although they share no key are no conflict.
//! Invariant: work and size are bounded by `MAX_STATES`, `MAX_MEMBERS`,
//! `MAX_CANDIDATES` and `MAX_TAILS`, since sets of patterns can multiply without end (enums
//! that share some of their words, segment after segment).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::{NonZeroU8, NonZeroU32};

use super::forms::{Forms, FormsId, NodeDraft, node_texts};
use super::gate::leading_text;
use super::kinds::KindSet;
use super::routine::Routine;
use super::tails::{Demand, Tail, TailList};
use super::words::Words;
use super::{Answer, Branch, Matcher, Next, State};
use crate::pattern::{Element, Kind, Pattern, Relation, Segment, relation};

/// The most states that an automaton may have.
pub const MAX_STATES: usize = 1 << 18;

/// The most patterns that all sets computed for an automaton may have together.
pub const MAX_MEMBERS: usize = 1 << 22;

/// The most forms of segments that one segment may have to be held against, one by one.
pub const MAX_CANDIDATES: usize = 24;

/// The most combinations of such forms.
const MAX_COMBINATIONS: usize = 1024;

/// The most patterns with a `rest` or an address that one key may have to be held against.
pub const MAX_TAILS: usize = 64;

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
    /// The automaton would exceed a limit.
    #[error(
        "{} patterns are too entangled, {limit}: {}",
        .patterns.len(),
        .patterns.iter().map(NamedPattern::to_string).collect::<Vec<_>>().join(", ")
    )]
    Entangled {
        /// The patterns that could not be told apart within the limits.
        patterns: Vec<NamedPattern>,
        /// Which one.
        limit: Limit,
    },
}

/// What an automaton may not exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`MAX_STATES`].
    States,
    /// [`MAX_MEMBERS`].
    Members,
    /// [`MAX_CANDIDATES`].
    Candidates,
    /// `MAX_COMBINATIONS`.
    Combinations,
    /// [`MAX_TAILS`].
    Tails,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::States => write!(f, "the table would have more than {MAX_STATES} states"),
            Limit::Members => {
                write!(f, "the states of the table would have more than {MAX_MEMBERS} patterns")
            }
            Limit::Candidates => write!(
                f,
                "a segment would have to be held against more than {MAX_CANDIDATES} of them"
            ),
            Limit::Combinations => {
                write!(f, "a segment may fit more than {MAX_COMBINATIONS} combinations of them")
            }
            Limit::Tails => {
                write!(f, "a key would have to be held against more than {MAX_TAILS} of them")
            }
        }
    }
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
        forms: Forms::default(),
        tails: Vec::new(),
        routines: Vec::new(),
        routine_numbers: HashMap::new(),
        ranks: HashMap::new(),
        relations: HashMap::new(),
        state_count: 1,
        member_count: 0,
    };
    builder.compare_tails()?;
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
        forms: builder.forms,
        tails: builder.tails.into(),
        routines: builder.routines.into(),
        readers: builder.patterns.iter().map(|pattern| reader(pattern)).collect(),
    })
}

fn reader(pattern: &Pattern) -> Option<Box<Pattern>> {
    let is_plain = pattern.segments().is_plain(pattern.placeholders());
    (!is_plain).then(|| Box::new(pattern.clone()))
}

struct Builder<'p> {
    patterns: Vec<&'p Pattern>,
    states: Vec<State>,
    words: Words,
    branches: Vec<Branch>,
    forms: Forms,
    tails: Vec<Tail>,
    /// What reads the tails that are more than a `rest`.
    routines: Vec<Routine>,
    /// The routine of each pattern with such a tail.
    routine_numbers: HashMap<u32, u32>,
    /// The order in which patterns with a tail are tried, smaller ones first.
    ranks: HashMap<u32, usize>,
    /// How two forms lie to each other, by their names.
    relations: HashMap<(Box<str>, Box<str>), Relation>,
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
    /// The patterns whose tail begins with it, or began before, and with no text of its own.
    tails: Vec<u32>,
    /// The patterns whose tail begins with it, and the text that the tail begins with.
    leads: Vec<(Vec<u8>, u32)>,
    /// The words spelled out, and by which patterns.
    words: BTreeMap<Vec<u8>, Vec<u32>>,
    /// The patterns with any other placeholder there.
    kinds: Vec<(KindSet, u32)>,
    /// The forms with text beside placeholders or of other kinds, by their names.
    forms: BTreeMap<Box<str>, FormDraft>,
}

/// A form and the patterns that have it there.
struct FormDraft {
    pattern: Pattern,
    members: Vec<u32>,
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
            let mut members = spelled.clone();
            for form in choices.forms.values().filter(|form| form.pattern.accepts(word)) {
                members.extend_from_slice(&form.members);
            }
            let set = choices.accepting(kinds.of_word(word), &members, word);
            nexts.push((&word[..], self.next(set, level)?));
        }
        let words = self.words.add_table(&nexts);

        let branches_start = self.branches.len();
        let mut any = None;
        let mut forms = None;
        if choices.forms.is_empty() && choices.leads.is_empty() {
            for kinds in kinds.outcomes() {
                let next = self.next(choices.accepting(kinds, &[], b""), level)?;
                self.branches.push(Branch { kinds, next });
            }
            any = kinds.is_only_str().then(|| self.branches[branches_start].next);
        } else {
            forms = Some(self.add_forms(&choices, kinds, level)?);
        }
        let tails = self.add_tails(&choices.tails, depth)?;
        self.states.push(State {
            is_last: words.is_empty() && kinds.is_empty() && forms.is_none(),
            words,
            end: self.smallest(&choices.ends)?,
            tails,
            any,
            kinds,
            branches_start: branches_start as u32,
            branch_count: (self.branches.len() - branches_start) as u8,
            forms,
        });
        Ok(())
    }

    fn choices(&self, set: &Set, depth: usize) -> Choices {
        let mut choices = Choices::default();
        for &index in set {
            let pattern = self.patterns[index as usize];
            let Some(segment) = pattern.segments().closed.get(depth) else {
                match pattern.tail_text(depth) {
                    None => choices.ends.push(index),
                    Some("") => choices.tails.push(index),
                    Some(text) => choices.leads.push((text.into(), index)),
                }
                continue;
            };
            if let Some(words) = segment.words(pattern.placeholders()) {
                words.into_iter().for_each(|word| choices.add_word(word, index));
                continue;
            }
            let kinds = match segment {
                Segment::Placeholder(own) => KindSet::of_kind(&pattern.placeholders()[*own].kind),
                _ => KindSet::EMPTY,
            };
            if kinds.is_empty() {
                choices.add_form(pattern.part(&segment.elements()), index);
            } else {
                choices.kinds.push((kinds, index));
            }
        }
        choices
    }

    /// The trie of a state's forms.
    fn add_forms(
        &mut self,
        choices: &Choices,
        kinds: KindSet,
        level: &mut Level,
    ) -> Result<FormsId, MatcherError> {
        let drafts: Vec<(&str, &FormDraft)> =
            choices.forms.iter().map(|(name, draft)| (&**name, draft)).collect();
        let mut outcomes = kinds.outcomes();
        outcomes.push(KindSet::EMPTY);
        let mut nodes = Vec::new();
        let of_forms = drafts.iter().map(|(_, draft)| leading_text(&draft.pattern));
        let of_tails = choices.leads.iter().map(|(text, _)| &text[..]);
        for text in node_texts(of_forms.chain(of_tails)) {
            let candidates: Vec<usize> = (0..drafts.len())
                .filter(|&form| text.starts_with(leading_text(&drafts[form].1.pattern)))
                .filter(|&form| drafts[form].1.pattern.can_begin(&text))
                .collect();
            let entangled = |builder: &Self, limit| {
                let members = candidates.iter().flat_map(|form| &drafts[*form].1.members);
                let patterns = members.map(|&index| builder.named(index)).collect();
                MatcherError::Entangled { patterns, limit }
            };
            if candidates.len() > MAX_CANDIDATES {
                return Err(entangled(self, Limit::Candidates));
            }
            let mut branches = Vec::new();
            for &of_kinds in &outcomes {
                let Some(combinations) = self.combinations(kinds, of_kinds, &candidates, &drafts)
                else {
                    return Err(entangled(self, Limit::Combinations));
                };
                for fitting in combinations {
                    let fit = |bit: &usize| fitting >> bit & 1 == 1;
                    let members: Vec<u32> = (0..candidates.len())
                        .filter(fit)
                        .flat_map(|bit| drafts[candidates[bit]].1.members.iter().copied())
                        .collect();
                    // Where nothing but tails without text is left, the state's own list has them.
                    if fitting == 0 && of_kinds.is_empty() && choices.led(&text).next().is_none() {
                        continue;
                    }
                    let next = self.next(choices.accepting(of_kinds, &members, &text), level)?;
                    branches.push((of_kinds, fitting, next));
                }
            }
            // Most segments fit one form, so those branches are looked at first.
            branches.sort_by_key(|(_, fitting, _): &(_, u32, _)| fitting.count_ones().abs_diff(1));
            nodes.push(NodeDraft { text, candidates, branches });
        }
        let routines: Vec<Routine> =
            drafts.iter().map(|(_, draft)| Routine::of(&draft.pattern)).collect();
        Ok(self.forms.add(&routines, nodes))
    }

    /// Which of some forms a segment can fit that is of just these of the state's kinds, as far
    /// as comparing two by two tells; nothing if there are too many ways.
    fn combinations(
        &mut self,
        kinds: KindSet,
        of_kinds: KindSet,
        candidates: &[usize],
        drafts: &[(&str, &FormDraft)],
    ) -> Option<Vec<u32>> {
        let mut all: Vec<u32> = vec![0];
        for (bit, &form) in candidates.iter().enumerate() {
            let (name, draft) = drafts[form];
            let (mut may_fit, mut may_miss) = (true, true);
            for kind in kinds.kinds() {
                let is_of_kind = KindSet::of_kind(kind).meets(of_kinds);
                let other = form_of_kind(kind);
                match (self.relate_forms((name, &draft.pattern), (&other.0, &other.1)), is_of_kind)
                {
                    (Relation::Disjoint, true) | (Relation::Subset, false) => may_fit = false,
                    (Relation::Superset, true) => may_miss = false,
                    (Relation::Equal, is_of_kind) => {
                        (may_fit, may_miss) = (is_of_kind, !is_of_kind)
                    }
                    _ => {}
                }
            }
            let mut next = Vec::new();
            for before in all {
                let (mut may_fit, mut may_miss) = (may_fit, may_miss);
                for (other_bit, &other) in candidates[..bit].iter().enumerate() {
                    let (other_name, other_draft) = drafts[other];
                    let relation = self
                        .relate_forms((name, &draft.pattern), (other_name, &other_draft.pattern));
                    match (relation, before >> other_bit & 1 == 1) {
                        (Relation::Disjoint, true) | (Relation::Subset, false) => may_fit = false,
                        (Relation::Superset, true) => may_miss = false,
                        _ => {}
                    }
                }
                next.extend(may_miss.then_some(before));
                next.extend(may_fit.then_some(before | 1 << bit));
            }
            if next.len() > MAX_COMBINATIONS {
                return None;
            }
            all = next;
        }
        Some(all)
    }

    fn relate_forms(
        &mut self,
        (name, pattern): (&str, &Pattern),
        (other_name, other): (&str, &Pattern),
    ) -> Relation {
        let names = (Box::from(name), Box::from(other_name));
        *self.relations.entry(names).or_insert_with(|| relation(pattern, other))
    }

    /// The tails of a state, smaller ones first.
    fn add_tails(&mut self, indices: &[u32], depth: usize) -> Result<TailList, MatcherError> {
        if indices.len() > MAX_TAILS {
            let patterns = indices.iter().map(|&index| self.named(index)).collect();
            return Err(MatcherError::Entangled { patterns, limit: Limit::Tails });
        }
        let start = self.tails.len() as u32;
        let mut order = indices.to_vec();
        order.sort_by_key(|index| self.ranks[index]);
        for index in order {
            let pattern = self.patterns[index as usize];
            let segments = pattern.segments();
            let demand = match segments.has_plain_rest(pattern.placeholders()) {
                false => Demand::Reading {
                    routine: self.routine(index),
                    segments_before: segments.closed.len() as u8,
                },
                true if segments.closed.len() == depth => Demand::Something,
                true if segments.closed.len() + 1 == depth => Demand::SomethingBefore,
                true => Demand::Nothing,
            };
            self.tails.push(Tail { answer: self.answer(index), demand });
        }
        Ok(TailList { start, count: indices.len() as u8 })
    }

    /// The number of the routine that reads the tail of a pattern.
    fn routine(&mut self, index: u32) -> u32 {
        let pattern = self.patterns[index as usize];
        let (routines, next) = (&mut self.routines, self.routine_numbers.len() as u32);
        *self.routine_numbers.entry(index).or_insert_with(|| {
            let tail = pattern.segments().tail.as_deref().unwrap_or_default();
            routines.push(Routine::of(&pattern.part(tail)));
            next
        })
    }

    /// The state of a set on the next level.
    fn next(&mut self, set: Set, level: &mut Level) -> Result<Next, MatcherError> {
        self.member_count += set.len();
        let known = level.known.get(&set).copied();
        let state_count = self.state_count + usize::from(known.is_none());
        if state_count > MAX_STATES || self.member_count > MAX_MEMBERS {
            let patterns = set.iter().map(|&index| self.named(index)).collect();
            let limit = if state_count > MAX_STATES { Limit::States } else { Limit::Members };
            return Err(MatcherError::Entangled { patterns, limit });
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
                    // No key leads here.
                    Relation::Disjoint => return Ok(None),
                    _ => return Err(self.conflict(index, chain[middle])),
                }
            }
            chain.insert(low, index);
        }
        Ok(chain.first().map(|&index| self.answer(index)))
    }

    /// Compares each pattern with a tail with every other one, and puts them in order.
    fn compare_tails(&mut self) -> Result<(), MatcherError> {
        let count = self.patterns.len() as u32;
        let has_tail = |index: &u32| self.patterns[*index as usize].segments().tail.is_some();
        let tails: Vec<u32> = (0..count).filter(has_tail).collect();
        let mut smaller: HashMap<u32, Vec<u32>> = HashMap::new();
        for &tail in &tails {
            for other in (0..count).filter(|&other| other != tail) {
                match self.relate(tail, other) {
                    Relation::Equal | Relation::Overlap => return Err(self.conflict(tail, other)),
                    Relation::Superset if tails.binary_search(&other).is_ok() => {
                        smaller.entry(tail).or_default().push(other);
                    }
                    _ => {}
                }
            }
        }
        // What has more smaller ones is never smaller than one of them.
        let mut order = tails;
        order.sort_by_key(|tail| smaller.get(tail).map_or(0, Vec::len));
        self.ranks = order.into_iter().enumerate().map(|(rank, tail)| (tail, rank)).collect();
        Ok(())
    }

    fn relate(&self, left: u32, right: u32) -> Relation {
        relation(self.patterns[left as usize], self.patterns[right as usize])
    }

    fn answer(&self, index: u32) -> Answer {
        let pattern = self.patterns[index as usize];
        let segments = pattern.segments();
        let segment_count = u8::try_from(segments.count()).ok().and_then(NonZeroU8::new);
        let closed = segments.closed.iter().enumerate();
        let bits = closed.filter(|(_, segment)| matches!(segment, Segment::Placeholder(_)));
        let tail = segments.tail.is_some().then_some(segments.closed.len());
        let places = bits.map(|(place, _)| place).chain(tail);
        Answer {
            pattern: index,
            placeholders: places.fold(0, |bits, place| bits | 1 << place),
            segment_count: segment_count.expect("a pattern has 1 to MAX_SEGMENTS segments"),
            is_plain: segments.is_plain(pattern.placeholders()),
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

    fn add_form(&mut self, pattern: Pattern, index: u32) {
        let form = self.forms.entry(form_name(&pattern));
        form.or_insert_with(|| FormDraft { pattern, members: Vec::new() }).members.push(index);
    }

    /// The patterns whose tail begins with text that this text begins with.
    fn led(&self, text: &[u8]) -> impl Iterator<Item = u32> {
        let led = self.leads.iter().filter(move |(lead, _)| text.starts_with(lead));
        led.map(|(_, index)| *index)
    }

    /// The patterns that accept a segment which is of these kinds, together
    /// with those that spell it out or have a form for it, and with the tails
    /// that it leaves, given the longest text known of it.
    fn accepting(&self, kinds: KindSet, spelled: &[u32], text: &[u8]) -> Set {
        let by_kind = self.kinds.iter().filter(|(kind, _)| kinds.meets(*kind));
        let mut set: Vec<u32> =
            by_kind.map(|(_, index)| *index).chain(spelled.iter().copied()).collect();
        set.extend_from_slice(&self.tails);
        set.extend(self.led(text));
        set.sort_unstable();
        set.dedup();
        set.into()
    }
}

/// What two forms share that accept the same: all but the names of placeholders.
fn form_name(pattern: &Pattern) -> Box<str> {
    let elements = pattern.elements().iter().map(|element| match element {
        Element::Literal(text) => text.replace('{', "{{"),
        Element::Placeholder(index) => format!("{{{}}}", pattern.placeholders()[*index].kind),
    });
    elements.collect::<String>().into()
}

fn form_of_kind(kind: &Kind) -> (Box<str>, Pattern) {
    let pattern = Pattern::of_kind(kind);
    (form_name(&pattern), pattern)
}
