//! Storing changes: the rows of some entries and the place behind them, in one transaction.
//!
//! Owns the transaction. Invariants: the place is locked and compared before anything is
//! written, so that a second one that stores the same changes waits, and finds that it is too
//! late; rows and place are committed together, so that every entry is stored exactly once,
//! whatever ends when.
//!
//! Rows of a batch are stored by table, thousands at a time ([`rows`]), in the order of the schema:
//! a table that others refer to is declared before them. If the database refuses that ([`failure`]
//! tells what is a row's fault and what is not), all of it is tried once more in ever smaller parts
//! ([`apart`]), so that the row that is refused is known and a drained item goes to the
//! [`dead_letters`]. Constraints that can be deferred are judged behind all rows of a batch: it may
//! swap values that are unique.

pub(crate) mod apart;
pub mod dead_letters;
mod failure;
mod partitions;
pub mod resending;
mod retention;
pub(crate) mod rows;

use std::collections::BTreeMap;

use keyward_schema::{Key, Schema, Sink, SinkKind};
use thiserror::Error;
use tokio_postgres::{Client, Transaction};

use crate::database::DatabaseError;
use crate::entry::EntryId;
use crate::history::{Former, Look, Place, Switch, UNCOUNTED};
use crate::row::Row;
use dead_letters::Letter;
pub(crate) use failure::{Failure, Reason};
pub use partitions::make_ahead;
pub use retention::{Retained, retain};

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
    /// The database refuses a row since another one is in its way, or lacking.
    #[error("{table}: the row of {key} (entry {entry}) is refused: {reason}")]
    Conflict {
        /// The table.
        table: Box<str>,
        /// The key, or its pattern if its name is secret.
        key: String,
        /// The entry.
        entry: EntryId,
        /// What the database says.
        reason: String,
    },
    /// A table cannot be written, whatever the row: the disk is full, it is locked, nobody may.
    #[error("{table}: cannot be written now, so nothing is stored: {reason}")]
    Unwritable {
        /// The table.
        table: Box<str>,
        /// What the database says, and its code.
        reason: String,
    },
    /// Somebody else has stored changes meanwhile.
    #[error("somebody else stores the same changes")]
    Moved,
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
    /// The item as it was pushed, or the row that ended, as JSON, and which of its entry; nothing of
    /// a mirrored row, which the server has.
    pub item: Option<(usize, Vec<u8>)>,
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

/// Something that came from a sink which the schema has no longer.
#[derive(Clone, Debug)]
pub struct Orphan {
    /// The entry that tells it.
    pub id: EntryId,
    /// The kind of sink that it had.
    pub kind: SinkKind,
    /// The key.
    pub name: Vec<u8>,
    /// What it was: an item, or the fields of a row as JSON.
    pub item: Vec<u8>,
    /// Which of its entry.
    pub number: usize,
    /// Whether nobody knows if it is an item of a list, or what an entry of a stream has as its
    /// field `item`.
    pub is_bare: bool,
}

/// Changes that are stored together.
#[derive(Debug, Default)]
pub struct Batch {
    /// In the order of the source.
    pub changes: Vec<Change>,
    /// What no sink takes.
    pub orphans: Vec<Orphan>,
    /// The place behind them.
    pub place: Place,
}

/// What came of storing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Rows that were stored.
    pub rows: usize,
    /// Items that were refused.
    pub dead_letters: usize,
    /// Both for each key of the schema, by index; what no sink takes is of none.
    pub by_key: BTreeMap<usize, (usize, usize)>,
}

impl Stored {
    /// Counts rows and refused items of a key.
    fn count(&mut self, key: usize, rows: usize, dead_letters: usize) {
        self.rows += rows;
        self.dead_letters += dead_letters;
        let own = self.by_key.entry(key).or_default();
        *own = (own.0 + rows, own.1 + dead_letters);
    }

    /// Counts what others have counted.
    pub(crate) fn add(&mut self, other: Stored) {
        for (key, (rows, dead_letters)) in other.by_key {
            self.count(key, rows, dead_letters);
        }
    }

    /// Takes rows of a key back that others will count.
    pub(crate) fn uncount(&mut self, key: usize, rows: usize) {
        self.rows = self.rows.saturating_sub(rows);
        let own = self.by_key.entry(key).or_default();
        own.0 = own.0.saturating_sub(rows);
    }
}

/// The place of a keyspace, and what was stored of former histories.
///
/// # Errors
/// If the database cannot be asked.
pub async fn place(client: &Client, keyspace: &str) -> Result<(Place, Vec<Former>), DatabaseError> {
    let query = "SELECT history, entry, highest, compares, number, looked_history, looked_to \
                 FROM keyward_place \
                 WHERE keyspace = $1";
    let row = client.query_opt(query, &[&keyspace]).await?;
    let former = "SELECT history, stored_to, number FROM keyward_histories WHERE keyspace = $1";
    let former = client.query(former, &[&keyspace]).await?;
    let former = former.iter().map(|row| Former {
        history: row.get(0),
        entry: id_of(row.get(1)),
        number: number_of(row.get(2)),
    });
    let former = former.collect();
    Ok((row.map_or(Place::default(), |row| place_of(&row)), former))
}

fn id_of(text: &str) -> EntryId {
    EntryId::parse(text.as_bytes()).unwrap_or_default()
}

/// A count as the database has it; a negative one is not known.
fn number_of(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(UNCOUNTED)
}

/// A count as the database is to have it.
fn stored_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(-1)
}

/// Notes how many entries came before the place, in a database of a version that did not count.
///
/// # Errors
/// If the database cannot be used, or somebody else has stored changes meanwhile.
pub(crate) async fn count(
    client: &mut Client,
    keyspace: &str,
    from: &Place,
    number: u64,
) -> Result<Place, StoreError> {
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    lock(&transaction, keyspace, from).await.map_err(Failure::into_error)?;
    let place = Place { number, ..from.clone() };
    set_place(&transaction, keyspace, &place).await.map_err(DatabaseError::from)?;
    transaction.commit().await.map_err(DatabaseError::from)?;
    Ok(place)
}

fn place_of(row: &tokio_postgres::Row) -> Place {
    let [entry, highest] = [1, 2].map(|at| id_of(row.get(at)));
    let (history, number) = (row.get(0), number_of(row.get(4)));
    let looked = Look { history: row.get(5), entry: id_of(row.get(6)) };
    Place { history, entry, number, highest, compares: row.get(3), looked }
}

/// Stores a batch behind a place.
///
/// # Errors
/// If nothing of it was stored, and why.
pub async fn store(
    client: &mut Client,
    schema: &Schema,
    from: &Place,
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
    match attempt(client, schema, from, batch, Manner::Apart).await {
        Ok(stored) => Ok(stored),
        Err(Failure::Store(error)) => Err(error),
        Err(Failure::Refused(reason)) => Err(DatabaseError::Statement(reason.discreet).into()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Together,
    Apart,
}

async fn attempt(
    client: &mut Client,
    schema: &Schema,
    from: &Place,
    batch: &Batch,
    manner: Manner,
) -> Result<Stored, Failure> {
    let keyspace = &*schema.keyspace.name;
    let transaction = client.transaction().await?;
    lock(&transaction, keyspace, from).await?;
    let mut stored = match manner {
        Manner::Together => rows::store_together(&transaction, schema, batch).await?,
        Manner::Apart => apart::store(&transaction, schema, batch).await?,
    };
    let orphans: Vec<Letter> = batch.orphans.iter().map(Letter::of_orphan).collect();
    dead_letters::bury(&transaction, keyspace, &orphans).await?;
    stored.dead_letters += batch.orphans.len();
    set_place(&transaction, keyspace, &batch.place).await?;
    // What a constraint that is deferred has against it is found out here.
    transaction.commit().await.map_err(|error| Failure::at("the tables", error))?;
    Ok(stored)
}

async fn set_place(
    transaction: &Transaction<'_>,
    keyspace: &str,
    place: &Place,
) -> Result<(), tokio_postgres::Error> {
    let update = "UPDATE keyward_place SET history = $2, entry = $3, highest = $4, \
                  compares = $5, number = $6, looked_history = $7, looked_to = $8, \
                  stored_at = now() WHERE keyspace = $1";
    let (number, looked) = (stored_number(place.number), &place.looked);
    let [entry, highest, looked_to] =
        [place.entry, place.highest, looked.entry].map(|id| id.to_string());
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 8] = [
        &keyspace,
        &place.history,
        &entry,
        &highest,
        &place.compares,
        &number,
        &looked.history,
        &looked_to,
    ];
    transaction.execute(update, &values).await.map(drop)
}

/// Goes over to another history; what was stored of the one before stays known.
///
/// # Errors
/// If the database cannot be used, or somebody else has stored changes meanwhile.
pub async fn switch(
    client: &mut Client,
    keyspace: &str,
    from: &Place,
    switch: &Switch,
) -> Result<(), StoreError> {
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    lock(&transaction, keyspace, from).await.map_err(Failure::into_error)?;
    let outcome = async {
        if !from.history.is_empty() {
            let insert = "INSERT INTO keyward_histories (keyspace, history, stored_to, number) \
                          VALUES ($1, $2, $3, $4) ON CONFLICT (keyspace, history) \
                          DO UPDATE SET stored_to = EXCLUDED.stored_to, \
                          number = EXCLUDED.number, left_at = now()";
            let stored_to = from.entry.to_string();
            let number = stored_number(from.number);
            let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&keyspace, &from.history, &stored_to, &number];
            transaction.execute(insert, &values).await?;
        }
        if switch.returns {
            // What lists have is looked for once more.
            let forget = "DELETE FROM keyward_fills WHERE keyspace = $1";
            transaction.execute(forget, &[&keyspace]).await?;
        }
        if let Some((after, to)) = switch.lost {
            let insert = "INSERT INTO keyward_forks \
                          (keyspace, history, lost_history, lost_after, lost_to) \
                          VALUES ($1, $2, $3, $4, $5)";
            let [after, to] = [after, to].map(|id| id.to_string());
            let (history, lost) = (&switch.to.history, &from.history);
            transaction.execute(insert, &[&keyspace, history, lost, &after, &to]).await?;
        }
        set_place(&transaction, keyspace, &switch.to).await
    };
    outcome.await.map_err(DatabaseError::from)?;
    Ok(transaction.commit().await.map_err(DatabaseError::from)?)
}

/// Locks the place, and compares it.
pub(crate) async fn lock(
    transaction: &Transaction<'_>,
    keyspace: &str,
    from: &Place,
) -> Result<(), Failure> {
    match lock_place(transaction, keyspace).await? == *from {
        true => Ok(()),
        false => Err(StoreError::Moved.into()),
    }
}

/// Locks the place of a keyspace until the end of a transaction: nobody stores its changes
/// meanwhile.
pub(crate) async fn lock_place(
    transaction: &Transaction<'_>,
    keyspace: &str,
) -> Result<Place, StoreError> {
    let insert = "INSERT INTO keyward_place (keyspace, history, entry, number, highest, compares, \
                  looked_history, looked_to) \
                  VALUES ($1, '', '0-0', 0, '0-0', false, '', '0-0') ON CONFLICT DO NOTHING";
    let query = "SELECT history, entry, highest, compares, number, looked_history, looked_to \
                 FROM keyward_place \
                 WHERE keyspace = $1 FOR UPDATE";
    let locked = async {
        transaction.execute(insert, &[&keyspace]).await?;
        transaction.query_one(query, &[&keyspace]).await
    };
    let row = locked.await.map_err(|error| failure::unwritable("keyward_place", &error))?;
    Ok(place_of(&row))
}

/// Passes over entries that are missing: the next ones have this number. Mirrored rows are
/// compared then, and what lists have of items is looked for in their tables once more.
///
/// # Errors
/// If the database cannot be used, or somebody else has stored changes meanwhile.
pub(crate) async fn pass_over(
    client: &mut Client,
    schema: &Schema,
    from: &Place,
    number: u64,
) -> Result<Place, StoreError> {
    let keyspace = &*schema.keyspace.name;
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    lock(&transaction, keyspace, from).await.map_err(Failure::into_error)?;
    let place = Place { number, compares: true, ..from.clone() };
    let outcome = async {
        let forget = "DELETE FROM keyward_fills WHERE keyspace = $1";
        transaction.execute(forget, &[&keyspace]).await?;
        set_place(&transaction, keyspace, &place).await
    };
    outcome.await.map_err(DatabaseError::from)?;
    transaction.commit().await.map_err(DatabaseError::from)?;
    Ok(place)
}

/// Notes that mirrored rows are to be compared.
///
/// # Errors
/// If the database cannot be used, or somebody else has stored changes meanwhile.
pub(crate) async fn note_doubt(
    client: &mut Client,
    keyspace: &str,
    from: &Place,
) -> Result<Place, StoreError> {
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    lock(&transaction, keyspace, from).await.map_err(Failure::into_error)?;
    let place = Place { compares: true, looked: Look::default(), ..from.clone() };
    set_place(&transaction, keyspace, &place).await.map_err(DatabaseError::from)?;
    transaction.commit().await.map_err(DatabaseError::from)?;
    Ok(place)
}

/// Notes that mirrored rows have been compared, as they were seen up to there.
pub(crate) async fn note_compared(
    transaction: &Transaction<'_>,
    keyspace: &str,
    place: &Place,
    looked: Look,
) -> Result<Place, DatabaseError> {
    let place = Place { compares: false, looked, ..place.clone() };
    set_place(transaction, keyspace, &place).await?;
    Ok(place)
}

/// The name of a key, or its pattern if the name is secret.
pub(crate) fn shown_name(key: &Key, name: &[u8]) -> String {
    match key.has_masked_name() {
        false => name.escape_ascii().to_string(),
        true => key.pattern.text().to_owned(),
    }
}

/// The sink of a key of the schema.
pub(crate) fn sink_of(schema: &Schema, key: usize) -> (&Key, &Sink) {
    let key = &schema.keys[key];
    (key, key.sink.as_ref().expect("changes are of keys with a sink"))
}
