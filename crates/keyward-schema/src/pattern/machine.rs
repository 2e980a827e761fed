//! The kinds of placeholders as finite automata (DFA), for the exact comparison of patterns.
//!
//! Owns each kind's language as steps over bytes (`step`), its table over classes of bytes that
//! some patterns do not tell apart (`Alphabet`), and the table of the reversed language, for
//! what is read from the right. Invariant: a machine accepts what [`Kind::accepts`] does, held
//! by a property test. No machine is used to match keys.

mod address;

use std::collections::HashMap;

use super::Kind;
use super::kind::days_in_month;
use super::steps::{Steps, TooLarge};
use address::Address;

/// Classes of bytes, each with one byte that stands for it.
pub(super) struct Alphabet {
    class_of: [u16; 256],
    /// A byte of each class; printable where there is one.
    samples: Vec<u8>,
}

impl Alphabet {
    /// Tells apart what the literals and the kinds do.
    pub(super) fn of<'a>(
        literals: impl Iterator<Item = &'a str>,
        kinds: impl Iterator<Item = &'a Kind>,
    ) -> Alphabet {
        let mut is_single = [false; 256];
        b"0123456789-.:_".iter().for_each(|byte| is_single[usize::from(*byte)] = true);
        let mut texts = Vec::new();
        literals.for_each(|text| mark(&mut is_single, text));
        for kind in kinds {
            match kind {
                Kind::Enum(words) => words.iter().for_each(|word| mark(&mut is_single, word)),
                Kind::Text(text) if !texts.contains(text) => texts.push(*text),
                _ => {}
            }
        }
        let tests = [Kind::Hex, Kind::Base58, Kind::Base64Url, Kind::Slug];
        let mut known: HashMap<(Option<u8>, Vec<bool>), u16> = HashMap::new();
        let mut alphabet = Alphabet { class_of: [0; 256], samples: Vec::new() };
        // Witnesses are made of samples, so readable bytes come first.
        for byte in b"xaAzZ".iter().copied().chain(b'!'..=b'~').chain(0..=255) {
            let own = is_single[usize::from(byte)].then_some(byte);
            let crockford = !matches!(byte.to_ascii_lowercase(), b'i' | b'l' | b'o' | b'u');
            let of_kinds = tests.iter().map(|kind| kind.accepts(&[byte]));
            let of_texts = texts.iter().map(|text| text.has(byte));
            let marks = of_kinds.chain(of_texts).chain([crockford]).collect();
            let next = alphabet.samples.len() as u16;
            let class = *known.entry((own, marks)).or_insert(next);
            if class == next {
                alphabet.samples.push(byte);
            }
            alphabet.class_of[usize::from(byte)] = class;
        }
        alphabet
    }

    pub(super) fn class(&self, byte: u8) -> u16 {
        self.class_of[usize::from(byte)]
    }

    pub(super) fn samples(&self) -> &[u8] {
        &self.samples
    }
}

fn mark(is_single: &mut [bool; 256], text: &str) {
    text.bytes().for_each(|byte| is_single[usize::from(byte)] = true);
}

/// A table: where each state leads for each class. The first state is the start.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) accepting: Vec<bool>,
    next: Vec<Vec<u32>>,
}

const DEAD: u32 = u32::MAX;

impl Machine {
    pub(super) fn of(kind: &Kind, alphabet: &Alphabet, steps: &Steps) -> Result<Machine, TooLarge> {
        explore(
            steps,
            Spot::Start,
            |spot| is_end(kind, spot),
            |spot, class| step(kind, spot, alphabet.samples[class]),
            alphabet.samples.len(),
        )
    }

    pub(super) fn next(&self, state: u32, class: u16) -> Option<u32> {
        let next = self.next[state as usize][usize::from(class)];
        (next != DEAD).then_some(next)
    }

    /// The machine of the reversed words (subset construction).
    pub(super) fn reversed(&self, steps: &Steps) -> Result<Machine, TooLarge> {
        let class_count = self.next.first().map_or(0, Vec::len);
        let mut back: Vec<Vec<Vec<u32>>> = vec![vec![Vec::new(); self.next.len()]; class_count];
        for (from, nexts) in self.next.iter().enumerate() {
            for (class, &to) in nexts.iter().enumerate().filter(|(_, to)| **to != DEAD) {
                back[class][to as usize].push(from as u32);
            }
        }
        let ends: Vec<u32> =
            (0..self.next.len() as u32).filter(|&state| self.accepting[state as usize]).collect();
        explore(
            steps,
            ends,
            |set| set.contains(&0),
            |set, class| {
                // Those that are used up end the exploration.
                steps.take(set.len()).ok()?;
                let mut next: Vec<u32> =
                    set.iter().flat_map(|&state| &back[class][state as usize]).copied().collect();
                next.sort_unstable();
                next.dedup();
                (!next.is_empty()).then_some(next)
            },
            class_count,
        )
    }
}

/// Numbers all states that can be reached, with a step for each class of each.
pub(super) fn explore<S: Clone + Eq + std::hash::Hash>(
    steps: &Steps,
    start: S,
    is_end: impl Fn(&S) -> bool,
    step: impl Fn(&S, usize) -> Option<S>,
    class_count: usize,
) -> Result<Machine, TooLarge> {
    let mut known = HashMap::from([(start.clone(), 0)]);
    let mut states = vec![start];
    let mut machine = Machine { accepting: Vec::new(), next: Vec::new() };
    let mut at = 0;
    while at < states.len() {
        steps.take(class_count)?;
        let state = states[at].clone();
        machine.accepting.push(is_end(&state));
        let nexts = (0..class_count).map(|class| {
            let Some(next) = step(&state, class) else { return DEAD };
            *known.entry(next).or_insert_with_key(|next| {
                states.push(next.clone());
                (states.len() - 1) as u32
            })
        });
        machine.next.push(nexts.collect());
        at += 1;
    }
    // The last state may have ended for want of them.
    if steps.are_used_up() { Err(TooLarge) } else { Ok(machine) }
}

/// What has been read of a value, as far as it matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Spot {
    Start,
    /// So many bytes, or some where the number does not matter.
    Read(u16),
    /// A hyphen of a slug, or the sign of a number.
    Hyphen,
    Number(Number),
    Calendar(Calendar),
    Word(Vec<u8>),
    Address(Address),
}

/// The digits of a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Number {
    is_negative: bool,
    digits: u8,
    /// Whether they are those that the largest number begins with, more, or fewer.
    against_largest: std::cmp::Ordering,
    is_zero: bool,
}

/// What a date or a month has been told to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Calendar {
    digits: u8,
    /// The digits of the year as far as they decide whether it is a leap year.
    year: u16,
    month: u8,
    day: u8,
    is_behind_hyphen: bool,
}

fn is_end(kind: &Kind, spot: &Spot) -> bool {
    match (kind, spot) {
        (_, Spot::Start | Spot::Hyphen) => false,
        (Kind::Int | Kind::Uint, Spot::Number(number)) => number.is_sound(),
        (Kind::Date, Spot::Calendar(calendar)) => calendar.digits == 8,
        (Kind::Month, Spot::Calendar(calendar)) => calendar.digits == 6,
        (Kind::Enum(words), Spot::Word(read)) => words.iter().any(|w| w.as_bytes() == &read[..]),
        (_, Spot::Address(address)) => address.is_end(),
        (_, Spot::Read(count)) => kind.fixed_length().is_none_or(|l| l == usize::from(*count)),
        _ => false,
    }
}

/// What follows on a byte; none if no value goes on so.
fn step(kind: &Kind, spot: &Spot, byte: u8) -> Option<Spot> {
    let one_of = |fits: bool| fits.then_some(Spot::Read(0));
    let count = match spot {
        Spot::Read(count) => *count,
        _ => 0,
    };
    let counted = |length: usize, fits: bool| {
        (fits && usize::from(count) < length).then_some(Spot::Read(count + 1))
    };
    match kind {
        Kind::Rest => one_of(true),
        Kind::Str | Kind::Hex | Kind::Base58 | Kind::Base64Url => one_of(kind.accepts(&[byte])),
        Kind::Text(text) => match text.length() {
            Some(length) => counted(length, text.has(byte)),
            None => one_of(text.has(byte)),
        },
        Kind::Slug if byte == b'-' => (*spot == Spot::Read(0)).then_some(Spot::Hyphen),
        Kind::Slug => one_of(kind.accepts(&[byte])),
        Kind::Ulid => {
            let mut sample = *b"00000000000000000000000000";
            sample[usize::from(count).min(25)] = byte;
            counted(26, kind.accepts(&sample))
        }
        Kind::Uuid => {
            let is_hyphen = matches!(count, 8 | 13 | 18 | 23);
            let fits = if is_hyphen { byte == b'-' } else { byte.is_ascii_hexdigit() };
            counted(36, fits)
        }
        Kind::Int | Kind::Uint => step_number(kind, spot, byte),
        Kind::Date | Kind::Month => {
            let before = match spot {
                Spot::Calendar(calendar) => calendar.clone(),
                _ => Calendar::default(),
            };
            let digits = if *kind == Kind::Date { 8 } else { 6 };
            before.step(byte, digits).map(Spot::Calendar)
        }
        Kind::Enum(words) => {
            let mut read = match spot {
                Spot::Word(read) => read.clone(),
                _ => Vec::new(),
            };
            read.push(byte);
            let goes_on = words.iter().any(|word| word.as_bytes().starts_with(&read));
            goes_on.then_some(Spot::Word(read))
        }
        Kind::Ip => {
            let before = match spot {
                Spot::Address(address) => address.clone(),
                _ => Address::start(),
            };
            before.step(byte).map(Spot::Address)
        }
    }
}

fn step_number(kind: &Kind, spot: &Spot, byte: u8) -> Option<Spot> {
    let before = match spot {
        Spot::Start if byte == b'-' && *kind == Kind::Int => return Some(Spot::Hyphen),
        Spot::Start | Spot::Hyphen => Number {
            is_negative: *spot == Spot::Hyphen,
            digits: 0,
            against_largest: std::cmp::Ordering::Equal,
            is_zero: false,
        },
        Spot::Number(number) => number.clone(),
        _ => return None,
    };
    before.step(byte).map(Spot::Number)
}

impl Number {
    fn step(mut self, byte: u8) -> Option<Number> {
        let largest =
            if self.is_negative { b"9223372036854775808" } else { b"9223372036854775807" };
        if !byte.is_ascii_digit() || self.is_zero || usize::from(self.digits) == largest.len() {
            return None;
        }
        if self.digits == 0 && byte == b'0' {
            if self.is_negative {
                return None;
            }
            self.is_zero = true;
        }
        let own = byte.cmp(&largest[usize::from(self.digits)]);
        self.against_largest = self.against_largest.then(own);
        self.digits += 1;
        Some(self)
    }

    fn is_sound(&self) -> bool {
        self.digits < 19 || self.against_largest.is_le()
    }
}

impl Calendar {
    fn step(mut self, byte: u8, digit_count: u8) -> Option<Calendar> {
        if byte == b'-' {
            let is_due = matches!(self.digits, 4 | 6) && self.digits < digit_count;
            self.is_behind_hyphen = (is_due && !self.is_behind_hyphen).then_some(true)?;
            return Some(self);
        }
        let needs_hyphen = matches!(self.digits, 4 | 6) && !self.is_behind_hyphen;
        if !byte.is_ascii_digit() || needs_hyphen || self.digits == digit_count {
            return None;
        }
        let digit = byte - b'0';
        match self.digits {
            // Leap years recur every 400, and each further digit counts ten times less.
            0..4 => {
                let modulus = [2, 4, 40, 400][usize::from(self.digits)];
                self.year = (self.year * 10 + u16::from(digit)) % modulus;
                if self.digits == 3 {
                    self.year = u16::from(days_in_month(self.year.into(), 2) == 28);
                }
            }
            4..6 => self.month = self.month * 10 + digit,
            _ => self.day = self.day * 10 + digit,
        }
        self.digits += 1;
        self.is_behind_hyphen = false;
        if self.digits == 6 {
            if !(1..=12).contains(&self.month) {
                return None;
            }
            self.reduce(digit_count);
        }
        let is_over = self.digits == 8 && !(1..=self.day_count()).contains(&self.day);
        (!is_over).then_some(self)
    }

    fn day_count(&self) -> u8 {
        days_in_month(self.year.into(), self.month)
    }

    /// Once the month is known, only the number of its days matters.
    fn reduce(&mut self, digit_count: u8) {
        let days = if digit_count == 8 { self.day_count() } else { 31 };
        (self.year, self.month) = match days {
            28 => (1, 2),
            29 => (0, 2),
            30 => (0, 4),
            _ => (0, 1),
        };
    }
}

#[cfg(test)]
mod tests;
