//! Partitions of tables by month.
//!
//! Owns how one is made: as a table of its own that is attached then, for which nobody waits who
//! reads or writes the table meanwhile, as everybody would for `CREATE TABLE … PARTITION OF`.
//! Invariant: none is made for a month of which some partition takes rows, whatever it is called,
//! or where there is one for all other rows.

use std::collections::BTreeSet;

use keyward_schema::{Schema, Sink};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Transaction};

use crate::database::{DatabaseError, in_one_sentence};
use crate::ddl::{self, Month};
use crate::names::name;
use crate::row::Row;
use crate::store::StoreError;
use crate::store::failure::{Failure, unwritable};

/// How many months are made ahead of need, with this one.
const MONTHS_AHEAD: i32 = 2;

/// Whether a partition of the first value takes rows from the second up to the third, and whether
/// there is a table of the name that is the fourth. A partition for all other rows has no bounds.
const LOOK: &str = "SELECT EXISTS (SELECT 1 FROM pg_inherits i \
    JOIN pg_class c ON c.oid = i.inhrelid, \
    LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS text) AS bound, \
    LATERAL (SELECT substring(bound.text FROM 'FROM \\(''([^'']+)''\\)')::date AS first, \
                    substring(bound.text FROM ' TO \\(''([^'']+)''\\)')::date AS next) AS months \
    WHERE i.inhparent = to_regclass($1) \
    AND (first IS NULL OR first < $3::text::date) AND (next IS NULL OR next > $2::text::date)), \
    to_regclass($4) IS NOT NULL";

/// Makes the partitions that rows need.
pub(crate) async fn make_for(
    transaction: &Transaction<'_>,
    sink: &Sink,
    rows: &[&Row],
) -> Result<(), Failure> {
    let Some(column) = sink.partitioned_by() else { return Ok(()) };
    let months = rows.iter().filter_map(|row| Month::parse(row[column].as_deref()?));
    for month in months.collect::<BTreeSet<Month>>() {
        make(transaction, sink, month).await?;
    }
    Ok(())
}

/// Makes the partitions of this month and the next ones, which rows will need; what could not be
/// made, a sentence each.
///
/// # Errors
/// If the database cannot be used.
pub async fn make_ahead(
    client: &mut Client,
    schema: &Schema,
    now_ms: u64,
) -> Result<Vec<String>, StoreError> {
    let mut failed = Vec::new();
    let first = Month::of_time(i64::try_from(now_ms).unwrap_or(i64::MAX));
    for (_, sink) in ddl::sinks(schema).filter(|(_, sink)| sink.partitioned_by().is_some()) {
        let transaction = client.transaction().await.map_err(DatabaseError::from)?;
        let mut outcome = Ok(());
        for month in (0..MONTHS_AHEAD).map(|months| first.plus(months)) {
            if outcome.is_ok() {
                outcome = make(&transaction, sink, month).await;
            }
        }
        match outcome.map_err(Failure::into_error) {
            Ok(()) => transaction.commit().await.map_err(DatabaseError::from)?,
            Err(error @ StoreError::Unwritable { .. }) => failed.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(failed)
}

/// Makes the partition of a month, unless there is one that takes its rows.
async fn make(transaction: &Transaction<'_>, sink: &Sink, month: Month) -> Result<(), Failure> {
    let partition = ddl::partition_name(sink, month);
    let (table, own) = (ddl::quoted(&sink.table), ddl::quoted(&partition));
    let (first, next) = (month.first_day(), month.next().first_day());
    let looked = transaction.query_one(LOOK, &[&table, &first, &next, &own]).await;
    // A month of the year 0 is none to PostgreSQL: it is its row's fault.
    let looked = looked.map_err(|error| Failure::at(&sink.table, error))?;
    let (is_there, is_taken): (bool, bool) = (looked.get(0), looked.get(1));
    if is_there {
        return Ok(());
    }
    let attach = format!(
        "ALTER TABLE {} ATTACH PARTITION {} FOR VALUES FROM ('{first}') TO ('{next}')",
        name(&sink.table),
        name(&partition)
    );
    if is_taken {
        let reason = format!(
            "there is a table {partition} that is none of its partitions, where rows of {month} \
             belong: give it another name, or attach it ({attach})"
        );
        return Err(StoreError::Unwritable { table: sink.table.clone(), reason }.into());
    }
    // A partition has the identity columns of its table by itself from PostgreSQL 17 on, which takes
    // none that has its own; before, it has none.
    let create = format!(
        "CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING IDENTITY)",
        name(&partition),
        name(&sink.table)
    );
    let made = transaction.batch_execute(&format!("{create}; {attach}")).await;
    made.map_err(|error| match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            let reason = format!(
                "the user may not make the partition {partition}, for which it has to own {} and \
                 needs CREATE on its schema: {} (SQLSTATE 42501)",
                sink.table,
                in_one_sentence(&error)
            );
            StoreError::Unwritable { table: sink.table.clone(), reason }.into()
        }
        _ => Failure::Store(unwritable(&sink.table, &error)),
    })
}
