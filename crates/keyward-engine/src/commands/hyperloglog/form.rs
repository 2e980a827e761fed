//! A HyperLogLog as a string: its head, and what is behind it.
//!
//! ```text
//!  0    4 5      8         16
//! +----+-+------+---------+--------------------
//! |HYLL|E|unused|estimate | registers
//! +----+-+------+---------+--------------------
//! ```
//! `E` is 0 for dense registers, 1 for sparse ones. The estimate is the last one that was
//! told, lowest byte first; its highest bit says that it no longer holds.
//!
//! Owns the head, and the way from sparse to dense. Redis reads these strings and writes
//! the same. A string is whatever its writer made of it: [`Form::of`] is asked before
//! anything is read.

use super::dense::{self, Mark};
use super::sparse::{self, Cursor, Raised};
use keyward_commands::WireError;

/// Bytes before the registers.
pub(super) const HEAD_BYTES: usize = 16;

/// Bytes of a dense one.
pub(super) const DENSE_BYTES: usize = HEAD_BYTES + dense::BYTES;

const ENCODING_AT: usize = 4;
const ESTIMATE_AT: usize = 8;
const STALE: u8 = 0x80;
const EMPTY: &[u8] = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff";

/// The runs do not make up the registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Corrupt;

impl From<Corrupt> for WireError {
    fn from(_: Corrupt) -> WireError {
        WireError::line(&[b"INVALIDOBJ Corrupted HLL object detected"])
    }
}

/// How the registers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Dense,
    Sparse,
}

impl Form {
    /// The form of a string that looks like a HyperLogLog, as Redis judges it; runs longer
    /// than any that cover the registers are refused at once.
    pub(super) fn of(text: &[u8]) -> Result<Form, WireError> {
        let form = match text.get(ENCODING_AT) {
            Some(0) if text.len() == DENSE_BYTES => Form::Dense,
            Some(1) if text.len() >= HEAD_BYTES => Form::Sparse,
            _ => return Err(invalid()),
        };
        if !text.starts_with(b"HYLL") {
            return Err(invalid());
        }
        if form == Form::Sparse && text.len() > sparse::BYTES_MAX {
            return Err(Corrupt.into());
        }
        Ok(form)
    }
}

fn invalid() -> WireError {
    WireError::line(&[b"WRONGTYPE Key is not a valid HyperLogLog string value."])
}

/// One without elements.
pub(super) fn empty() -> Vec<u8> {
    EMPTY.to_vec()
}

/// The registers of a dense one.
///
/// # Panics
/// If it is another string.
pub(super) fn registers(text: &[u8]) -> &[u8; dense::BYTES] {
    text[HEAD_BYTES..].try_into().expect("a dense string was checked for its length")
}

/// The registers of a dense one, for changing them.
///
/// # Panics
/// If it is another string.
pub(super) fn registers_mut(text: &mut [u8]) -> &mut [u8; dense::BYTES] {
    (&mut text[HEAD_BYTES..]).try_into().expect("a dense string was checked for its length")
}

/// The estimate that was told last, if it still holds.
pub(super) fn estimate(text: &[u8]) -> Option<u64> {
    let bytes = text[ESTIMATE_AT..HEAD_BYTES].try_into().expect("eight bytes");
    (text[HEAD_BYTES - 1] & STALE == 0).then_some(u64::from_le_bytes(bytes))
}

/// Notes an estimate.
pub(super) fn set_estimate(text: &mut [u8], estimate: u64) {
    text[ESTIMATE_AT..HEAD_BYTES].copy_from_slice(&estimate.to_le_bytes());
}

/// Notes that the estimate no longer holds.
pub(super) fn outdate(text: &mut [u8]) {
    text[HEAD_BYTES - 1] |= STALE;
}

/// Makes a sparse one dense.
pub(super) fn make_dense(text: &mut Vec<u8>) -> Result<(), Corrupt> {
    let mut dense = vec![0; DENSE_BYTES];
    dense[..HEAD_BYTES].copy_from_slice(&text[..HEAD_BYTES]);
    dense[ENCODING_AT] = 0;
    let registers = registers_mut(&mut dense);
    sparse::visit(text, |mark| dense::put(registers, mark))?;
    *text = dense;
    Ok(())
}

/// A HyperLogLog apart from its row, to which elements are added in the order of their
/// registers or from the start.
pub(super) struct Draft {
    pub(super) text: Vec<u8>,
    form: Form,
    sparse_bytes_max: usize,
}

impl Draft {
    /// Of a string whose form is known.
    pub(super) fn new(text: Vec<u8>, form: Form, sparse_bytes_max: usize) -> Draft {
        Draft { text, form, sparse_bytes_max }
    }

    /// Raises a register from the cursor on; whether it held less.
    pub(super) fn raise(&mut self, cursor: &mut Cursor, mark: Mark) -> Result<bool, Corrupt> {
        if self.form == Form::Sparse {
            let bytes_max = self.sparse_bytes_max;
            match sparse::raise(&mut self.text, cursor, mark, bytes_max)? {
                Raised::No => return Ok(false),
                Raised::Yes => {
                    outdate(&mut self.text);
                    return Ok(true);
                }
                Raised::MustBeDense => self.make_dense()?,
            }
        }
        Ok(dense::raise(registers_mut(&mut self.text), mark))
    }

    /// Makes it dense, if it is not.
    pub(super) fn make_dense(&mut self) -> Result<(), Corrupt> {
        if self.form == Form::Sparse {
            make_dense(&mut self.text)?;
            self.form = Form::Dense;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dense::REGISTERS;
    use proptest::prelude::*;

    fn marks(most: u8) -> impl Strategy<Value = Vec<Mark>> {
        // Often side by side, where runs meet.
        let index = prop_oneof![0..REGISTERS, 100..140usize, REGISTERS - 20..REGISTERS];
        let mark = (index, 1..=most).prop_map(|(index, count)| Mark { index, count });
        proptest::collection::vec(mark, 1..300)
    }

    fn raise_all(draft: &mut Draft, marks: &[Mark]) {
        for mark in marks {
            let mut cursor = Cursor::START;
            draft.raise(&mut cursor, *mark).expect("it is sound");
        }
    }

    proptest! {
        #[test]
        fn runs_hold_what_registers_hold(marks in marks(51), bytes_max in 18usize..2000) {
            let mut draft = Draft::new(empty(), Form::Sparse, bytes_max);
            let mut plain = vec![0; REGISTERS];
            for mark in &marks {
                let mut cursor = Cursor::START;
                let is_raised = draft.raise(&mut cursor, *mark).expect("it is sound");
                prop_assert_eq!(is_raised, plain[mark.index] < mark.count);
                plain[mark.index] = mark.count.max(plain[mark.index]);
                prop_assert_eq!(Form::of(&draft.text), Ok(draft.form));
            }
            draft.make_dense().expect("it is sound");
            let held: Vec<u8> = dense::all(registers(&draft.text)).flatten().collect();
            prop_assert_eq!(held, plain);
        }

        #[test]
        fn a_pass_in_order_is_the_same_as_single_steps(
            before in marks(32),
            mut marks in marks(32),
            bytes_max in 100usize..2000,
        ) {
            marks.sort_by_key(|mark| mark.index);
            marks.dedup_by_key(|mark| mark.index);
            let mut single = Draft::new(empty(), Form::Sparse, bytes_max);
            raise_all(&mut single, &before);
            let mut pass = Draft::new(single.text.clone(), single.form, bytes_max);
            raise_all(&mut single, &marks);
            let mut cursor = Cursor::START;
            for mark in &marks {
                pass.raise(&mut cursor, *mark).expect("it is sound");
            }
            prop_assert_eq!(pass.text, single.text);
        }
    }
}
