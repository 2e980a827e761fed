//! Reading a text as a pattern does, compiled: for patterns with text beside placeholders.
//!
//! Owns the same judgement as [`Pattern::accepts`], over flat pieces that need no look at the
//! pattern: a value and the text that it ends at. Where that text begins with a byte that no value
//! of it holds, the value ends where its alphabet does, so finding the end and judging the value
//! are one. What stands behind the last or the open placeholder is read first, from the right,
//! since it most often tells; the order does not matter, as the two sides may not meet.
//! Invariants: nothing is allocated to judge a text; nothing is read twice but numbers, words and
//! addresses, whose bytes alone do not decide.
//! Not here: the definition (`pattern::values`), the leading text, which a trie has found (`forms`).

use std::sync::Arc;

use super::alphabet::Alphabet;
use super::gate::Gate;
use super::literal::Literal;
use super::number::{is_int, is_uint};
use super::text::Text;
use crate::pattern::{Element, Kind, Pattern, first, last};

/// A pattern with a placeholder, ready to judge texts.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    gate: Gate,
    course: Arc<Course>,
}

/// What is read behind the leading text.
#[derive(Debug)]
struct Course {
    /// The text that ends the pattern.
    closing: Option<Literal>,
    /// What stands behind the placeholder that takes what is left, from the right; the text of
    /// each value stands before it.
    back: Box<[Piece]>,
    /// What stands before it; the text of each value stands behind it.
    front: Box<[Piece]>,
    /// The placeholder that takes what is left.
    left: Value,
}

/// A value and the text that it ends at.
#[derive(Debug)]
struct Piece {
    value: Value,
    text: Literal,
    /// The same text, if only a search for it tells where the value ends.
    searched: Option<Box<[u8]>>,
}

/// What a placeholder demands.
#[derive(Debug)]
struct Value {
    bytes_min: usize,
    bytes_max: usize,
    /// The bytes that it may hold, if they are to be looked at.
    alphabet: Option<Alphabet>,
    demand: Demand,
}

/// What its length and its bytes do not tell of a value.
#[derive(Debug)]
enum Demand {
    Nothing,
    Uint,
    Int,
    Kind(Kind),
}

impl Routine {
    /// The routine of a pattern, which must have a placeholder.
    pub(super) fn of(pattern: &Pattern) -> Routine {
        let elements = pattern.elements();
        let kind_at = |at: usize| match elements.get(at) {
            Some(Element::Placeholder(index)) => Some(&pattern.placeholders()[*index].kind),
            _ => None,
        };
        let text_at = |at: usize| match elements.get(at) {
            Some(Element::Literal(text)) => text.as_bytes(),
            _ => b"",
        };
        let front = |at: usize| {
            let text = text_at(at + 1);
            kind_at(at).map(|kind| Piece::of(kind, text, text.first()))
        };
        let back = |at: usize| {
            let text = text_at(at - 1);
            kind_at(at).map(|kind| Piece::of(kind, text, text.last()))
        };
        let last = elements.len() - 1;
        let last_value = (0..=last).rfind(|&at| kind_at(at).is_some());
        let left = pattern.open_element().or(last_value).expect("a routine has a placeholder");
        let course = Course {
            closing: kind_at(last).is_none().then(|| Literal::of(text_at(last))),
            back: (left + 1..=last).rev().filter_map(back).collect(),
            front: (0..left).filter_map(front).collect(),
            left: Value::of(kind_at(left).expect("a placeholder takes what is left"), false),
        };
        Routine { gate: Gate::of(pattern), course: Arc::new(course) }
    }

    /// Whether the pattern may accept the text of a key from `from` to `to`, which begins as the
    /// pattern does. Takes no branch.
    #[inline]
    pub(super) fn admits(&self, key: Text<'_>, from: usize, to: usize) -> bool {
        self.gate.admits(key, from, to)
    }

    /// Whether the pattern accepts a text that it admits.
    #[inline]
    pub(super) fn accepts(&self, key: Text<'_>, from: usize, to: usize) -> bool {
        self.course.judge(key, from + self.gate.leading_bytes(), to).is_some()
    }
}

impl Course {
    fn judge(&self, key: Text<'_>, mut from: usize, mut to: usize) -> Option<()> {
        if let Some(text) = &self.closing {
            to = text.start(key, from, to)?;
        }
        for piece in &self.back {
            to = piece.start(key, from, to)?;
        }
        for piece in &self.front {
            from = piece.end(key, from, to)?;
        }
        let is_left = self.left.end(key, from, to) == to && self.left.fits(key, from, to);
        is_left.then_some(())
    }
}

impl Piece {
    /// The piece of a kind and of the text beside it, whose nearest byte is given.
    fn of(kind: &Kind, text: &[u8], nearest: Option<&u8>) -> Piece {
        let is_foreign = nearest.is_some_and(|byte| !kind.may_hold(*byte));
        let value = Value::of(kind, is_foreign);
        let ends = kind.fixed_length().is_some() || (is_foreign && value.alphabet.is_some());
        Piece { value, text: Literal::of(text), searched: (!ends).then(|| text.into()) }
    }

    /// Where it ends, if it begins there.
    #[inline]
    fn end(&self, key: Text<'_>, from: usize, to: usize) -> Option<usize> {
        let to_value = match &self.searched {
            None => to,
            Some(text) => from + first(&key.bytes()[from..to], text)?,
        };
        let end = self.value.end(key, from, to_value);
        let behind = self.text.end(key, end, to)?;
        self.value.fits(key, from, end).then_some(behind)
    }

    /// Where it starts, if it ends there.
    #[inline]
    fn start(&self, key: Text<'_>, from: usize, to: usize) -> Option<usize> {
        let from_value = match &self.searched {
            None => from,
            Some(text) => from + last(&key.bytes()[from..to], text)? + text.len(),
        };
        let start = self.value.start(key, from_value, to);
        let before = self.text.start(key, from, start)?;
        self.value.fits(key, start, to).then_some(before)
    }
}

impl Value {
    /// The value of a kind; if its bytes tell where it ends, they are looked at in any case.
    fn of(kind: &Kind, ends_by_bytes: bool) -> Value {
        let length = kind.fixed_length();
        let demand = match kind {
            Kind::Str | Kind::Rest | Kind::Hex | Kind::Base58 | Kind::Base64Url => Demand::Nothing,
            Kind::Text(_) => Demand::Nothing,
            Kind::Uint => Demand::Uint,
            Kind::Int => Demand::Int,
            Kind::Uuid | Kind::Date | Kind::Month | Kind::Ulid => Demand::Kind(kind.clone()),
            Kind::Slug | Kind::Ip | Kind::Enum(_) => Demand::Kind(kind.clone()),
        };
        let is_told_by_bytes = matches!(demand, Demand::Nothing) && *kind != Kind::Rest;
        let is_looked_at = is_told_by_bytes || (ends_by_bytes && length.is_none());
        let alphabet = is_looked_at.then(|| Alphabet::of(|byte| kind.may_hold(byte))).flatten();
        Value {
            bytes_min: length.unwrap_or(1),
            bytes_max: length.unwrap_or(usize::MAX),
            demand: match alphabet {
                None if is_told_by_bytes => Demand::Kind(kind.clone()),
                _ => demand,
            },
            alphabet,
        }
    }

    /// How far its length and its bytes let it reach from there on.
    #[inline]
    fn end(&self, key: Text<'_>, from: usize, to: usize) -> usize {
        let to = to.min(from.saturating_add(self.bytes_max));
        self.alphabet.as_ref().map_or(to, |alphabet| alphabet.end(key, from, to))
    }

    /// How far they let it reach back from there.
    #[inline]
    fn start(&self, key: Text<'_>, from: usize, to: usize) -> usize {
        let from = from.max(to.saturating_sub(self.bytes_max));
        self.alphabet.as_ref().map_or(from, |alphabet| alphabet.start(key, from, to))
    }

    /// Whether what they let it reach is one.
    #[inline]
    fn fits(&self, key: Text<'_>, from: usize, to: usize) -> bool {
        to - from >= self.bytes_min
            && match &self.demand {
                Demand::Nothing => true,
                Demand::Uint => is_uint(key, from, to),
                Demand::Int => is_int(key, from, to),
                Demand::Kind(kind) => kind.accepts(&key.bytes()[from..to]),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::gate::leading_text;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// All kinds, before and behind text that their values may hold and may not, and an open one.
    const PATTERNS: [&str; 24] = [
        "a-{x}",
        "{x}.{y}",
        "{x}a{y:uint}",
        "{x:int}-{y:int}",
        "{x:hex}a{y:hex}b",
        "{x:base58}0{y:base58}",
        "{x:base64url}-_{y:base64url}.",
        "{x:slug}-a{y:slug}",
        "{x:ulid}-{y:month}",
        "{x:date}-{y:uuid}",
        "{x:uuid}.reply",
        "{x:text(a-c0-1)}1{y:text(a-c, 2)}",
        "{x:text(a-c)}-{y:text(0-1, 2)}-{z:text(0-1, 2)}",
        "{x:text(ace0-1xz)}-{y:text(2)}",
        "{x:a|ab}c{y:a|b}",
        "ab{x:rest}",
        "{x:rest}.{y:uint}",
        "{x:rest}-{y:a|ab}/{z:text(a-c)}",
        "{x:text(a-c)}.{r:rest}.a",
        "{x:text(a-c)}.{y:text(a-c-)}.ab.{r:rest}.{z:text(0-1, 2)}",
        "{x:rest}aa{y}",
        "{x:ip}/{r:rest}/{y:uint}",
        "a.{x:ip}",
        "{x:hex} {r:rest}",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn a_routine_judges_as_its_pattern_does(
            text in select(&PATTERNS[..]),
            values in prop::collection::vec(
                select(&["a", "b", "ab", "ca", "0", "1", "01", "42", "-7", "a-b", "a.b", "", "1.2.3.4",
                    "::1", "2025-12-31", "2025-12", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "7Yk2", "x_y-z",
                    "123e4567-e89b-12d3-a456-426614174000", "abcabcabcabcabcabcabc"][..]), 4),
            changes in prop::collection::vec(
                (any::<prop::sample::Index>(), select(&b"ab0-./: "[..]), 0..3_u8), 0..3),
            (before, after) in (select(&["", ":", "some:text:"][..]), select(&["", ":", "a"][..])),
        ) {
            let pattern = Pattern::parse(text).expect(text);
            let mut own = pattern.fill(&values);
            for (at, byte, change) in changes {
                let at = at.index(own.len() + 1);
                match change {
                    0 => own.insert(at, byte),
                    1 => own.truncate(at),
                    _ => own.extend_from_slice(&[byte]),
                }
            }
            // What a routine is asked about begins as its pattern does.
            prop_assume!(own.starts_with(leading_text(&pattern)));
            let routine = Routine::of(&pattern);
            let key = [before.as_bytes(), &own, after.as_bytes()].concat();
            let (from, to) = (before.len(), before.len() + own.len());
            let is_accepted = Text::with(&key, |key| {
                routine.admits(key, from, to) && routine.accepts(key, from, to)
            });
            prop_assert_eq!(
                is_accepted, pattern.accepts(&own), "{} of {}", own.escape_ascii(), text
            );
        }
    }
}
