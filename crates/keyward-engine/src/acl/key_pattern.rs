//! Which keys a right is about, and whether it is to read or to write them.
//!
//! Owns both kinds: Redis's globs (`~user:*`, `%R~user:*`), which cross colons, and patterns
//! of the schema (`=user:{id}`, `%R=user:{id}`), which mean exactly the keys that the schema
//! of their database reads as this pattern, whatever its placeholders are called. Redis refuses the latter as a syntax error, so a
//! file that has them is never misread there.

use super::check::Place;
use super::rules::{RuleError, has_space};
use crate::glob::{self, Case};
use keyward_commands::{KeyFlag, KeyFlags};
use keyward_schema::Pattern;

/// What may be done with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Access {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Access {
    /// To read and to write.
    pub(crate) const ALL: Access = Access { reads: true, writes: true };
    /// To read.
    pub(crate) const READ: Access = Access { reads: true, writes: false };

    /// What a command does to a key.
    pub(super) fn of(flags: KeyFlags) -> Access {
        let writes = [KeyFlag::Insert, KeyFlag::Delete, KeyFlag::Update];
        Access {
            reads: flags.has(KeyFlag::Access),
            writes: writes.into_iter().any(|flag| flags.has(flag)),
        }
    }

    fn covers(self, wanted: Access) -> bool {
        (self.reads || !wanted.reads) && (self.writes || !wanted.writes)
    }
}

/// How a pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Glob,
    /// A pattern of the schema.
    Exact,
}

/// A right to some keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyPattern {
    kind: Kind,
    text: Box<[u8]>,
    access: Access,
}

impl KeyPattern {
    /// Reads a rule that begins with `~`, `=` or `%`.
    pub(super) fn parse(rule: &[u8]) -> Result<KeyPattern, RuleError> {
        let mut access = Access::default();
        let mut kind = Kind::Glob;
        let mut rest = &rule[1..];
        match rule[0] {
            b'~' => access = Access::ALL,
            b'=' => (access, kind) = (Access::ALL, Kind::Exact),
            _ => {
                while let [letter, after @ ..] = rest {
                    rest = after;
                    match letter.to_ascii_uppercase() {
                        b'R' if !access.reads => access.reads = true,
                        b'W' if !access.writes => access.writes = true,
                        b'~' => break,
                        b'=' => {
                            kind = Kind::Exact;
                            break;
                        }
                        _ => return Err(RuleError::Syntax),
                    }
                }
            }
        }
        let text = match kind {
            Kind::Glob => rest.into(),
            Kind::Exact => exact(rest).ok_or(RuleError::Syntax)?,
        };
        // Redis takes `%~a` and then stops at the first look at it.
        if has_space(&text) || access == Access::default() {
            return Err(RuleError::Syntax);
        }
        Ok(KeyPattern { kind, text, access })
    }

    /// Adds it to others; one that is there already gets its rights too.
    pub(super) fn add_to(self, patterns: &mut Vec<KeyPattern>) {
        let same = |other: &&mut KeyPattern| other.kind == self.kind && other.text == self.text;
        match patterns.iter_mut().find(same) {
            Some(other) => {
                other.access.reads |= self.access.reads;
                other.access.writes |= self.access.writes;
            }
            None => patterns.push(self),
        }
    }

    /// Whether it grants this for a key.
    pub(super) fn grants(&self, place: Place<'_>, key: &[u8], wanted: Access) -> bool {
        self.access.covers(wanted)
            && match self.kind {
                Kind::Glob => glob::matches(&self.text, key, Case::Sensitive),
                Kind::Exact => place.pattern_of(key).is_some_and(|text| self.names(text)),
            }
    }

    /// Whether it is this pattern of a schema, names of placeholders and spaces within them
    /// apart: these do not change which keys it has.
    fn names(&self, pattern: &[u8]) -> bool {
        pattern == &*self.text || Pattern::is_same_form(pattern, &self.text)
    }

    /// The pattern of a schema that it is about, if it is.
    pub(super) fn exact(&self) -> Option<&[u8]> {
        (self.kind == Kind::Exact).then_some(&self.text)
    }

    /// Whether it grants this for every key.
    pub(super) fn grants_all(&self, wanted: Access) -> bool {
        self.kind == Kind::Glob && *self.text == *b"*" && self.access.covers(wanted)
    }

    /// The rule.
    pub(super) fn rule(&self) -> Vec<u8> {
        let mark: &[u8] = match (self.kind, self.access) {
            (Kind::Glob, Access::ALL) => b"~",
            (Kind::Exact, Access::ALL) => b"=",
            (Kind::Glob, Access { reads: true, .. }) => b"%R~",
            (Kind::Exact, Access { reads: true, .. }) => b"%R=",
            (Kind::Glob, Access { .. }) => b"%W~",
            (Kind::Exact, Access { .. }) => b"%W=",
        };
        [mark, &self.text].concat()
    }
}

/// A pattern of a schema as a rule has it: without the spaces in its placeholders, which would
/// end the rule in a file.
fn exact(text: &[u8]) -> Option<Box<[u8]>> {
    let text = std::str::from_utf8(text).ok().filter(|text| Pattern::parse(text).is_ok())?;
    Some(Pattern::without_spaces(text).into_bytes().into())
}
