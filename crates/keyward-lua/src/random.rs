//! `math.random`, with Redis's generator: the 48-bit congruence of `lrand48`, so that
//! a script that sets its own seed sees the same numbers as on Redis.
//!
//! Not here: the engine's own random numbers (`crate::random`).

use super::runtime::Runtime;
use super::stack::{Returned, Stack};

/// The generator.
#[derive(Debug)]
pub(crate) struct Random(u64);

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const INCREMENT: u64 = 0xB;
const STATE_BITS: u32 = 48;
/// What a seed leaves open.
const LOW_WORD: u64 = 0x330E;

impl Random {
    pub(crate) fn new(seed: u32) -> Random {
        Random(u64::from(seed) << 16 | LOW_WORD)
    }

    /// 31 bits.
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT) & ((1 << STATE_BITS) - 1);
        (self.0 >> 17) as u32
    }

    /// From zero to below one.
    fn fraction(&mut self) -> f64 {
        const MAX: u32 = i32::MAX as u32;
        f64::from(self.next() % MAX) / f64::from(MAX)
    }
}

/// `math.random([low,] high)`
pub(crate) fn random(stack: Stack, runtime: &mut Runtime) -> Returned {
    if !runtime.is_in_script() {
        return stack
            .fail(format_args!("math.random can only be called inside a script invocation"));
    }
    let fraction = runtime.random.fraction();
    let value = match stack.len() {
        0 => fraction,
        1 => {
            let high = stack.integer_argument(1)? as i32;
            if high < 1 {
                return stack.fail_argument(1, format_args!("interval is empty"));
            }
            (fraction * f64::from(high)).floor() + 1.0
        }
        2 => {
            let (low, high) =
                (stack.integer_argument(1)? as i32, stack.integer_argument(2)? as i32);
            if low > high {
                return stack.fail_argument(2, format_args!("interval is empty"));
            }
            let width = high.wrapping_sub(low).wrapping_add(1);
            (fraction * f64::from(width)).floor() + f64::from(low)
        }
        _ => return stack.fail(format_args!("wrong number of arguments")),
    };
    stack.push_number(value);
    Ok(1)
}

/// `math.randomseed(seed)`
pub(crate) fn randomseed(stack: Stack, runtime: &mut Runtime) -> Returned {
    if !runtime.is_in_script() {
        return stack
            .fail(format_args!("math.randomseed can only be called inside a script invocation"));
    }
    runtime.random = Random::new(stack.integer_argument(1)? as u32);
    Ok(0)
}
