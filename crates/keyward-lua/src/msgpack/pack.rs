//! Lua values to MessagePack.
#![allow(unsafe_code)]

use crate::runtime::Runtime;
use crate::stack::{Kind, Raised, Returned, Stack, to_i64};
use crate::watch::{COPIED_BYTES_PER_STEP, Watch};

/// Tables within tables; what is deeper becomes nil, so that circles end.
const DEPTH_MAX: u32 = 16;
/// What a value is worth, in steps, and what a key that is only looked at.
const STEPS_PER_VALUE: usize = 20;
const STEPS_PER_KEY: usize = 4;
/// Longest result, as for a string value.
const RESULT_BYTES_MAX: usize = 512 * 1024 * 1024;

/// `cmsgpack.pack(value …)`: all values in a row.
pub(super) fn pack(stack: Stack, runtime: &mut Runtime) -> Returned {
    let count = stack.len();
    if count == 0 {
        return stack.fail_argument(0, format_args!("MessagePack pack needs input."));
    }
    let Runtime { scratch, watch, .. } = runtime;
    let mut packer = Packer { stack, out: scratch, watch };
    packer.out.clear();
    for position in 1..=count {
        stack.push_copy(position);
        packer.value(0)?;
    }
    stack.push_bytes(&runtime.scratch);
    Ok(1)
}

struct Packer<'a> {
    stack: Stack,
    out: &'a mut Vec<u8>,
    watch: &'a mut Watch,
}

/// The marks of a type's lengths: within the mark, in one byte if there is such a
/// form, in two, in four.
struct Marks {
    short: u8,
    short_max: usize,
    one: Option<u8>,
    two: u8,
    four: u8,
}

const STRING: Marks = Marks { short: 0xa0, short_max: 31, one: Some(0xd9), two: 0xda, four: 0xdb };
const ARRAY: Marks = Marks { short: 0x90, short_max: 15, one: None, two: 0xdc, four: 0xdd };
const MAP: Marks = Marks { short: 0x80, short_max: 15, one: None, two: 0xde, four: 0xdf };

impl Packer<'_> {
    /// Packs the value on top and pops it.
    fn value(&mut self, depth: u32) -> Result<(), Raised> {
        let stack = self.stack;
        self.spend(STEPS_PER_VALUE)?;
        if self.out.len() > RESULT_BYTES_MAX {
            return stack.fail(format_args!("result too large"));
        }
        match stack.kind(-1) {
            Kind::String => {
                // SAFETY: the value stays on top while it is copied.
                let bytes = unsafe { stack.bytes(-1) }.unwrap_or_default();
                self.spend(bytes.len() / COPIED_BYTES_PER_STEP)?;
                self.head(&STRING, bytes.len());
                self.out.extend_from_slice(bytes);
            }
            Kind::Boolean => self.out.push(if stack.boolean(-1) { 0xc3 } else { 0xc2 }),
            Kind::Number => self.number(stack.number(-1)),
            Kind::Table if depth < DEPTH_MAX => self.table(depth)?,
            _ => self.out.push(0xc0),
        }
        stack.pop(1);
        Ok(())
    }

    /// Counts steps; a run that is to end ends here.
    fn spend(&mut self, steps: usize) -> Result<(), Raised> {
        self.watch.spend(steps).map_err(|_| self.stack.end_run(self.watch))
    }

    fn head(&mut self, marks: &Marks, len: usize) {
        match (len, marks.one) {
            (len, _) if len <= marks.short_max => self.out.push(marks.short | len as u8),
            (0..=0xff, Some(one)) => self.out.extend_from_slice(&[one, len as u8]),
            (0..=0xffff, _) => {
                self.out.push(marks.two);
                self.out.extend_from_slice(&(len as u16).to_be_bytes());
            }
            _ => {
                self.out.push(marks.four);
                self.out.extend_from_slice(&(len as u32).to_be_bytes());
            }
        }
    }

    fn number(&mut self, value: f64) {
        let integer = to_i64(value);
        if integer as f64 == value {
            return self.integer(integer);
        }
        let short = value as f32;
        if f64::from(short) == value {
            self.out.push(0xca);
            self.out.extend_from_slice(&short.to_be_bytes());
        } else {
            self.out.push(0xcb);
            self.out.extend_from_slice(&value.to_be_bytes());
        }
    }

    fn integer(&mut self, value: i64) {
        let (mark, width) = match value {
            -32..=127 => return self.out.push(value as u8),
            128..=0xff => (0xcc, 1),
            0x100..=0xffff => (0xcd, 2),
            0x1_0000..=0xffff_ffff => (0xce, 4),
            0x1_0000_0000.. => (0xcf, 8),
            -128..=-33 => (0xd0, 1),
            -0x8000..=-129 => (0xd1, 2),
            -0x8000_0000..=-0x8001 => (0xd2, 4),
            _ => (0xd3, 8),
        };
        self.out.push(mark);
        self.out.extend_from_slice(&value.to_be_bytes()[8 - width..]);
    }

    fn table(&mut self, depth: u32) -> Result<(), Raised> {
        let stack = self.stack;
        if !stack.has_room(5) {
            return stack.fail(format_args!("stack overflow (in function mp_encode_lua_table)"));
        }
        let (pairs, is_array) = self.survey()?;
        if is_array {
            let len = stack.list_len(-1);
            self.head(&ARRAY, len);
            for index in 1..=len {
                stack.push_element(-1, index as i32);
                self.value(depth + 1)?;
            }
            return Ok(());
        }
        self.head(&MAP, pairs);
        stack.push_nil();
        while stack.next(-2) {
            stack.push_copy(-2);
            self.value(depth + 1)?;
            self.value(depth + 1)?;
        }
        Ok(())
    }

    /// How many pairs the table on top has, and whether its keys are 1 to that.
    fn survey(&mut self) -> Result<(usize, bool), Raised> {
        let stack = self.stack;
        let (mut pairs, mut last, mut is_array) = (0, 0.0, true);
        stack.push_nil();
        while stack.next(-2) {
            stack.pop(1);
            self.spend(STEPS_PER_KEY)?;
            pairs += 1;
            let index = if stack.kind(-1) == Kind::Number { stack.number(-1) } else { 0.0 };
            is_array &= index > 0.0 && f64::from(index as i32) == index;
            last = f64::max(last, index);
        }
        Ok((pairs, is_array && last == pairs as f64))
    }
}
