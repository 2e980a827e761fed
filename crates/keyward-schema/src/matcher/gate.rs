//! What tells quickly that a text cannot be read by a pattern.
//!
//! Owns the conditions that cost a few instructions whatever the pattern: how long a text is,
//! which byte follows the leading text, and which one ends it. Invariant: a gate never turns away
//! what its pattern accepts, so it only saves work.
//! Not here: the judgement itself (`forms`, `tails`).

use crate::pattern::{Element, Pattern};

/// Necessary conditions of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    first: ByteSet,
    last: ByteSet,
    /// How long the text is that the pattern begins with.
    leading_bytes: u32,
    bytes_min: u32,
    bytes_max: u32,
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
        let bytes_max = lengths.clone().sum::<Option<usize>>().map_or(u32::MAX, |sum| sum as u32);
        Gate {
            first: ByteSet::of(|byte| behind.is_none_or(|it| may_begin(pattern, it, byte))),
            last: ByteSet::of(|byte| elements.last().is_none_or(|it| may_end(pattern, it, byte))),
            leading_bytes,
            bytes_min: lengths.map(|length| length.unwrap_or(1) as u32).sum(),
            bytes_max,
        }
    }

    /// Whether the pattern may accept this text, which begins as the pattern does.
    #[inline]
    pub(super) fn admits(&self, text: &[u8]) -> bool {
        let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
        if bytes < self.bytes_min || bytes > self.bytes_max {
            return false;
        }
        // A pattern that is leading text alone has no byte behind it.
        let first = text.get(self.leading_bytes as usize).is_none_or(|byte| self.first.has(*byte));
        first && text.last().is_none_or(|byte| self.last.has(*byte))
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
            for text in yes {
                assert!(gate.admits(text.as_bytes()), "{pattern} may accept {text}");
            }
            for text in no {
                assert!(!gate.admits(text.as_bytes()), "{pattern} cannot accept {text}");
            }
        };
        check("a-{x:uint}", &["a-1", "a-1x2"], &["a-", "a-x1", "a-1x"]);
        check("{x:text(0-9, 2)}.w", &["12.w"], &["1.w", "123.w", "12.x", "a2.w"]);
        check("a.{x:rest}.w", &["a.b:c.w"], &["a.b", "a..w"]);
        check("ab", &["ab"], &["a", "abc"]);
        check("{x:ip}", &["::1", "1.2.3.4"], &["x::1", "::1x", ""]);
    }
}
