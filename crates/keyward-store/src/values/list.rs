//! Lists: a sequence of byte strings with two ends.
//!
//! Owns the representation: one run of entries while small, in one allocation;
//! a deque of chunks when large (`chunks`). No element has an allocation of its
//! own, and what is read or written at an end moves at most `SMALL_BYTES_MAX`
//! bytes.
//!
//! Invariants: a small list takes at most `SMALL_BYTES_MAX` bytes of entries; a
//! large one that has shrunk to a quarter of that becomes small again. An empty
//! list never stays in a row (`keyspace::edit` removes it).
//! Not here: the commands (`commands::list` of the engine), waiting for elements (`blocking`).

pub mod chunk;
pub mod chunks;
pub mod encoded;
pub mod run;
#[cfg(test)]
mod tests;

pub use run::End;

use crate::values::footprint::Footprint;
use crate::values::packed::Item;
use crate::values::thin::{Form, FormMut, ThinBytes, ThinOr};
use chunk::Chunk;
use chunks::{Backward, Chunks, Forward};
use encoded::Encoded;
use run::Run;
use std::ops::Range;

/// Bytes of a small list at most.
const SMALL_BYTES_MAX: usize = 2048;
/// A large list of one chunk with fewer bytes becomes small again.
const LARGE_BYTES_MIN: usize = SMALL_BYTES_MAX / 4;

/// A list value.
#[derive(Clone, Default)]
pub struct List {
    word: ThinOr<Chunks>,
}

impl List {
    /// What it costs.
    pub(crate) fn footprint(&self) -> &dyn Footprint {
        &self.word
    }

    /// What it costs, for freeing it in steps.
    pub(crate) fn footprint_mut(&mut self) -> &mut dyn Footprint {
        &mut self.word
    }

    /// How many elements there are.
    #[inline]
    pub fn len(&self) -> usize {
        match self.word.form() {
            Form::Small(run) => run.count(),
            Form::Large(chunks) => chunks.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name `OBJECT ENCODING` returns: Redis 7.0 has one for every list.
    pub fn encoding(&self) -> &'static str {
        "quicklist"
    }

    /// The element at an end.
    #[inline]
    pub fn peek(&self, end: End) -> Option<Item<'_>> {
        match self.word.form() {
            Form::Small(run) => run::peek(run.bytes(), end).map(|(element, _)| element),
            Form::Large(chunks) => chunks.peek(end),
        }
    }

    /// Adds an element at an end.
    #[inline]
    pub fn push(&mut self, end: End, element: &[u8]) {
        let entry = Encoded::of(element);
        match self.for_growth(entry.len(), end) {
            FormMut::Small(run) => run::push(run, end, &entry),
            FormMut::Large(chunks) => chunks.push(end, &entry),
        }
    }

    /// Takes an element away from an end, if there is one.
    #[inline]
    pub fn pop(&mut self, end: End) {
        match self.word.form_mut() {
            FormMut::Small(run) if run.count() == 0 => {}
            FormMut::Small(run) => run::pop(run, end),
            FormMut::Large(chunks) => {
                chunks.pop(end);
                self.shrink();
            }
        }
    }

    /// The element of an index.
    pub fn get(&self, index: usize) -> Option<Item<'_>> {
        self.forward(index).next()
    }

    /// The elements from an index on.
    pub fn forward(&self, index: usize) -> impl Iterator<Item = Item<'_>> + Clone {
        match self.word.form() {
            Form::Small(run) => {
                let start = run::offset(run, index.min(run.count()));
                Forward::within(&run.bytes()[start..])
            }
            Form::Large(chunks) => chunks.forward(index),
        }
    }

    /// The elements before an index, the last one first.
    pub fn backward(&self, end: usize) -> impl Iterator<Item = Item<'_>> + Clone {
        match self.word.form() {
            Form::Small(run) => {
                let end = run::offset(run, end.min(run.count()));
                Backward::within(&run.bytes()[..end])
            }
            Form::Large(chunks) => chunks.backward(end),
        }
    }

    /// Puts an element before the one of this index, or at the end.
    pub fn insert(&mut self, index: usize, element: &[u8]) {
        if index >= self.len() {
            return self.push(End::Tail, element);
        }
        let entry = Encoded::of(element);
        match self.for_growth(entry.len(), End::Tail) {
            FormMut::Small(run) => run::insert(run, index, &entry),
            FormMut::Large(chunks) => chunks.insert(index, &entry),
        }
    }

    /// Replaces the element of an index; whether there is one.
    pub fn set(&mut self, index: usize, element: &[u8]) -> bool {
        if index >= self.len() {
            return false;
        }
        let entry = Encoded::of(element);
        match self.for_growth(entry.len(), End::Tail) {
            FormMut::Small(run) => {
                run::insert(run, index, &entry);
                run::remove(run, index + 1..index + 2);
            }
            FormMut::Large(chunks) => {
                chunks.set(index, &entry);
                self.shrink();
            }
        }
        true
    }

    /// Takes out the elements of a range of indexes within the length.
    pub fn remove(&mut self, indexes: Range<usize>) {
        match self.word.form_mut() {
            _ if indexes.is_empty() => {}
            FormMut::Small(run) => run::remove(run, indexes),
            FormMut::Large(chunks) => {
                chunks.remove(indexes);
                self.shrink();
            }
        }
    }

    /// Takes the elements of a range of indexes within the length out as a list of their
    /// own: of a large one chunks are moved, not elements.
    pub fn cut(&mut self, indexes: Range<usize>) -> List {
        let word = match self.word.form_mut() {
            FormMut::Small(run) => {
                let bytes = run::offset(run, indexes.start)..run::offset(run, indexes.end);
                let cut = small(&run.bytes()[bytes], indexes.len());
                run::remove(run, indexes);
                ThinOr::small(cut)
            }
            FormMut::Large(chunks) => ThinOr::large(chunks.cut(indexes)),
        };
        self.shrink();
        let mut cut = List { word };
        cut.shrink();
        cut
    }

    /// Puts the elements of a list before the one of this index, or at the end.
    pub fn splice(&mut self, index: usize, mut other: List) {
        if let (FormMut::Small(run), Form::Small(more)) = (self.word.form_mut(), other.word.form())
            && run.len() + more.len() <= SMALL_BYTES_MAX
        {
            let at = run::offset(run, index.min(run.count()));
            run.insert(at, more.len()).copy_from_slice(more.bytes());
            run.set_count(run.count() + more.count());
            return;
        }
        let more = std::mem::take(other.large());
        self.large().splice(index, more);
        self.shrink();
    }

    /// Puts an element in as often as there are indexes, which are in order: those that it
    /// has afterwards.
    pub fn insert_equal(&mut self, indexes: &[usize], element: &[u8]) {
        let entry = Encoded::of(element);
        self.large().insert_equal(indexes, &entry);
        self.shrink();
    }

    /// The list in its large form.
    fn large(&mut self) -> &mut Chunks {
        match self.for_growth(SMALL_BYTES_MAX + 1, End::Tail) {
            FormMut::Large(chunks) => chunks,
            FormMut::Small(_) => unreachable!("no small list takes so many bytes more"),
        }
    }

    /// Takes out up to `max` elements equal to this one, the ones nearest to
    /// `end` first; returns how many.
    pub fn remove_equal(&mut self, element: &[u8], max: usize, end: End) -> usize {
        let element = Item::of(element);
        match self.word.form_mut() {
            FormMut::Small(run) => run::remove_equal(run, element, max, end),
            FormMut::Large(chunks) => {
                let removed = chunks.remove_equal(element, max, end);
                self.shrink();
                removed
            }
        }
    }

    /// The list in a form that can take `length` bytes more.
    #[inline]
    fn for_growth(&mut self, length: usize, end: End) -> FormMut<'_, Chunks> {
        if let Form::Small(run) = self.word.form()
            && run.len() + length > SMALL_BYTES_MAX
        {
            let chunks = if run.count() == 0 {
                Chunks::default()
            } else {
                Chunks::of(Chunk::of(run.bytes(), run.count(), length.min(run.len()), end))
            };
            self.word = ThinOr::large(chunks);
        }
        self.word.form_mut()
    }

    /// Makes a list small again that has shrunk enough.
    fn shrink(&mut self) {
        let Form::Large(chunks) = self.word.form() else { return };
        let small = match chunks.only() {
            Some(chunk) if chunk.bytes().len() < LARGE_BYTES_MIN => {
                small(chunk.bytes(), chunk.count())
            }
            None if chunks.len() == 0 => ThinBytes::default(),
            _ => return,
        };
        self.word = ThinOr::small(small);
    }
}

/// The run of a small list with these entries.
fn small(entries: &[u8], count: usize) -> ThinBytes {
    let mut run = ThinBytes::default();
    run.insert(0, entries.len()).copy_from_slice(entries);
    run.set_count(count);
    run
}

impl std::fmt::Debug for List {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.forward(0)).finish()
    }
}
