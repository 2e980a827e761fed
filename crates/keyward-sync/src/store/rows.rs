//! The rows of a batch, table by table or entry by entry.

use std::collections::{BTreeMap, BTreeSet};

use keyward_schema::{ColumnSource, Key, Schema, Sink, SinkKind};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use crate::ddl::{self, Month};
use crate::row::{Row, is_discreet};
use crate::statement;
use crate::store::failure::{Failure, Reason};
use crate::store::{Batch, Change, StoreError, Stored, What, dead_letters, sink_of};

/// The most rows that one statement stores.
const STATEMENT_ROWS_MAX: usize = 5_000;

/// Has constraints that can be deferred wait.
pub(crate) const DEFER: &str = "SET CONSTRAINTS ALL DEFERRED";
/// Has them judged at once, also what came before.
const JUDGE: &str = "SET CONSTRAINTS ALL IMMEDIATE";

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

/// Change by change, unit by unit; within a unit in the order of the schema, and drained items
/// last, of which each is judged by itself.
pub(super) async fn store_singly(
    transaction: &Transaction<'_>,
    schema: &Schema,
    batch: &Batch,
) -> Result<Stored, Failure> {
    let mut stored = Stored::default();
    let is_drained = |change: &Change| sink_of(schema, change.key).1.kind == SinkKind::Drain;
    for unit in batch.changes.chunk_by(|one, next| one.id.ms == next.id.ms) {
        let (mut drained, mut others): (Vec<&Change>, Vec<&Change>) =
            unit.iter().partition(|change| is_drained(change));
        others.sort_by_key(|change| match change.what {
            What::Remove(_) => (0, usize::MAX - change.key),
            _ => (1, change.key),
        });
        drained.sort_by_key(|change| change.key);
        transaction.batch_execute(DEFER).await?;
        store_each(transaction, schema, &others, &mut stored).await?;
        judge(transaction, schema, &others).await?;
        store_each(transaction, schema, &drained, &mut stored).await?;
    }
    Ok(stored)
}

/// Has the constraints judge what a unit has done.
async fn judge(
    transaction: &Transaction<'_>,
    schema: &Schema,
    changes: &[&Change],
) -> Result<(), Failure> {
    let Err(error) = transaction.batch_execute(JUDGE).await else { return Ok(()) };
    let table = error.as_db_error().and_then(|error| error.table()).unwrap_or_default().to_owned();
    let of_table = |change: &&&Change| ddl::short_name(sink_of(schema, change.key).1) == table;
    let Some(change) = changes.iter().find(of_table) else { return Err(error.into()) };
    let (key, sink) = sink_of(schema, change.key);
    match Failure::at(&sink.table, error) {
        Failure::Refused(reason) => {
            let reason = if is_discreet(key) { reason.discreet } else { reason.plain };
            Err(refused(key, sink, change, reason).into())
        }
        failure => Err(failure),
    }
}

/// Stores changes one by one; a drained item that is refused goes to the dead letters, and so does
/// an item or an ended row that the table can never hold. A key that it can never hold is not there
/// to be taken away.
async fn store_each(
    transaction: &Transaction<'_>,
    schema: &Schema,
    changes: &[&Change],
    stored: &mut Stored,
) -> Result<(), Failure> {
    for change in changes {
        let (key, sink) = sink_of(schema, change.key);
        transaction.batch_execute("SAVEPOINT change").await?;
        let reason = match store_one(transaction, sink, &change.what).await {
            Ok(rows) => {
                stored.count(change.key, rows, 0);
                transaction.batch_execute("RELEASE SAVEPOINT change").await?;
                continue;
            }
            Err(Failure::Refused(reason)) => reason,
            Err(failure) => return Err(failure),
        };
        let is_unfit = reason.is_unfit;
        if is_unfit && matches!(change.what, What::Remove(_)) {
            transaction.batch_execute("ROLLBACK TO SAVEPOINT change").await?;
            continue;
        }
        let reason = if is_discreet(key) { reason.discreet } else { reason.plain };
        let is_letter = sink.kind == SinkKind::Drain || is_unfit;
        let item = change.item.as_ref().filter(|_| is_letter);
        let Some((number, item)) = item else {
            return Err(refused(key, sink, change, reason).into());
        };
        transaction.batch_execute("ROLLBACK TO SAVEPOINT change").await?;
        let keyspace = &*schema.keyspace.name;
        let item = crate::row::masked(key, Some(sink), item);
        let letter = dead_letters::Letter {
            entry: format!("{}-{number}", change.id),
            table: &sink.table,
            key: &change.name,
            item: &item,
            reason: &reason,
        };
        dead_letters::bury(transaction, keyspace, &letter).await?;
        stored.count(change.key, 0, 1);
    }
    Ok(())
}

/// What one change does to its table; how many rows it stores.
pub(crate) async fn store_one(
    transaction: &Transaction<'_>,
    sink: &Sink,
    what: &What,
) -> Result<usize, Failure> {
    match what {
        What::Unfit(reason) => Err(Failure::Refused(Reason::of(reason))),
        What::Remove(row) => remove(transaction, sink, &[row]).await.map(|()| 0),
        What::Store(rows) => {
            let rows: Vec<&Row> = rows.iter().collect();
            insert(transaction, sink, &rows).await.map(|()| rows.len())
        }
    }
}

/// That the row of a change is refused.
pub(crate) fn refused(key: &Key, sink: &Sink, change: &Change, reason: String) -> StoreError {
    let shown = super::shown_name(key, &change.name);
    StoreError::Refused { table: sink.table.clone(), key: shown, entry: change.id, reason }
}

/// Stores rows, with what they need: partitions, and that parts of a split row go which it has
/// no longer.
pub(crate) async fn insert(
    transaction: &Transaction<'_>,
    sink: &Sink,
    rows: &[&Row],
) -> Result<(), Failure> {
    make_partitions(transaction, sink, rows).await?;
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

/// Rows of a month need a partition.
async fn make_partitions(
    transaction: &Transaction<'_>,
    sink: &Sink,
    rows: &[&Row],
) -> Result<(), Failure> {
    let Some(column) = sink.partitioned_by() else { return Ok(()) };
    let months = rows.iter().filter_map(|row| Month::parse(row[column].as_deref()?));
    for month in months.collect::<BTreeSet<Month>>() {
        let partition = ddl::partition_name(sink, month);
        let quoted: Vec<String> = partition.split('.').map(|part| format!("\"{part}\"")).collect();
        let exists = transaction
            .query_one("SELECT to_regclass($1) IS NOT NULL", &[&quoted.join(".")])
            .await?;
        if !exists.get::<_, bool>(0) {
            let made = transaction.batch_execute(&ddl::create_partition(sink, month)).await;
            made.map_err(|error| Failure::at(&sink.table, error))?;
        }
    }
    Ok(())
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
    for rows in rows.chunks(STATEMENT_ROWS_MAX) {
        let arrays = arrays_of(sink, rows);
        let arrays: Vec<&(dyn ToSql + Sync)> =
            arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        transaction.execute(&statement, &arrays).await.map_err(failed)?;
    }
    Ok(())
}

/// Rows as an array for each column.
pub(crate) fn arrays_of<'r>(sink: &Sink, rows: &[&'r Row]) -> Vec<Vec<Option<&'r str>>> {
    let column = |at: usize| rows.iter().map(|row| row[at].as_deref()).collect();
    (0..sink.columns.len()).map(column).collect()
}
