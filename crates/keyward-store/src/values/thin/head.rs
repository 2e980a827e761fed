//! What the collections that are one word have in common: their costs and their length.

/// Gives a type of one field `word`, a `ThinOr` of a run and an index, its costs and its length.
macro_rules! thin_head {
    ($name:ident) => {
        impl $name {
            /// What it costs.
            pub(crate) fn footprint(&self) -> &dyn $crate::values::footprint::Footprint {
                &self.word
            }

            /// What it costs, for freeing it in steps.
            pub(crate) fn footprint_mut(
                &mut self,
            ) -> &mut dyn $crate::values::footprint::Footprint {
                &mut self.word
            }

            /// How many elements there are.
            pub fn len(&self) -> usize {
                match self.word.form() {
                    $crate::values::thin::Form::Small(run) => run.count(),
                    $crate::values::thin::Form::Large(indexed) => indexed.len(),
                }
            }

            /// Whether there is none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}

pub(crate) use thin_head;
