//! Rows that are older than their tables keep them.

use keyward_schema::{ColumnSource, Schema};
use tokio_postgres::Client;

use crate::ddl::{self, Month};
use crate::names::name;
use crate::store::StoreError;
use crate::store::failure::unwritable;

/// Lets rows go that are older than their tables keep them; how many went. What is old is
/// measured by the server's time of the last entry: a wrong clock elsewhere lets nothing go.
///
/// # Errors
/// If the database cannot be asked.
pub async fn retain(client: &Client, schema: &Schema, now_ms: u64) -> Result<u64, StoreError> {
    let mut gone = 0;
    for (_, sink) in ddl::sinks(schema) {
        let Some(retain) = sink.retain else { continue };
        let oldest_ms = now_ms.saturating_sub(retain.as_ms());
        let table = name(&sink.table);
        let (column, oldest, ty) = if let Some(column) = sink.partitioned_by() {
            let month = Month::of_time(i64::try_from(oldest_ms).unwrap_or(i64::MAX));
            (column, month.first_day(), "date")
        } else if let Some(column) = sink.column_from(&ColumnSource::Time) {
            (column, crate::row::time_text(oldest_ms), "timestamptz")
        } else {
            continue;
        };
        let column = name(&sink.columns[column].name);
        let delete = format!("DELETE FROM {table} WHERE {column} < $1::text::{ty}");
        let deleted = client.execute(&delete, &[&oldest]).await;
        gone += deleted.map_err(|error| unwritable(&sink.table, &error))?;
    }
    Ok(gone)
}
