//! Keys as far as each can be read by itself.
//!
//! Not here: what refers to other keys (`key`).

use super::content::{self, ContentDraft};
use super::table::{Entry, Table, table};
use crate::checks::{
    self, bound_on_wrong_type, malformed_pattern, misplaced_shape, missing_setting,
};
use crate::diagnostic::Report;
use crate::pattern::Pattern;
use crate::schema::DataType;
use crate::settings::{Scope, settings_of};
use crate::source::Span;

/// A key as far as it can be read without looking at others.
pub(crate) struct KeyDraft<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: Span,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) table: Table<'t>,
    pub(crate) data: Option<DataType>,
    pub(crate) content: Option<ContentDraft>,
}

impl<'t> KeyDraft<'t> {
    pub(super) fn read(entry: Entry<'t>, report: &mut Report) -> Option<KeyDraft<'t>> {
        let raw = table(entry, report)?;
        let pattern = match Pattern::parse(entry.name) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                report.push(malformed_pattern::found(entry.name, &error, entry.name_at));
                None
            }
        };
        let table = Table::open(Scope::Key, raw.value, entry.name_at, report);
        let data = read_type(&table, report);
        let content = data.and_then(|data| {
            report_settings_of_other_types(&table, data, report);
            content::read(&table, data, pattern.as_ref(), report)
        });
        Some(KeyDraft { text: entry.name, at: entry.name_at, pattern, table, data, content })
    }

    /// The names of the derivations it declares.
    pub(crate) fn derivations(&self) -> impl Iterator<Item = Entry<'t>> {
        let names = ["lookup", "rank", "members", "inverse", "follows"];
        names.into_iter().filter_map(|name| self.table.entry(name))
    }

    /// Whether Keyward writes it: `follows` only watches what clients write.
    pub(crate) fn is_derived(&self) -> bool {
        self.derivations().any(|entry| entry.name != "follows")
    }

    /// Whether it is derived, or follows others.
    pub(crate) fn is_related(&self) -> bool {
        self.derivations().next().is_some()
    }

    /// Its fields, if it is a hash or a JSON object.
    pub(crate) fn object(&self) -> Option<&crate::shape::Object> {
        self.content.as_ref()?.content.object()
    }
}

fn read_type(table: &Table<'_>, report: &mut Report) -> Option<DataType> {
    if table.entry("type").is_none() {
        report.push(missing_setting::key_type(table));
        return None;
    }
    let word = table.text("type", report)?;
    let data = DataType::named(word.value);
    if data.is_none() {
        report.push(checks::unknown_type::found(word));
    }
    data
}

/// Settings that keys have, but not keys of this type.
fn report_settings_of_other_types(table: &Table<'_>, data: DataType, report: &mut Report) {
    for setting in settings_of(Scope::Key) {
        let Some(entry) = table.entry(setting.name) else { continue };
        if setting.types.is_empty() || setting.types.contains(&data) {
            continue;
        }
        report.push(match setting.name {
            "max_len" | "max_members" | "max_size" | "compress" => {
                bound_on_wrong_type::found(setting, data, entry.name_at)
            }
            "value" | "fields" | "extra" | "check" | "items" | "score" => {
                misplaced_shape::found(setting, data, entry.name_at)
            }
            _ => checks::derived_type::found(setting, data, entry.name_at),
        });
    }
}
