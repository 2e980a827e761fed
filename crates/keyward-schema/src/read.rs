//! From the text of a file to a checked schema.
//!
//! Reads in passes, since keys refer to each other: first every pattern, type
//! and shape, then lifetimes and derivations, which look others up, then the
//! rules about the whole. Problems are collected on the way and never stop it;
//! a part that cannot be read is left out, and whoever needs it stays silent.
//! Invariant: no error in the report if and only if there is a schema.

mod alert;
mod amend;
mod changefeed;
mod comparison;
mod condition;
mod content;
mod derived;
mod draft;
pub(crate) mod example;
mod expect;
mod function;
mod include;
mod key;
mod lifetime;
pub(crate) mod mirrors;
pub(crate) mod secrets;
mod shape;
pub(crate) mod sink;
pub(crate) mod table;
pub(crate) mod template;
mod users;
mod variables;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use toml::de::{DeTable, DeValue};

use crate::alert::Alert;
use crate::checks::{self, Keyspaced, bad_alert};
use crate::checks::{
    bad_include, function_key, function_twice, include_cycle, included_keyspace, misplaced_setting,
    missing_setting, no_such_pattern, not_text, syntax, too_large, too_many, wrong_value,
};
use crate::diagnostic::{Diagnostic, Level, Report};
use crate::flatten::flatten;
use crate::include::Files;
use crate::nearest::nearest;
use crate::pattern::Pattern;
use crate::schema::{Keyspace, Mode, Note, Persist, Schema, Unknown};
use crate::settings::Scope;
use crate::source::{MAX_FILE_BYTES, Source, Span};
use include::Search;
use table::{Entry, Table, entries};
use variables::{Filling, defaults};

pub(crate) use alert::Watched;
pub(crate) use draft::KeyDraft;
pub use lifetime::FORMS as LIFETIME_FORMS;
pub use users::is_user_name;

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

/// Checks the bytes of a schema that includes no others; `name` is what messages
/// call it.
pub fn check(name: &str, bytes: &[u8]) -> Checked {
    check_bytes(name, bytes, None)
}

/// Checks the bytes of a schema file and what it includes of these files.
pub fn check_file(path: &Path, bytes: &[u8], files: &dyn Files) -> Checked {
    check_bytes(&path.display().to_string(), bytes, Some(files))
}

fn check_bytes(name: &str, bytes: &[u8], files: Option<&dyn Files>) -> Checked {
    let refuse = |diagnostic| Checked {
        source: Source::new(name, ""),
        diagnostics: vec![diagnostic],
        schema: None,
    };
    if bytes.len() > MAX_FILE_BYTES {
        return refuse(too_large::found(bytes.len()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => check_text(Source::new(name, text), files),
        Ok(text) => refuse(not_text::found(text.find('\0').unwrap_or_default())),
        Err(error) => refuse(not_text::found(error.valid_up_to())),
    }
}

fn check_text(own: Source, files: Option<&dyn Files>) -> Checked {
    let mut report = Report::default();
    let (document, syntax_errors) = DeTable::parse_recoverable(&own.text);
    let document = document.into_inner();
    let included = Search::new(&own, files, &mut report).run(&own, &document);
    // Where each file's syntax is broken.
    let mut broken: BTreeSet<usize> = BTreeSet::new();
    let mut report_syntax =
        |errors: &[toml::de::Error], (text, base): (&str, u32), report: &mut Report| {
            syntax::report_all(errors, (text, base), report);
            let places = errors.iter().filter_map(toml::de::Error::span);
            broken.extend(places.map(|span| span.start + base as usize));
            !errors.is_empty()
        };
    let mut syntax_is_broken = report_syntax(&syntax_errors, (&own.text, 0), &mut report);
    let values = defaults(&document, &mut report);
    let mut documents = vec![Filling::new(0, values.as_ref()).document(document, &mut report)];
    for file in &included {
        let (document, errors) = DeTable::parse_recoverable(&file.source.text);
        syntax_is_broken |= report_syntax(&errors, (&file.source.text, file.base), &mut report);
        let filling = Filling::new(file.base, file.values.as_ref());
        let document = filling.document(document.into_inner(), &mut report);
        defaults(&document, &mut report);
        documents.push(document);
    }
    amend::apply(&mut documents, &mut report);
    let bases: Vec<u32> = std::iter::once(0).chain(included.iter().map(|file| file.base)).collect();
    let parts = read_files(&documents, &bases, &mut report);
    leave_out_dragged(syntax_is_broken, &broken, &mut report);
    let sound = report.errors_total() == 0;
    let mut source = own.clone().including(included.iter().map(|file| file.source.clone()));
    if sound && !included.is_empty() {
        let flat = flatten(&source, &documents);
        source.set_flat(flat);
    }
    let mut diagnostics = report.finish();
    include::tell_values(&included, &mut diagnostics);
    let schema = if sound { parts.into_schema(&source) } else { None };
    debug_assert!(!sound || schema.is_some(), "a part is missing and nobody said why");
    Checked { source, diagnostics, schema }
}

/// Leaves out what is wrong only because something else is.
fn leave_out_dragged(syntax_is_broken: bool, broken: &BTreeSet<usize>, report: &mut Report) {
    let rules = [bad_include::RULE.code, include_cycle::RULE.code];
    if report.has_any(&rules) {
        // What is not there cannot be referred to.
        let dragged = [no_such_pattern::RULE.code, function_key::RULE.code];
        report.retain(|found| !dragged.contains(&found.rule.code));
    }
    if syntax_is_broken {
        // Where TOML is broken, settings seem to be missing or misplaced, and
        // the broken value cannot be read either.
        let dragged = [missing_setting::RULE.code, misplaced_setting::RULE.code];
        report.retain(|found| {
            let is_broken_value = broken.contains(&(found.primary.span.start as usize));
            found.rule.level == Level::Error
                && !dragged.contains(&found.rule.code)
                && (found.rule.code == syntax::RULE.code || !is_broken_value)
        });
    }
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
            parts: Vec::new(),
        })
    }
}

/// Reads the documents of a schema's own file and of those it includes, which
/// begin at these places.
fn read_files(documents: &[DeTable<'_>], bases: &[u32], report: &mut Report) -> Parts {
    let open = |(document, base): (_, &u32)| {
        Table::open(Scope::File, document, Span { start: *base, end: *base }, report)
    };
    let files: Vec<Table<'_>> = documents.iter().zip(bases).map(open).collect();
    let own = files.first().expect("the file's own document is there");
    if own.entry("keyspace").is_none() {
        report_missing_table(own, "keyspace", report);
    }
    let mut keyspaces = Vec::new();
    for (file, &base) in files.iter().zip(bases) {
        let table = file.table("keyspace", report);
        let table = table.map(|raw| Table::open(Scope::Keyspace, raw.value, raw.at, report));
        keyspaces.push(Keyspaced { base, table });
    }
    let keyspace = keyspaces[0].table.as_ref().and_then(|table| read_keyspace(table, report));
    // Who has a file's keys, where the file is included.
    let mut owners: Vec<(u32, Option<Keyspace>)> = vec![(0, None)];
    for Keyspaced { base, table } in &keyspaces[1..] {
        let said = table.as_ref().and_then(|table| read_keyspace(table, report));
        if let (Some(table), Some(said), Some(own)) = (table, &said, &keyspace) {
            check_included_keyspace(table, said, own, report);
        }
        owners.push((*base, said));
    }
    if own.entry("key").is_none() && own.entry("include").is_none() {
        report_missing_table(own, "key", report);
    }
    let drafts = read_drafts(&files, report);
    let mut keys = key::finish(&drafts, report);
    for key in keys.iter_mut().flatten() {
        let file = owners.partition_point(|(base, _)| *base <= key.at.start).saturating_sub(1);
        let Some(said) = &owners[file].1 else { continue };
        key.owner = key.owner.take().or_else(|| said.owner.clone());
        let named = |users: &Vec<Box<str>>| (!users.is_empty()).then(|| users.clone());
        key.readers = key.readers.take().or_else(|| named(&said.readers));
        key.writers = key.writers.take().or_else(|| named(&said.writers));
    }
    let functions = read_functions(&files, &drafts, report);
    let notes = files.iter().flat_map(|file| read_notes(file, report)).collect();
    checks::check_whole(&keyspaces, &drafts, &keys, report);
    bad_alert::check_sinks(keyspace.as_ref(), &keys, report);
    let feed = keyspace.as_ref().and_then(|own| changefeed::of(own, &drafts, &keys, report));
    keys.extend(feed.map(Some));
    Parts { keyspace, keys, functions, notes }
}

/// What an included file says of the keyspace must be what the keyspace is.
fn check_included_keyspace(
    table: &Table<'_>,
    said: &Keyspace,
    own: &Keyspace,
    report: &mut Report,
) {
    let alerts = |keyspace: &Keyspace| match &keyspace.alerts[..] {
        [] => "not there".to_owned(),
        alerts => alerts.iter().map(Alert::in_words).collect::<Vec<_>>().join("; "),
    };
    let size = |size: Option<u64>| size.map_or("not limited".to_owned(), crate::size_in_words);
    let pairs = [
        ("db", said.db.to_string(), own.db.to_string()),
        ("unknown", said.unknown.name().to_owned(), own.unknown.name().to_owned()),
        ("mode", said.mode.name().to_owned(), own.mode.name().to_owned()),
        ("max_memory", size(said.max_memory), size(own.max_memory)),
        ("persist", said.persist.name().to_owned(), own.persist.name().to_owned()),
        ("alert", alerts(said), alerts(own)),
    ];
    for (setting, said, is) in pairs {
        if let Some(entry) = table.entry(setting).filter(|_| said != is) {
            let at = entry.value.span().into();
            report.push(included_keyspace::found(setting, &is, at, own.db_at));
        }
    }
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
    let owner = table.owned_text("owner", report);
    let readers = users::read(table, "readers", report).unwrap_or_default();
    let writers = users::read(table, "writers", report).unwrap_or_default();
    let allowed = checks::read_allowances(table, report);
    let max_memory = max_memory.map(|size| size.value);
    let alerts = alert::read(table, Watched::Keyspace { max_memory }, report);
    let name = name?;
    Some(Keyspace {
        name: name.value.into(),
        doc,
        owner,
        readers,
        writers,
        db: db?,
        db_at: table.entry("db").map_or(name.at, |entry| entry.value.span().into()),
        unknown: unknown.map_or(Unknown::Reject, |choice| choice.value),
        mode: mode.map_or(Mode::Enforce, |choice| choice.value),
        max_memory,
        persist: persist_said.unwrap_or(Persist::Aof),
        persist_said,
        alerts: alerts?,
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

fn read_drafts<'t>(files: &[Table<'t>], report: &mut Report) -> Vec<KeyDraft<'t>> {
    let tables = files.iter().filter_map(|file| file.table("key", report));
    let mut entries: Vec<Entry<'t>> = tables.flat_map(|keys| entries(keys.value)).collect();
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
    files: &[Table<'_>],
    drafts: &[KeyDraft<'_>],
    report: &mut Report,
) -> Vec<Option<crate::function::Function>> {
    let tables = files.iter().filter_map(|file| file.table("function", report));
    let mut entries: Vec<Entry<'_>> =
        tables.flat_map(|functions| entries(functions.value)).collect();
    if entries.len() > MAX_FUNCTIONS {
        report.push(too_many::found("functions", MAX_FUNCTIONS, entries[MAX_FUNCTIONS].name_at));
        entries.truncate(MAX_FUNCTIONS);
    }
    let mut known: HashMap<&str, Span> = HashMap::new();
    for entry in &entries {
        if let Some(first) = known.get(entry.name) {
            report.push(function_twice::found(entry.name, entry.name_at, *first));
        }
        known.entry(entry.name).or_insert(entry.name_at);
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
