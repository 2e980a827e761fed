//! What tells quickly that a text cannot be read by a pattern.
//!
//! Owns the conditions that cost a few instructions whatever the pattern: how long a text is,
//! which byte follows the leading text, and which one ends it. Invariant: a gate never turns away
//! what its pattern accepts, so it only saves work.
//! Not here: the judgement itself (`routine`).

use super::text::Text;
use crate::pattern::{Element, Pattern};

/// Necessary conditions of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    first: ByteSet,
    last: ByteSet,
    /// How long the text is that the pattern begins with.
    leading_bytes: u32,
    bytes_min: usize,
    /// How many more it may have.
    bytes_more: usize,
}

/// One bit for each byte of a set.
#[derive(Clone, Debug)]
struct ByteSet([u64; 4]);

impl ByteSet {
    fn of(has: impl Fn(u8) -> bool) -> ByteSet {
        let mut bits = [0; 4];
        for byte in (0..=u8::MAX).filter(|byte| has(*byte)) {
            bits[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
        ByteSet(bits)
    }

    #[inline]
    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }
}

impl Gate {
    pub(super) fn of(pattern: &Pattern) -> Gate {
        let elements = pattern.elements();
        let leading_bytes = leading_text(pattern).len() as u32;
        let behind = elements.get(usize::from(leading_bytes > 0));
        let lengths = elements.iter().map(|element| match element {
            Element::Literal(text) => Some(text.len()),
            Element::Placeholder(index) => pattern.placeholders()[*index].kind.fixed_length(),
        });
        let bytes_max = lengths.clone().sum::<Option<usize>>().unwrap_or(usize::MAX);
        let bytes_min = lengths.map(|length| length.unwrap_or(1)).sum();
        Gate {
            first: ByteSet::of(|byte| behind.is_none_or(|it| may_begin(pattern, it, byte))),
            last: ByteSet::of(|byte| elements.last().is_none_or(|it| may_end(pattern, it, byte))),
            leading_bytes,
            bytes_min,
            bytes_more: bytes_max - bytes_min,
        }
    }

    /// How long the text is that the pattern begins with.
    #[inline]
    pub(super) fn leading_bytes(&self) -> usize {
        self.leading_bytes as usize
    }

    /// Whether the pattern may accept the text of a key from `from` to `to`, which begins as the
    /// pattern does. Takes no branch, since what comes next is as good as random.
    #[inline]
    pub(super) fn admits(&self, key: Text<'_>, from: usize, to: usize) -> bool {
        let has_length = (to - from).wrapping_sub(self.bytes_min) <= self.bytes_more;
        // Where the text is so short that these are not its own bytes, its length tells.
        let first = self.first.has(key.byte(from + self.leading_bytes()));
        let last = self.last.has(key.byte(to.saturating_sub(1)));
        has_length & first & last
    }
}

/// The text that a pattern begins with.
pub(super) fn leading_text(pattern: &Pattern) -> &[u8] {
    match pattern.elements().first() {
        Some(Element::Literal(text)) => text.as_bytes(),
        _ => b"",
    }
}

fn may_begin(pattern: &Pattern, element: &Element, byte: u8) -> bool {
    match element {
        Element::Literal(text) => text.as_bytes().first() == Some(&byte),
        Element::Placeholder(index) => pattern.placeholders()[*index].kind.may_hold(byte),
    }
}

fn may_end(pattern: &Pattern, element: &Element, byte: u8) -> bool {
    match element {
        Element::Literal(text) => text.as_bytes().last() == Some(&byte),
        Element::Placeholder(index) => pattern.placeholders()[*index].kind.may_hold(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_turns_away_by_length_and_by_the_bytes_at_either_end() {
        let check = |pattern: &str, yes: &[&str], no: &[&str]| {
            let gate = Gate::of(&Pattern::parse(pattern).expect(pattern));
            let admits = |key: &str| {
                Text::with(key.as_bytes(), |text| gate.admits(text, 1, 1 + text.length() - 2))
            };
            for text in yes {
                assert!(admits(&format!(":{text}:")), "{pattern} may accept {text}");
            }
            for text in no {
                assert!(!admits(&format!(":{text}:")), "{pattern} cannot accept {text}");
            }
        };
        check("a-{x:uint}", &["a-1", "a-1x2"], &["a-", "a-x1", "a-1x"]);
        check("{x:text(0-9, 2)}.w", &["12.w"], &["1.w", "123.w", "12.x", "a2.w"]);
        check("a.{x:rest}.w", &["a.b:c.w"], &["a.b", "a..w"]);
        check("ab", &["ab"], &["a", "abc"]);
        check("{x:ip}", &["::1", "1.2.3.4"], &["x::1", "::1x", ""]);
    }
}
