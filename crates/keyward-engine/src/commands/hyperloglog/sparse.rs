//! Registers as runs: most of them are zero while few elements have been added.
//!
//! ```text
//! 00nnnnnn            ZERO   n + 1 registers are 0
//! 01nnnnnn nnnnnnnn   XZERO  n + 1 registers are 0
//! 1vvvvvnn            VAL    n + 1 registers are v + 1
//! ```
//! Owns reading runs, and raising a register among them, byte for byte as Redis does: the
//! same elements in the same order give the same string there.
//!
//! Runs may come from anywhere (SET, SETRANGE, RESTORE): they may cover more or fewer
//! registers than there are, and the last may be cut off, whose missing byte reads as zero.
//! Invariant: nobody walks over more than [`BYTES_MAX`] of them.

use super::dense::{Mark, REGISTERS};
use super::form::{Corrupt, HEAD_BYTES};

/// The largest number that a run can hold.
pub(super) const VALUE_MAX: u8 = 32;

/// The longest string of runs that can cover the registers: each run at least one.
pub(super) const BYTES_MAX: usize = HEAD_BYTES + 2 * REGISTERS;

/// The most registers of a VAL and of a ZERO.
const VALUES_MAX: usize = 4;
const ZEROS_MAX: usize = 64;

/// How many runs may be joined behind a change.
const JOINED_MAX: usize = 5;

/// Registers side by side that hold the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) value: u8,
    pub(super) registers: usize,
    /// Bytes it is written in.
    pub(super) bytes: usize,
}

impl Run {
    /// The run at a place, which must be within the text.
    #[inline]
    fn at(text: &[u8], at: usize) -> Run {
        let first = text[at];
        let low = usize::from(first & 0x3f);
        match first >> 6 {
            0 => Run { value: 0, registers: low + 1, bytes: 1 },
            1 => {
                let second = text.get(at + 1).copied().unwrap_or(0);
                Run { value: 0, registers: (low << 8 | usize::from(second)) + 1, bytes: 2 }
            }
            _ => Run { value: (first >> 2 & 0x1f) + 1, registers: (low & 3) + 1, bytes: 1 },
        }
    }
}

/// The runs of a text behind its head.
pub(super) fn runs(text: &[u8]) -> impl Iterator<Item = Run> {
    let mut at = HEAD_BYTES;
    std::iter::from_fn(move || {
        let run = (at < text.len()).then(|| Run::at(text, at))?;
        at += run.bytes;
        Some(run)
    })
}

/// Visits every register that is not zero.
pub(super) fn visit(text: &[u8], mut visit: impl FnMut(Mark)) -> Result<(), Corrupt> {
    let mut first = 0;
    for run in runs(text) {
        let end = first + run.registers;
        if run.value > 0 {
            if end > REGISTERS {
                return Err(Corrupt);
            }
            (first..end).for_each(|index| visit(Mark { index, count: run.value }));
        }
        first = end;
    }
    if first == REGISTERS { Ok(()) } else { Err(Corrupt) }
}

/// Where to begin looking for a register: no further than the last one found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor {
    at: usize,
    /// The first register of the run there.
    first: usize,
}

impl Cursor {
    pub(super) const START: Cursor = Cursor { at: HEAD_BYTES, first: 0 };
}

/// What became of a register that was to be raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Raised {
    /// It holds as much already.
    No,
    Yes,
    /// Runs cannot hold it, or not within the bytes they may take.
    MustBeDense,
}

/// Raises a register, which must not lie before the cursor. The runs may take `bytes_max`
/// with their head.
pub(super) fn raise(
    text: &mut Vec<u8>,
    cursor: &mut Cursor,
    mark: Mark,
    bytes_max: usize,
) -> Result<Raised, Corrupt> {
    if mark.count > VALUE_MAX {
        return Ok(Raised::MustBeDense);
    }
    let Cursor { mut at, mut first } = *cursor;
    let mut run;
    loop {
        if at >= text.len() {
            return Err(Corrupt);
        }
        run = Run::at(text, at);
        if mark.index < first + run.registers {
            break;
        }
        *cursor = Cursor { at, first };
        at += run.bytes;
        first += run.registers;
    }
    if run.value >= mark.count {
        return Ok(Raised::No);
    }
    if run.registers == 1 && run.bytes == 1 {
        text[at] = value_run(mark.count, 1);
    } else {
        let mut parts = Parts::default();
        parts.push(run.value, mark.index - first);
        parts.push(mark.count, 1);
        parts.push(run.value, first + run.registers - 1 - mark.index);
        let length = text.len() + parts.len - run.bytes;
        if parts.len > run.bytes && length > bytes_max {
            return Ok(Raised::MustBeDense);
        }
        let end = text.len().min(at + run.bytes);
        text.splice(at..end, parts.bytes[..parts.len].iter().copied());
        // Of a run that was cut off a byte is missing still.
        text.truncate(length);
    }
    join(text, cursor.at);
    Ok(Raised::Yes)
}

/// The runs that take the place of one.
#[derive(Default)]
struct Parts {
    bytes: [u8; 5],
    len: usize,
}

impl Parts {
    fn push(&mut self, value: u8, registers: usize) {
        let (bytes, len) = match (value, registers) {
            (_, 0) => return,
            (0, 1..=ZEROS_MAX) => ([(registers - 1) as u8, 0], 1),
            (0, _) => ([0x40 | ((registers - 1) >> 8) as u8, (registers - 1) as u8], 2),
            _ => ([value_run(value, registers), 0], 1),
        };
        self.bytes[self.len..self.len + len].copy_from_slice(&bytes[..len]);
        self.len += len;
    }
}

fn value_run(value: u8, registers: usize) -> u8 {
    0x80 | (value - 1) << 2 | (registers - 1) as u8
}

/// Joins runs of the same number from a place on, as far as Redis looks.
fn join(text: &mut Vec<u8>, mut at: usize) {
    for _ in 0..JOINED_MAX {
        if at >= text.len() {
            break;
        }
        let run = Run::at(text, at);
        let next = (at + 1 < text.len()).then(|| Run::at(text, at + 1));
        match next {
            Some(next)
                if run.value > 0
                    && next.value == run.value
                    && run.registers + next.registers <= VALUES_MAX =>
            {
                text[at + 1] = value_run(run.value, run.registers + next.registers);
                text.remove(at);
            }
            _ => at += run.bytes,
        }
    }
}
