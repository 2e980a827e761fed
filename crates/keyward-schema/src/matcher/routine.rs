//! Reading a text as a pattern does, compiled: for patterns with text beside placeholders.
//!
//! Owns the same judgement as [`Pattern::accepts`], over flat pieces that need no look at the
//! pattern. Where the text behind a placeholder begins with a byte that no value of it holds, the
//! value ends where its alphabet does, so finding the end and judging the value are one. What
//! stands behind the last or the open placeholder is read first, from the right, since it most
//! often tells; the order does not matter, as the two sides may not meet.
//! Invariants: nothing is allocated to judge a text; nothing is read twice but numbers, words and
//! addresses, whose bytes alone do not decide.
//! Not here: the definition (`pattern::values`), the leading text, which a trie has found (`forms`).

use super::alphabet::Alphabet;
use super::gate::Gate;
use super::literal::Literal;
use super::text::Text;
use crate::pattern::{Element, Kind, Pattern, first, last};

/// A pattern with a placeholder, ready to judge texts.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    gate: Gate,
    /// What stands behind the placeholder that takes what is left, from the right.
    back: Box<[Piece]>,
    /// What stands before it, without the leading text.
    front: Box<[Piece]>,
    /// The placeholder that takes what is left.
    left: Value,
}

/// What a text is made of.
#[derive(Clone, Debug)]
enum Piece {
    Text(Literal),
    /// A value of so many bytes.
    Fixed(Value, usize),
    /// A value that ends where this, its alphabet, does; and its kind if that demands more.
    Span(Alphabet, Option<Kind>),
    /// A value that ends where this text occurs.
    Search(Value, Box<[u8]>),
}

/// What a placeholder demands.
#[derive(Clone, Debug)]
struct Value {
    /// How long it is, if that is fixed.
    length: Option<usize>,
    judge: Judge,
}

/// What tells whether a value fits.
#[derive(Clone, Debug)]
enum Judge {
    /// Its bytes.
    Bytes(Alphabet),
    /// That there is one.
    Anything,
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
        let text_at = |at: Option<usize>| match at.and_then(|at| elements.get(at)) {
            Some(Element::Literal(text)) => text.as_bytes(),
            _ => b"",
        };
        let piece = |at: usize, neighbour: Option<usize>, is_back: bool| {
            let Some(kind) = kind_at(at) else {
                return Piece::Text(Literal::of(text_at(Some(at))));
            };
            let text = text_at(neighbour);
            let nearest = if is_back { text.last() } else { text.first() };
            if let Some(length) = kind.fixed_length() {
                return Piece::Fixed(Value::of(kind), length);
            }
            let ends_with_alphabet = nearest.is_some_and(|byte| !kind.may_hold(*byte));
            match alphabet(kind).filter(|_| ends_with_alphabet) {
                Some(own) => Piece::Span(own, (!is_told_by_bytes(kind)).then(|| kind.clone())),
                None => Piece::Search(Value::of(kind), text.into()),
            }
        };
        let last = (0..elements.len()).rfind(|&at| kind_at(at).is_some());
        let left = pattern.open_element().or(last).expect("a routine has a placeholder");
        let from = usize::from(kind_at(0).is_none());
        Routine {
            gate: Gate::of(pattern),
            back: (left + 1..elements.len())
                .rev()
                .map(|at| piece(at, Some(at - 1), true))
                .collect(),
            front: (from..left).map(|at| piece(at, Some(at + 1), false)).collect(),
            left: Value::of(kind_at(left).expect("a placeholder takes what is left")),
        }
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
        self.judge(key, from + self.gate.leading_bytes(), to).is_some()
    }

    fn judge(&self, key: Text<'_>, from: usize, to: usize) -> Option<()> {
        let (mut from, mut to) = (from, to);
        for piece in &self.back {
            let start = piece.start(key, from, to)?;
            piece.fits(key, start, to).then_some(())?;
            to = start;
        }
        for piece in &self.front {
            let end = piece.end(key, from, to)?;
            piece.fits(key, from, end).then_some(())?;
            from = end;
        }
        self.left.fits(key, from, to).then_some(())
    }
}

impl Piece {
    /// Where it ends in a text that it begins.
    #[inline]
    fn end(&self, key: Text<'_>, from: usize, to: usize) -> Option<usize> {
        match self {
            Piece::Text(text) => (to - from >= text.length()).then(|| from + text.length()),
            Piece::Fixed(_, length) => (to - from >= *length).then(|| from + length),
            Piece::Span(alphabet, _) => Some(alphabet.end(key, from, to)),
            Piece::Search(_, text) => first(&key.bytes()[from..to], text).map(|at| from + at),
        }
    }

    /// Where it starts in a text that it ends.
    #[inline]
    fn start(&self, key: Text<'_>, from: usize, to: usize) -> Option<usize> {
        match self {
            Piece::Text(text) => (to - from >= text.length()).then(|| to - text.length()),
            Piece::Fixed(_, length) => (to - from >= *length).then(|| to - length),
            Piece::Span(alphabet, _) => Some(alphabet.start(key, from, to)),
            Piece::Search(_, text) => {
                last(&key.bytes()[from..to], text).map(|at| from + at + text.len())
            }
        }
    }

    /// Whether it is what stands between the ends that were found for it.
    #[inline]
    fn fits(&self, key: Text<'_>, from: usize, to: usize) -> bool {
        match self {
            Piece::Text(text) => text.stands_at(key, from),
            Piece::Fixed(value, _) | Piece::Search(value, _) => value.fits(key, from, to),
            Piece::Span(_, None) => from < to,
            Piece::Span(_, Some(kind)) => kind.accepts(&key.bytes()[from..to]),
        }
    }
}

impl Value {
    fn of(kind: &Kind) -> Value {
        let judge = match alphabet(kind) {
            _ if *kind == Kind::Rest => Judge::Anything,
            Some(alphabet) if is_told_by_bytes(kind) => Judge::Bytes(alphabet),
            _ => Judge::Kind(kind.clone()),
        };
        Value { length: kind.fixed_length(), judge }
    }

    #[inline]
    fn fits(&self, key: Text<'_>, from: usize, to: usize) -> bool {
        self.length.map_or(from < to, |length| to - from == length)
            && match &self.judge {
                Judge::Bytes(alphabet) => alphabet.end(key, from, to) == to,
                Judge::Anything => true,
                Judge::Kind(kind) => kind.accepts(&key.bytes()[from..to]),
            }
    }
}

fn alphabet(kind: &Kind) -> Option<Alphabet> {
    Alphabet::of(|byte| kind.may_hold(byte))
}

/// Whether a value fits a kind if its length does and each of its bytes may be in one.
fn is_told_by_bytes(kind: &Kind) -> bool {
    match kind {
        Kind::Str | Kind::Rest | Kind::Hex | Kind::Base58 | Kind::Base64Url | Kind::Text(_) => true,
        Kind::Int | Kind::Uint | Kind::Uuid | Kind::Date | Kind::Month | Kind::Ulid => false,
        Kind::Slug | Kind::Ip | Kind::Enum(_) => false,
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
