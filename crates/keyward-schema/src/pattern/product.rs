//! Which keys some patterns accept together: the product of their automata, searched.
//!
//! What is read from the right is followed from the left by guessing the state at each place;
//! since reading is deterministic, exactly one course of guesses fits each key, so a course that
//! is consistent tells both that a pattern accepts a key and that it does not. Sizes multiply
//! where subsets of states would be exponential.
//! Invariant: a search takes no more steps than there are (`steps`), and says so if that was not
//! enough.

use std::collections::{HashSet, VecDeque};

use super::machine::Alphabet;
use super::reading::{Reading, Right};
use super::steps::{Steps, TooLarge};
use super::{Element, Pattern};

/// In which order states are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Breadth first: a key found is a shortest one.
    Shortest,
    /// Depth first: some key is found soon.
    Any,
}

/// Where the reading of a key by one pattern is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Course {
    left: Left,
    /// The state of what is read from the right; unused if nothing is.
    right: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Left {
    /// In the part that is read from the left.
    Reading(u32),
    /// Behind it, and whether it was sound.
    Behind(bool),
    /// Nothing can come of it.
    Failed,
}

/// A state, from which other one it was reached, and by which byte.
type Reached = (Box<[Course]>, Option<usize>, u8);

/// Some patterns over one alphabet.
pub(super) struct Product {
    readings: Vec<Reading>,
    alphabet: Alphabet,
}

impl Product {
    pub(super) fn of(patterns: &[&Pattern], steps: &Steps) -> Result<Product, TooLarge> {
        let alphabet = Product::alphabet(patterns);
        let readings = patterns.iter().map(|pattern| Reading::of(pattern, &alphabet, steps));
        let readings = readings.collect::<Result<_, _>>()?;
        Ok(Product::of_readings(readings, alphabet))
    }

    /// The product of automata over one alphabet.
    pub(super) fn of_readings(readings: Vec<Reading>, alphabet: Alphabet) -> Product {
        Product { readings, alphabet }
    }

    /// What tells apart all that these patterns do.
    pub(super) fn alphabet(patterns: &[&Pattern]) -> Alphabet {
        let elements = patterns.iter().flat_map(|pattern| pattern.elements());
        let literals = elements.filter_map(|element| match element {
            Element::Literal(text) => Some(&**text),
            Element::Placeholder(_) => None,
        });
        let kinds = patterns.iter().flat_map(|pattern| pattern.placeholders());
        Alphabet::of(literals, kinds.map(|placeholder| &placeholder.kind))
    }

    /// Shows each outcome that matters, which patterns accept a key and which do not, once with a
    /// key; stops when told to. `matters` says whether it is worth going on where these patterns
    /// may still accept.
    pub(super) fn search(
        &self,
        order: Order,
        steps: &Steps,
        matters: impl Fn(&[bool]) -> bool,
        mut found: impl FnMut(&[bool], Vec<u8>) -> bool,
    ) -> Result<(), TooLarge> {
        let mut known: HashSet<Box<[Course]>> = HashSet::new();
        let mut states: Vec<Reached> = Vec::new();
        let mut outcomes: Vec<Vec<bool>> = Vec::new();
        let may_accept =
            |courses: &[Course]| courses.iter().map(|own| own.may_accept()).collect::<Vec<_>>();
        let starts = combinations(self.readings.iter().map(starts).collect(), steps)?;
        for start in starts.into_iter().filter(|start| matters(&may_accept(start))) {
            known.insert(start.clone());
            states.push((start, None, 0));
        }
        let mut ahead: VecDeque<usize> = (0..states.len()).collect();
        while let Some(at) = match order {
            Order::Shortest => ahead.pop_front(),
            Order::Any => ahead.pop_back(),
        } {
            let courses = states[at].0.clone();
            if let Some(outcome) = self.outcome(&courses)
                && matters(&outcome)
                && !outcomes.contains(&outcome)
            {
                let goes_on = found(&outcome, key_of(&states, at));
                outcomes.push(outcome);
                if !goes_on {
                    return Ok(());
                }
            }
            for class in 0..self.alphabet.samples().len() {
                let readings = self.readings.iter().zip(&*courses);
                let nexts = readings.map(|(reading, course)| nexts(reading, *course, class));
                for next in combinations(nexts.collect(), steps)? {
                    if !matters(&may_accept(&next)) || known.contains(&next) {
                        continue;
                    }
                    known.insert(next.clone());
                    ahead.push_back(states.len());
                    states.push((next, Some(at), self.alphabet.samples()[class]));
                }
            }
        }
        Ok(())
    }

    /// Which patterns accept a key that ends here; none if the guesses were wrong.
    fn outcome(&self, courses: &[Course]) -> Option<Vec<bool>> {
        let readings = self.readings.iter().zip(courses);
        readings
            .map(|(reading, course)| match (&reading.right, course.left) {
                (Some(_), _) if course.right != Right::START => None,
                (_, Left::Reading(state)) => Some(match reading.right {
                    None => reading.left.accepting[state as usize],
                    // The part that is read from the right is not empty.
                    Some(_) => false,
                }),
                (_, Left::Behind(is_sound)) => Some(is_sound),
                (_, Left::Failed) => Some(false),
            })
            .collect()
    }
}

impl Course {
    fn may_accept(self) -> bool {
        !matches!(self.left, Left::Failed | Left::Behind(false))
    }
}

/// The courses before the first byte.
fn starts(reading: &Reading) -> Vec<Course> {
    match &reading.right {
        None => vec![Course { left: Left::Reading(0), right: 0 }],
        Some(right) => (0..right.state_count())
            .map(|state| Course {
                left: if state == right.done { Left::Reading(0) } else { Left::Failed },
                right: state,
            })
            .collect(),
    }
}

/// The courses after one byte more.
fn nexts(reading: &Reading, course: Course, class: usize) -> Vec<Course> {
    let left_next =
        |state| reading.left.next(state, class as u16).map_or(Left::Failed, Left::Reading);
    let Some(right) = &reading.right else {
        let left = match course.left {
            Left::Reading(state) => left_next(state),
            other => other,
        };
        return vec![Course { left, right: 0 }];
    };
    let sources = right.sources(course.right, class).iter();
    sources
        .map(|&source| {
            let left = match course.left {
                Left::Reading(state) if source == right.done => left_next(state),
                // Here the part begins that is read from the right.
                Left::Reading(state) => Left::Behind(reading.left.accepting[state as usize]),
                other => other,
            };
            Course { left, right: source }
        })
        .collect()
}

/// Every choice of one course of each; a step each.
fn combinations(choices: Vec<Vec<Course>>, steps: &Steps) -> Result<Vec<Box<[Course]>>, TooLarge> {
    let count = choices.iter().fold(1_usize, |count, own| count.saturating_mul(own.len()));
    steps.take(count.max(1))?;
    let mut all: Vec<Vec<Course>> = vec![Vec::new()];
    for own in choices {
        let with = |before: &Vec<Course>, course: &Course| [&before[..], &[*course]].concat();
        all = all.iter().flat_map(|before| own.iter().map(move |c| with(before, c))).collect();
    }
    Ok(all.into_iter().map(Vec::into_boxed_slice).collect())
}

/// The bytes that led to a state.
fn key_of(states: &[Reached], at: usize) -> Vec<u8> {
    let mut key = Vec::new();
    let mut at = at;
    while let (_, Some(before), byte) = &states[at] {
        key.push(*byte);
        at = *before;
    }
    key.reverse();
    key
}
