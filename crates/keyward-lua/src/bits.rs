//! The `bit` library: operations on 32-bit integers, as BitOp 1.0.2 defines them.
//!
//! A number is reduced to its low 32 bits; results are signed.

use super::runtime::Runtime;
use super::stack::{Body, Raised, Returned, Stack};

pub(crate) const FUNCTIONS: &[(&str, Body)] = &[
    ("tobit", tobit),
    ("bnot", bnot),
    ("band", band),
    ("bor", bor),
    ("bxor", bxor),
    ("lshift", lshift),
    ("rshift", rshift),
    ("arshift", arshift),
    ("rol", rol),
    ("ror", ror),
    ("bswap", bswap),
    ("tohex", tohex),
];

/// An argument's low 32 bits. Adding this number moves them to the end of the double.
fn operand(stack: Stack, position: i32) -> Result<u32, Raised> {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let number = stack.number_argument(position)?;
    Ok((number + SHIFT).to_bits() as u32)
}

fn done(stack: Stack, bits: u32) -> Returned {
    stack.push_number(f64::from(bits as i32));
    Ok(1)
}

fn fold(stack: Stack, join: fn(u32, u32) -> u32) -> Returned {
    let mut bits = operand(stack, 1)?;
    for position in (2..=stack.len()).rev() {
        bits = join(bits, operand(stack, position)?);
    }
    done(stack, bits)
}

fn shift(stack: Stack, by: fn(u32, u32) -> u32) -> Returned {
    let bits = operand(stack, 1)?;
    done(stack, by(bits, operand(stack, 2)? & 31))
}

fn tobit(stack: Stack, _: &mut Runtime) -> Returned {
    done(stack, operand(stack, 1)?)
}

fn bnot(stack: Stack, _: &mut Runtime) -> Returned {
    done(stack, !operand(stack, 1)?)
}

fn band(stack: Stack, _: &mut Runtime) -> Returned {
    fold(stack, |a, b| a & b)
}

fn bor(stack: Stack, _: &mut Runtime) -> Returned {
    fold(stack, |a, b| a | b)
}

fn bxor(stack: Stack, _: &mut Runtime) -> Returned {
    fold(stack, |a, b| a ^ b)
}

fn lshift(stack: Stack, _: &mut Runtime) -> Returned {
    shift(stack, |bits, by| bits << by)
}

fn rshift(stack: Stack, _: &mut Runtime) -> Returned {
    shift(stack, |bits, by| bits >> by)
}

fn arshift(stack: Stack, _: &mut Runtime) -> Returned {
    shift(stack, |bits, by| ((bits as i32) >> by) as u32)
}

fn rol(stack: Stack, _: &mut Runtime) -> Returned {
    shift(stack, u32::rotate_left)
}

fn ror(stack: Stack, _: &mut Runtime) -> Returned {
    shift(stack, u32::rotate_right)
}

fn bswap(stack: Stack, _: &mut Runtime) -> Returned {
    done(stack, operand(stack, 1)?.swap_bytes())
}

/// `bit.tohex(bits [, digits])`: negative digits ask for capitals.
fn tohex(stack: Stack, _: &mut Runtime) -> Returned {
    let mut bits = operand(stack, 1)?;
    let wanted = if stack.len() < 2 { 8 } else { operand(stack, 2)? as i32 };
    let alphabet = if wanted < 0 { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    let mut text = [0; 8];
    let digits = wanted.unsigned_abs().min(8) as usize;
    for digit in text[..digits].iter_mut().rev() {
        *digit = alphabet[(bits & 15) as usize];
        bits >>= 4;
    }
    stack.push_bytes(&text[..digits]);
    Ok(1)
}
