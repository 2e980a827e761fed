//! Lua's patterns: the search behind `string.find`, `match`, `gmatch` and `gsub`.
//!
//! Owns the matcher, which follows that of Lua 5.1 (`lstrlib.c`) step by step, its oddities
//! included: a pattern ends at its first zero byte, and behind the end of a text lies a zero.
//! It is ours because Lua's backtracks in C, where no hook runs: a few `.-` against a long
//! text take years, and nobody could end the script. This one counts its steps and looks
//! after some of them whether the run is to go on (`watch`).
//! Invariant: it recurses at most [`DEPTH_MAX`] deep, which is the one search that Lua makes
//! and this one refuses.
//! Not here: arguments and results (`strings`).

use super::watch::STEPS_PER_LOOK;
use std::ffi::CStr;

/// Deepest recursion: once per item of a pattern, on the thread's stack.
const DEPTH_MAX: u32 = 2_000;
/// Lua's own limit.
const CAPTURES_MAX: usize = 32;
/// Bytes that a repetition takes between two counts of its steps.
const SCAN_BYTES: usize = 16 * 1024;

/// There is no match here.
const NONE: usize = usize::MAX;
/// The search has ended for the reason in `Matcher::fault`. To whoever tries alternatives
/// this is no failure to match, so it goes up like a match.
const STOP: usize = usize::MAX - 1;

/// Why a search came to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The run is to end.
    Ended,
    /// What is wrong with the pattern, in Lua's words.
    Pattern(&'static CStr),
}

/// What a pattern has captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Captured<'a> {
    Text(&'a [u8]),
    /// A place in the text, from 1.
    Position(usize),
}

/// A capture: where it begins, and how long it is unless this is one of the marks below.
#[derive(Clone, Copy)]
struct Capture {
    start: u32,
    len: i32,
}

const UNFINISHED: i32 = -1;
const POSITION: i32 = -2;

/// The class, `item..end` of a pattern, that the first byte of a match belongs to.
#[derive(Clone, Copy)]
pub(crate) struct First {
    item: usize,
    end: usize,
}

/// A search of a text.
pub(crate) struct Matcher<'a> {
    text: &'a [u8],
    /// Up to its first zero byte, which is part of it: no index goes beyond.
    pattern: &'a [u8],
    level: usize,
    captures: [Capture; CAPTURES_MAX],
    depth_left: u32,
    fault: Fault,
    steps_left: u32,
    /// Asked after some steps: is the run to end?
    is_ended: &'a mut dyn FnMut() -> bool,
}

impl<'a> Matcher<'a> {
    /// A search that has `steps_left` steps until it is looked at first.
    pub(crate) fn new(
        text: &'a [u8],
        pattern: &'a CStr,
        steps_left: u32,
        is_ended: &'a mut dyn FnMut() -> bool,
    ) -> Matcher<'a> {
        assert!(i32::try_from(text.len()).is_ok(), "Lua's memory holds no longer text");
        Matcher {
            text,
            pattern: pattern.to_bytes_with_nul(),
            level: 0,
            captures: [Capture { start: 0, len: 0 }; CAPTURES_MAX],
            depth_left: DEPTH_MAX,
            fault: Fault::Ended,
            steps_left,
            is_ended,
        }
    }

    /// Steps until the next look.
    pub(crate) fn steps_left(&self) -> u32 {
        self.steps_left
    }

    /// The end of the match that begins at a place of the text, if there is one. The
    /// pattern is read from `item` on.
    pub(crate) fn match_at(&mut self, at: usize, item: usize) -> Result<Option<usize>, Fault> {
        self.level = 0;
        self.depth_left = DEPTH_MAX;
        match self.match_from(at, item) {
            NONE => Ok(None),
            STOP => Err(self.fault),
            end => Ok(Some(end)),
        }
    }

    /// The first match that begins at a place or behind it: its beginning and its end.
    pub(crate) fn find_from(
        &mut self,
        mut at: usize,
        item: usize,
    ) -> Result<Option<(usize, usize)>, Fault> {
        let first = self.first_item(item);
        while at <= self.text.len() {
            if self.is_hopeless(first, at) {
                if self.spend(1) {
                    return Err(self.fault);
                }
            } else if let Some(end) = self.match_at(at, item)? {
                return Ok(Some((at, end)));
            }
            at += 1;
        }
        Ok(None)
    }

    /// What every match of the pattern from `item` on begins with, if that is one byte of
    /// a class: where there is none, there is no need to try.
    #[inline]
    pub(crate) fn first_item(&self, item: usize) -> Option<First> {
        let pattern = self.pattern;
        let end = match pattern[item] {
            0 | b'(' | b')' | b'$' | b'.' => return None,
            b'%' => match pattern[item + 1] {
                0 | b'b' | b'f' | b'0'..=b'9' => return None,
                _ => item + 2,
            },
            b'[' => set_end(pattern, item)?,
            _ => item + 1,
        };
        match pattern[end] {
            b'?' | b'*' | b'-' => None,
            _ => Some(First { item, end }),
        }
    }

    /// Whether no match begins at a place because of the byte there.
    #[inline]
    pub(crate) fn is_hopeless(&self, first: Option<First>, at: usize) -> bool {
        let Some(First { item, end }) = first else { return false };
        !self.text.get(at).is_some_and(|&byte| is_one(byte, self.pattern, item, end))
    }

    /// The text of a match.
    pub(crate) fn text_of(&self, (start, end): (usize, usize)) -> &'a [u8] {
        &self.text[start..end]
    }

    /// How many captures the last match has.
    pub(crate) fn capture_count(&self) -> usize {
        self.level
    }

    /// A capture of the last match, which lies at `start..end`. Without captures the first
    /// one is all of it.
    pub(crate) fn capture(
        &self,
        index: usize,
        (start, end): (usize, usize),
    ) -> Result<Captured<'a>, Fault> {
        if index >= self.level {
            return match index {
                0 => Ok(Captured::Text(self.text_of((start, end)))),
                _ => Err(Fault::Pattern(c"invalid capture index")),
            };
        }
        let Capture { start, len } = self.captures[index];
        let start = start as usize;
        match len {
            UNFINISHED => Err(Fault::Pattern(c"unfinished capture")),
            POSITION => Ok(Captured::Position(start + 1)),
            len => Ok(Captured::Text(&self.text[start..start + len as usize])),
        }
    }

    #[cold]
    fn stop(&mut self, fault: Fault) -> usize {
        self.fault = fault;
        STOP
    }

    /// Counts steps; true if the search is to stop.
    #[inline]
    fn spend(&mut self, steps: usize) -> bool {
        if steps < self.steps_left as usize {
            self.steps_left -= steps as u32;
            return false;
        }
        self.look()
    }

    #[cold]
    #[inline(never)]
    fn look(&mut self) -> bool {
        self.steps_left = STEPS_PER_LOOK;
        let is_ended = (self.is_ended)();
        if is_ended {
            self.fault = Fault::Ended;
        }
        is_ended
    }

    /// Matches the pattern from `item` on at a place of the text; returns where the match
    /// ends, [`NONE`] or [`STOP`].
    fn match_from(&mut self, at: usize, item: usize) -> usize {
        if self.depth_left == 0 {
            return self.stop(Fault::Pattern(c"pattern too complex"));
        }
        self.depth_left -= 1;
        let end = self.items(at, item);
        self.depth_left += 1;
        end
    }

    fn items(&mut self, mut at: usize, mut item: usize) -> usize {
        let (text, pattern) = (self.text, self.pattern);
        loop {
            if self.spend(1) {
                return STOP;
            }
            match pattern[item] {
                0 => return at,
                b'(' if pattern[item + 1] == b')' => return self.open(at, item + 2, POSITION),
                b'(' => return self.open(at, item + 1, UNFINISHED),
                b')' => return self.close(at, item + 1),
                b'$' if pattern[item + 1] == 0 => {
                    return if at == text.len() { at } else { NONE };
                }
                b'%' if matches!(pattern[item + 1], b'b' | b'f' | b'0'..=b'9') => {
                    match self.special(at, item) {
                        (end @ (NONE | STOP), _) => return end,
                        (end, next) => (at, item) = (end, next),
                    }
                    continue;
                }
                _ => {}
            }
            let end = match self.class_end(item) {
                STOP => return STOP,
                end => end,
            };
            let is_here = text.get(at).is_some_and(|&byte| is_one(byte, pattern, item, end));
            match pattern[end] {
                b'?' => {
                    if is_here {
                        match self.match_from(at + 1, end + 1) {
                            NONE => {}
                            found => return found,
                        }
                    }
                    item = end + 1;
                }
                b'*' => return self.longest(at, item, end),
                b'+' if is_here => return self.longest(at + 1, item, end),
                b'-' => return self.shortest(at, item, end),
                b'+' => return NONE,
                _ if is_here => (at, item) = (at + 1, end),
                _ => return NONE,
            }
        }
    }

    /// `%b`, `%f` or a capture again: where it ends, and what comes next in the pattern.
    fn special(&mut self, at: usize, item: usize) -> (usize, usize) {
        match self.pattern[item + 1] {
            b'b' => (self.balanced(at, item + 2), item + 4),
            b'f' => {
                let set = item + 2;
                if self.pattern[set] != b'[' {
                    return (self.stop(Fault::Pattern(c"missing '[' after '%f' in pattern")), set);
                }
                let end = self.class_end(set);
                if end == STOP {
                    return (STOP, set);
                }
                let before = if at == 0 { 0 } else { self.text[at - 1] };
                let here = self.text.get(at).copied().unwrap_or(0);
                let is_in = |byte| is_in_set(byte, self.pattern, set, end - 1);
                (if !is_in(before) && is_in(here) { at } else { NONE }, end)
            }
            digit => (self.repeated(at, digit), item + 2),
        }
    }

    /// Where the class that begins at an item of the pattern ends.
    #[inline]
    fn class_end(&mut self, item: usize) -> usize {
        let pattern = self.pattern;
        match pattern[item] {
            b'%' if pattern[item + 1] == 0 => {
                self.stop(Fault::Pattern(c"malformed pattern (ends with '%')"))
            }
            b'%' => item + 2,
            b'[' => match set_end(pattern, item) {
                Some(end) => end,
                None => self.stop(Fault::Pattern(c"malformed pattern (missing ']')")),
            },
            _ => item + 1,
        }
    }

    /// As many as there are, then fewer.
    fn longest(&mut self, at: usize, item: usize, end: usize) -> usize {
        let mut to = at;
        loop {
            let from = to;
            let limit = self.text.len().min(from + SCAN_BYTES);
            to += run_len(&self.text[from..limit], self.pattern, item, end);
            if self.spend(to - from) {
                return STOP;
            }
            if to < limit || limit == self.text.len() {
                break;
            }
        }
        let first = self.first_item(end + 1);
        loop {
            match self.try_at(first, to, end + 1) {
                NONE if to == at => return NONE,
                NONE => to -= 1,
                found => return found,
            }
        }
    }

    /// As few as possible, then more.
    fn shortest(&mut self, mut at: usize, item: usize, end: usize) -> usize {
        let first = self.first_item(end + 1);
        loop {
            match self.try_at(first, at, end + 1) {
                NONE => {}
                found => return found,
            }
            match self.text.get(at) {
                Some(&byte) if is_one(byte, self.pattern, item, end) => at += 1,
                _ => return NONE,
            }
        }
    }

    /// As [`Matcher::run`], for who knows what it begins with.
    #[inline]
    fn try_at(&mut self, first: Option<First>, at: usize, item: usize) -> usize {
        if !self.is_hopeless(first, at) {
            return self.match_from(at, item);
        }
        if self.spend(1) { STOP } else { NONE }
    }

    fn open(&mut self, at: usize, item: usize, mark: i32) -> usize {
        let level = self.level;
        if level >= CAPTURES_MAX {
            return self.stop(Fault::Pattern(c"too many captures"));
        }
        self.captures[level] = Capture { start: at as u32, len: mark };
        self.level = level + 1;
        let found = self.match_from(at, item);
        if found == NONE {
            self.level -= 1;
        }
        found
    }

    fn close(&mut self, at: usize, item: usize) -> usize {
        let open = self.captures[..self.level].iter().rposition(|known| known.len == UNFINISHED);
        let Some(open) = open else {
            return self.stop(Fault::Pattern(c"invalid pattern capture"));
        };
        self.captures[open].len = (at - self.captures[open].start as usize) as i32;
        let found = self.match_from(at, item);
        if found == NONE {
            self.captures[open].len = UNFINISHED;
        }
        found
    }

    /// Where the balanced text that begins here ends.
    fn balanced(&mut self, at: usize, item: usize) -> usize {
        let begin = self.pattern[item];
        // Behind its last byte there is no other.
        let end = if begin == 0 { 0 } else { self.pattern[item + 1] };
        if end == 0 {
            return self.stop(Fault::Pattern(c"unbalanced pattern"));
        }
        // Neither is zero, so nothing begins at the end of the text.
        if self.text.get(at) != Some(&begin) {
            return NONE;
        }
        let mut depth = 1_usize;
        let mut from = at + 1;
        while from < self.text.len() {
            let limit = self.text.len().min(from + SCAN_BYTES);
            for (offset, &byte) in self.text[from..limit].iter().enumerate() {
                if byte == end {
                    depth -= 1;
                    if depth == 0 {
                        return if self.spend(offset) { STOP } else { from + offset + 1 };
                    }
                } else if byte == begin {
                    depth += 1;
                }
            }
            if self.spend(limit - from) {
                return STOP;
            }
            from = limit;
        }
        NONE
    }

    /// Where a second occurrence of a capture ends.
    fn repeated(&mut self, at: usize, digit: u8) -> usize {
        let index = usize::from(digit).wrapping_sub(usize::from(b'1'));
        let capture = self.captures[..self.level].get(index).filter(|it| it.len != UNFINISHED);
        let Some(&Capture { start, len }) = capture else {
            return self.stop(Fault::Pattern(c"invalid capture index"));
        };
        // The length of a position is no length: to C it is one that no text has.
        let Ok(len) = usize::try_from(len) else { return NONE };
        let start = start as usize;
        if self.text.len() - at < len {
            return NONE;
        }
        if self.spend(len / 8) {
            return STOP;
        }
        if self.text[start..start + len] == self.text[at..at + len] { at + len } else { NONE }
    }
}

/// Where the set that begins at an item of the pattern ends; nowhere if it is malformed.
fn set_end(pattern: &[u8], item: usize) -> Option<usize> {
    let mut at = item + 1 + usize::from(pattern[item + 1] == b'^');
    loop {
        match pattern[at] {
            0 => return None,
            b'%' if pattern[at + 1] != 0 => at += 2,
            _ => at += 1,
        }
        if pattern[at] == b']' {
            return Some(at + 1);
        }
    }
}

/// How many bytes at the beginning of a text belong to the class `item..end`.
fn run_len(text: &[u8], pattern: &[u8], item: usize, end: usize) -> usize {
    match pattern[item] {
        b'.' => text.len(),
        b'%' => {
            let class = pattern[item + 1];
            text.iter().position(|&byte| !is_in_class(byte, class)).unwrap_or(text.len())
        }
        b'[' => text
            .iter()
            .position(|&byte| !is_in_set(byte, pattern, item, end - 1))
            .unwrap_or(text.len()),
        plain => text.iter().position(|&byte| byte != plain).unwrap_or(text.len()),
    }
}

/// Whether a byte belongs to the class `item..end` of a pattern.
#[inline]
fn is_one(byte: u8, pattern: &[u8], item: usize, end: usize) -> bool {
    match pattern[item] {
        b'.' => true,
        b'%' => is_in_class(byte, pattern[item + 1]),
        b'[' => is_in_set(byte, pattern, item, end - 1),
        plain => plain == byte,
    }
}

/// Whether a byte belongs to the set of a pattern that begins at `open` and ends at `close`.
fn is_in_set(byte: u8, pattern: &[u8], open: usize, close: usize) -> bool {
    let is_negated = pattern[open + 1] == b'^';
    let mut at = open + 1 + usize::from(is_negated);
    while at < close {
        if pattern[at] == b'%' {
            if is_in_class(byte, pattern[at + 1]) {
                return !is_negated;
            }
            at += 2;
        } else if pattern[at + 1] == b'-' && at + 2 < close {
            if pattern[at] <= byte && byte <= pattern[at + 2] {
                return !is_negated;
            }
            at += 3;
        } else {
            if pattern[at] == byte {
                return !is_negated;
            }
            at += 1;
        }
    }
    is_negated
}

/// Whether a byte belongs to a class of one letter, or is that byte if it is none.
#[inline]
fn is_in_class(byte: u8, class: u8) -> bool {
    let wanted = CLASS_OF_LETTER[usize::from(class)];
    if wanted == 0 {
        return class == byte;
    }
    (CLASSES_OF_BYTE[usize::from(byte)] & wanted != 0) != class.is_ascii_uppercase()
}

/// The letters of the classes; the bit of a class is its place here.
const LETTERS: &[u8; 10] = b"acdlpsuwxz";

const fn belongs(byte: u8, letter: u8) -> bool {
    match letter {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => byte.is_ascii_whitespace() || byte == 0x0b,
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        _ => byte == 0,
    }
}

/// The bits of the classes that each byte belongs to.
static CLASSES_OF_BYTE: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < LETTERS.len() {
            if belongs(byte as u8, LETTERS[bit]) {
                table[byte] |= 1 << bit;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// The bit of the class that a letter of either case stands for; zero if it stands for none.
static CLASS_OF_LETTER: [u16; 256] = {
    let mut table = [0; 256];
    let mut bit = 0;
    while bit < LETTERS.len() {
        table[LETTERS[bit] as usize] = 1 << bit;
        table[LETTERS[bit].to_ascii_uppercase() as usize] = 1 << bit;
        bit += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    fn search(
        text: &[u8],
        pattern: &CStr,
        looks_max: u32,
    ) -> Result<Option<(usize, usize)>, Fault> {
        let mut looks = 0;
        let mut is_ended = || {
            looks += 1;
            looks > looks_max
        };
        Matcher::new(text, pattern, STEPS_PER_LOOK, &mut is_ended).find_from(0, 0)
    }

    #[test]
    fn a_search_is_looked_at_and_ends_when_it_is_to() {
        let text = vec![b'a'; 10_000];
        assert_eq!(search(&text, c".-b", 3), Err(Fault::Ended));
        assert_eq!(search(&text, c"a*a*a*b", 3), Err(Fault::Ended));
        assert_eq!(search(&text, c"(a*)%1b", 3), Err(Fault::Ended));
        assert_eq!(search(&vec![b'('; 100_000], c"%b()", 3), Err(Fault::Ended));
        assert_eq!(search(&text, c"a*", 3), Ok(Some((0, 10_000))));
        assert_eq!(search(&text, c"%s*$", 3), Ok(Some((10_000, 10_000))));
    }

    #[test]
    fn a_long_search_goes_on_while_nobody_ends_it() {
        let text = vec![b'a'; 2_000];
        assert_eq!(search(&text, c".-b", u32::MAX), Ok(None));
    }

    #[test]
    fn recursion_is_bounded() {
        let pattern = std::ffi::CString::new("a?".repeat(100_000)).expect("no zero in it");
        let fault = Fault::Pattern(c"pattern too complex");
        assert_eq!(search(&vec![b'a'; 100_000], &pattern, u32::MAX), Err(fault));
        let pattern = std::ffi::CString::new("a".repeat(100_000)).expect("no zero in it");
        assert_eq!(search(&vec![b'a'; 100_000], &pattern, u32::MAX), Ok(Some((0, 100_000))));
    }
}
