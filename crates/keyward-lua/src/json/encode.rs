//! Lua values to JSON text.
//!
//! A table is an array if all its keys are integers from one, an object otherwise;
//! an empty one is an object. The order of an object's pairs is that of the table.
#![allow(unsafe_code)]

use super::{InvalidNumbers, JsonSettings};
use crate::number::push_general;
use crate::runtime::Runtime;
use crate::stack::{Kind, Raised, Returned, Stack};
use crate::watch::{COPIED_BYTES_PER_STEP, Watch};

/// What a value is worth, in steps, and what a key that is only looked at.
const STEPS_PER_VALUE: usize = 20;
const STEPS_PER_KEY: usize = 4;
/// Longest result: what a string value may have.
const RESULT_BYTES_MAX: usize = 512 * 1024 * 1024;
/// Deepest nesting, whatever the settings say: the thread's stack must hold it.
const DEPTH_MAX: i32 = 2_500;

/// `cjson.encode(value)`
pub(super) fn encode(stack: Stack, runtime: &mut Runtime) -> Returned {
    if stack.len() != 1 {
        return stack.fail_argument(1, format_args!("expected 1 argument"));
    }
    let settings: JsonSettings = stack.settings();
    let Runtime { scratch, watch, .. } = runtime;
    let mut encoder = Encoder { stack, settings, out: scratch, watch };
    encoder.out.clear();
    encoder.value(0)?;
    stack.push_bytes(&runtime.scratch);
    Ok(1)
}

struct Encoder<'a> {
    stack: Stack,
    settings: JsonSettings,
    out: &'a mut Vec<u8>,
    watch: &'a mut Watch,
}

impl Encoder<'_> {
    /// The value on top, which stays there.
    fn value(&mut self, depth: i32) -> Result<(), Raised> {
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
                self.string(bytes);
            }
            Kind::Number => self.number(-1)?,
            Kind::Boolean if stack.boolean(-1) => self.out.extend_from_slice(b"true"),
            Kind::Boolean => self.out.extend_from_slice(b"false"),
            Kind::Nil | Kind::Null => self.out.extend_from_slice(b"null"),
            Kind::Table => self.table(depth + 1)?,
            Kind::None | Kind::Function | Kind::Other => {
                return self.refuse(-1, "type not supported");
            }
        }
        Ok(())
    }

    /// Counts steps; a run that is to end ends here.
    fn spend(&mut self, steps: usize) -> Result<(), Raised> {
        self.watch.spend(steps).map_err(|_| self.stack.end_run(self.watch))
    }

    fn refuse<T>(&mut self, place: i32, reason: &str) -> Result<T, Raised> {
        let kind = self.stack.kind_name(place);
        self.stack.fail(format_args!("Cannot serialise {kind}: {reason}"))
    }

    fn table(&mut self, depth: i32) -> Result<(), Raised> {
        // Room for a key, a value and a message.
        if depth > self.settings.encode_depth_max.min(DEPTH_MAX) || !self.stack.has_room(4) {
            return self.stack.fail(format_args!("Cannot serialise, excessive nesting ({depth})"));
        }
        match self.array_len()? {
            Some(len) if len > 0 => self.array(depth, len),
            _ => self.object(depth),
        }
    }

    /// The last index, if the table is an array.
    fn array_len(&mut self) -> Result<Option<i32>, Raised> {
        let stack = self.stack;
        let (mut last, mut items) = (0i32, 0i64);
        stack.push_nil();
        while stack.next(-2) {
            stack.pop(1);
            self.spend(STEPS_PER_KEY)?;
            let index = if stack.kind(-1) == Kind::Number { stack.number(-1) } else { 0.0 };
            if index < 1.0 || index.floor() != index {
                stack.pop(1);
                return Ok(None);
            }
            last = last.max(index as i32);
            items += 1;
        }
        let settings = &self.settings;
        let is_sparse = settings.sparse_ratio > 0
            && i64::from(last) > items * i64::from(settings.sparse_ratio)
            && last > settings.sparse_safe;
        match (is_sparse, settings.sparse_convert) {
            (false, _) => Ok(Some(last)),
            (true, true) => Ok(None),
            (true, false) => self.refuse(-1, "excessively sparse array"),
        }
    }

    fn array(&mut self, depth: i32, len: i32) -> Result<(), Raised> {
        self.out.push(b'[');
        for index in 1..=len {
            if index > 1 {
                self.out.push(b',');
            }
            self.stack.push_element(-1, index);
            self.value(depth)?;
            self.stack.pop(1);
        }
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, depth: i32) -> Result<(), Raised> {
        let stack = self.stack;
        let mut is_first = true;
        self.out.push(b'{');
        stack.push_nil();
        while stack.next(-2) {
            if !is_first {
                self.out.push(b',');
            }
            is_first = false;
            match stack.kind(-2) {
                Kind::Number => {
                    self.out.push(b'"');
                    self.number(-2)?;
                    self.out.push(b'"');
                }
                // SAFETY: the key stays on the stack while it is copied.
                Kind::String => self.string(unsafe { stack.bytes(-2) }.unwrap_or_default()),
                _ => return self.refuse(-2, "table key must be a number or string"),
            }
            self.out.push(b':');
            self.value(depth)?;
            stack.pop(1);
        }
        self.out.push(b'}');
        Ok(())
    }

    fn number(&mut self, place: i32) -> Result<(), Raised> {
        let value = self.stack.number(place);
        if value.is_finite() {
            push_general(self.out, value, self.settings.number_precision as usize);
            return Ok(());
        }
        let text: &[u8] = match self.settings.encode_invalid {
            InvalidNumbers::Refuse => return self.refuse(place, "must not be NaN or Inf"),
            InvalidNumbers::Null => b"null",
            InvalidNumbers::Encode if value.is_nan() => b"nan",
            InvalidNumbers::Encode if value > 0.0 => b"inf",
            InvalidNumbers::Encode => b"-inf",
        };
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn string(&mut self, bytes: &[u8]) {
        self.out.push(b'"');
        let mut rest = bytes;
        while let Some(plain) = rest.iter().position(|&byte| needs_escape(byte)) {
            self.out.extend_from_slice(&rest[..plain]);
            self.escape(rest[plain]);
            rest = &rest[plain + 1..];
        }
        self.out.extend_from_slice(rest);
        self.out.push(b'"');
    }

    fn escape(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let short = match byte {
            b'"' | b'\\' | b'/' => byte,
            8 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            12 => b'f',
            b'\r' => b'r',
            _ => {
                let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
                self.out.extend_from_slice(b"\\u00");
                self.out.extend_from_slice(&digits);
                return;
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
    }
}

fn needs_escape(byte: u8) -> bool {
    matches!(byte, 0..=31 | b'"' | b'/' | b'\\' | 127)
}
