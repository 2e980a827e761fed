//! What is noted in the database about loading: which tables are not loaded yet, and which rows
//! could not be.

use keyward_schema::{Schema, Sink};
use tokio_postgres::{Client, Transaction};

use super::{FillError, mirrors};
use crate::database::DatabaseError;
use crate::inspection::lacks_of_own;
use crate::store;

/// Notes that tables are being loaded, before anything is. A comparison that has begun ends
/// before; none begins until they are.
pub(super) async fn begin(client: &mut Client, schema: &Schema) -> Result<(), FillError> {
    if let Some(lacking) = lacks_of_own(client).await? {
        let text =
            format!("the database lacks what is noted in it ({lacking}); see keyward sql --check");
        return Err(FillError::Unfit(text));
    }
    let keyspace = &*schema.keyspace.name;
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    let locked = store::lock_place(&transaction, keyspace).await;
    locked.map_err(|error| match error {
        store::StoreError::Database(error) => error,
        other => DatabaseError::Statement(other.to_string()),
    })?;
    for (_, sink) in mirrors(schema) {
        let insert = "INSERT INTO keyward_loading (keyspace, table_name) VALUES ($1, $2) \
                      ON CONFLICT DO NOTHING";
        let noted = transaction.execute(insert, &[&keyspace, &&*sink.table]).await;
        noted.map_err(DatabaseError::from)?;
    }
    Ok(transaction.commit().await.map_err(DatabaseError::from)?)
}

/// Forgets what was noted of the rows of a table, which are gone through once more.
pub(super) async fn forget(
    transaction: &Transaction<'_>,
    keyspace: &str,
    sink: &Sink,
) -> Result<(), DatabaseError> {
    let delete = "DELETE FROM keyward_unloaded WHERE keyspace = $1 AND table_name = $2";
    transaction.execute(delete, &[&keyspace, &&*sink.table]).await?;
    Ok(())
}

/// Notes a row that was not loaded, by the values that name it.
pub(super) async fn refused(
    transaction: &Transaction<'_>,
    keyspace: &str,
    sink: &Sink,
    named: &[String],
    reason: &str,
) -> Result<(), DatabaseError> {
    let insert = "INSERT INTO keyward_unloaded (keyspace, table_name, key, reason) \
                  VALUES ($1, $2, $3, $4)";
    transaction.execute(insert, &[&keyspace, &&*sink.table, &named, &reason]).await?;
    Ok(())
}

/// Notes that a table is loaded.
pub(super) async fn end(
    transaction: &Transaction<'_>,
    keyspace: &str,
    sink: &Sink,
) -> Result<(), DatabaseError> {
    let delete = "DELETE FROM keyward_loading WHERE keyspace = $1 AND table_name = $2";
    transaction.execute(delete, &[&keyspace, &&*sink.table]).await?;
    Ok(())
}
