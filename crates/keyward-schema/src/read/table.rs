//! Access to TOML tables by declared settings.
//!
//! Owns the step from TOML values to typed values with their places. Opening a
//! table reports what does not belong there; each getter reports a value of
//! the wrong kind and then returns nothing, as if the setting were absent, so that one
//! mistake is told once.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::checks::{bad_unit, misplaced_setting, missing_setting, unknown_setting, wrong_value};
use crate::diagnostic::Report;
use crate::schema::DataType;
use crate::settings::{SETTINGS, Scope, settings_of};
use crate::source::Span;
use crate::units::{Duration, parse_count, parse_size};

/// A value and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) at: Span,
}

/// A TOML value as the parser left it.
pub(crate) type Value<'t> = Spanned<DeValue<'t>>;

/// One `name = value`.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'t> {
    pub(crate) name: &'t str,
    pub(crate) name_at: Span,
    pub(crate) value: &'t Value<'t>,
}

/// The entries of a TOML table in the order of the file.
pub(crate) fn entries<'t>(table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
    let mut entries: Vec<Entry<'t>> = table
        .iter()
        .map(|(name, value)| Entry { name: name.get_ref(), name_at: name.span().into(), value })
        .collect();
    entries.sort_by_key(|entry| entry.name_at);
    entries
}

/// A table of known settings.
pub(crate) struct Table<'t> {
    scope: Scope,
    pub(crate) at: Span,
    entries: Vec<Entry<'t>>,
}

impl<'t> Table<'t> {
    /// Opens a table and reports settings that do not belong there.
    pub(crate) fn open(
        scope: Scope,
        table: &'t DeTable<'t>,
        at: Span,
        report: &mut Report,
    ) -> Table<'t> {
        let entries = entries(table);
        let data = || {
            let name = entries.iter().find(|entry| entry.name == "type" && scope == Scope::Key)?;
            DataType::named(name.value.get_ref().as_str()?)
        };
        for entry in &entries {
            let known = settings_of(scope).any(|setting| setting.name == entry.name);
            if known {
                continue;
            }
            if SETTINGS.iter().any(|setting| setting.name == entry.name) {
                report.push_with(&misplaced_setting::RULE, || {
                    misplaced_setting::found(scope, entry.name, entry.name_at)
                });
            } else {
                report.push_with(&unknown_setting::RULE, || {
                    unknown_setting::found(scope, entry.name, entry.name_at, data())
                });
            }
        }
        Table { scope, at, entries }
    }

    /// A table whose settings are not all known beforehand.
    pub(crate) fn open_unchecked(scope: Scope, table: &'t DeTable<'t>, at: Span) -> Table<'t> {
        Table { scope, at, entries: entries(table) }
    }

    pub(crate) fn entries(&self) -> &[Entry<'t>] {
        &self.entries
    }

    pub(crate) fn entry(&self, name: &str) -> Option<Entry<'t>> {
        self.entries.iter().find(|entry| entry.name == name).copied()
    }

    pub(crate) fn text(&self, name: &str, report: &mut Report) -> Option<Located<&'t str>> {
        text(self.entry(name)?, report)
    }

    pub(crate) fn owned_text(&self, name: &str, report: &mut Report) -> Option<Box<str>> {
        self.text(name, report).map(|text| text.value.trim().into())
    }

    /// A text that must be there.
    pub(crate) fn required_text(
        &self,
        name: &'static str,
        report: &mut Report,
    ) -> Option<Located<&'t str>> {
        let Some(entry) = self.entry(name) else {
            report.push(missing_setting::found(self.scope, name, self.at));
            return None;
        };
        let text = text(entry, report)?;
        if text.value.trim().is_empty() {
            report.push(wrong_value::empty(entry));
            return None;
        }
        Some(text)
    }

    /// One of the words of a choice.
    pub(crate) fn choice<C>(
        &self,
        name: &str,
        names: &'static [&'static str],
        named: fn(&str) -> Option<C>,
        report: &mut Report,
    ) -> Option<Located<C>> {
        let word = self.text(name, report)?;
        match named(word.value) {
            Some(value) => Some(Located { value, at: word.at }),
            None => {
                report.push(wrong_value::not_among(name, word.value, names, word.at));
                None
            }
        }
    }

    pub(crate) fn switch(&self, name: &str, report: &mut Report) -> Option<Located<bool>> {
        let entry = self.entry(name)?;
        match entry.value.get_ref() {
            DeValue::Boolean(value) => {
                Some(Located { value: *value, at: entry.value.span().into() })
            }
            _ => {
                report.push(wrong_value::found(entry, "true or false"));
                None
            }
        }
    }

    pub(crate) fn duration(&self, name: &str, report: &mut Report) -> Option<Located<Duration>> {
        duration(self.entry(name)?, report)
    }

    /// A number of bytes: an integer, or a text with a unit.
    pub(crate) fn size(&self, name: &str, report: &mut Report) -> Option<Located<u64>> {
        amount(self.entry(name)?, parse_size, "a size such as \"4kb\"", report)
    }

    /// A number of things: an integer, or a text with a unit.
    pub(crate) fn count(&self, name: &str, report: &mut Report) -> Option<Located<u64>> {
        amount(self.entry(name)?, parse_count, "a count such as 100 or \"2.5M\"", report)
    }

    /// A table within this one.
    pub(crate) fn table(
        &self,
        name: &str,
        report: &mut Report,
    ) -> Option<Located<&'t DeTable<'t>>> {
        let entry = self.entry(name)?;
        table(entry, report)
    }

    /// An array of texts; those that are none are reported and left out.
    pub(crate) fn texts(&self, name: &str, report: &mut Report) -> Vec<Located<&'t str>> {
        let Some(entry) = self.entry(name) else { return Vec::new() };
        let DeValue::Array(items) = entry.value.get_ref() else {
            report.push(wrong_value::found(entry, "an array of texts"));
            return Vec::new();
        };
        let mut texts = Vec::new();
        for item in items {
            match item.get_ref() {
                DeValue::String(value) => {
                    texts.push(Located { value: &**value, at: item.span().into() })
                }
                _ => report
                    .push(wrong_value::found(Entry { value: item, ..entry }, "texts in quotes")),
            }
        }
        texts
    }
}

/// The text of an entry.
pub(crate) fn text<'t>(entry: Entry<'t>, report: &mut Report) -> Option<Located<&'t str>> {
    match entry.value.get_ref() {
        DeValue::String(value) => Some(Located { value, at: entry.value.span().into() }),
        _ => {
            report.push(wrong_value::found(entry, "a text in quotes"));
            None
        }
    }
}

/// The table of an entry.
pub(crate) fn table<'t>(entry: Entry<'t>, report: &mut Report) -> Option<Located<&'t DeTable<'t>>> {
    match entry.value.get_ref() {
        DeValue::Table(value) => Some(Located { value, at: entry.name_at }),
        _ => {
            report.push(wrong_value::found(entry, "a table"));
            None
        }
    }
}

/// The duration of an entry.
pub(crate) fn duration(entry: Entry<'_>, report: &mut Report) -> Option<Located<Duration>> {
    let at = entry.value.span().into();
    let parsed = match entry.value.get_ref() {
        DeValue::String(text) => Duration::parse(text),
        _ => None,
    };
    if parsed.is_none() {
        report.push(bad_unit::found(entry, "a duration such as \"30s\", \"1h30m\" or \"14d\""));
    }
    parsed.map(|value| Located { value, at })
}

fn amount(
    entry: Entry<'_>,
    parse: fn(&str) -> Option<u64>,
    expected: &str,
    report: &mut Report,
) -> Option<Located<u64>> {
    let at = entry.value.span().into();
    let parsed = match entry.value.get_ref() {
        DeValue::String(text) => parse(text),
        DeValue::Integer(_) => integer(entry.value).filter(|&number| number > 0),
        _ => None,
    };
    if parsed.is_none() {
        report.push(bad_unit::found(entry, expected));
    }
    parsed.map(|value| Located { value, at })
}

/// A whole number that is not negative.
pub(crate) fn integer(value: &Value<'_>) -> Option<u64> {
    match value.get_ref() {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    }
}

/// What kind of value stands there, for a diagnostic.
pub(crate) fn kind_of(value: &Value<'_>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
