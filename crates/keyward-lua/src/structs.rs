//! The `struct` library: numbers and strings to bytes and back, by a format.
//!
//! ```text
//! >  <     big, little endian        b B   1-byte integer, signed or not
//! !n       align to at most n        h H   2 bytes       l L T   8 bytes
//! x        one byte of padding       in In n bytes (4)   f d     float, double
//! cn       n bytes (1); c0 the whole string, or as many as the number before says
//! s        bytes up to a zero
//! ```
//! Not here: MessagePack (`msgpack`).
#![allow(unsafe_code)]

use super::runtime::Runtime;
use super::stack::{Body, Raised, Returned, Stack, to_i64};
use super::watch::{COPIED_BYTES_PER_STEP, Watch};

pub(crate) const FUNCTIONS: &[(&str, Body)] = &[("pack", pack), ("unpack", unpack), ("size", size)];

/// Widest integer.
const INTEGER_BYTES_MAX: usize = 32;
/// `!` without a number.
const ALIGN_DEFAULT: i32 = 8;
/// What an option of a format is worth, in steps.
const STEPS_PER_OPTION: usize = 4;
/// Longest result of `pack`: what a string value may have.
const RESULT_BYTES_MAX: usize = 512 * 1024 * 1024;

/// A format being read.
struct Format<'a> {
    rest: &'a [u8],
    is_big_endian: bool,
    align: usize,
}

impl<'a> Format<'a> {
    fn new(text: &'a [u8]) -> Format<'a> {
        // To C a format ends at the first zero.
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Format { rest: &text[..end], is_big_endian: false, align: 1 }
    }

    /// The next option and its size.
    fn next(&mut self, stack: Stack, watch: &mut Watch) -> Result<Option<(u8, usize)>, Raised> {
        let Some((&option, rest)) = self.rest.split_first() else { return Ok(None) };
        watch.spend(STEPS_PER_OPTION).map_err(|_| stack.end_run(watch))?;
        self.rest = rest;
        let size = match option {
            b'B' | b'b' | b'x' => 1,
            b'H' | b'h' => 2,
            b'L' | b'l' | b'T' | b'd' => 8,
            b'f' => 4,
            b'c' => self.number(stack, 1)? as usize,
            b'i' | b'I' => {
                let size = self.number(stack, 4)? as usize;
                if size > INTEGER_BYTES_MAX {
                    return stack.fail(format_args!(
                        "integral size {size} is larger than limit of {INTEGER_BYTES_MAX}"
                    ));
                }
                size
            }
            _ => 0,
        };
        Ok(Some((option, size)))
    }

    /// Decimal digits, if there are any.
    fn number(&mut self, stack: Stack, default: i32) -> Result<i32, Raised> {
        if !self.rest.first().is_some_and(u8::is_ascii_digit) {
            return Ok(default);
        }
        let mut value: i32 = 0;
        while let Some((digit @ b'0'..=b'9', rest)) = self.rest.split_first() {
            let next = value.checked_mul(10).and_then(|v| v.checked_add(i32::from(digit - b'0')));
            let Some(next) = next else {
                return stack.fail(format_args!("integral size overflow"));
            };
            value = next;
            self.rest = rest;
        }
        Ok(value)
    }

    /// Bytes to skip before an element.
    fn padding(&self, position: usize, option: u8, size: usize) -> usize {
        if size == 0 || option == b'c' {
            return 0;
        }
        let size = size.min(self.align);
        size.wrapping_sub(position & (size - 1)) & (size - 1)
    }

    /// An option that is no element.
    fn control(&mut self, stack: Stack, option: u8) -> Result<(), Raised> {
        match option {
            b' ' => {}
            b'>' => self.is_big_endian = true,
            b'<' => self.is_big_endian = false,
            b'!' => {
                let align = self.number(stack, ALIGN_DEFAULT)?;
                if align <= 0 || !(align as u32).is_power_of_two() {
                    return stack.fail(format_args!("alignment {align} is not a power of 2"));
                }
                self.align = align as usize;
            }
            other => return stack.fail_option(1, "invalid format option", &[other]),
        }
        Ok(())
    }
}

fn is_integer(option: u8) -> bool {
    matches!(option, b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I')
}

fn pack(stack: Stack, runtime: &mut Runtime) -> Returned {
    // SAFETY: the argument stays at its place until this returns.
    let mut format = Format::new(unsafe { stack.text_argument(1)? });
    // In Redis's library a missing argument is nil, not "no value".
    stack.push_nil();
    let Runtime { watch, scratch: out, .. } = runtime;
    out.clear();
    let mut argument = 2;
    while let Some((option, size)) = format.next(stack, watch)? {
        out.resize(out.len() + format.padding(out.len(), option, size), 0);
        match option {
            option if is_integer(option) => {
                put_integer(out, stack.number_argument(argument)?, size, format.is_big_endian);
                argument += 1;
            }
            b'x' => out.push(0),
            b'f' => {
                let value = stack.number_argument(argument)? as f32;
                let big = format.is_big_endian;
                out.extend(if big { value.to_be_bytes() } else { value.to_le_bytes() });
                argument += 1;
            }
            b'd' => {
                let value = stack.number_argument(argument)?;
                let big = format.is_big_endian;
                out.extend(if big { value.to_be_bytes() } else { value.to_le_bytes() });
                argument += 1;
            }
            b'c' | b's' => {
                // SAFETY: the argument stays at its place while it is copied.
                let text = unsafe { stack.text_argument(argument)? };
                argument += 1;
                let size = if size == 0 { text.len() } else { size };
                let Some(text) = text.get(..size) else {
                    return stack.fail_argument(argument, format_args!("string too short"));
                };
                watch.spend(size / COPIED_BYTES_PER_STEP).map_err(|_| stack.end_run(watch))?;
                out.extend_from_slice(text);
                if option == b's' {
                    out.push(0);
                }
            }
            other => format.control(stack, other)?,
        }
        if out.len() > RESULT_BYTES_MAX {
            return stack.fail(format_args!("result too large"));
        }
    }
    stack.push_bytes(out);
    Ok(1)
}

/// Appends the low `size` bytes; beyond eight they are zero.
fn put_integer(out: &mut Vec<u8>, number: f64, size: usize, is_big_endian: bool) {
    let value = if number < 0.0 { to_i64(number) as u64 } else { to_u64(number) };
    let byte = |index: usize| if index < 8 { (value >> (8 * index)) as u8 } else { 0 };
    for index in 0..size {
        out.push(byte(if is_big_endian { size - 1 - index } else { index }));
    }
}

/// A double that is not negative as an unsigned integer, as C on x86-64 casts it.
fn to_u64(number: f64) -> u64 {
    const TOP_BIT: f64 = 9_223_372_036_854_775_808.0;
    if number >= TOP_BIT {
        (to_i64(number - TOP_BIT) as u64) ^ (1 << 63)
    } else {
        to_i64(number) as u64
    }
}

fn unpack(stack: Stack, runtime: &mut Runtime) -> Returned {
    // SAFETY: the argument stays at its place until this returns.
    let mut format = Format::new(unsafe { stack.text_argument(1)? });
    // SAFETY: as above.
    let data = unsafe { stack.text_argument(2)? };
    let start = stack.integer_or(3, 1)?;
    if start == 0 {
        return stack.fail_argument(3, format_args!("offset must be 1 or greater"));
    }
    // A negative offset is a huge one, as in C.
    let mut position = (start as usize).wrapping_sub(1);
    let base = stack.len();
    while let Some((option, size)) = format.next(stack, &mut runtime.watch)? {
        position = position.wrapping_add(format.padding(position, option, size));
        if size > data.len() || position > data.len() - size {
            return stack.fail_argument(2, format_args!("data string too short"));
        }
        if !stack.has_room(2) {
            return stack.fail(format_args!("stack overflow (too many results)"));
        }
        let bytes = &data[position..position + size];
        position += size;
        match option {
            option if is_integer(option) => {
                let is_signed = option.is_ascii_lowercase();
                stack.push_number(integer(bytes, format.is_big_endian, is_signed));
            }
            b'x' => {}
            b'f' => stack
                .push_number(f64::from(f32::from_bits(bits(bytes, format.is_big_endian) as u32))),
            b'd' => stack.push_number(f64::from_bits(bits(bytes, format.is_big_endian))),
            b'c' if size == 0 => {
                if stack.len() == base || !stack.is_numeric(-1) {
                    return stack.fail(format_args!("format 'c0' needs a previous size"));
                }
                let size = to_u64(stack.number(-1)) as usize;
                stack.pop(1);
                if size > data.len() || position > data.len() - size {
                    return stack.fail_argument(2, format_args!("data string too short"));
                }
                stack.push_bytes(&data[position..position + size]);
                position += size;
            }
            b'c' => stack.push_bytes(bytes),
            b's' => {
                let Some(len) = data[position..].iter().position(|&byte| byte == 0) else {
                    return stack.fail(format_args!("unfinished string in data"));
                };
                stack.push_bytes(&data[position..position + len]);
                position += len + 1;
            }
            other => format.control(stack, other)?,
        }
    }
    stack.push_number((position + 1) as f64);
    Ok(stack.len() - base)
}

/// The low 64 bits of an integer of any width.
fn bits(bytes: &[u8], is_big_endian: bool) -> u64 {
    let join = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    if is_big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
}

fn integer(bytes: &[u8], is_big_endian: bool, is_signed: bool) -> f64 {
    let value = bits(bytes, is_big_endian);
    if !is_signed {
        return value as f64;
    }
    // Beyond eight bytes the shift wraps around, as it does in C on x86-64.
    let sign = u64::MAX.wrapping_shl((8 * bytes.len() as u32).wrapping_sub(1));
    (if value & sign != 0 { value | sign } else { value }) as i64 as f64
}

fn size(stack: Stack, runtime: &mut Runtime) -> Returned {
    // SAFETY: the argument stays at its place until this returns.
    let mut format = Format::new(unsafe { stack.text_argument(1)? });
    let mut position: usize = 0;
    while let Some((option, size)) = format.next(stack, &mut runtime.watch)? {
        position = position.wrapping_add(format.padding(position, option, size));
        match option {
            b's' => {
                return stack.fail_argument(1, format_args!("option 's' has no fixed size"));
            }
            b'c' if size == 0 => {
                return stack.fail_argument(1, format_args!("option 'c0' has no fixed size"));
            }
            option if !option.is_ascii_alphanumeric() => format.control(stack, option)?,
            _ => {}
        }
        position = position.wrapping_add(size);
    }
    stack.push_number(position as f64);
    Ok(1)
}
