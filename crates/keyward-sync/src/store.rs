//! Storing changes: the rows of some entries and the place behind them, in one transaction.
//!
//! Owns the transaction. Invariants: the place is locked and compared before anything is
//! written, so that a second one that stores the same changes waits, and finds that it is too
//! late; rows and place are committed together, so that every entry is stored exactly once,
//! whatever ends when.
//!
//! Rows of a batch are stored by table, thousands at a time. If the database refuses that, all
//! of it is tried once more entry by entry in the order of the source: what a foreign key wants
//! is there then, the row that is refused is known, and a drained item goes to the dead letters.

use std::collections::{BTreeMap, BTreeSet};

use keyward_schema::{ColumnSource, Key, Schema, Sink, SinkKind};
use thiserror::Error;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

use crate::database::{DatabaseError, in_one_sentence};
use crate::ddl::{self, Month};
use crate::entry::EntryId;
use crate::names::name;
use crate::row::Row;
use crate::statement;

/// The most rows that one statement stores.
const STATEMENT_ROWS_MAX: usize = 5_000;

/// Why changes were not stored.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The database cannot be used, for now.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The database refuses a row.
    #[error("{table}: the row of {key} (entry {entry}) is refused: {reason}")]
    Refused {
        /// The table.
        table: Box<str>,
        /// The key, or its pattern if its name is secret.
        key: String,
        /// The entry.
        entry: EntryId,
        /// What the database says.
        reason: String,
    },
    /// Somebody else has stored changes meanwhile.
    #[error("somebody else stores the same changes")]
    Moved,
}

/// Up to where changes are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The entry that began the epoch; none at first.
    pub epoch: EntryId,
    /// The last entry that is stored.
    pub entry: EntryId,
}

/// What is done to a table.
#[derive(Clone, Debug)]
pub struct Change {
    /// The entry that tells it.
    pub id: EntryId,
    /// The key of the schema whose sink it is, by index.
    pub key: usize,
    /// The name of the row's key.
    pub name: Vec<u8>,
    /// What.
    pub what: What,
    /// The item as it was pushed, where it is one.
    pub item: Option<Vec<u8>>,
}

/// What is done to a table.
#[derive(Clone, Debug)]
pub enum What {
    /// These rows are stored.
    Store(Vec<Row>),
    /// The row of this key is gone.
    Remove(Row),
    /// It cannot be stored as what it is.
    Unfit(String),
}

/// What a server lost, and the database has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The entry that says so.
    pub epoch: EntryId,
    /// The last entry that the server still had.
    pub lost_after: EntryId,
}

/// Changes that are stored together.
#[derive(Debug, Default)]
pub struct Batch {
    /// In the order of the source.
    pub changes: Vec<Change>,
    /// Beginnings of epochs among them.
    pub forks: Vec<Fork>,
    /// The place behind them.
    pub place: Place,
}

/// What came of storing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Rows that were stored.
    pub rows: usize,
    /// Items that were refused.
    pub dead_letters: usize,
}

/// The place of a keyspace.
///
/// # Errors
/// If the database cannot be asked.
pub async fn place(client: &Client, keyspace: &str) -> Result<Place, DatabaseError> {
    let query = "SELECT epoch, entry FROM keyward_place WHERE keyspace = $1";
    let row = client.query_opt(query, &[&keyspace]).await?;
    Ok(row.map_or(Place::default(), |row| place_of(row.get(0), row.get(1))))
}

fn place_of(epoch: &str, entry: &str) -> Place {
    let id = |text: &str| EntryId::parse(text.as_bytes()).unwrap_or_default();
    Place { epoch: id(epoch), entry: id(entry) }
}

/// Stores a batch behind a place.
///
/// # Errors
/// If nothing of it was stored, and why.
pub async fn store(
    client: &mut Client,
    schema: &Schema,
    from: Place,
    batch: &Batch,
) -> Result<Stored, StoreError> {
    let unfit = batch.changes.iter().any(|change| matches!(change.what, What::Unfit(_)));
    if !unfit {
        match attempt(client, schema, from, batch, Manner::Together).await {
            Err(Failure::Refused(_)) => {}
            Err(Failure::Store(error)) => return Err(error),
            Ok(stored) => return Ok(stored),
        }
    }
    match attempt(client, schema, from, batch, Manner::Singly).await {
        Ok(stored) => Ok(stored),
        Err(Failure::Store(error)) => Err(error),
        Err(Failure::Refused(reason)) => Err(DatabaseError::Statement(reason).into()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Together,
    Singly,
}

enum Failure {
    Store(StoreError),
    /// The database refuses something of it.
    Refused(String),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Failure {
        match is_refusal(&error) {
            true => Failure::Refused(in_one_sentence(&error)),
            false => Failure::Store(DatabaseError::from(error).into()),
        }
    }
}

/// Whether an error is about what was to be stored: data that do not fit (22), a constraint
/// (23), or something that is not there or may not be done (42).
fn is_refusal(error: &tokio_postgres::Error) -> bool {
    let class = error.code().and_then(|code| code.code().get(..2));
    matches!(class, Some("22" | "23" | "42"))
}

async fn attempt(
    client: &mut Client,
    schema: &Schema,
    from: Place,
    batch: &Batch,
    manner: Manner,
) -> Result<Stored, Failure> {
    let keyspace = &*schema.keyspace.name;
    let transaction = client.transaction().await?;
    lock(&transaction, keyspace, from).await?;
    make_partitions(&transaction, schema, batch).await?;
    let stored = match manner {
        Manner::Together => store_together(&transaction, schema, batch).await?,
        Manner::Singly => store_singly(&transaction, schema, batch).await?,
    };
    for fork in batch.forks.iter().filter(|fork| from.entry > fork.lost_after) {
        let insert = "INSERT INTO keyward_forks (keyspace, epoch, lost_after, lost_to) \
                      VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        let (epoch, after) = (fork.epoch.to_string(), fork.lost_after.to_string());
        let to = from.entry.to_string();
        transaction.execute(insert, &[&keyspace, &epoch, &after, &to]).await?;
    }
    let update = "UPDATE keyward_place SET epoch = $2, entry = $3, stored_at = now() \
                  WHERE keyspace = $1";
    let (epoch, entry) = (batch.place.epoch.to_string(), batch.place.entry.to_string());
    transaction.execute(update, &[&keyspace, &epoch, &entry]).await?;
    transaction.commit().await?;
    Ok(stored)
}

/// Locks the place, and compares it.
async fn lock(transaction: &Transaction<'_>, keyspace: &str, from: Place) -> Result<(), Failure> {
    match lock_place(transaction, keyspace).await.map_err(StoreError::from)? == from {
        true => Ok(()),
        false => Err(StoreError::Moved.into()),
    }
}

/// Locks the place of a keyspace until the end of a transaction: nobody stores its changes
/// meanwhile.
pub(crate) async fn lock_place(
    transaction: &Transaction<'_>,
    keyspace: &str,
) -> Result<Place, DatabaseError> {
    let insert = "INSERT INTO keyward_place (keyspace, epoch, entry) \
                  VALUES ($1, '0-0', '0-0') ON CONFLICT DO NOTHING";
    transaction.execute(insert, &[&keyspace]).await?;
    let query = "SELECT epoch, entry FROM keyward_place WHERE keyspace = $1 FOR UPDATE";
    let row = transaction.query_one(query, &[&keyspace]).await?;
    Ok(place_of(row.get(0), row.get(1)))
}

/// The sink of a key of the schema.
fn sink_of(schema: &Schema, key: usize) -> (&Key, &Sink) {
    let key = &schema.keys[key];
    (key, key.sink.as_ref().expect("changes are of keys with a sink"))
}

/// Rows of a month need a partition.
async fn make_partitions(
    transaction: &Transaction<'_>,
    schema: &Schema,
    batch: &Batch,
) -> Result<(), Failure> {
    let mut wanted: BTreeSet<(usize, Month)> = BTreeSet::new();
    for change in &batch.changes {
        let (_, sink) = sink_of(schema, change.key);
        let (Some(column), What::Store(rows)) = (sink.partitioned_by(), &change.what) else {
            continue;
        };
        let months = rows.iter().filter_map(|row| Month::parse(row[column].as_deref()?));
        wanted.extend(months.map(|month| (change.key, month)));
    }
    for (key, month) in wanted {
        let (_, sink) = sink_of(schema, key);
        let partition = ddl::partition_name(sink, month);
        let quoted: Vec<String> = partition.split('.').map(|part| format!("\"{part}\"")).collect();
        let exists = transaction
            .query_one("SELECT to_regclass($1) IS NOT NULL", &[&quoted.join(".")])
            .await?;
        if !exists.get::<_, bool>(0) {
            transaction.batch_execute(&ddl::create_partition(sink, month)).await?;
        }
    }
    Ok(())
}

/// Rows of each table at once, in the order in which tables first occur.
async fn store_together(
    transaction: &Transaction<'_>,
    schema: &Schema,
    batch: &Batch,
) -> Result<Stored, Failure> {
    let mut order: Vec<usize> = Vec::new();
    let mut by_key: BTreeMap<usize, (Vec<&Row>, Vec<&Row>)> = BTreeMap::new();
    for change in &batch.changes {
        if !order.contains(&change.key) {
            order.push(change.key);
        }
        let (stored, removed) = by_key.entry(change.key).or_default();
        match &change.what {
            What::Store(rows) => stored.extend(rows),
            What::Remove(row) => removed.push(row),
            What::Unfit(_) => {}
        }
    }
    let mut count = 0;
    for key in order {
        let (_, sink) = sink_of(schema, key);
        let (stored, removed) = &by_key[&key];
        run(transaction, &statement::remove(sink), sink, removed).await?;
        replace_splits(transaction, sink, stored).await?;
        run(transaction, &statement::insert(sink), sink, stored).await?;
        count += stored.len();
    }
    Ok(Stored { rows: count, dead_letters: 0 })
}

/// A mirrored row that is split may have had parts that it has no longer.
async fn replace_splits(
    transaction: &Transaction<'_>,
    sink: &Sink,
    rows: &[&Row],
) -> Result<(), Failure> {
    let is_split = sink.column_from(&ColumnSource::SplitName).is_some();
    if sink.kind == SinkKind::Mirror && is_split {
        run(transaction, &statement::remove(sink), sink, rows).await?;
    }
    Ok(())
}

/// Entry by entry, in their order.
async fn store_singly(
    transaction: &Transaction<'_>,
    schema: &Schema,
    batch: &Batch,
) -> Result<Stored, Failure> {
    let mut stored = Stored::default();
    for change in &batch.changes {
        transaction.batch_execute("SAVEPOINT change").await?;
        let (key, sink) = sink_of(schema, change.key);
        let outcome = match &change.what {
            What::Unfit(reason) => Err(Failure::Refused(reason.clone())),
            What::Remove(row) => run(transaction, &statement::remove(sink), sink, &[row]).await,
            What::Store(rows) => {
                let rows: Vec<&Row> = rows.iter().collect();
                stored.rows += rows.len();
                match replace_splits(transaction, sink, &rows).await {
                    Ok(()) => run(transaction, &statement::insert(sink), sink, &rows).await,
                    Err(failure) => Err(failure),
                }
            }
        };
        let reason = match outcome {
            Ok(()) => {
                transaction.batch_execute("RELEASE SAVEPOINT change").await?;
                continue;
            }
            Err(Failure::Store(error)) => return Err(error.into()),
            Err(Failure::Refused(reason)) => reason,
        };
        let Some(item) = change.item.as_ref().filter(|_| sink.kind == SinkKind::Drain) else {
            return Err(refused(key, sink, change, reason).into());
        };
        transaction.batch_execute("ROLLBACK TO SAVEPOINT change").await?;
        bury(transaction, schema, sink, change, item, &reason, stored.dead_letters).await?;
        stored.dead_letters += 1;
    }
    stored.rows = stored.rows.saturating_sub(stored.dead_letters);
    Ok(stored)
}

fn refused(key: &Key, sink: &Sink, change: &Change, reason: String) -> StoreError {
    let shown = match key.secret_placeholders.is_empty() {
        true => change.name.escape_ascii().to_string(),
        false => key.pattern.text().to_owned(),
    };
    StoreError::Refused { table: sink.table.clone(), key: shown, entry: change.id, reason }
}

/// Puts an item to the dead letters.
async fn bury(
    transaction: &Transaction<'_>,
    schema: &Schema,
    sink: &Sink,
    change: &Change,
    item: &[u8],
    reason: &str,
    number: usize,
) -> Result<(), Failure> {
    let insert = "INSERT INTO keyward_dead_letters \
                  (keyspace, entry, table_name, key, item, reason) VALUES ($1, $2, $3, $4, $5, $6)";
    let entry = format!("{}-{number}", change.id);
    let key = String::from_utf8_lossy(&change.name).replace('\0', "");
    let keyspace = &*schema.keyspace.name;
    let values: [&(dyn ToSql + Sync); 6] = [&keyspace, &entry, &&*sink.table, &key, &item, &reason];
    transaction.execute(insert, &values).await?;
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
    let statement = transaction.prepare(statement).await?;
    for rows in rows.chunks(STATEMENT_ROWS_MAX) {
        let arrays: Vec<Vec<Option<&str>>> = (0..sink.columns.len())
            .map(|column| rows.iter().map(|row| row[column].as_deref()).collect())
            .collect();
        let arrays: Vec<&(dyn ToSql + Sync)> =
            arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        transaction.execute(&statement, &arrays).await?;
    }
    Ok(())
}

/// Lets rows go that are older than their tables keep them; how many went, partitions apart.
///
/// # Errors
/// If the database cannot be asked.
pub async fn retain(client: &Client, schema: &Schema, now_ms: u64) -> Result<u64, DatabaseError> {
    let mut gone = 0;
    for (_, sink) in ddl::sinks(schema) {
        let Some(retain) = sink.retain else { continue };
        let oldest_ms = now_ms.saturating_sub(retain.as_ms());
        let oldest = crate::row::time_text(oldest_ms);
        let table = name(&sink.table);
        if let Some(column) = sink.partitioned_by() {
            let first = Month::of_time(i64::try_from(oldest_ms).unwrap_or(i64::MAX)).first_day();
            let column = name(&sink.columns[column].name);
            let delete = format!("DELETE FROM {table} WHERE {column} < $1::text::date");
            gone += client.execute(&delete, &[&first]).await?;
        } else if let Some(column) = sink.column_from(&ColumnSource::Time) {
            let column = name(&sink.columns[column].name);
            let delete = format!("DELETE FROM {table} WHERE {column} < $1::text::timestamptz");
            gone += client.execute(&delete, &[&oldest]).await?;
        }
    }
    Ok(gone)
}
