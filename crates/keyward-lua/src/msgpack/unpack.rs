//! MessagePack to Lua values.
#![allow(unsafe_code)]

use crate::runtime::Runtime;
use crate::stack::{Kind, Raised, Returned, Stack};
use crate::watch::Watch;

/// What a value is worth, in steps.
const STEPS_PER_VALUE: usize = 20;
/// Containers within containers: the thread's stack must hold it.
const DEPTH_MAX: u32 = 2_000;

/// `cmsgpack.unpack(bytes)`: all values.
pub(super) fn unpack(stack: Stack, runtime: &mut Runtime) -> Returned {
    unpack_from(stack, runtime, 0, 0)
}

/// `cmsgpack.unpack_one(bytes [, offset])`: where the next begins, and a value.
pub(super) fn unpack_one(stack: Stack, runtime: &mut Runtime) -> Returned {
    let offset = stack.integer_or(2, 0)?;
    unpack_from(stack, runtime, 1, offset)
}

/// `cmsgpack.unpack_limit(bytes, limit [, offset])`
pub(super) fn unpack_limit(stack: Stack, runtime: &mut Runtime) -> Returned {
    let limit = stack.integer_argument(2)?;
    let offset = stack.integer_or(3, 0)?;
    unpack_from(stack, runtime, limit, offset)
}

fn unpack_from(stack: Stack, runtime: &mut Runtime, limit: i64, offset: i64) -> Returned {
    // SAFETY: the argument stays at its place until this returns: what is above it is cut
    // off, and values are pushed there.
    let data = unsafe { stack.text_argument(1)? };
    stack.truncate(1);
    let len = data.len();
    if offset < 0 || limit < 0 {
        return stack.fail(format_args!(
            "Invalid request to unpack with offset of {offset} and limit of {len}."
        ));
    }
    let Some(rest) = data.get(offset as usize..) else {
        return stack.fail(format_args!("Start offset {offset} greater than input length {len}."));
    };
    let is_whole = limit == 0 && offset == 0;
    let limit = if is_whole { i64::from(i32::MAX) } else { limit };
    let mut unpacker = Unpacker { stack, rest, watch: &mut runtime.watch };
    let mut count = 0;
    while !unpacker.rest.is_empty() && i64::from(count) < limit {
        unpacker.value(0)?;
        count += 1;
    }
    if is_whole {
        return Ok(count);
    }
    let left = unpacker.rest.len();
    stack.push_number(if left == 0 { -1.0 } else { (len - left) as f64 });
    stack.insert(2);
    Ok(count + 1)
}

struct Unpacker<'a> {
    stack: Stack,
    rest: &'a [u8],
    watch: &'a mut Watch,
}

impl<'a> Unpacker<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Raised> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => self.stack.fail(format_args!("Missing bytes in input.")),
        }
    }

    /// An unsigned integer of some bytes.
    fn unsigned(&mut self, width: usize) -> Result<u64, Raised> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn signed(&mut self, width: usize) -> Result<i64, Raised> {
        let unused = 64 - 8 * width;
        Ok((self.unsigned(width)? << unused) as i64 >> unused)
    }

    /// Pushes the next value.
    fn value(&mut self, depth: u32) -> Result<(), Raised> {
        let stack = self.stack;
        if depth > DEPTH_MAX || !stack.has_room(4) {
            return stack.fail(format_args!(
                "stack overflow (too many return values at once; \
                 use unpack_one or unpack_limit instead.)"
            ));
        }
        self.watch.spend(STEPS_PER_VALUE).map_err(|_| stack.end_run(self.watch))?;
        let mark = self.take(1)?[0];
        match mark {
            0x00..=0x7f => stack.push_number(f64::from(mark)),
            0xe0..=0xff => stack.push_number(f64::from(mark as i8)),
            0xcc..=0xce => {
                let value = self.unsigned(1 << (mark - 0xcc))?;
                stack.push_number(value as f64);
            }
            // Lua's integers are signed.
            0xcf => {
                let value = self.unsigned(8)? as i64;
                stack.push_number(value as f64);
            }
            0xd0..=0xd3 => {
                let value = self.signed(1 << (mark - 0xd0))?;
                stack.push_number(value as f64);
            }
            0xc0 => stack.push_nil(),
            0xc2 | 0xc3 => stack.push_boolean(mark == 0xc3),
            0xca => {
                let bits = self.unsigned(4)? as u32;
                stack.push_number(f64::from(f32::from_bits(bits)));
            }
            0xcb => {
                let bits = self.unsigned(8)?;
                stack.push_number(f64::from_bits(bits));
            }
            0xa0..=0xbf => self.string(usize::from(mark & 0x1f))?,
            0xd9..=0xdb => {
                let len = self.unsigned(1 << (mark - 0xd9))?;
                self.string(len as usize)?;
            }
            0x90..=0x9f => self.array(u64::from(mark & 0xf), depth)?,
            0xdc | 0xdd => {
                let len = self.unsigned(2 << (mark - 0xdc))?;
                self.array(len, depth)?;
            }
            0x80..=0x8f => self.map(u64::from(mark & 0xf), depth)?,
            0xde | 0xdf => {
                let len = self.unsigned(2 << (mark - 0xde))?;
                self.map(len, depth)?;
            }
            0xc1 | 0xc4..=0xc9 | 0xd4..=0xd8 => {
                return stack.fail(format_args!("Bad data format in input."));
            }
        }
        Ok(())
    }

    fn string(&mut self, len: usize) -> Result<(), Raised> {
        let bytes = self.take(len)?;
        self.stack.push_bytes(bytes);
        Ok(())
    }

    fn array(&mut self, len: u64, depth: u32) -> Result<(), Raised> {
        self.stack.push_table();
        for index in 1..=len {
            self.value(depth + 1)?;
            self.stack.set_element(-2, index as i32);
        }
        Ok(())
    }

    fn map(&mut self, len: u64, depth: u32) -> Result<(), Raised> {
        let stack = self.stack;
        stack.push_table();
        for _ in 0..len {
            self.value(depth + 1)?;
            self.value(depth + 1)?;
            // Lua raises these from C without a place, and only when it stores
            // the pair: a value that cannot be read is told first.
            if stack.kind(-2) == Kind::Nil {
                stack.push_bytes(b"table index is nil");
                return Err(Raised);
            }
            if stack.kind(-2) == Kind::Number && stack.number(-2).is_nan() {
                stack.push_bytes(b"table index is NaN");
                return Err(Raised);
            }
            stack.set_pair(-3);
        }
        Ok(())
    }
}
