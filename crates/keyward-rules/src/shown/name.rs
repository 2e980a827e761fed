//! What is shown of a key: everything but the values of its secret placeholders.
//!
//! Owns the form, `users:by_api_key:(redacted)`, in a hash tag `{(redacted)}`. A key that
//! belongs to no pattern but begins as one with secret placeholders does is cut where the
//! first secret would stand, at the earliest.

use std::borrow::Cow;

use keyward_schema::{Element, Key, KeyId};

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
            let cut = secret_start(before_secret(declared)?, key)?;
            // What a key ends with before a secret would begin is none.
            (cut < key.len() || key.last() == Some(&b':')).then_some(cut)
        });
        let Some(cut) = cuts.min() else { return Cow::Borrowed(key) };
        Cow::Owned([&key[..cut], REDACTED.as_bytes()].concat())
    }

    /// Whether a glob of keys may hold a part of a secret. What stops before the first
    /// secret does not, nor do stars.
    fn glob_may_name_secret(&self, glob: &[u8]) -> bool {
        let (prefix, rest) = split_glob(glob);
        let says_more = rest.iter().any(|byte| *byte != b'*');
        self.schema().keys.iter().filter_map(before_secret).any(|before| {
            let reaches_secret = secret_start(before, prefix).is_some_and(|at| at < prefix.len());
            reaches_secret || (says_more && may_begin(before, prefix))
        })
    }
}

/// A glob up to its first special character, and the rest.
fn split_glob(glob: &[u8]) -> (&[u8], &[u8]) {
    let is_special = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b'\\');
    let end = glob.iter().position(is_special).unwrap_or(glob.len());
    glob.split_at(end)
}

/// Where the first secret would start in a text that begins with these elements, at the
/// earliest: values before it are not judged, only cut at the text behind them, and of the text
/// right before it only what reaches to a colon counts, so that `t:77` is cut like `t:{77}`.
fn secret_start(before: &[Element], key: &[u8]) -> Option<usize> {
    let mut at = 0;
    for (index, element) in before.iter().enumerate() {
        let is_last = index + 1 == before.len();
        match element {
            Element::Literal(text) if is_last && text.contains(':') => {
                let head = &text.as_bytes()[..=text.rfind(':')?];
                at = match index {
                    0 => key.starts_with(head).then_some(head.len())?,
                    _ => at + find(&key[at..], head)? + head.len(),
                };
            }
            Element::Literal(text) if index == 0 => {
                at = key.starts_with(text.as_bytes()).then_some(text.len())?;
            }
            // Looked for behind the placeholder before it.
            Element::Literal(text) => at += find(&key[at..], text.as_bytes())? + text.len(),
            Element::Placeholder(_) => {}
        }
    }
    Some(at)
}

fn find(key: &[u8], text: &[u8]) -> Option<usize> {
    key.windows(text.len()).position(|window| window == text)
}

/// Whether a key that begins with these elements may begin so.
fn may_begin(before: &[Element], prefix: &[u8]) -> bool {
    match before.first() {
        Some(Element::Literal(text)) => {
            let shared = text.len().min(prefix.len());
            text.as_bytes()[..shared] == prefix[..shared]
        }
        _ => true,
    }
}

/// The elements in front of a key's first secret placeholder.
fn before_secret(key: &Key) -> Option<&[Element]> {
    let first = *key.secret_placeholders.first()?;
    let elements = key.pattern.elements();
    let at = elements.iter().position(|own| *own == Element::Placeholder(first))?;
    Some(&elements[..at])
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
