//! The log of what was denied (ACL LOG), newest first.
//!
//! Invariant: at most as many entries as the setting says, and of what clients sent at most
//! [`TEXT_BYTES_MAX`] bytes in each. The same thing that happens again
//! within a minute is counted in its entry, if that is one of the newest.

use std::collections::VecDeque;

/// How old an entry may be that counts what happens again.
const GROUPING_MS_MAX: i64 = 60_000;
/// How many bytes of a key, a channel or a name are kept.
const TEXT_BYTES_MAX: usize = 4096;
/// How many entries are looked at to find it.
const GROUPING_DEPTH: usize = 10;

/// What was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Command,
    Key,
    Channel,
    Authentication,
}

impl Reason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reason::Command => "command",
            Reason::Key => "key",
            Reason::Channel => "channel",
            Reason::Authentication => "auth",
        }
    }
}

/// Where it was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    TopLevel,
    Transaction,
    Script,
}

impl Context {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Context::TopLevel => "toplevel",
            Context::Transaction => "multi",
            Context::Script => "lua",
        }
    }
}

/// Something that was denied.
#[derive(Debug)]
pub(crate) struct Denial {
    pub(crate) count: u64,
    pub(crate) reason: Reason,
    pub(crate) context: Context,
    /// The command, key or channel.
    pub(crate) object: Box<[u8]>,
    pub(crate) user: Box<[u8]>,
    /// When it last happened, in milliseconds since the epoch.
    pub(crate) time_ms: i64,
    /// The client, as CLIENT INFO has it.
    pub(crate) client: String,
}

impl Denial {
    fn is_same_as(&self, other: &Denial) -> bool {
        (self.reason, self.context) == (other.reason, other.context)
            && (self.time_ms - other.time_ms).abs() <= GROUPING_MS_MAX
            && self.object == other.object
            && self.user == other.user
    }
}

/// The entries.
#[derive(Debug)]
pub(crate) struct Log {
    entries: VecDeque<Denial>,
    len_max: usize,
}

impl Default for Log {
    fn default() -> Log {
        Log { entries: VecDeque::new(), len_max: 128 }
    }
}

impl Log {
    /// Sets how many entries are kept. As in Redis, those that are too many go when the
    /// next one comes.
    pub(crate) fn set_len_max(&mut self, len_max: usize) {
        self.len_max = len_max;
    }

    pub(crate) fn push(&mut self, mut entry: Denial) {
        for text in [&mut entry.object, &mut entry.user] {
            if text.len() > TEXT_BYTES_MAX {
                *text = text[..TEXT_BYTES_MAX].into();
            }
        }
        let mut newest = self.entries.iter().take(GROUPING_DEPTH);
        let same = newest.position(|other| other.is_same_as(&entry));
        if let Some(mut known) = same.and_then(|at| self.entries.remove(at)) {
            known.count += 1;
            known.time_ms = entry.time_ms;
            known.client = entry.client;
            return self.entries.push_front(known);
        }
        self.entries.push_front(entry);
        self.entries.truncate(self.len_max);
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    /// The entries, newest first.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = &Denial> {
        self.entries.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(object: &str, time_ms: i64) -> Denial {
        Denial {
            count: 1,
            reason: Reason::Key,
            context: Context::TopLevel,
            object: object.as_bytes().into(),
            user: b"u".as_slice().into(),
            time_ms,
            client: String::new(),
        }
    }

    fn shown(log: &Log) -> Vec<(String, u64)> {
        let shown = |it: &Denial| (String::from_utf8_lossy(&it.object).into_owned(), it.count);
        log.entries().map(shown).collect()
    }

    #[test]
    fn the_same_within_a_minute_is_counted_and_comes_to_the_front() {
        let mut log = Log::default();
        log.push(entry("a", 0));
        log.push(entry("b", 1));
        log.push(entry("a", 60_000));
        assert_eq!(shown(&log), [("a".to_owned(), 2), ("b".to_owned(), 1)]);
        log.push(entry("a", 120_001));
        assert_eq!(shown(&log)[0], ("a".to_owned(), 1));
    }

    #[test]
    fn of_a_long_key_the_beginning_is_kept() {
        let mut log = Log::default();
        log.push(entry(&"k".repeat(TEXT_BYTES_MAX + 1), 0));
        assert_eq!(shown(&log)[0].0.len(), TEXT_BYTES_MAX);
    }

    #[test]
    fn the_log_is_as_long_as_it_may_be() {
        let mut log = Log::default();
        log.set_len_max(2);
        for object in ["a", "b", "c"] {
            log.push(entry(object, 0));
        }
        assert_eq!(shown(&log), [("c".to_owned(), 1), ("b".to_owned(), 1)]);
        log.set_len_max(0);
        log.push(entry("d", 0));
        assert!(shown(&log).is_empty());
    }
}
