//! Refusals: what a client reads whose command breaks the schema.
//!
//! `SCHEMA <key>: <problem> (<file>:<line>)`. Owns the form of the line and how
//! client bytes stand in it. Invariant: one line of printable text, whatever a
//! key or a value holds. Secrets are left out by who words the problem: of values
//! [`keyward_schema::Misfit`], of keys [`RuleBook::shown_name`]. Where what was found may
//! come from a secret elsewhere ([`Books::shows_found`]), the host takes the discreet line,
//! which has no bytes but those of the key.
//!
//! [`RuleBook::shown_name`]: crate::RuleBook::shown_name
//! [`Books::shows_found`]: crate::Books::shows_found

use std::fmt;

use crate::reason::Reason;
use keyward_schema::{KeyId, Source, Span, escape};

/// How many bytes of a key a refusal shows.
const SHOWN_KEY_BYTES: usize = 60;

/// How many bytes of a value a refusal shows.
const SHOWN_VALUE_BYTES: usize = 40;

/// Why the schema forbids a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    table: Option<KeyId>,
    reason: Reason,
    /// The key that it is about; `None` for a function.
    about: Option<Box<[u8]>>,
    line: Line,
    /// Another key that the line names, empty if it is not known which, and the line without
    /// it.
    naming: Option<(Box<[u8]>, Line)>,
}

/// What a client reads.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    text: Box<str>,
    /// The line without what was found, if it is another.
    discreet: Option<Box<str>>,
}

impl Line {
    fn discreet_text(&self) -> &str {
        self.discreet.as_ref().unwrap_or(&self.text)
    }

    fn into_discreet(mut self) -> Line {
        if let Some(discreet) = self.discreet.take() {
            self.text = discreet;
        }
        self
    }
}

impl Refusal {
    /// A problem of a key, declared at that place of the schema, or by all of it.
    pub(crate) fn new(
        source: &Source,
        (table, reason): (Option<KeyId>, Reason),
        subject: &[u8],
        problem: impl fmt::Display,
        at: Option<Span>,
    ) -> Refusal {
        let subject = shown_key(subject);
        let place = at.map_or_else(|| source.names().to_owned(), |at| source.place(at));
        let text = format!("SCHEMA {subject}: {problem} ({place})");
        // A schema's own words may hold anything that TOML can.
        let text = escape(&text).into_owned();
        let line = Line { text: text.into(), discreet: None };
        Refusal { table, reason, about: None, line, naming: None }
    }

    /// The same, about a key that the line may show in another way.
    pub(crate) fn about(mut self, key: &[u8]) -> Refusal {
        self.about = Some(key.into());
        self
    }

    /// The same, with the line of another as its discreet one.
    pub(crate) fn or_discreetly(mut self, discreet: Refusal) -> Refusal {
        self.line.discreet = Some(discreet.line.text);
        self
    }

    /// The same, which names another key; with the line that does not.
    pub(crate) fn naming(mut self, key: &[u8], unnamed: Refusal) -> Refusal {
        self.naming = Some((key.into(), unnamed.line));
        self
    }

    /// The key that it is about, where what is told was found.
    pub fn key(&self) -> Option<&[u8]> {
        self.about.as_deref()
    }

    /// Another key that the line names, and the line that does not: for who may not read it.
    pub fn named(&self) -> Option<(&[u8], &str)> {
        self.naming.as_ref().map(|(key, unnamed)| (&**key, &*unnamed.text))
    }

    /// The line for somebody who may read some keys only: without what was found in one that
    /// may not be read, and without the name of one.
    pub fn text_for(&self, may_read: impl Fn(&[u8]) -> bool) -> &str {
        let line = match &self.naming {
            Some((key, unnamed)) if !may_read(key) => unnamed,
            _ => &self.line,
        };
        match &self.about {
            Some(key) if !may_read(key) => line.discreet_text(),
            _ => &line.text,
        }
    }

    /// The line for somebody who may read the key that it is about and nothing else: without
    /// what was found and without the name of another key.
    pub fn bare_text(&self) -> &str {
        self.naming.as_ref().map_or(&self.line, |(_, unnamed)| unnamed).discreet_text()
    }

    /// The same without what was found.
    #[must_use]
    pub fn discreet(mut self) -> Refusal {
        self.line = self.line.into_discreet();
        self.naming = self.naming.map(|(key, unnamed)| (key, unnamed.into_discreet()));
        self
    }

    /// The pattern that was broken; `None` if the key belongs to none.
    pub fn table(&self) -> Option<KeyId> {
        self.table
    }

    /// What kind of breach it is.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The whole line, code included, without the protocol's `-`.
    pub fn text(&self) -> &str {
        &self.line.text
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Refusal {}

/// A key as a refusal shows it: escaped, and cut.
pub(crate) fn shown_key(key: &[u8]) -> String {
    shown(key, SHOWN_KEY_BYTES)
}

/// A value as a refusal shows it: in quotes, escaped, and cut.
pub(crate) fn shown_value(value: &[u8]) -> String {
    format!("\"{}\"", shown(value, SHOWN_VALUE_BYTES))
}

fn shown(bytes: &[u8], most: usize) -> String {
    match bytes.split_at_checked(most) {
        Some((shown, rest)) if !rest.is_empty() => format!("{}…", shown.escape_ascii()),
        _ => bytes.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(key: &[u8], problem: &str, at: Option<Span>) -> String {
        let source = Source::new("shop/keyward.toml", "a\nb\nc");
        Refusal::new(&source, (None, Reason::Value), key, problem, at).text().to_owned()
    }

    #[test]
    fn names_the_key_the_file_and_the_line() {
        let at = Span { start: 2, end: 3 };
        assert_eq!(
            text(b"user:7", "has no field \"x\"", Some(at)),
            "SCHEMA user:7: has no field \"x\" (shop/keyward.toml:2)"
        );
        assert_eq!(
            text(b"u", "matches no pattern", None),
            "SCHEMA u: matches no pattern (shop/keyward.toml)"
        );
    }

    #[test]
    fn is_one_short_line_whatever_the_key_holds() {
        assert_eq!(
            text(b"a\r\n\xff", "x\ny", None),
            "SCHEMA a\\r\\n\\xff: x\\ny (shop/keyward.toml)"
        );
        let long = text(&[b'k'; 61], "x", None);
        assert_eq!(long, format!("SCHEMA {}…: x (shop/keyward.toml)", "k".repeat(60)));
        assert!(!text(&[b'k'; 60], "x", None).contains('…'));
    }
}
