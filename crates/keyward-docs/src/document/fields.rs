//! Tables of fields.

use keyward_schema::Object;
use keyward_schema::facts::{Line, field_rows};

use super::page::Table;

/// The fields of a hash, of JSON, of a reply.
pub(super) fn table(object: &Object) -> Table {
    let mut table = Table::of(["Field", "Type", "Required", "Limits", "Meaning"]);
    for row in field_rows(object) {
        let required = Line::text(if row.required { "yes" } else { "no" });
        table.push([row.name, row.ty, required, row.limits, row.doc]);
    }
    table.without_empty_columns()
}
