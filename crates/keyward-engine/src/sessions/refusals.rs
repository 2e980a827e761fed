//! The last commands that broke a schema: refused, let pass with a warning, or only observed.
//!
//! Owns the entries by pattern, newest last, so that a pattern that is broken all the time
//! does not push the others out, and of those that are alike (same command and same reason) the
//! newest with their number, so that a client that polls does not either. Invariant: at most
//! [`PER_PATTERN`] of a pattern, [`WITHOUT_PATTERN`] of keys that have none and [`ALL`] in all are
//! kept; what is kept of a command is cut as in the slow log.
//! Not here: what of it is secret (`keyward_rules::Books`).

use super::slowlog::cut;
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

/// Entries that are kept of a pattern.
pub(crate) const PER_PATTERN: usize = 16;
/// Entries that are kept of keys without a pattern, which may be of many kinds.
pub(crate) const WITHOUT_PATTERN: usize = 128;
/// Entries that are kept in all.
const ALL: usize = 1024;
/// Keys that are kept of a command, and how long they may be.
const KEYS_MAX: usize = 16;
const KEY_BYTES_MAX: usize = 256;

/// What became of a command that broke the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Refused,
    Warned,
    /// The schema would have refused it, and observes.
    Observed,
}

impl Outcome {
    /// Its word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Outcome::Refused => "refused",
            Outcome::Warned => "warned",
            Outcome::Observed => "observed",
        }
    }
}

/// A command that broke the schema.
#[derive(Debug)]
pub(crate) struct Broken {
    /// They are counted.
    pub(crate) id: u64,
    /// How many there were like it, itself included.
    pub(crate) count: u64,
    /// When, in milliseconds since the epoch; the last of them.
    pub(crate) time_ms: i64,
    pub(crate) outcome: Outcome,
    pub(crate) address: String,
    pub(crate) client_name: Box<[u8]>,
    /// The command as others may see it.
    pub(crate) command: Vec<Box<[u8]>>,
    /// What was wrong with it.
    pub(crate) reason: Box<str>,
    /// Another key that the reason names, and the reason without it.
    pub(crate) naming: Option<(Box<[u8]>, Box<str>)>,
    /// What is shown instead to who may not read every key, of a command that may have touched
    /// others than it names.
    pub(crate) bare: Option<Bare>,
    /// The keys of the command, and that which it broke the schema with; `None` if that would
    /// be too much to keep, or the entry is only for who may read every key.
    pub(crate) keys: Option<Vec<Box<[u8]>>>,
}

impl Broken {
    /// Whether both are the same but for who sent them when, and what of the command the reason
    /// does not tell.
    fn is_like(&self, other: &Broken) -> bool {
        let name = |broken: &Broken| broken.command.first().map(|word| word.to_ascii_lowercase());
        self.outcome == other.outcome
            && self.reason == other.reason
            && self.naming == other.naming
            && self.keys == other.keys
            && self.bare.is_some() == other.bare.is_some()
            && name(self) == name(other)
    }
}

/// A command without its arguments and a reason without what was found.
#[derive(Debug, Clone)]
pub(crate) struct Bare {
    /// How many words of the command are its name.
    pub(crate) name_words: usize,
    pub(crate) reason: Box<str>,
}

/// Who broke the schema, and when.
pub(crate) struct Breach<'a> {
    pub(crate) time_ms: i64,
    pub(crate) outcome: Outcome,
    pub(crate) address: String,
    pub(crate) client_name: &'a [u8],
    pub(crate) reason: &'a str,
    pub(crate) naming: Option<(&'a [u8], &'a str)>,
    pub(crate) bare: Option<Bare>,
    /// The keys of the command, and that which it broke the schema with; `None` if it is only
    /// for who may read every key.
    pub(crate) keys: Option<&'a [&'a [u8]]>,
}

/// Keys, if they are few and short enough to be kept.
fn kept(keys: &[&[u8]]) -> Option<Vec<Box<[u8]>>> {
    let is_small = keys.len() <= KEYS_MAX && keys.iter().all(|key| key.len() <= KEY_BYTES_MAX);
    is_small.then(|| keys.iter().map(|key| (*key).into()).collect())
}

/// A database, and the text of a pattern; empty for keys without one.
type Place = (usize, Box<str>);

/// The entries.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    by_pattern: BTreeMap<Place, VecDeque<Broken>>,
    count: usize,
    next_id: u64,
}

impl Refusals {
    /// Keeps a command in mind by what is shown of it.
    pub(crate) fn push(&mut self, place: Place, shown: &[Cow<'_, [u8]>], breach: Breach<'_>) {
        let Breach { time_ms, outcome, address, client_name, reason, naming, bare, keys } = breach;
        let naming = naming.filter(|(key, _)| key.len() <= KEY_BYTES_MAX);
        let mut entry = Broken {
            id: self.next_id,
            count: 1,
            time_ms,
            outcome,
            address,
            client_name: client_name.into(),
            command: cut(shown),
            reason: reason.into(),
            naming: naming.map(|(key, unnamed)| (key.into(), unnamed.into())),
            bare,
            keys: keys.and_then(kept),
        };
        self.next_id += 1;
        let most = if place.1.is_empty() { WITHOUT_PATTERN } else { PER_PATTERN };
        let entries = self.by_pattern.entry(place).or_default();
        if let Some(before) = entries.iter().position(|other| other.is_like(&entry)) {
            entry.count += entries.remove(before).map_or(0, |before| before.count);
            self.count -= 1;
        }
        entries.push_back(entry);
        match entries.len() > most {
            true => drop(entries.pop_front()),
            false => self.count += 1,
        }
        if self.count > ALL {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let first = |(_, entries): &(&Place, &VecDeque<Broken>)| entries.front().map(|it| it.id);
        let oldest = self.by_pattern.iter().min_by_key(first).map(|(place, _)| place.clone());
        let Some(place) = oldest else { return };
        if let Some(entries) = self.by_pattern.get_mut(&place) {
            entries.pop_front();
            self.count -= 1;
            if entries.is_empty() {
                self.by_pattern.remove(&place);
            }
        }
    }

    /// Those of a database with their patterns, of one or all of them, the newest first.
    pub(crate) fn of(&self, db: usize, wants: impl Fn(&str) -> bool) -> Vec<(&str, &Broken)> {
        let own = self.by_pattern.iter().filter(|((of, pattern), _)| *of == db && wants(pattern));
        let mut found: Vec<(&str, &Broken)> = own
            .flat_map(|((_, pattern), entries)| entries.iter().map(move |it| (&**pattern, it)))
            .collect();
        found.sort_unstable_by_key(|(_, entry)| std::cmp::Reverse(entry.id));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(refusals: &mut Refusals, db: usize, pattern: &str) {
        let reason = refusals.next_id.to_string();
        push_for(refusals, db, pattern, &reason);
    }

    fn push_for(refusals: &mut Refusals, db: usize, pattern: &str, reason: &str) {
        let breach = Breach {
            time_ms: 0,
            outcome: Outcome::Refused,
            address: String::new(),
            client_name: b"",
            reason,
            naming: None,
            bare: None,
            keys: Some(&[]),
        };
        refusals.push((db, pattern.into()), &[Cow::Borrowed(b"SET".as_slice())], breach);
    }

    #[test]
    fn a_pattern_that_is_broken_often_leaves_the_others_alone() {
        let mut refusals = Refusals::default();
        push(&mut refusals, 0, "seldom");
        (0..10_000).for_each(|_| push(&mut refusals, 0, "often"));
        push(&mut refusals, 1, "elsewhere");
        assert_eq!(refusals.of(0, |_| true).len(), PER_PATTERN + 1);
        assert_eq!(refusals.of(0, |pattern| pattern == "seldom").len(), 1);
        let ids: Vec<u64> = refusals.of(0, |_| true).iter().map(|(_, entry)| entry.id).collect();
        assert!(ids.is_sorted_by(|a, b| a > b), "the newest first: {ids:?}");
    }

    #[test]
    fn those_that_are_alike_are_one_and_leave_the_others_alone() {
        let mut refusals = Refusals::default();
        push_for(&mut refusals, 0, "", "seldom");
        (0..1_000).for_each(|_| push_for(&mut refusals, 0, "", "often"));
        let found = refusals.of(0, |_| true);
        let told: Vec<(&str, u64)> =
            found.iter().map(|(_, entry)| (&*entry.reason, entry.count)).collect();
        assert_eq!(told, [("often", 1_000), ("seldom", 1)]);
        assert_eq!(refusals.count, 2);
        (0..1_000).for_each(|_| push(&mut refusals, 0, ""));
        assert_eq!(refusals.of(0, |_| true).len(), WITHOUT_PATTERN);
        assert_eq!(refusals.count, WITHOUT_PATTERN);
    }

    #[test]
    fn however_many_patterns_there_are_what_is_kept_is_bounded() {
        let mut refusals = Refusals::default();
        for round in 0..3 {
            for pattern in 0..2_000 {
                push(&mut refusals, 0, &format!("{pattern}"));
            }
            assert_eq!(refusals.of(0, |_| true).len(), ALL, "{round}");
        }
        assert_eq!(refusals.of(0, |_| true)[0].0, "1999");
    }
}
