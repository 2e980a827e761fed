//! `include`: the files that belong to a schema, found before they are read.
//!
//! Owns following every `include` from the schema's own file on: which file is
//! meant, with which values, and whether it is there already. The texts are
//! only searched for `include` and `[variables]` here; what else is in them is
//! read when all are known.
//! Invariants: no file includes itself, by whatever way; one file with the same
//! values is there once; files, depth and bytes are bounded.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::table::{Entry, Located, Table, Value, entries, text};
use super::variables::{Filling, Values, defaults, read_values};
use crate::checks::{bad_include, include_cycle, overlap, too_many, unknown_variable, wrong_value};
use crate::diagnostic::{Diagnostic, Label, Report};
use crate::escape;
use crate::include::{Files, MAX_INCLUDE_DEPTH, MAX_INCLUDES};
use crate::settings::Scope;
use crate::source::{MAX_FILE_BYTES, Source, Span};

/// An included file.
pub(super) struct Included {
    pub(super) source: Source,
    pub(super) base: u32,
    /// The values of its variables, if it has any.
    pub(super) values: Option<Values>,
    /// Where it is included, with these values.
    pub(super) at: Span,
}

impl Included {
    /// Tells a finding in this file which values its variables have there, and who gave them.
    fn tell_values(&self, found: &mut Diagnostic) {
        let Span { start, end } = found.primary.span;
        let place = (start - self.base) as usize..end.saturating_sub(self.base) as usize;
        let text = self.source.text.get(place).unwrap_or_default();
        for (name, value) in self.values.iter().flatten() {
            if text.contains(&format!("${{{name}}}")) {
                let shown: String = value.chars().take(VALUE_SHOWN).collect();
                let more = if shown.len() < value.len() { "…" } else { "" };
                let label = format!("`{name}` is `{}{more}` by this", escape(&shown));
                found.related.push(Label { span: self.at, text: label });
            }
        }
    }
}

/// How many letters of a value a finding shows.
const VALUE_SHOWN: usize = 60;

/// Tells findings in included files which values variables have there.
pub(super) fn tell_values(included: &[Included], found: &mut [Diagnostic]) {
    for found in found {
        let mut before = included.iter().rev();
        if let Some(file) = before.find(|file| file.base <= found.primary.span.start) {
            file.tell_values(found);
            overlap::leave_name(found);
        }
    }
}

/// Files on the way from the schema's own to the one that is searched.
struct Chain<'c> {
    name: &'c str,
    path: &'c Path,
    identity: &'c Path,
    from: Option<&'c Chain<'c>>,
}

impl Chain<'_> {
    fn links(&self) -> impl Iterator<Item = &Chain<'_>> {
        std::iter::successors(Some(self), |link| link.from)
    }
}

/// One `include`.
struct Wanted<'t> {
    file: Located<&'t str>,
    with: Option<Located<&'t DeTable<'t>>>,
}

/// The search for included files.
pub(super) struct Search<'s> {
    files: Option<&'s dyn Files>,
    report: &'s mut Report,
    found: Vec<Included>,
    /// The places of `found` by the file.
    known: HashMap<PathBuf, Vec<usize>>,
    /// The variables of each file, and their defaults.
    declared: HashMap<PathBuf, Option<Values>>,
    base_next: u32,
    bytes_left: usize,
    /// How many includes were followed.
    followed: usize,
}

impl<'s> Search<'s> {
    pub(super) fn new(
        root: &Source,
        files: Option<&'s dyn Files>,
        report: &'s mut Report,
    ) -> Search<'s> {
        Search {
            files,
            report,
            found: Vec::new(),
            known: HashMap::new(),
            declared: HashMap::new(),
            base_next: Source::base_after(0, root),
            bytes_left: MAX_FILE_BYTES - root.text.len(),
            followed: 0,
        }
    }

    /// All files that a schema includes.
    pub(super) fn run(mut self, root: &Source, document: &DeTable<'_>) -> Vec<Included> {
        let path = Path::new(&root.name);
        let identity = self.files.map_or(PathBuf::new(), |files| files.identity(path));
        let values = defaults(document, &mut Report::default());
        let chain = Chain { name: &root.name, path, identity: &identity, from: None };
        self.follow(document, (0, values.as_ref()), &chain);
        self.found
    }

    /// Follows the includes of one file.
    fn follow(
        &mut self,
        document: &DeTable<'_>,
        (base, values): (u32, Option<&Values>),
        chain: &Chain<'_>,
    ) {
        let found = entries(document).into_iter().find(|entry| entry.name == "include");
        let Some(entry) = found else { return };
        let value = entry.value.clone();
        // What is wrong with variables is told when the whole file is filled in.
        let value = Filling::new(base, values).value(value, &mut Report::default());
        let entry = Entry { value: &value, name_at: entry.name_at.moved(base), ..entry };
        for wanted in wanted(entry, self.report) {
            let Some(files) = self.files else {
                self.report.push(bad_include::without_files(entry.name_at));
                return;
            };
            if self.followed == MAX_INCLUDES {
                self.report.push(too_many::found("includes", MAX_INCLUDES, wanted.file.at));
                return;
            }
            self.followed += 1;
            self.include(files, &wanted, chain);
        }
    }

    fn include(&mut self, files: &dyn Files, wanted: &Wanted<'_>, chain: &Chain<'_>) {
        let at = wanted.file.at;
        let path = chain.path.parent().unwrap_or(Path::new("")).join(wanted.file.value);
        let identity = files.identity(&path);
        let name = clean(&path).display().to_string();
        if let Some(first) = chain.links().position(|link| *link.identity == *identity) {
            let mut names: Vec<&str> =
                chain.links().take(first + 1).map(|link| link.name).collect();
            names.reverse();
            self.report.push(include_cycle::found(&names, at));
            return;
        }
        if chain.links().count() > MAX_INCLUDE_DEPTH {
            self.report.push(bad_include::too_deep(at));
            return;
        }
        let text = match self.known.get(&identity).and_then(|known| known.first()) {
            Some(known) => self.found[*known].source.text.clone(),
            None => match files.read(&path, self.bytes_left) {
                Ok(bytes) => match into_text(bytes) {
                    Some(text) => text,
                    None => return self.report.push(bad_include::not_text(&name, at)),
                },
                Err(problem) => {
                    return self.report.push(bad_include::unreadable(&name, &problem, at));
                }
            },
        };
        // A file that is there already is not parsed again to see that.
        let declared = match self.declared.get(&identity) {
            Some(declared) => declared.clone(),
            None => {
                let (document, _) = DeTable::parse_recoverable(&text);
                let declared = defaults(document.get_ref(), &mut Report::default());
                self.declared.insert(identity.clone(), declared.clone());
                declared
            }
        };
        let values = self.values_of(&name, declared, wanted);
        let known = self.known.get(&identity).into_iter().flatten();
        if known.into_iter().any(|known| self.found[*known].values == values) {
            return;
        }
        if text.len() > self.bytes_left {
            return self.report.push(bad_include::too_large(&name, at));
        }
        self.bytes_left -= text.len();
        let base = self.base_next;
        let source = Source::new(name.clone(), text.clone());
        self.base_next = Source::base_after(base, &source);
        self.known.entry(identity.clone()).or_default().push(self.found.len());
        let at = wanted.with.as_ref().map_or(at, |with| with.at);
        self.found.push(Included { source, base, values: values.clone(), at });
        let chain = Chain { name: &name, path: &path, identity: &identity, from: Some(chain) };
        let (document, _) = DeTable::parse_recoverable(&text);
        self.follow(document.get_ref(), (base, values.as_ref()), &chain);
    }

    /// The values of a file's variables: its own, unless others are given.
    fn values_of(
        &mut self,
        name: &str,
        declared: Option<Values>,
        wanted: &Wanted<'_>,
    ) -> Option<Values> {
        let mut values = declared;
        let Some(with) = wanted.with else { return values };
        let given = read_values(with.value, self.report);
        for entry in entries(with.value) {
            let declared = values.iter().flat_map(Values::keys).map(|name| &**name);
            match values.as_ref().is_some_and(|values| values.contains_key(entry.name)) {
                false if given.contains_key(entry.name) => self
                    .report
                    .push(unknown_variable::not_of(name, entry.name, declared, entry.name_at)),
                _ => {}
            }
        }
        if let Some(values) = &mut values {
            let is_declared = |name: &str| values.contains_key(name);
            let given: Vec<_> = given.into_iter().filter(|(name, _)| is_declared(name)).collect();
            values.extend(given);
        }
        values
    }
}

/// The includes of a file, as far as they can be read.
fn wanted<'t>(entry: Entry<'t>, report: &mut Report) -> Vec<Wanted<'t>> {
    let DeValue::Array(items) = entry.value.get_ref() else {
        report.push(wrong_value::found(entry, "an array of files"));
        return Vec::new();
    };
    items.iter().filter_map(|item| read_one(entry, item, report)).collect()
}

fn read_one<'t>(entry: Entry<'t>, item: &'t Value<'t>, report: &mut Report) -> Option<Wanted<'t>> {
    let at: Span = item.span().into();
    let (file, with) = match item.get_ref() {
        DeValue::String(_) => (text(Entry { value: item, ..entry }, report)?, None),
        DeValue::Table(table) => {
            let table = Table::open(Scope::Include, table, at, report);
            (table.required_text("file", report)?, table.table("with", report))
        }
        _ => {
            report.push(wrong_value::found(Entry { value: item, ..entry }, "files in quotes"));
            return None;
        }
    };
    if file.value.trim().is_empty() {
        report.push(wrong_value::empty(Entry { value: item, ..entry }));
        return None;
    }
    Some(Wanted { file, with })
}

/// A path as people write it: without a folder that the next step leaves again.
fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for step in path.components() {
        let leaves = matches!(step, Component::ParentDir);
        let last = cleaned.components().next_back();
        match leaves && matches!(last, Some(Component::Normal(_))) {
            true => drop(cleaned.pop()),
            false => cleaned.push(step),
        }
    }
    cleaned
}

fn into_text(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
