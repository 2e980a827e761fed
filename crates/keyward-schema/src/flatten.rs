//! One text that means the same as a file and all that it includes.
//!
//! Owns that text's form: the file's own text as it is, without `include` and
//! with its lines where they were, and behind it every included key, function and
//! note with its values filled in, under a comment that tells where it comes
//! from. Such a text can be sent to a server, which includes nothing.
//! Invariant: it is TOML without `include`, and reads as the same schema.

use toml::de::{DeTable, DeValue};

use crate::read::table::{Entry, Value, entries};
use crate::source::{Source, Span};
use crate::toml_form::{name_form, text_form};

/// The text for a file and the documents of what it includes, in the order of
/// `source`; the file's own document is the first.
pub(crate) fn flatten(source: &Source, documents: &[DeTable<'_>]) -> String {
    let (own, included) = documents.split_first().expect("the file's own document is there");
    let has_variables = own.contains_key("variables");
    let mut flat = without_include(source, own);
    write_all(&mut Writer { source, keeps_variables: has_variables, text: &mut flat }, included);
    if is_sound(&flat) {
        return flat;
    }
    // Tables that cannot be added to, as `key = { … }` on one line: all is written anew.
    let mut flat = String::new();
    write_all(&mut Writer { source, keeps_variables: false, text: &mut flat }, documents);
    debug_assert!(is_sound(&flat), "{flat}");
    flat
}

fn write_all(writer: &mut Writer<'_>, documents: &[DeTable<'_>]) {
    documents.iter().for_each(|document| writer.document(document));
}

fn is_sound(text: &str) -> bool {
    DeTable::parse(text).is_ok_and(|document| !document.get_ref().contains_key("include"))
}

/// A file's own text; as many lines stand in the place of its `include`.
fn without_include(source: &Source, document: &DeTable<'_>) -> String {
    let include = entries(document).into_iter().find(|entry| entry.name == "include");
    let Some(Entry { name_at, value, .. }) = include else { return source.text.clone() };
    let range = name_at.range().start..value.span().end;
    let Some(removed) = source.text.get(range.clone()) else { return source.text.clone() };
    let lines = "\n".repeat(removed.matches('\n').count());
    let mut text = source.text.clone();
    text.replace_range(range, &lines);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// What a file says of its keyspace that holds for its own keys alone: who has them.
const OF_THE_FILE: [&str; 3] = ["owner", "readers", "writers"];

/// Who has the keys of a file.
type Holders<'t> = Vec<(&'static str, &'t Value<'t>)>;

fn holders<'t>(document: &'t DeTable<'t>) -> Holders<'t> {
    match document.get("keyspace").map(|keyspace| keyspace.get_ref()) {
        Some(DeValue::Table(keyspace)) => {
            let said = |name| Some((name, keyspace.get(name)?));
            OF_THE_FILE.into_iter().filter_map(said).collect()
        }
        _ => Vec::new(),
    }
}

struct Writer<'w> {
    source: &'w Source,
    /// Whether `${` has a meaning in the text.
    keeps_variables: bool,
    text: &'w mut String,
}

impl Writer<'_> {
    fn document(&mut self, document: &DeTable<'_>) {
        let holders = holders(document);
        for entry in entries(document) {
            match (entry.name, entry.value.get_ref()) {
                // An included file's keyspace says nothing new.
                ("keyspace", DeValue::Table(table)) if self.is_own(entry.name_at) => {
                    self.table("[keyspace]", entry.name_at, table, &[]);
                }
                (scope @ ("key" | "function"), DeValue::Table(tables)) => {
                    for Entry { name, name_at, value } in entries(tables) {
                        let DeValue::Table(table) = value.get_ref() else { continue };
                        let heading = format!("[{scope}.{}]", self.name(name));
                        let is_included = scope == "key" && !self.is_own(name_at);
                        let holders = if is_included { &holders[..] } else { &[] };
                        self.table(&heading, name_at, table, holders);
                    }
                }
                ("note", DeValue::Array(notes)) => {
                    for note in notes {
                        let DeValue::Table(table) = note.get_ref() else { continue };
                        self.table("[[note]]", note.span().into(), table, &[]);
                    }
                }
                _ => {}
            }
        }
    }

    fn is_own(&self, at: Span) -> bool {
        std::ptr::eq(self.source.locate(at).0, self.source)
    }

    /// A table; who has it, unless it says so itself.
    fn table(
        &mut self,
        heading: &str,
        at: Span,
        table: &DeTable<'_>,
        holders: &[(&'static str, &Value<'_>)],
    ) {
        let place: String =
            self.source.place(at).chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        self.text.push_str(&format!("\n# {place}\n{heading}\n"));
        for (name, value) in holders.iter().filter(|(name, _)| !table.contains_key(*name)) {
            let line = format!("{name} = {}\n", self.value(value));
            self.text.push_str(&line);
        }
        for Entry { name, value, .. } in entries(table) {
            let line = format!("{} = {}\n", self.name(name), self.value(value));
            self.text.push_str(&line);
        }
    }

    fn name(&self, name: &str) -> String {
        name_form(&self.escaped(name)).into_owned()
    }

    fn value(&self, value: &Value<'_>) -> String {
        match value.get_ref() {
            DeValue::String(text) => text_form(&self.escaped(text)),
            DeValue::Integer(number) => {
                let prefix = match number.radix() {
                    2 => "0b",
                    8 => "0o",
                    16 => "0x",
                    _ => "",
                };
                format!("{prefix}{}", number.as_str())
            }
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Datetime(time) => time.to_string(),
            DeValue::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.value(item)).collect();
                format!("[{}]", items.join(", "))
            }
            DeValue::Table(table) => {
                let entry = |entry: Entry<'_>| {
                    format!("{} = {}", self.name(entry.name), self.value(entry.value))
                };
                let inside: Vec<String> = entries(table).into_iter().map(entry).collect();
                match inside.is_empty() {
                    true => "{ }".to_owned(),
                    false => format!("{{ {} }}", inside.join(", ")),
                }
            }
        }
    }

    /// A text that was filled in, as it is written where variables are filled in again.
    fn escaped(&self, text: &str) -> String {
        match self.keeps_variables {
            true => text.replace("${", "$${"),
            false => text.to_owned(),
        }
    }
}
