//! Walking over the fields of a hash, whatever its form.

use super::Pair;
use crate::values::packed::Items;

/// The fields of a hash with their values.
pub struct Iter<'a> {
    form: Form<'a>,
    left: usize,
}

enum Form<'a> {
    Packed(Items<'a>),
    Indexed(Box<dyn Iterator<Item = Pair<'a>> + 'a>),
}

impl<'a> Iter<'a> {
    pub(super) fn packed(bytes: &'a [u8], count: usize) -> Iter<'a> {
        Iter { form: Form::Packed(Items::new(bytes)), left: count }
    }

    pub(super) fn indexed(
        fields: Box<dyn Iterator<Item = Pair<'a>> + 'a>,
        count: usize,
    ) -> Iter<'a> {
        Iter { form: Form::Indexed(fields), left: count }
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = Pair<'a>;

    #[inline]
    fn next(&mut self) -> Option<Pair<'a>> {
        self.left = self.left.checked_sub(1)?;
        match &mut self.form {
            Form::Packed(items) => Some((items.next()?, items.next()?)),
            Form::Indexed(fields) => fields.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Iter<'_> {}
