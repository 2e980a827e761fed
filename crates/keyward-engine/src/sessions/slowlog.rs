//! The slow log: the last commands that took long.
//!
//! Owns the entries, newest first, and how an entry is made: of a long command only
//! the beginning is kept. Invariant: bounded by the setting
//! `slowlog-max-len`, and an entry by the constants here.
//! Not here: how long is long (`engine::slow`), which arguments are secret
//! (`keyward_rules::Books`).

use std::borrow::Cow;
use std::collections::VecDeque;

/// Arguments of an entry, the remark that there were more included.
const ARGUMENTS_MAX: usize = 32;
/// Bytes of an argument, without the remark that there were more.
const ARGUMENT_BYTES_MAX: usize = 128;

/// A command that took long.
#[derive(Debug)]
pub(crate) struct SlowCall {
    pub(crate) id: i64,
    /// When it ended, in seconds since the epoch.
    pub(crate) time_s: i64,
    pub(crate) us: u64,
    pub(crate) arguments: Vec<Box<[u8]>>,
    pub(crate) address: String,
    pub(crate) client_name: Box<[u8]>,
}

/// Who sent a command, and how long it took.
#[derive(Debug)]
pub(crate) struct Occasion<'a> {
    pub(crate) time_s: i64,
    pub(crate) us: u64,
    pub(crate) address: String,
    pub(crate) client_name: &'a [u8],
}

/// The slow log.
#[derive(Debug, Default)]
pub(crate) struct SlowLog {
    /// Newest first.
    entries: VecDeque<SlowCall>,
    next_id: i64,
}

impl SlowLog {
    /// Notes a command by what is shown of it, and forgets the oldest beyond `len_max`.
    pub(crate) fn push(&mut self, shown: &[Cow<'_, [u8]>], occasion: Occasion<'_>, len_max: usize) {
        let Occasion { time_s, us, address, client_name } = occasion;
        let arguments = cut(shown);
        let entry = SlowCall {
            id: self.next_id,
            time_s,
            us,
            arguments,
            address,
            client_name: client_name.into(),
        };
        self.next_id += 1;
        self.entries.push_front(entry);
        self.entries.truncate(len_max);
    }

    /// Forgets all entries; their numbers are not used again.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// How many were noted since the server began.
    pub(crate) fn noted(&self) -> i64 {
        self.next_id
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The newest entries first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &SlowCall> {
        self.entries.iter()
    }
}

/// The beginning of a command, and of each of its arguments.
pub(super) fn cut(words: &[Cow<'_, [u8]>]) -> Vec<Box<[u8]>> {
    let all = words.len();
    let whole = if all > ARGUMENTS_MAX { ARGUMENTS_MAX - 1 } else { all };
    let argument = |bytes: &Cow<'_, [u8]>| -> Box<[u8]> {
        match bytes.split_at_checked(ARGUMENT_BYTES_MAX) {
            Some((start, rest)) if !rest.is_empty() => {
                let remark = format!("... ({} more bytes)", rest.len());
                [start, remark.as_bytes()].concat().into()
            }
            _ => (**bytes).into(),
        }
    };
    let mut cut: Vec<_> = words.iter().take(whole).map(argument).collect();
    if whole < all {
        cut.push(format!("... ({} more arguments)", all - whole).into_bytes().into());
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &[&str], expected: &[&str]) {
        let words: Vec<_> = words.iter().map(|word| Cow::Borrowed(word.as_bytes())).collect();
        let cut = cut(&words);
        let cut: Vec<_> = cut.iter().map(|word| String::from_utf8_lossy(word)).collect();
        assert_eq!(cut, expected);
    }

    #[test]
    fn long_commands_are_cut() {
        let long = "A".repeat(129);
        let cut = format!("{}... (1 more bytes)", "A".repeat(128));
        check(&["SADD", "set", &long, &long[1..]], &["SADD", "set", &cut, &long[1..]]);
        let many = vec!["DEL"; 33];
        let mut expected = vec!["DEL"; 31];
        expected.push("... (2 more arguments)");
        check(&many, &expected);
        check(&many[1..], &many[1..]);
    }
}
