//! Replies to Lua values and Lua values to replies.
//!
//! Owns Redis's two tables of conversions. A reply in RESP2 has no types that Lua
//! lacks; those of RESP3 become tables with one telling field (`map`, `set`,
//! `double`, `big_number`, `verbatim_string`). Statuses and errors are tables with
//! `ok` or `err` in both.
//! Invariant: the replies read here are our own, so they are well formed.
#![allow(unsafe_code)]

use super::stack::{Kind, Stack, to_i64};
use super::watch::{Ended, Watch};
use keyward_commands::ErrorStats;
use keyward_resp::number::{parse_f64, parse_i64};
use keyward_resp::{Protocol, ReplyWriter};

/// What a value of an answer is worth, in steps.
const STEPS_PER_VALUE: usize = 20;
/// Tables within tables in a script's answer: the thread's stack must hold it.
const ANSWER_DEPTH_MAX: u32 = 2_000;

/// Pushes a command's reply as a Lua value.
pub(crate) fn push_reply(stack: Stack, reply: &[u8]) {
    Reader { stack, rest: reply }.value();
}

/// Pushes an error as `redis.pcall` shows it: a table whose `err` begins with a code.
/// `text` begins with `-` if it has a code of its own.
pub(crate) fn push_error(stack: Stack, text: &[u8]) {
    let (code, message) = match text {
        [b'-', text @ ..] => match text.iter().position(|&byte| byte == b' ') {
            Some(space) => (&text[..space], &text[space + 1..]),
            None => (&b"ERR"[..], text),
        },
        text => (&b"ERR"[..], text),
    };
    let message = until_zero(message);
    let start = message.iter().take_while(|byte| is_line_end(byte)).count();
    let end = message.len() - message.iter().rev().take_while(|byte| is_line_end(byte)).count();
    stack.push_table();
    stack.push_bytes(code);
    stack.push_bytes(b" ");
    stack.push_bytes(message.get(start..end).unwrap_or_default());
    stack.concatenate(3);
    stack.set_field(-2, b"err");
}

fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// A string as C sees it.
fn until_zero(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|&byte| byte == 0).unwrap_or(text.len())]
}

fn in_one_line(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if is_line_end(byte) { b' ' } else { *byte }).collect()
}

struct Reader<'a> {
    stack: Stack,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn line(&mut self) -> &'a [u8] {
        let end = memchr::memchr(b'\r', self.rest).unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.rest = self.rest.get(end + 2..).unwrap_or_default();
        line
    }

    /// The string of the length a line says.
    fn bytes(&mut self, len: i64) -> &'a [u8] {
        let len = len as usize;
        let bytes = self.rest.get(..len).unwrap_or_default();
        self.rest = self.rest.get(len + 2..).unwrap_or_default();
        bytes
    }

    fn value(&mut self) {
        let stack = self.stack;
        // Replies are nested a few levels at most.
        let has_room = stack.has_room(6);
        debug_assert!(has_room, "a reply does not fill Lua's stack");
        let line = self.line();
        let Some((kind, line)) = line.split_first() else { return stack.push_nil() };
        let number = parse_i64(line).unwrap_or_default();
        match kind {
            b':' => stack.push_number(number as f64),
            b'$' | b'*' if number < 0 => stack.push_boolean(false),
            b'$' => {
                let bytes = self.bytes(number);
                stack.push_bytes(bytes);
            }
            b'*' => self.array(number),
            b'+' => self.wrapped(b"ok", |stack| stack.push_bytes(line)),
            b'-' => {
                push_reply_error(stack, line);
            }
            b'%' => self.map(number),
            b'~' => self.set(number),
            b'#' => stack.push_boolean(line == b"t"),
            b',' => {
                let value = read_double(line);
                self.wrapped(b"double", |stack| stack.push_number(value));
            }
            b'(' => self.wrapped(b"big_number", |stack| stack.push_bytes(line)),
            b'=' => {
                let bytes = self.bytes(number);
                self.wrapped(b"verbatim_string", |stack| push_verbatim(stack, bytes));
            }
            b'|' => {
                // Scripts see no attributes.
                for _ in 0..2 * number {
                    self.value();
                    stack.pop(1);
                }
                self.value();
            }
            _ => stack.push_nil(),
        }
    }

    /// A table with one field.
    fn wrapped(&mut self, name: &[u8], push: impl FnOnce(Stack)) {
        self.stack.push_table();
        push(self.stack);
        self.stack.set_field(-2, name);
    }

    fn array(&mut self, len: i64) {
        self.stack.push_table();
        for index in 1..=len {
            self.value();
            self.stack.set_element(-2, index as i32);
        }
    }

    fn map(&mut self, len: i64) {
        let stack = self.stack;
        stack.push_table();
        stack.push_table();
        for _ in 0..len {
            self.value();
            self.value();
            stack.set_pair(-3);
        }
        stack.set_field(-2, b"map");
    }

    fn set(&mut self, len: i64) {
        let stack = self.stack;
        stack.push_table();
        stack.push_table();
        for _ in 0..len {
            self.value();
            stack.push_boolean(true);
            stack.set_pair(-3);
        }
        stack.set_field(-2, b"set");
    }
}

/// An error that a command answered: it is in the statistics already.
fn push_reply_error(stack: Stack, text: &[u8]) {
    let space = text.iter().position(|&byte| byte == b' ');
    stack.push_table();
    if space.is_none() {
        stack.push_bytes(b"ERR ");
    }
    stack.push_bytes(text);
    stack.concatenate(if space.is_none() { 2 } else { 1 });
    stack.set_field(-2, b"err");
    stack.push_boolean(true);
    stack.set_field(-2, b"ignore_error_stats_update");
}

fn push_verbatim(stack: Stack, bytes: &[u8]) {
    let (format, text) = bytes.split_at_checked(4).unwrap_or((b"txt:", bytes));
    stack.push_table();
    stack.push_bytes(text);
    stack.set_field(-2, b"string");
    stack.push_bytes(&format[..3]);
    stack.set_field(-2, b"format");
}

fn read_double(line: &[u8]) -> f64 {
    match line {
        b"nan" => f64::NAN,
        b"-nan" => -f64::NAN,
        line => parse_f64(line).unwrap_or_default(),
    }
}

/// How a script's answer is to be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerStyle {
    /// What the script has chosen with `redis.setresp`: booleans depend on it.
    pub(crate) script_protocol: Protocol,
}

/// Writes the value on top of the stack as a reply, and pops it. Returns whether there
/// is an error in it; `errors` counts those that are not in the statistics yet. A few
/// tables that hold each other twice are an endless answer, so the run can be ended here,
/// too; then what has been written is not whole.
pub(crate) fn write_answer(
    stack: Stack,
    style: AnswerStyle,
    watch: &mut Watch,
    reply: &mut ReplyWriter<'_>,
    errors: &mut ErrorStats,
) -> Result<bool, Ended> {
    let (has_error, is_ended) = (false, false);
    let mut writer = Writer { stack, style, watch, reply, errors, has_error, is_ended };
    writer.value(0);
    if writer.is_ended { Err(Ended) } else { Ok(writer.has_error) }
}

struct Writer<'a, 'b> {
    stack: Stack,
    style: AnswerStyle,
    watch: &'a mut Watch,
    reply: &'a mut ReplyWriter<'b>,
    errors: &'a mut ErrorStats,
    has_error: bool,
    /// The run is to end: nothing more is written.
    is_ended: bool,
}

impl Writer<'_, '_> {
    /// Writes the value on top and pops it.
    fn value(&mut self, depth: u32) {
        let stack = self.stack;
        self.is_ended = self.is_ended || self.watch.spend(STEPS_PER_VALUE).is_err();
        if self.is_ended {
            return stack.pop(1);
        }
        if depth > ANSWER_DEPTH_MAX || !stack.has_room(4) {
            let text = b"ERR reached lua stack limit";
            self.has_error = true;
            self.errors.count(text);
            self.reply.error(text);
            return stack.pop(1);
        }
        match stack.kind(-1) {
            // SAFETY: the value stays on top while it is copied.
            Kind::String => self.reply.bulk(unsafe { stack.bytes(-1) }.unwrap_or_default()),
            Kind::Number => self.reply.integer(to_i64(stack.number(-1))),
            Kind::Boolean => match (self.style.script_protocol, stack.boolean(-1)) {
                (Protocol::Resp2, true) => self.reply.integer(1),
                (Protocol::Resp2, false) => self.reply.null(),
                (Protocol::Resp3, value) => self.reply.boolean(value),
            },
            Kind::Table => self.table(depth),
            _ => self.reply.null(),
        }
        stack.pop(1);
    }

    /// Writes the table on top.
    fn table(&mut self, depth: u32) {
        let stack = self.stack;
        if !self.scalar() && !self.map(depth) && !self.set(depth) {
            let place = self.reply.defer();
            let mut len = 0;
            loop {
                stack.push_element(-1, len + 1);
                if self.is_ended || stack.kind(-1) == Kind::Nil {
                    stack.pop(1);
                    break;
                }
                self.value(depth + 1);
                len += 1;
            }
            self.reply.end_array(place, len as usize);
        }
    }

    /// Writes a table that stands for one value; false if it does not.
    fn scalar(&mut self) -> bool {
        let stack = self.stack;
        // SAFETY: the table stays on top until this returns, and nothing changes it.
        let string_field = |name: &[u8]| unsafe { string_field(stack, name) };
        if let Some(text) = string_field(b"err") {
            self.error(until_zero(text));
        } else if let Some(text) = string_field(b"ok") {
            self.status(until_zero(text));
        } else if let Some(value) = self.number_field(b"double") {
            self.reply.double(value);
        } else if let Some(digits) = string_field(b"big_number") {
            self.reply.big_number(&in_one_line(digits));
        } else {
            stack.push_field(-1, b"verbatim_string");
            let is_verbatim = stack.kind(-1) == Kind::Table && self.verbatim();
            stack.pop(1);
            return is_verbatim;
        }
        true
    }

    fn status(&mut self, text: &[u8]) {
        self.reply.raw(b"+");
        self.reply.raw(&in_one_line(text));
        self.reply.raw(b"\r\n");
    }

    /// Writes what a script returned as an error. Line ends at its end are cut.
    fn error(&mut self, text: &[u8]) {
        self.stack.push_field(-1, b"ignore_error_stats_update");
        let is_counted = self.stack.boolean(-1);
        self.stack.pop(1);
        self.has_error = true;
        if !is_counted {
            self.errors.count(text);
        }
        let end = text.len() - text.iter().rev().take_while(|byte| is_line_end(byte)).count();
        self.reply.error(&text[..end]);
    }

    fn verbatim(&mut self) -> bool {
        // SAFETY: as in `scalar`.
        let string_field = |name: &[u8]| unsafe { string_field(self.stack, name) };
        let (Some(format), Some(text)) = (string_field(b"format"), string_field(b"string")) else {
            return false;
        };
        let mut name = *b"   ";
        for (to, from) in name.iter_mut().zip(until_zero(format)) {
            *to = *from;
        }
        self.reply.verbatim(name, text);
        true
    }

    fn map(&mut self, depth: u32) -> bool {
        let stack = self.stack;
        stack.push_field(-1, b"map");
        let is_map = stack.kind(-1) == Kind::Table;
        if is_map {
            let place = self.reply.defer();
            let mut len = 0;
            stack.push_nil();
            while stack.next(-2) {
                stack.push_copy(-2);
                self.value(depth + 1);
                self.value(depth + 1);
                len += 1;
            }
            self.reply.end_map(place, len);
        }
        stack.pop(1);
        is_map
    }

    fn set(&mut self, depth: u32) -> bool {
        let stack = self.stack;
        stack.push_field(-1, b"set");
        let is_set = stack.kind(-1) == Kind::Table;
        if is_set {
            let place = self.reply.defer();
            let mut len = 0;
            stack.push_nil();
            while stack.next(-2) {
                stack.pop(1);
                stack.push_copy(-1);
                self.value(depth + 1);
                len += 1;
            }
            self.reply.end_set(place, len);
        }
        stack.pop(1);
        is_set
    }

    fn number_field(&self, name: &[u8]) -> Option<f64> {
        self.stack.push_field(-1, name);
        let number = (self.stack.kind(-1) == Kind::Number).then(|| self.stack.number(-1));
        self.stack.pop(1);
        number
    }
}

/// A field of the table on top that is a string.
///
/// # Safety
/// For `'a` the table must stay where Lua sees it and keep the field.
unsafe fn string_field<'a>(stack: Stack, name: &[u8]) -> Option<&'a [u8]> {
    stack.push_field(-1, name);
    // SAFETY: the table, which has the string, keeps it when it is popped here.
    let text = unsafe { stack.bytes(-1) };
    stack.pop(1);
    text
}
