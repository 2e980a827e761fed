//! Mirrored rows of which changes were not told, or were told and lost: compared with those of
//! the server, and stored.
//!
//! Owns when that may be done. A table is filled without a question; what it has otherwise or
//! alone is altered or taken away only if that is little of it (the guard: by its share and by its number), since a server that
//! came up empty, or another one, would have all of it gone. Invariants: all of it is done in one
//! transaction with the place, or nothing; archives and items are never touched; what `keyward fill`
//! did not load is not taken away, and nothing is compared before it has ended.

use std::collections::BTreeSet;

use keyward_schema::{Key, Matcher, Schema, Sink, SinkKind, changefeed_key};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

use crate::database::DatabaseError;
use crate::following::FollowError;
use crate::history::Place;
use crate::row::{self, Origin, Row};
use crate::source::Source;
use crate::store::{self, Failure, StoreError, rows};
use crate::{ddl, sight, statement};

/// The share of a table's rows that may be altered or taken away: one of so many.
const SHARE: u64 = 100;
/// However large the table is, not more than so many.
const ROWS_MAX: u64 = 1_000;

/// What was mended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mended {
    /// Rows that were stored, or stored anew.
    pub stored: u64,
    /// Rows that the server does not have.
    pub removed: u64,
}

/// Whether more than a share of a table may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// It may not.
    Up,
    /// It was accepted.
    Down,
}

/// Compares all mirrored rows, and stores them as the server has them.
///
/// # Errors
/// If a side cannot be asked, a row is refused, or too much would change.
pub async fn mend(
    client: &mut Client,
    schema: &Schema,
    source: &mut Source,
    place: &Place,
    guard: Guard,
) -> Result<Mended, FollowError> {
    let keyspace = &*schema.keyspace.name;
    let feed = changefeed_key(keyspace).into_bytes();
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    store::lock(&transaction, keyspace, place).await.map_err(Failure::into_error)?;
    transaction.batch_execute(rows::DEFER).await.map_err(DatabaseError::from)?;
    let pending = sight::pending(source, &feed, place.entry)?;
    let matcher = Matcher::new(schema.keys.iter().map(|key| &key.pattern))
        .expect("a checked schema has patterns that a matcher can tell apart");
    let loading = "SELECT string_agg(table_name, ', ' ORDER BY table_name) FROM keyward_loading \
                   WHERE keyspace = $1";
    let loading = transaction.query_one(loading, &[&keyspace]).await;
    if let Some(tables) = loading.map_err(DatabaseError::from)?.get(0) {
        return Err(FollowError::Loading(tables));
    }
    let mut mended = Mended::default();
    let mirrors: Vec<(&Key, &Sink)> =
        ddl::sinks(schema).filter(|(_, sink)| sink.kind == SinkKind::Mirror).collect();
    for (key, sink) in &mirrors {
        let is_own = |name: &[u8]| {
            let found = matcher.find(name).and_then(|found| schema.id(found.pattern));
            found.is_some_and(|id| std::ptr::eq(schema.key(id), *key))
        };
        let mut table =
            Table { transaction: &transaction, keyspace, key, sink, pending: &pending, place };
        let before = table.count().await?;
        let (stored, altered) = table.fill(source, is_own).await?;
        mended.stored += stored;
        let allowed = (before / SHARE).min(ROWS_MAX);
        let surplus = table.count_surplus(allowed).await?;
        if guard == Guard::Up && altered + surplus > allowed {
            let (table, rows) = (sink.table.clone(), before);
            return Err(FollowError::Guard { table, rows, altered, surplus });
        }
    }
    // What refers to a row of another table goes before that.
    for (key, sink) in mirrors.iter().rev() {
        let table =
            Table { transaction: &transaction, keyspace, key, sink, pending: &pending, place };
        mended.removed += table.remove_surplus().await?;
    }
    store::note_compared(&transaction, keyspace, place).await?;
    transaction.commit().await.map_err(DatabaseError::from)?;
    Ok(mended)
}

/// A table that is mended.
struct Table<'a, 'c> {
    transaction: &'a Transaction<'c>,
    keyspace: &'a str,
    key: &'a Key,
    sink: &'a Sink,
    /// Keys whose changes are on their way.
    pending: &'a BTreeSet<Vec<u8>>,
    place: &'a Place,
}

impl Table<'_, '_> {
    fn seen(&self) -> String {
        statement::seen_table(self.sink)
    }

    fn failed(&self, error: tokio_postgres::Error) -> StoreError {
        Failure::at(&self.sink.table, error).into_error()
    }

    /// What the notes of rows that were not loaded are found by.
    fn named(&self) -> [&(dyn ToSql + Sync); 2] {
        [&self.keyspace, &self.sink.table]
    }

    async fn count(&self) -> Result<u64, StoreError> {
        let count = statement::count(self.sink);
        let row = self.transaction.query_one(&count, &[]).await;
        let count: i64 = row.map_err(|error| self.failed(error))?.get(0);
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Stores what the table lacks or has otherwise; how many rows, and of how many it had
    /// something else: a value where it has none, as in a column that came later, takes nothing
    /// away.
    async fn fill(
        &mut self,
        source: &mut Source,
        is_own: impl Fn(&[u8]) -> bool,
    ) -> Result<(u64, u64), FollowError> {
        let create = statement::create_seen(self.sink);
        self.transaction.batch_execute(&create).await.map_err(|error| self.failed(error))?;
        let (mut stored, mut altered) = (0, 0);
        let mut cursor = b"0".to_vec();
        loop {
            let (next, names) = sight::scan(source, &cursor, &self.key.pattern.glob())?;
            let names: BTreeSet<Vec<u8>> = names.into_iter().filter(|name| is_own(name)).collect();
            let (more, other) = self.fill_page(source, &names).await?;
            stored += more;
            altered += other;
            cursor = next;
            if cursor == b"0" {
                let forget = statement::forget_unloaded(self.sink, &self.seen());
                let forgotten = self.transaction.execute(&forget, &self.named()).await;
                forgotten.map_err(|error| self.failed(error))?;
                return Ok((stored, altered));
            }
        }
    }

    async fn fill_page(
        &self,
        source: &mut Source,
        names: &BTreeSet<Vec<u8>>,
    ) -> Result<(u64, u64), FollowError> {
        let origin = Origin { id: self.place.entry, item: None, again: None };
        let asked: Vec<(&[u8], Origin)> = names.iter().map(|name| (&**name, origin)).collect();
        let looked = sight::look(source, (self.key, self.sink), &asked)?;
        let mut found: Vec<(&[u8], Vec<Row>)> = Vec::new();
        for ((name, _), looked) in asked.iter().zip(looked) {
            match looked {
                None => {}
                Some(Ok(rows)) => found.push((name, rows)),
                Some(Err(unfit)) => {
                    let reason = format!("{} {}", unfit.column, unfit.problem);
                    return Err(self.refused(name, reason).into());
                }
            }
        }
        let all: Vec<(usize, &Row)> = found
            .iter()
            .enumerate()
            .flat_map(|(owner, (_, rows))| rows.iter().map(move |row| (owner, row)))
            .collect();
        if all.is_empty() {
            return Ok((0, 0));
        }
        let refs: Vec<&Row> = all.iter().map(|(_, row)| *row).collect();
        let arrays = rows::arrays_of(self.sink, &refs);
        let arrays: Vec<&(dyn ToSql + Sync)> =
            arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        let differing = statement::differing(self.sink);
        let failed = |error| self.failed(error);
        self.transaction.batch_execute("SAVEPOINT look").await.map_err(failed)?;
        let differing = match self.transaction.query(&differing, &arrays).await {
            Ok(differing) => differing,
            Err(error) => return Err(self.blame(error, &found).await.into()),
        };
        self.transaction.batch_execute("RELEASE SAVEPOINT look").await.map_err(failed)?;
        let mut owners: BTreeSet<usize> = BTreeSet::new();
        let mut altered: BTreeSet<usize> = BTreeSet::new();
        for row in differing {
            let (place, is_lacking): (i64, bool) = (row.get(0), row.get(1));
            let at = usize::try_from(place - 1).unwrap_or(usize::MAX);
            let Some((owner, _)) = all.get(at) else { continue };
            owners.insert(*owner);
            if !is_lacking && !self.pending.contains(found[*owner].0) {
                altered.insert(*owner);
            }
        }
        let note = statement::note_seen(self.sink, &self.seen());
        let noted = self.transaction.execute(&note, &arrays).await;
        noted.map_err(|error| self.failed(error))?;
        let rows: Vec<(&[u8], &[Row])> =
            owners.iter().map(|owner| (found[*owner].0, &found[*owner].1[..])).collect();
        self.store(&rows).await?;
        Ok((rows.len() as u64, altered.len() as u64))
    }

    /// Which of some rows the database cannot look for, and why.
    async fn blame(&self, error: tokio_postgres::Error, found: &[(&[u8], Vec<Row>)]) -> StoreError {
        let of_all = match Failure::at(&self.sink.table, error) {
            Failure::Store(error) => return error,
            refused => refused.into_error(),
        };
        let differing = statement::differing(self.sink);
        for (name, rows) in found {
            let back = self.transaction.batch_execute("ROLLBACK TO SAVEPOINT look").await;
            if let Err(error) = back {
                return self.failed(error);
            }
            let rows: Vec<&Row> = rows.iter().collect();
            let arrays = rows::arrays_of(self.sink, &rows);
            let arrays: Vec<&(dyn ToSql + Sync)> =
                arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
            let Err(error) = self.transaction.query(&differing, &arrays).await else { continue };
            if let Failure::Refused(reason) = Failure::at(&self.sink.table, error) {
                let is_discreet = row::is_discreet(self.key);
                let reason = if is_discreet { reason.discreet } else { reason.plain };
                return self.refused(name, reason);
            }
        }
        of_all
    }

    /// Stores rows; where one is refused, it is named.
    async fn store(&self, owners: &[(&[u8], &[Row])]) -> Result<(), StoreError> {
        let failed = |error: tokio_postgres::Error| self.failed(error);
        self.transaction.batch_execute("SAVEPOINT page").await.map_err(failed)?;
        let all: Vec<&Row> = owners.iter().flat_map(|(_, rows)| rows.iter()).collect();
        match rows::insert(self.transaction, self.sink, &all).await {
            Ok(()) => {
                return self
                    .transaction
                    .batch_execute("RELEASE SAVEPOINT page")
                    .await
                    .map_err(failed);
            }
            Err(Failure::Store(error)) => return Err(error),
            Err(Failure::Refused(_)) => {}
        }
        self.transaction.batch_execute("ROLLBACK TO SAVEPOINT page").await.map_err(failed)?;
        for (name, own) in owners {
            let own: Vec<&Row> = own.iter().collect();
            match rows::insert(self.transaction, self.sink, &own).await {
                Ok(()) => {}
                Err(Failure::Store(error)) => return Err(error),
                Err(Failure::Refused(reason)) => {
                    let is_discreet = row::is_discreet(self.key);
                    let reason = if is_discreet { reason.discreet } else { reason.plain };
                    return Err(self.refused(name, reason));
                }
            }
        }
        Ok(())
    }

    fn refused(&self, name: &[u8], reason: String) -> StoreError {
        let key = store::shown_name(self.key, name);
        let (table, entry) = (self.sink.table.clone(), self.place.entry);
        StoreError::Refused { table, key, entry, reason }
    }

    /// How many rows the table has alone, as far as that matters.
    async fn count_surplus(&self, allowed: u64) -> Result<u64, FollowError> {
        let most = allowed + self.pending.len() as u64 + 1;
        let surplus = statement::loaded_surplus(self.sink, &self.seen(), most);
        let rows = self.transaction.query(&surplus, &self.named()).await;
        let rows = rows.map_err(|error| self.failed(error))?;
        let columns = statement::name_columns(self.sink);
        let is_told = |row: &tokio_postgres::Row| {
            let values: Vec<String> = (0..columns.len()).map(|at| row.get(at)).collect();
            let name = ddl::key_name(self.key, self.sink, &columns, &values);
            self.pending.contains(&name)
        };
        Ok(rows.iter().filter(|row| !is_told(row)).count() as u64)
    }

    async fn remove_surplus(&self) -> Result<u64, FollowError> {
        let remove = statement::remove_surplus(self.sink, &self.seen());
        let removed = self.transaction.execute(&remove, &self.named()).await;
        Ok(removed.map_err(|error| self.failed(error))?)
    }
}
