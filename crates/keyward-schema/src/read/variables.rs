//! `[variables]`: what who includes a file may give it.
//!
//! Owns the defaults, and putting values in the place of `${name}` in all texts
//! of a file, its patterns and names included; `$${` stands for `${`. A file
//! without `[variables]` is left as it is. On the way every place in an included
//! file is moved to where that file begins among the texts of its schema.
//! Invariant: what values add to texts is bounded as files are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::table::{Entry, entries, table, text};
use crate::checks::{syntax, too_large, unknown_variable};
use crate::diagnostic::Report;
use crate::pattern::is_name;
use crate::source::{MAX_FILE_BYTES, Span};

/// Variables and their values.
pub(super) type Values = BTreeMap<Box<str>, Box<str>>;

/// The variables that a file declares, with their defaults; `None` if it has no
/// such table.
pub(super) fn defaults(document: &DeTable<'_>, report: &mut Report) -> Option<Values> {
    let found = entries(document).into_iter().find(|entry| entry.name == "variables")?;
    Some(table(found, report).map_or(Values::new(), |table| read_values(table.value, report)))
}

/// A table of values.
pub(super) fn read_values(table: &DeTable<'_>, report: &mut Report) -> Values {
    let mut read = |entry: Entry<'_>| {
        if !is_name(entry.name) {
            report.push(unknown_variable::no_name(entry.name, entry.name_at));
            return None;
        }
        Some((entry.name.into(), text(entry, report)?.value.into()))
    };
    entries(table).into_iter().filter_map(&mut read).collect()
}

/// Puts values in the place of variables.
pub(super) struct Filling<'v> {
    /// Where the file begins.
    base: u32,
    /// Nothing is filled in where there are none.
    values: Option<&'v Values>,
    /// How many bytes values may still add.
    bytes_left: usize,
}

impl<'v> Filling<'v> {
    pub(super) fn new(base: u32, values: Option<&'v Values>) -> Filling<'v> {
        Filling { base, values, bytes_left: MAX_FILE_BYTES }
    }

    /// A document with its variables filled in and its places moved.
    pub(super) fn document<'t>(
        mut self,
        document: DeTable<'t>,
        report: &mut Report,
    ) -> DeTable<'t> {
        if self.base == 0 && self.values.is_none() {
            return document;
        }
        self.file(document, report)
    }

    /// The same for one value.
    pub(super) fn value<'t>(
        &mut self,
        value: Spanned<DeValue<'t>>,
        report: &mut Report,
    ) -> Spanned<DeValue<'t>> {
        let at = self.moved(value.span());
        let filled = match value.into_inner() {
            DeValue::String(text) => DeValue::String(self.text(text, at, report)),
            DeValue::Array(items) => {
                let items = items.into_iter().map(|item| self.value(item, report));
                DeValue::Array(items.collect())
            }
            DeValue::Table(table) => DeValue::Table(self.table(table, report)),
            other => other,
        };
        Spanned::new(at.range(), filled)
    }

    /// All but the variables themselves.
    fn file<'t>(&mut self, document: DeTable<'t>, report: &mut Report) -> DeTable<'t> {
        let mut filled = DeTable::new();
        for (name, value) in document {
            let at = self.moved(name.span());
            let value = match &**name.get_ref() {
                "variables" => {
                    let mut plain = Filling { values: None, ..*self };
                    plain.value(value, report)
                }
                _ => self.value(value, report),
            };
            filled.insert(Spanned::new(at.range(), name.into_inner()), value);
        }
        filled
    }

    fn table<'t>(&mut self, table: DeTable<'t>, report: &mut Report) -> DeTable<'t> {
        let mut filled = DeTable::new();
        for (name, value) in table {
            let at = self.moved(name.span());
            let name = self.text(name.into_inner(), at, report);
            let value = self.value(value, report);
            if filled.insert(Spanned::new(at.range(), name), value).is_some() {
                report.push(syntax::filled_twice(at));
            }
        }
        filled
    }

    fn moved(&self, range: std::ops::Range<usize>) -> Span {
        Span::from(range).moved(self.base)
    }

    fn text<'t>(&mut self, text: DeString<'t>, at: Span, report: &mut Report) -> DeString<'t> {
        let Some(values) = self.values.filter(|_| text.contains("${")) else { return text };
        let mut filled = String::with_capacity(text.len());
        let mut rest = &*text;
        while let Some((before, behind)) = rest.split_once("${") {
            if let Some(before) = before.strip_suffix('$') {
                filled.extend([before, "${"]);
                rest = behind;
                continue;
            }
            let Some((name, behind)) = behind.split_once('}') else { break };
            filled.push_str(before);
            rest = behind;
            match values.get(name) {
                Some(value) if value.len() <= self.bytes_left => {
                    self.bytes_left -= value.len();
                    filled.push_str(value);
                }
                Some(_) => {
                    report.push_with(&too_large::RULE, || too_large::by_values(at));
                    return text;
                }
                None => {
                    // Stands for a value, so that nothing else is wrong for the lack of it.
                    filled.push_str(name);
                    report.push_with(&unknown_variable::RULE, || {
                        unknown_variable::undeclared(name, values.keys().map(|name| &**name), at)
                    });
                }
            }
        }
        filled.push_str(rest);
        Cow::Owned(filled)
    }
}
