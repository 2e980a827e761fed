//! Whether rows would come back to their table as they are there.
//!
//! Owns the judgement before a row is loaded: what the server would have of it is made a row of
//! the table again, and compared there. What would be another row, or none, is not loaded: the
//! next comparison of both sides would alter it in the table.

use keyward_schema::{Key, Sink};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use super::{FillError, Parts, Written};
use crate::database::DatabaseError;
use crate::entry::EntryId;
use crate::row::{Held, Origin, Row, rows_of};
use crate::statement;
use crate::store::rows::arrays_of;

/// Why each of some rows is not loaded; nothing if it is.
pub(super) async fn objections(
    transaction: &Transaction<'_>,
    (key, sink): (&Key, &Sink),
    all: &[(Parts, Written)],
) -> Result<Vec<Option<String>>, FillError> {
    let made: Vec<Result<Vec<Row>, String>> =
        all.iter().map(|(parts, written)| made_again(key, sink, parts, written)).collect();
    let together: Vec<&Row> = made.iter().flatten().flatten().collect();
    transaction.batch_execute("SAVEPOINT page").await.map_err(DatabaseError::from)?;
    let found = match compare(transaction, sink, &together).await {
        Ok(found) => found,
        Err(error) if error.code().is_some() => {
            transaction
                .batch_execute("ROLLBACK TO SAVEPOINT page")
                .await
                .map_err(DatabaseError::from)?;
            singly(transaction, sink, &together).await?
        }
        Err(error) => return Err(DatabaseError::from(error).into()),
    };
    transaction.batch_execute("RELEASE SAVEPOINT page").await.map_err(DatabaseError::from)?;
    let mut found = found.into_iter();
    let objection = |made: Result<Vec<Row>, String>| match made {
        Err(reason) => Some(reason),
        Ok(rows) => {
            let own: Vec<Option<String>> = found.by_ref().take(rows.len()).collect();
            let named = own.into_iter().flatten().next()?;
            Some(format!("{named} would not come back to {} as it is there", sink.table))
        }
    };
    Ok(made.into_iter().map(objection).collect())
}

/// What rows the table would get of what is written, or why none.
fn made_again(
    key: &Key,
    sink: &Sink,
    parts: &Parts,
    written: &Written,
) -> Result<Vec<Row>, String> {
    let held = match written {
        Written::Fields(pairs) if pairs.is_empty() => {
            return Err("a hash without fields is none".to_owned());
        }
        Written::Fields(pairs) => Held::Fields(pairs),
        Written::Text(text) => Held::Text(text),
    };
    let origin = Origin { id: EntryId::default(), item: None, again: None };
    let rows = rows_of(key, sink, &parts.name, &held, origin)
        .map_err(|unfit| format!("{} {}", unfit.column, unfit.problem))?;
    match rows.len() == parts.rows.len() {
        true => Ok(rows),
        false => Err(format!("its {} rows would come back as {}", parts.rows.len(), rows.len())),
    }
}

/// What of each row the table has otherwise; nothing where it has all of it.
async fn compare(
    transaction: &Transaction<'_>,
    sink: &Sink,
    rows: &[&Row],
) -> Result<Vec<Option<String>>, tokio_postgres::Error> {
    let arrays = arrays_of(sink, rows);
    let arrays: Vec<&(dyn ToSql + Sync)> =
        arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
    // Who is not found has another key.
    let mut found: Vec<Option<String>> = vec![Some("its key".to_owned()); rows.len()];
    for row in transaction.query(&statement::differing_columns(sink), &arrays).await? {
        let (place, named): (i64, Option<String>) = (row.get(0), row.get(1));
        let at = usize::try_from(place - 1).ok().and_then(|at| found.get_mut(at));
        if let (Some(own), Some(named)) = (at, named) {
            *own = Some(named).filter(|named| !named.is_empty());
        }
    }
    Ok(found)
}

/// The same one by one: some are no values of their columns.
async fn singly(
    transaction: &Transaction<'_>,
    sink: &Sink,
    rows: &[&Row],
) -> Result<Vec<Option<String>>, DatabaseError> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        transaction.batch_execute("SAVEPOINT one").await?;
        let end = match compare(transaction, sink, &[row]).await {
            Ok(own) => {
                found.extend(own);
                "RELEASE SAVEPOINT one"
            }
            Err(error) if error.code().is_some() => {
                found.push(Some("a value".to_owned()));
                "ROLLBACK TO SAVEPOINT one"
            }
            Err(error) => return Err(error.into()),
        };
        transaction.batch_execute(end).await?;
    }
    Ok(found)
}
