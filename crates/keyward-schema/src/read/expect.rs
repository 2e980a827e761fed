//! What is expected of a key: how many there will be, and how large one is.

use toml::de::DeValue;

use super::draft::KeyDraft;
use super::table::Table;
use crate::checks::{misplaced_setting, missing_setting};
use crate::diagnostic::Report;
use crate::schema::DataType;
use crate::settings::Scope;

/// Reads `expect`: how many keys, and how many items one has.
pub(super) fn read(draft: &KeyDraft<'_>, report: &mut Report) -> (Option<u64>, Option<u64>) {
    let Some(entry) = draft.table.entry("expect") else { return (None, None) };
    let DeValue::Table(table) = entry.value.get_ref() else {
        return (draft.table.count("expect", report).map(|count| count.value), None);
    };
    let table = Table::open(Scope::Expect, table, entry.name_at, report);
    if table.entry("keys").is_none() {
        report.push(missing_setting::found(Scope::Expect, "keys", table.at));
    }
    let keys = table.count("keys", report).map(|count| count.value);
    let items = table.count("items", report);
    if let (Some(items), Some(data)) = (items, draft.data)
        && !has_items(data)
    {
        report.push(misplaced_setting::no_items(data, items.at));
        return (keys, None);
    }
    (keys, items.map(|items| items.value))
}

/// Whether there is a number of items that the schema does not tell by itself.
fn has_items(data: DataType) -> bool {
    use DataType::*;
    matches!(data, Hash | List | Set | Zset | Stream)
}
