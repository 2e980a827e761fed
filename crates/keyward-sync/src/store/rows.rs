//! The rows of a batch, table by table.

use std::collections::BTreeMap;

use keyward_schema::{ColumnSource, Schema, Sink, SinkKind};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use crate::row::Row;
use crate::statement;
use crate::store::failure::Failure;
use crate::store::{Batch, Stored, What, partitions, sink_of};

/// The most rows that one statement stores.
const STATEMENT_ROWS_MAX: usize = 5_000;
/// About the most bytes of rows that one statement stores: PostgreSQL takes no message of a
/// gigabyte.
const STATEMENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Has constraints that can be deferred wait.
pub(crate) const DEFER: &str = "SET CONSTRAINTS ALL DEFERRED";
/// Has them judged at once, also what came before.
pub(crate) const JUDGE: &str = "SET CONSTRAINTS ALL IMMEDIATE";

/// Rows of each table at once: what is gone first, from the last table of the schema to the
/// first, then what is there.
pub(super) async fn store_together(
    transaction: &Transaction<'_>,
    schema: &Schema,
    batch: &Batch,
) -> Result<Stored, Failure> {
    transaction.batch_execute(DEFER).await?;
    let mut by_key: BTreeMap<usize, (Vec<&Row>, Vec<&Row>)> = BTreeMap::new();
    for change in &batch.changes {
        let (stored, removed) = by_key.entry(change.key).or_default();
        match &change.what {
            What::Store(rows) => stored.extend(rows),
            What::Remove(row) => removed.push(row),
            What::Unfit(_) => {}
        }
    }
    let mut count = Stored::default();
    for (key, (_, removed)) in by_key.iter().rev() {
        remove(transaction, sink_of(schema, *key).1, removed).await?;
    }
    for (key, (stored, _)) in &by_key {
        insert(transaction, sink_of(schema, *key).1, stored).await?;
        count.count(*key, stored.len(), 0);
    }
    Ok(count)
}

/// Stores rows, with what they need: partitions, and that parts of a split row go which it has
/// no longer.
pub(crate) async fn insert(
    transaction: &Transaction<'_>,
    sink: &Sink,
    rows: &[&Row],
) -> Result<(), Failure> {
    partitions::make_for(transaction, sink, rows).await?;
    let is_split = sink.column_from(&ColumnSource::SplitName).is_some();
    if sink.kind == SinkKind::Mirror && is_split {
        remove(transaction, sink, rows).await?;
    }
    run(transaction, &statement::insert(sink), sink, rows).await
}

/// Takes rows away whose keys are gone, or marks them.
pub(crate) async fn remove(
    transaction: &Transaction<'_>,
    sink: &Sink,
    rows: &[&Row],
) -> Result<(), Failure> {
    run(transaction, &statement::remove(sink), sink, rows).await
}

/// Runs a statement for rows, some thousands at a time.
async fn run(
    transaction: &Transaction<'_>,
    statement: &str,
    sink: &Sink,
    rows: &[&Row],
) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let failed = |error| Failure::at(&sink.table, error);
    let statement = transaction.prepare(statement).await.map_err(failed)?;
    for rows in pieces(rows) {
        let arrays = arrays_of(sink, rows);
        let arrays: Vec<&(dyn ToSql + Sync)> =
            arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        transaction.execute(&statement, &arrays).await.map_err(failed)?;
    }
    Ok(())
}

/// Rows in pieces that a statement takes: not too many, nor too large.
fn pieces<'a, 'r>(rows: &'a [&'r Row]) -> Vec<&'a [&'r Row]> {
    let (mut pieces, mut start, mut held) = (Vec::new(), 0, 0);
    for (at, row) in rows.iter().enumerate() {
        let bytes: usize = row.iter().flatten().map(String::len).sum();
        let is_full = at - start == STATEMENT_ROWS_MAX || held + bytes > STATEMENT_BYTES_MAX;
        if is_full && at > start {
            pieces.push(&rows[start..at]);
            (start, held) = (at, 0);
        }
        held += bytes;
    }
    pieces.push(&rows[start..]);
    pieces
}

/// Rows as an array for each column.
pub(crate) fn arrays_of<'r>(sink: &Sink, rows: &[&'r Row]) -> Vec<Vec<Option<&'r str>>> {
    let column = |at: usize| rows.iter().map(|row| row[at].as_deref()).collect();
    (0..sink.columns.len()).map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_takes_neither_too_many_rows_nor_too_large_ones() {
        let row = |bytes: usize| -> Row { vec![None, Some("x".repeat(bytes))] };
        let lengths = |rows: &[Row]| -> Vec<usize> {
            let rows: Vec<&Row> = rows.iter().collect();
            pieces(&rows).iter().map(|piece| piece.len()).collect()
        };
        assert_eq!(lengths(&vec![row(1); STATEMENT_ROWS_MAX + 1]), [STATEMENT_ROWS_MAX, 1]);
        let half = STATEMENT_BYTES_MAX / 2;
        assert_eq!(lengths(&[row(half), row(half), row(1)]), [2, 1]);
        assert_eq!(lengths(&[row(1), row(2 * half), row(1)]), [1, 1, 1]);
    }
}
