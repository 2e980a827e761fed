//! PFSELFTEST.
//!
//! Redis writes 16 million registers and adds ten million elements, for seconds. Here a part
//! of that is done which takes no longer than other commands; the tests of this module do
//! the rest.

use super::dense::{self, Mark, REGISTERS};
use super::estimate::{Histogram, mark_of};
use super::form::{self, Draft, Form};
use super::sparse::Cursor;
use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;

pub(crate) fn pfselftest(ctx: &mut Ctx<'_>) -> Outcome {
    let bytes_max = ctx.shared.tunables.hll_sparse_bytes_max;
    check_registers(0)?;
    check_estimates(0, ELEMENTS, bytes_max)?;
    ctx.reply.ok();
    Ok(())
}

/// Elements that the command adds.
const ELEMENTS: u64 = 1000;

/// Numbers that look random.
fn scattered(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
}

/// Writes every register and reads it again.
fn check_registers(seed: u64) -> Outcome {
    let mut registers = [0; dense::BYTES];
    let wanted = |index: usize| (scattered(index as u64 ^ seed << 32) >> 58) as u8;
    for index in 0..REGISTERS {
        dense::put(&mut registers, Mark { index, count: wanted(index) });
    }
    for index in 0..REGISTERS {
        let (found, wanted) = (dense::get(&registers, index), wanted(index));
        if found != wanted {
            let text = format!("TESTFAILED Register {index} should be {wanted} but is {found}");
            return Err(WireError::line(&[text.as_bytes()]));
        }
    }
    Ok(())
}

/// Adds elements to a dense and to a sparse one, and compares what both estimate.
fn check_estimates(seed: u64, elements: u64, sparse_bytes_max: usize) -> Outcome {
    let failed = |text: &str| Err(WireError::line(&[b"TESTFAILED ", text.as_bytes()]));
    let mut dense = [0; dense::BYTES];
    let mut draft = Draft::new(form::empty(), Form::Sparse, sparse_bytes_max);
    let mut checkpoint = 1;
    for number in 1..=elements {
        let mark = mark_of(&(number ^ scattered(seed)).to_le_bytes());
        dense::raise(&mut dense, mark);
        let mut cursor = Cursor::START;
        draft.raise(&mut cursor, mark)?;
        if number != checkpoint {
            continue;
        }
        checkpoint *= 10;
        let form = Form::of(&draft.text)?;
        if form == Form::Dense && number < sparse_bytes_max as u64 / 2 {
            return failed("sparse encoding not used");
        }
        let mut plain = form::empty();
        form::make_dense(&mut plain)?;
        *form::registers_mut(&mut plain) = dense;
        let estimate = Histogram::of(&plain, Form::Dense)?.estimate();
        if Histogram::of(&draft.text, form)?.estimate() != estimate {
            return failed("dense/sparse disagree");
        }
        // Six times the standard error; few elements may well meet in a register.
        let standard = 1.04 / (REGISTERS as f64).sqrt();
        let allowed = if number == 10 { 1 } else { (standard * 6.0 * number as f64).ceil() as u64 };
        let error = number.abs_diff(estimate);
        if error > allowed {
            return failed(&format!("Too big error. card:{number} abserr:{error}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_hold_whatever_is_put_into_them() {
        (0..20).for_each(|seed| check_registers(seed).expect("as written"));
    }

    #[test]
    fn estimates_stay_within_six_times_the_standard_error() {
        for seed in 0..5 {
            check_estimates(seed, 100_000, 3000).expect("near");
        }
        check_estimates(9, 1_000_000, 100).expect("near");
    }
}
