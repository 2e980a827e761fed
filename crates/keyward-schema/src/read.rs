//! From the text of a file to a checked schema.
//!
//! Reads in passes, since keys refer to each other: first every pattern, type
//! and shape, then lifetimes and derivations, which look others up, then the
//! rules about the whole. Problems are collected on the way and never stop it;
//! a part that cannot be read is left out, and whoever needs it stays silent.
//! Invariant: no error in the report if and only if there is a schema.

mod condition;
mod content;
mod derived;
mod draft;
mod example;
mod function;
mod key;
mod lifetime;
pub(crate) mod mirrors;
pub(crate) mod secrets;
mod shape;
pub(crate) mod table;
pub(crate) mod template;

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};

use crate::checks;
use crate::checks::{
    misplaced_setting, missing_setting, not_text, syntax, too_large, too_many, wrong_value,
};
use crate::diagnostic::{Diagnostic, Level, Report};
use crate::nearest::nearest;
use crate::pattern::Pattern;
use crate::schema::{Keyspace, Mode, Note, Persist, Schema, Unknown};
use crate::settings::Scope;
use crate::source::{MAX_FILE_BYTES, Source, Span};
use table::{Entry, Table, entries};

pub(crate) use draft::KeyDraft;
pub use lifetime::FORMS as LIFETIME_FORMS;

/// The most keys one schema may declare.
pub const MAX_KEYS: usize = 4096;

/// The most words that the placeholders of all keys may list together. Checks
/// compare the words of every two patterns, so the square of it bounds them.
pub const MAX_PLACEHOLDER_WORDS: usize = 8192;

/// The most functions one schema may declare.
pub const MAX_FUNCTIONS: usize = 1024;

/// The highest number of a database that a schema may name.
const MAX_DB: u64 = 255;

/// What came of reading a file.
#[derive(Debug)]
pub struct Checked {
    /// The file.
    pub source: Source,
    /// What is wrong or smells, in the order of the file.
    pub diagnostics: Vec<Diagnostic>,
    /// The schema, unless there is an error.
    pub schema: Option<Schema>,
}

impl Checked {
    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.schema.is_none()
    }
}

/// Checks the bytes of a schema file; `name` is what messages call it.
pub fn check(name: &str, bytes: &[u8]) -> Checked {
    let refuse = |diagnostic| Checked {
        source: Source::new(name, ""),
        diagnostics: vec![diagnostic],
        schema: None,
    };
    if bytes.len() > MAX_FILE_BYTES {
        return refuse(too_large::found(bytes.len()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => check_text(Source::new(name, text)),
        Ok(text) => refuse(not_text::found(text.find('\0').unwrap_or_default())),
        Err(error) => refuse(not_text::found(error.valid_up_to())),
    }
}

fn check_text(source: Source) -> Checked {
    let mut report = Report::default();
    let (document, syntax_errors) = DeTable::parse_recoverable(&source.text);
    for error in &syntax_errors {
        report.push_with(&syntax::RULE, || syntax::found(error, &source));
    }
    let syntax_is_broken = !syntax_errors.is_empty();
    let parts = read_file(document.get_ref(), &mut report);
    if syntax_is_broken {
        // Where TOML is broken, settings seem to be missing or misplaced, and
        // the broken value cannot be read either.
        let starts = syntax_errors.iter().filter_map(|error| error.span());
        let broken: BTreeSet<usize> = starts.map(|span| span.start).collect();
        let dragged = [missing_setting::RULE.code, misplaced_setting::RULE.code];
        report.retain(|found| {
            let is_broken_value = broken.contains(&(found.primary.span.start as usize));
            found.rule.level == Level::Error
                && !dragged.contains(&found.rule.code)
                && (found.rule.code == syntax::RULE.code || !is_broken_value)
        });
    }
    let sound = report.errors_total() == 0;
    let diagnostics = report.finish();
    let schema = if sound { parts.and_then(|parts| parts.into_schema(&source)) } else { None };
    debug_assert!(!sound || schema.is_some(), "a part is missing and nobody said why");
    Checked { source, diagnostics, schema }
}

/// What a file declares, as far as it could be read.
struct Parts {
    keyspace: Option<Keyspace>,
    keys: Vec<Option<crate::schema::Key>>,
    functions: Vec<Option<crate::function::Function>>,
    notes: Vec<Note>,
}

impl Parts {
    fn into_schema(self, source: &Source) -> Option<Schema> {
        Some(Schema {
            source: source.clone(),
            keyspace: self.keyspace?,
            keys: self.keys.into_iter().collect::<Option<_>>()?,
            functions: self.functions.into_iter().collect::<Option<_>>()?,
            notes: self.notes,
        })
    }
}

fn read_file(document: &DeTable<'_>, report: &mut Report) -> Option<Parts> {
    let file = Table::open(Scope::File, document, Span::default(), report);
    let keyspace_table = match file.entry("keyspace") {
        Some(_) => file.table("keyspace", report),
        None => {
            report_missing_table(&file, "keyspace", report);
            None
        }
    };
    let keyspace_table =
        keyspace_table.map(|table| Table::open(Scope::Keyspace, table.value, table.at, report));
    let keyspace = keyspace_table.as_ref().and_then(|table| read_keyspace(table, report));

    let drafts = read_drafts(&file, report);
    let keys = key::finish(&drafts, report);
    let functions = read_functions(&file, &drafts, report);
    let notes = read_notes(&file, report);
    checks::check_whole(keyspace_table.as_ref(), &drafts, &keys, report);
    Some(Parts { keyspace, keys, functions, notes })
}

/// A table that must be there, unless it is merely misspelt: that was said.
fn report_missing_table(file: &Table<'_>, name: &'static str, report: &mut Report) {
    let is_misspelt = file.entries().iter().any(|entry| nearest(entry.name, [name]).is_some());
    if !is_misspelt {
        report.push(missing_setting::found(Scope::File, name, Span::default()));
    }
}

fn read_keyspace(table: &Table<'_>, report: &mut Report) -> Option<Keyspace> {
    let name = table.required_text("name", report);
    let db = match table.entry("db") {
        None => Some(0),
        Some(entry) => read_db(entry, report),
    };
    let unknown = table.choice("unknown", Unknown::NAMES, Unknown::named, report);
    let mode = table.choice("mode", Mode::NAMES, Mode::named, report);
    let persist = table.choice("persist", Persist::NAMES, Persist::named, report);
    let persist_said = persist.map(|choice| choice.value);
    let max_memory = table.size("max_memory", report);
    let doc = table.owned_text("doc", report);
    let allowed = checks::read_allowances(table, report);
    let name = name?;
    Some(Keyspace {
        name: name.value.into(),
        doc,
        db: db?,
        db_at: table.entry("db").map_or(name.at, |entry| entry.value.span().into()),
        unknown: unknown.map_or(Unknown::Reject, |choice| choice.value),
        mode: mode.map_or(Mode::Enforce, |choice| choice.value),
        max_memory: max_memory.map(|size| size.value),
        persist: persist_said.unwrap_or(Persist::Aof),
        persist_said,
        allowed,
    })
}

fn read_db(entry: Entry<'_>, report: &mut Report) -> Option<u8> {
    let db = table::integer(entry.value).filter(|&db| db <= MAX_DB);
    if db.is_none() {
        report.push(wrong_value::found(entry, "the number of a database, 0 to 255"));
    }
    db.and_then(|db| u8::try_from(db).ok())
}

fn read_drafts<'t>(file: &Table<'t>, report: &mut Report) -> Vec<KeyDraft<'t>> {
    let Some(keys) = file.table("key", report) else {
        if file.entry("key").is_none() {
            report_missing_table(file, "key", report);
        }
        return Vec::new();
    };
    let mut entries = entries(keys.value);
    if entries.len() > MAX_KEYS {
        report.push(too_many::found("keys", MAX_KEYS, entries[MAX_KEYS].name_at));
        entries.truncate(MAX_KEYS);
    }
    let mut drafts: Vec<KeyDraft<'t>> =
        entries.into_iter().filter_map(|entry| KeyDraft::read(entry, report)).collect();
    leave_out_words(&mut drafts, report);
    drafts
}

/// Leaves the patterns out that have one word too many.
fn leave_out_words(drafts: &mut [KeyDraft<'_>], report: &mut Report) {
    let words_of = |pattern: &Pattern| -> usize {
        pattern.placeholders().iter().map(|own| own.kind.words().len()).sum()
    };
    let mut words_total = 0;
    let mut beyond = None;
    for draft in drafts {
        words_total += draft.pattern.as_ref().map_or(0, words_of);
        if words_total > MAX_PLACEHOLDER_WORDS {
            draft.pattern = None;
            beyond = beyond.or(Some(draft.at));
        }
    }
    if let Some(at) = beyond {
        report.push(too_many::found("words in placeholders", MAX_PLACEHOLDER_WORDS, at));
    }
}

fn read_functions(
    file: &Table<'_>,
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Vec<Option<crate::function::Function>> {
    let Some(functions) = file.table("function", report) else { return Vec::new() };
    let mut entries = entries(functions.value);
    if entries.len() > MAX_FUNCTIONS {
        report.push(too_many::found("functions", MAX_FUNCTIONS, entries[MAX_FUNCTIONS].name_at));
        entries.truncate(MAX_FUNCTIONS);
    }
    entries.into_iter().map(|entry| function::read(entry, drafts, report)).collect()
}

fn read_notes(file: &Table<'_>, report: &mut Report) -> Vec<Note> {
    let Some(entry) = file.entry("note") else { return Vec::new() };
    let DeValue::Array(notes) = entry.value.get_ref() else {
        report.push(wrong_value::found(entry, "tables under [[note]]"));
        return Vec::new();
    };
    let mut read = |value| {
        let note = table::table(Entry { value, ..entry }, report)?;
        let at = value.span().into();
        let note = Table::open(Scope::Note, note.value, at, report);
        let title = note.required_text("title", report)?.value.into();
        let text = note.required_text("text", report)?.value.trim().into();
        Some(Note { title, text })
    };
    notes.iter().filter_map(&mut read).collect()
}
