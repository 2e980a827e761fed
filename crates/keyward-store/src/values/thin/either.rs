//! Either a run of bytes or a box, in one pointer.
//!
//! Owns the mark that tells the two apart: the lowest bit of the pointer, which
//! is free because both are aligned to more than one byte. So a collection that
//! is packed while it is small and indexed when it is large costs its row one
//! word, and reaching its content one cache miss.
//!
//! Invariant: the lowest bit is set exactly if the rest of the word is a box.
#![allow(unsafe_code)]

use super::ThinBytes;
use crate::values::footprint::{Footprint, HeapBytes};
use crate::values::size_class::{is_small, size_class};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

const BOX_MARK: usize = 1;

/// A run of bytes or a boxed `L`.
pub(crate) struct ThinOr<L> {
    word: NonNull<u8>,
    kind: PhantomData<Box<L>>,
}

/// What it is at present.
pub(crate) enum Form<'a, L> {
    /// A run of bytes.
    Small(&'a ThinBytes),
    /// What was boxed.
    Large(&'a L),
}

/// What it is at present, for changing it.
pub(crate) enum FormMut<'a, L> {
    /// A run of bytes.
    Small(&'a mut ThinBytes),
    /// What was boxed.
    Large(&'a mut L),
}

// SAFETY: it owns a `ThinBytes` or a `Box<L>` and nothing else.
unsafe impl<L: Send> Send for ThinOr<L> {}
// SAFETY: as above; a shared reference gives shared references to them.
unsafe impl<L: Sync> Sync for ThinOr<L> {}

impl<L> ThinOr<L> {
    /// A box holding `large`.
    pub(crate) fn large(large: L) -> ThinOr<L> {
        const { assert!(align_of::<L>() > BOX_MARK, "the lowest bit must be free") };
        let at = NonNull::from(Box::leak(Box::new(large))).cast::<u8>();
        // A marked pointer is one byte into the box, hence never null.
        let word = at.map_addr(|address| address | BOX_MARK);
        ThinOr { word, kind: PhantomData }
    }

    /// A run of bytes.
    pub(crate) fn small(bytes: ThinBytes) -> ThinOr<L> {
        ThinOr { word: ManuallyDrop::new(bytes).at, kind: PhantomData }
    }

    /// The box, if it is one.
    #[inline(always)]
    fn boxed(&self) -> Option<NonNull<L>> {
        if self.word.addr().get() & BOX_MARK == 0 {
            return None;
        }
        // SAFETY: the mark is taken off a pointer that was never null without it.
        let at = unsafe { NonNull::new_unchecked(self.word.as_ptr().map_addr(|a| a & !BOX_MARK)) };
        Some(at.cast())
    }

    /// What it is.
    #[inline(always)]
    pub(crate) fn form(&self) -> Form<'_, L> {
        match self.boxed() {
            // SAFETY: the box is owned by `self` and borrowed as long as it.
            Some(large) => Form::Large(unsafe { large.as_ref() }),
            // SAFETY: without the mark the word is exactly a `ThinBytes`, whose
            // only field is this pointer.
            None => Form::Small(unsafe { &*(&raw const self.word).cast::<ThinBytes>() }),
        }
    }

    /// What it is, for changing it.
    #[inline(always)]
    pub(crate) fn form_mut(&mut self) -> FormMut<'_, L> {
        match self.boxed() {
            // SAFETY: as for `form`, and `&mut self` excludes others.
            Some(mut large) => FormMut::Large(unsafe { large.as_mut() }),
            // SAFETY: as for `form`; a `ThinBytes` never sets the mark.
            None => FormMut::Small(unsafe { &mut *(&raw mut self.word).cast::<ThinBytes>() }),
        }
    }
}

impl<L: HeapBytes> HeapBytes for ThinOr<L> {
    fn heap_bytes(&self) -> usize {
        match self.form() {
            Form::Small(run) => run.heap_bytes(),
            Form::Large(large) => size_class(size_of::<L>()) + large.heap_bytes(),
        }
    }
}

impl<L: Footprint> Footprint for ThinOr<L> {
    fn allocations(&self) -> usize {
        match self.form() {
            Form::Small(_) => 1,
            Form::Large(large) => 1 + large.allocations(),
        }
    }

    fn shed(&mut self, budget: usize) -> usize {
        match self.form_mut() {
            FormMut::Small(_) => 0,
            FormMut::Large(large) => large.shed(budget),
        }
    }

    fn gather(&mut self, from: usize, budget: usize) -> Option<usize> {
        match self.form_mut() {
            FormMut::Small(run) => {
                if is_small(run.heap_bytes()) {
                    *run = run.clone();
                }
                None
            }
            FormMut::Large(large) => large.gather(from, budget),
        }
    }
}

impl<L> Drop for ThinOr<L> {
    fn drop(&mut self) {
        match self.boxed() {
            // SAFETY: the pointer came from a leaked box and is given back once.
            Some(large) => drop(unsafe { Box::from_raw(large.as_ptr()) }),
            None => drop(ThinBytes { at: self.word }),
        }
    }
}

impl<L: Clone> Clone for ThinOr<L> {
    fn clone(&self) -> ThinOr<L> {
        match self.form() {
            Form::Small(bytes) => ThinOr::small(bytes.clone()),
            Form::Large(large) => ThinOr::large(large.clone()),
        }
    }
}

impl<L> Default for ThinOr<L> {
    fn default() -> ThinOr<L> {
        ThinOr::small(ThinBytes::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_one_word_and_come_back() {
        assert_eq!(size_of::<Option<ThinOr<String>>>(), 8);
        let mut either = ThinOr::<String>::default();
        if let FormMut::Small(bytes) = either.form_mut() {
            bytes.insert(0, 1)[0] = b'x';
        }
        assert!(matches!(either.clone().form(), Form::Small(bytes) if bytes.bytes() == b"x"));
        either = ThinOr::large("large".to_owned());
        if let FormMut::Large(text) = either.form_mut() {
            text.push('r');
        }
        assert!(matches!(either.clone().form(), Form::Large(text) if text == "larger"));
    }
}
