//! What is shown of a key: everything but the values of its secret placeholders.
//!
//! Owns the form, `users:by_api_key:(redacted)`, in a hash tag `{(redacted)}`. A key that
//! belongs to no pattern but begins as one with secret placeholders does is cut where the
//! first secret would stand.

use std::borrow::Cow;

use keyward_schema::{Key, KeyId, Segment};

use super::{Books, REDACTED};
use crate::book::RuleBook;
use crate::refusal::shown_key;

/// What the channels of keyspace notifications begin with.
const NOTIFICATIONS: &[u8] = b"__keyspace@";

impl RuleBook {
    /// A key without its secrets.
    pub fn shown_name<'k>(&self, key: &'k [u8]) -> Cow<'k, [u8]> {
        if !self.secrets().has_names {
            return Cow::Borrowed(key);
        }
        match self.table_of(key) {
            Some(table) => self.name_in(table, key),
            None => self.name_of_stranger(key),
        }
    }

    /// A key as a sentence shows it: without its secrets, escaped, and cut.
    pub(crate) fn named(&self, key: &[u8]) -> String {
        shown_key(&self.shown_name(key))
    }

    fn name_in<'k>(&self, table: KeyId, key: &'k [u8]) -> Cow<'k, [u8]> {
        let Key { pattern, secret_placeholders, .. } = self.schema().key(table);
        if secret_placeholders.is_empty() {
            return Cow::Borrowed(key);
        }
        let values = self.placeholders(table, key);
        let value = |(index, value): (usize, &&'k [u8])| -> &'k [u8] {
            if secret_placeholders.contains(&index) { REDACTED.as_bytes() } else { value }
        };
        let values: Vec<&[u8]> = values.iter().enumerate().map(value).collect();
        Cow::Owned(pattern.fill(&values))
    }

    fn name_of_stranger<'k>(&self, key: &'k [u8]) -> Cow<'k, [u8]> {
        let cuts = self.schema().keys.iter().filter_map(|declared| {
            let before = before_secret(declared)?;
            let mut parts = key.split(|byte| *byte == b':');
            let begins_so = before.iter().all(|segment| {
                parts.next().is_some_and(|part| match segment {
                    Segment::Literal(literal) => literal.as_bytes() == part,
                    Segment::Placeholder(_) => true,
                })
            });
            let has_more = parts.next().is_some();
            (begins_so && has_more).then_some(before.len())
        });
        let Some(count) = cuts.min() else { return Cow::Borrowed(key) };
        let parts = key.split(|byte| *byte == b':').take(count);
        let shown = parts.chain(std::iter::once(REDACTED.as_bytes()));
        Cow::Owned(shown.collect::<Vec<_>>().join(&b':'))
    }

    /// Whether a glob of keys may hold a part of a secret. What stops before the first
    /// secret does not, nor do stars.
    fn glob_may_name_secret(&self, glob: &[u8]) -> bool {
        let (prefix, rest) = split_glob(glob);
        let colons = prefix.iter().filter(|byte| **byte == b':').count();
        let says_more = rest.iter().any(|byte| *byte != b'*');
        self.schema().keys.iter().filter_map(before_secret).any(|before| {
            let is_there = colons == before.len() && !prefix.ends_with(b":");
            let reaches_secret = is_there || colons > before.len();
            (reaches_secret || says_more) && may_begin(before, prefix)
        })
    }
}

/// A glob up to its first special character, and the rest.
fn split_glob(glob: &[u8]) -> (&[u8], &[u8]) {
    let is_special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    let end = glob.iter().position(is_special).unwrap_or(glob.len());
    glob.split_at(end)
}

/// Whether a key that begins with these segments may begin so.
fn may_begin(segments: &[Segment], prefix: &[u8]) -> bool {
    let mut parts = prefix.split(|byte| *byte == b':').peekable();
    segments.iter().all(|segment| {
        let part = parts.next();
        match (segment, part, parts.peek()) {
            (Segment::Placeholder(_), ..) | (_, None, _) => true,
            (Segment::Literal(literal), Some(part), None) => literal.as_bytes().starts_with(part),
            (Segment::Literal(literal), Some(part), Some(_)) => literal.as_bytes() == part,
        }
    })
}

/// The segments in front of a key's first secret placeholder.
fn before_secret(key: &Key) -> Option<&[Segment]> {
    let first = *key.secret_placeholders.first()?;
    let segment = key.pattern.placeholders()[first].segment;
    Some(&key.pattern.segments()[..segment])
}

impl Books<'_> {
    /// Whether a glob is not to be shown: it may hold a part of a secret, or no key that
    /// it names has a pattern.
    pub(super) fn hides_glob(&self, glob: &[u8]) -> bool {
        self.own.filter(|book| book.has_secrets()).is_some_and(|book| {
            let (prefix, _) = split_glob(glob);
            let mut patterns = book.schema().keys.iter().map(|key| &key.pattern);
            book.glob_may_name_secret(glob) || !patterns.any(|pattern| pattern.can_begin(prefix))
        })
    }

    /// Whether a word that is no key names one with secrets in some database: as a prefix
    /// that is tracked, or as the channel of its notifications.
    pub(super) fn names_secret_key_loosely(&self, word: &[u8]) -> bool {
        let key = match word.strip_prefix(NOTIFICATIONS) {
            Some(rest) => rest.splitn(2, |byte| *byte == b':').nth(1).unwrap_or_default(),
            None => word,
        };
        let mut books = self.all.iter().filter(|book| book.secrets().has_names);
        books.any(|book| book.shown_name(key) != key || book.glob_may_name_secret(key))
    }
}
