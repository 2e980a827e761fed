//! Walking over the members of a set, whatever its form.

use crate::values::packed::{Item, Items};
use crate::values::set::intset;
use crate::values::thin::ThinBytes;

/// The members of a set.
pub struct Iter<'a> {
    form: Form<'a>,
    left: usize,
}

enum Form<'a> {
    Numbers { run: &'a ThinBytes, next: usize },
    Packed(Items<'a>),
    Indexed(Box<dyn Iterator<Item = Item<'a>> + 'a>),
}

impl<'a> Iter<'a> {
    pub(super) fn numbers(run: &'a ThinBytes) -> Iter<'a> {
        Iter { form: Form::Numbers { run, next: 0 }, left: run.count() }
    }

    pub(super) fn packed(bytes: &'a [u8], count: usize) -> Iter<'a> {
        Iter { form: Form::Packed(Items::new(bytes)), left: count }
    }

    pub(super) fn indexed(
        members: Box<dyn Iterator<Item = Item<'a>> + 'a>,
        count: usize,
    ) -> Iter<'a> {
        Iter { form: Form::Indexed(members), left: count }
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.form {
            Form::Numbers { run, next } => {
                *next += 1;
                Some(Item::Int(intset::at(run, *next - 1)))
            }
            Form::Packed(items) => items.next(),
            Form::Indexed(members) => members.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}
