//! Text that must stand at a place of a key.
//!
//! The first eight bytes are compared at once, whatever their number: most texts have no more.

use super::text::Text;

const HEAD_BYTES: usize = size_of::<u64>();

/// A text, never empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Literal {
    /// Its first eight bytes, the first one lowest.
    head: u64,
    mask: u64,
    length: usize,
    /// What follows them.
    more: Vec<u8>,
}

impl Literal {
    /// Longer than any text.
    pub(super) const ENDLESS: Literal =
        Literal { head: 0, mask: 0, length: usize::MAX, more: Vec::new() };

    pub(super) fn of(text: &[u8]) -> Literal {
        let (head, more) = text.split_at(text.len().min(HEAD_BYTES));
        let mut bytes = [0; HEAD_BYTES];
        bytes[..head.len()].copy_from_slice(head);
        let mut mask = [0; HEAD_BYTES];
        mask[..head.len()].fill(u8::MAX);
        Literal {
            head: u64::from_le_bytes(bytes),
            mask: u64::from_le_bytes(mask),
            length: text.len(),
            more: more.into(),
        }
    }

    /// How many bytes it has.
    #[inline]
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Where it ends, if it begins there and ends before `to`.
    #[inline]
    pub(super) fn end(&self, key: Text<'_>, from: usize, to: usize) -> Option<usize> {
        (to - from >= self.length && self.stands_at(key, from)).then_some(from + self.length)
    }

    /// Where it starts, if it ends there and starts behind `from`.
    #[inline]
    pub(super) fn start(&self, key: Text<'_>, from: usize, to: usize) -> Option<usize> {
        let start = to.checked_sub(self.length).filter(|start| *start >= from)?;
        self.stands_at(key, start).then_some(start)
    }

    /// Whether it stands at a place of a key, which must have as many bytes left.
    #[inline]
    pub(super) fn stands_at(&self, key: Text<'_>, at: usize) -> bool {
        key.word(at) & self.mask == self.head
            && (self.more.is_empty() || key.bytes()[at + HEAD_BYTES..].starts_with(&self.more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_where_it_stands_and_nowhere_else() {
        let key = b"abcdefghij\0\0klmnopqrs\0";
        for length in 1..=key.len() {
            for (from, text) in key.windows(length).enumerate() {
                let literal = Literal::of(text);
                for at in 0..=key.len() - length {
                    let expected = key[at..].starts_with(text);
                    let found = Text::with(key, |key| literal.stands_at(key, at));
                    assert_eq!(found, expected, "{text:?} of {from} at {at}");
                    let cut = &key[at..at + length];
                    let found = Text::with(cut, |key| literal.stands_at(key, 0));
                    assert_eq!(found, expected, "{text:?} of {from} in {cut:?}");
                }
            }
        }
    }
}
