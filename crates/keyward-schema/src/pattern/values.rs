//! The values of a key's placeholders: the one way in which a key is read.
//!
//! Owns the definition of matching and of a key's beginnings. Invariants: nothing is tried
//! twice; nothing is allocated; values are slices of the key.

use std::ops::Deref;

use memchr::{memchr, memmem, memrchr};

use super::{Element, MAX_PLACEHOLDERS, Pattern};

/// The values of a key's placeholders, by their index.
#[derive(Clone, Copy, Debug)]
pub struct Values<'k> {
    texts: [&'k [u8]; MAX_PLACEHOLDERS],
    count: usize,
}

impl<'k> Values<'k> {
    /// That many empty values.
    pub fn empty(count: usize) -> Values<'k> {
        Values { texts: [&[]; MAX_PLACEHOLDERS], count }
    }
}

impl<'k> Deref for Values<'k> {
    type Target = [&'k [u8]];

    fn deref(&self) -> &[&'k [u8]] {
        &self.texts[..self.count]
    }
}

/// The values in a key; whether they are judged by their kinds is the caller's to say.
pub(super) fn read<'k>(pattern: &Pattern, key: &'k [u8], judges: bool) -> Option<Values<'k>> {
    let mut values = Values::empty(pattern.placeholders.len());
    Reader { pattern, left: key, values: Some(&mut values), judges }.read()?;
    Some(values)
}

/// Whether a key can be read, without keeping the values.
pub(super) fn accepts(pattern: &Pattern, key: &[u8]) -> bool {
    Reader { pattern, left: key, values: None, judges: true }.read().is_some()
}

/// Elements are taken from either end of what is left of the key.
struct Reader<'p, 'k> {
    pattern: &'p Pattern,
    left: &'k [u8],
    /// Where the values go that somebody wants.
    values: Option<&'p mut Values<'k>>,
    judges: bool,
}

impl<'k> Reader<'_, 'k> {
    fn read(&mut self) -> Option<()> {
        let elements = &self.pattern.elements[..];
        let Some(open) = self.pattern.open else {
            self.read_closed(elements)?;
            return self.left.is_empty().then_some(());
        };
        self.read_forwards(&elements[..open])?;
        self.read_backwards(&elements[open + 1..])?;
        let left = self.left;
        self.take(&elements[open], left)
    }

    /// Notes the value of a placeholder, if it fits.
    #[inline]
    fn take(&mut self, element: &Element, value: &'k [u8]) -> Option<()> {
        let Element::Placeholder(index) = *element else { return None };
        if let Some(values) = &mut self.values {
            values.texts[index] = value;
        }
        (!self.judges || self.pattern.placeholders[index].kind.accepts(value)).then_some(())
    }

    fn fixed_length(&self, element: &Element) -> Option<usize> {
        match element {
            Element::Placeholder(index) => self.pattern.placeholders[*index].kind.fixed_length(),
            Element::Literal(_) => None,
        }
    }

    /// Elements up to the end of the key: text that ends the pattern ends the key.
    fn read_closed(&mut self, elements: &[Element]) -> Option<()> {
        match elements {
            [before @ .., last @ Element::Placeholder(_), Element::Literal(text)] => {
                self.read_forwards(before)?;
                self.left = self.left.strip_suffix(text.as_bytes())?;
                let value = std::mem::take(&mut self.left);
                self.take(last, value)
            }
            [before @ .., last @ Element::Placeholder(_)] => {
                self.read_forwards(before)?;
                let value = std::mem::take(&mut self.left);
                self.take(last, value)
            }
            _ => self.read_forwards(elements),
        }
    }

    /// Elements that something follows.
    fn read_forwards(&mut self, elements: &[Element]) -> Option<()> {
        for (at, element) in elements.iter().enumerate() {
            if let Element::Literal(text) = element {
                self.left = self.left.strip_prefix(text.as_bytes())?;
                continue;
            }
            let end = match (self.fixed_length(element), elements.get(at + 1)) {
                (Some(length), _) => length,
                (None, Some(Element::Literal(text))) => first(self.left, text.as_bytes())?,
                (None, _) => return None,
            };
            let (value, left) = self.left.split_at_checked(end)?;
            self.take(element, value)?;
            self.left = left;
        }
        Some(())
    }

    /// Elements behind the open one, from the right.
    fn read_backwards(&mut self, elements: &[Element]) -> Option<()> {
        for (at, element) in elements.iter().enumerate().rev() {
            if let Element::Literal(text) = element {
                self.left = self.left.strip_suffix(text.as_bytes())?;
                continue;
            }
            let before = at.checked_sub(1).map(|before| &elements[before]);
            let start = match (self.fixed_length(element), before) {
                (Some(length), _) => self.left.len().checked_sub(length)?,
                (None, Some(Element::Literal(text))) => {
                    last(self.left, text.as_bytes())? + text.len()
                }
                (None, _) => return None,
            };
            let (left, value) = self.left.split_at(start);
            self.take(element, value)?;
            self.left = left;
        }
        Some(())
    }
}

/// Whether looking at each place costs less than preparing a search. Both are bounded, so that
/// no key makes it slow.
#[inline]
fn is_short(key: &[u8], text: &[u8]) -> bool {
    key.len() <= 64 && (2..=8).contains(&text.len())
}

/// Where a text occurs first.
#[inline]
pub(crate) fn first(key: &[u8], text: &[u8]) -> Option<usize> {
    match text {
        [only] => memchr(*only, key),
        _ if is_short(key, text) => key.windows(text.len()).position(|window| window == text),
        _ => memmem::find(key, text),
    }
}

/// Where a text occurs last.
#[inline]
pub(crate) fn last(key: &[u8], text: &[u8]) -> Option<usize> {
    match text {
        [only] => memrchr(*only, key),
        _ if is_short(key, text) => key.windows(text.len()).rposition(|window| window == text),
        _ => memmem::rfind(key, text),
    }
}

pub(super) fn can_begin(pattern: &Pattern, prefix: &[u8]) -> bool {
    let mut left = prefix;
    let count = pattern.elements.len();
    for (at, element) in pattern.elements.iter().enumerate() {
        match element {
            _ if pattern.open == Some(at) => return true,
            Element::Literal(text) if left.len() <= text.len() => {
                return text.as_bytes().starts_with(left);
            }
            Element::Literal(text) => match left.strip_prefix(text.as_bytes()) {
                Some(behind) => left = behind,
                None => return false,
            },
            Element::Placeholder(index) => {
                let kind = &pattern.placeholders[*index].kind;
                let next = pattern.elements.get(at + 1);
                let end = match (kind.fixed_length(), next) {
                    (Some(length), _) => (left.len() > length).then_some(length),
                    // Text that ends the pattern may stand further on.
                    (None, Some(Element::Literal(text))) if at + 2 < count => {
                        first(left, text.as_bytes())
                    }
                    _ => None,
                };
                match end {
                    Some(end) if !kind.accepts(&left[..end]) => return false,
                    Some(end) => left = &left[end..],
                    // The value goes on, into the text behind it perhaps.
                    None => return may_go_on(pattern, at, left),
                }
            }
        }
    }
    left.is_empty()
}

/// Whether the value of a placeholder, and the text behind it perhaps, can begin so: the text
/// would have to hold whatever the value cannot.
fn may_go_on(pattern: &Pattern, at: usize, left: &[u8]) -> bool {
    let Element::Placeholder(index) = pattern.elements[at] else { return true };
    let kind = &pattern.placeholders[index].kind;
    let Some(foreign) = left.iter().position(|byte| !kind.may_hold(*byte)) else { return true };
    match pattern.elements.get(at + 1) {
        Some(Element::Literal(text)) => {
            (0..=foreign).any(|from| text.as_bytes().starts_with(&left[from..]))
        }
        _ => false,
    }
}
