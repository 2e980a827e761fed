//! The patterns that a caller means.

use crate::glob::{self, Case};
use keyward_commands::WireError;
use keyward_rules::RuleBook;
use keyward_schema::KeyId;

/// Which patterns somebody asks about.
pub(super) enum Wanted {
    /// All, and keys without a pattern.
    All,
    /// One: that of this text, or that of this key.
    One(Option<KeyId>),
    /// That of this key, which is no pattern.
    OfKey(KeyId, Box<[u8]>),
    /// Those whose text a glob matches; of rows, also those whose key it matches.
    Some(Vec<KeyId>, Box<[u8]>),
}

impl Wanted {
    /// A pattern as the schema writes it, a key, or a glob, which may match nothing.
    pub(super) fn named(book: &RuleBook, word: &[u8]) -> Result<Wanted, WireError> {
        let text = |id: &KeyId| book.schema().key(*id).pattern.text().as_bytes();
        if word.is_empty() {
            return Ok(Wanted::One(None));
        }
        if let Some(id) = book.schema().ids().find(|id| text(id) == word) {
            return Ok(Wanted::One(Some(id)));
        }
        if glob::literal_prefix(word).len() < word.len() {
            let is_meant = |id: &KeyId| glob::matches(word, text(id), Case::Sensitive);
            let found: Vec<KeyId> = book.schema().ids().filter(is_meant).collect();
            // What matches none may be a key that holds such characters.
            if !found.is_empty() || book.table_of(word).is_none() {
                return Ok(Wanted::Some(found, word.into()));
            }
        }
        match book.table_of(word) {
            Some(id) => Ok(Wanted::OfKey(id, word.into())),
            None => Err(WireError::Err("no such pattern")),
        }
    }

    /// Whether a table is meant.
    pub(super) fn has(&self, table: Option<KeyId>) -> bool {
        match self {
            Wanted::All => true,
            Wanted::One(one) => *one == table,
            Wanted::OfKey(one, _) => Some(*one) == table,
            Wanted::Some(some, _) => table.is_some_and(|table| some.contains(&table)),
        }
    }

    /// Whether a row is meant.
    pub(super) fn has_row(&self, table: Option<KeyId>, key: &[u8]) -> bool {
        match self {
            Wanted::OfKey(_, own) => **own == *key,
            Wanted::Some(_, glob) => self.has(table) || glob::matches(glob, key, Case::Sensitive),
            Wanted::All | Wanted::One(_) => self.has(table),
        }
    }
}
