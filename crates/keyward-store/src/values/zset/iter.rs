//! Walking over a range of ranks from both ends, whatever the form of the set.
//!
//! Owns the walk over packed entries; that over the tree is the tree's.

use super::packed::Walk;
use crate::values::thin::ThinBytes;
use crate::values::zset::tree;
use std::ops::Range;

/// Members and scores of a range of ranks.
#[derive(Clone)]
pub struct Iter<'a> {
    form: Form<'a>,
}

#[derive(Clone)]
enum Form<'a> {
    Packed(PackedIter<'a>),
    Tree(tree::Iter<'a>),
}

/// Packed entries can only be walked forwards: the first step backwards collects
/// what is left.
#[derive(Clone)]
struct PackedIter<'a> {
    walk: Walk<'a>,
    left: usize,
    collected: Option<Vec<(&'a [u8], f64)>>,
}

impl<'a> Iter<'a> {
    pub(super) fn packed(run: &'a ThinBytes, ranks: Range<usize>) -> Iter<'a> {
        let mut walk = Walk::new(run);
        if let Some(before) = ranks.start.checked_sub(1) {
            walk.nth(before);
        }
        Iter { form: Form::Packed(PackedIter { walk, left: ranks.len(), collected: None }) }
    }

    pub(super) fn tree(iter: tree::Iter<'a>) -> Iter<'a> {
        Iter { form: Form::Tree(iter) }
    }

    /// The next member whose score is chosen, with what was made of that. It costs less than
    /// looking at every member.
    #[inline]
    pub fn next_chosen<T>(
        &mut self,
        choose: &mut impl FnMut(f64) -> Option<T>,
    ) -> Option<(&'a [u8], T)> {
        match &mut self.form {
            Form::Packed(iter) => loop {
                let (member, score) = iter.next()?;
                if let Some(made) = choose(score) {
                    return Some((member, made));
                }
            },
            Form::Tree(iter) => iter.next_chosen(choose),
        }
    }
}

impl<'a> PackedIter<'a> {
    fn next(&mut self) -> Option<(&'a [u8], f64)> {
        self.left = self.left.checked_sub(1)?;
        self.walk.next().map(|found| (found.member, found.score))
    }

    fn next_back(&mut self) -> Option<(&'a [u8], f64)> {
        let walk = self.walk.clone().take(self.left).map(|found| (found.member, found.score));
        self.left = self.left.checked_sub(1)?;
        self.collected.get_or_insert_with(|| walk.collect()).pop()
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a [u8], f64);

    #[inline]
    fn next(&mut self) -> Option<(&'a [u8], f64)> {
        match &mut self.form {
            Form::Packed(iter) => iter.next(),
            Form::Tree(iter) => iter.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match &self.form {
            Form::Packed(iter) => iter.left,
            Form::Tree(iter) => iter.len(),
        };
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.form {
            Form::Packed(iter) => iter.next_back(),
            Form::Tree(iter) => iter.next_back(),
        }
    }
}

impl ExactSizeIterator for Iter<'_> {}
