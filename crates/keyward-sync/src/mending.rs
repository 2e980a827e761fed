//! Mirrored rows of which changes were not told, or were told and lost: compared with those of
//! the server, and stored.
//!
//! Owns when that may be done. A table is filled without a question; what it has otherwise or
//! alone is altered or taken away only if that is little of it (the guard: by its share and by its number), since a server that
//! came up empty, or another one, would have all of it gone. Invariants: all of it is done in one
//! transaction with the place, or nothing; archives and items are never touched; what `keyward fill`
//! did not load is not taken away, and nothing is compared before it has ended.

use std::collections::BTreeSet;

use keyward_resp::Frame;
use keyward_schema::{Key, Matcher, Schema, Sink, SinkKind, changefeed_key};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

use crate::database::DatabaseError;
use crate::entry::Entry;
use crate::following::FollowError;
use crate::following::batch::{self, Known};
use crate::history::Place;
use crate::row::{self, Origin, Row};
use crate::sight::{self, Extent};
use crate::source::Source;
use crate::store::{self, Batch, Failure, Reason, StoreError, apart, rows};
use crate::{ddl, statement};

/// The share of a table's rows that may be altered or taken away: one of so many.
const SHARE: u64 = 100;
/// However large the table is, not more than so many.
const ROWS_MAX: u64 = 1_000;
/// About so many bytes of rows that others are in the way of are stored together, at first and at
/// most.
const HINDERED_BYTES: [usize; 2] = [32 * 1024 * 1024, 256 * 1024 * 1024];

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

/// Compares all mirrored rows, and stores them as the server has them; what came of it, and the place
/// that says so.
///
/// # Errors
/// If a side cannot be asked, a row is refused, or too much would change.
pub async fn mend(
    client: &mut Client,
    schema: &Schema,
    source: &mut Source,
    place: &Place,
    guard: Guard,
) -> Result<(Mended, Place), FollowError> {
    let matcher = Matcher::new(schema.keys.iter().map(|key| &key.pattern))
        .expect("a checked schema has patterns that a matcher can tell apart");
    let known = Known { schema, matcher: &matcher, from: place };
    match mend_in(client, &known, source, guard, Order::AsFound).await {
        Err(FollowError::Store(StoreError::Conflict { .. })) => {
            mend_in(client, &known, source, guard, Order::RemovalsFirst).await
        }
        mended => mended,
    }
}

/// In which order rows are stored and taken away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Rows are stored as they are found, and then others are taken away: each is looked at once.
    AsFound,
    /// What the server does not have goes first, for which all rows are looked at twice: it may
    /// have a value that is unique, and that another row has now. What is still in the way of each
    /// other comes last, with what has changes on their way.
    RemovalsFirst,
}

/// What is done with rows that are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// They are noted, and counted if the table has them otherwise.
    Note,
    /// They are noted and stored.
    Store,
}

async fn mend_in(
    client: &mut Client,
    known: &Known<'_>,
    source: &mut Source,
    guard: Guard,
    order: Order,
) -> Result<(Mended, Place), FollowError> {
    let (schema, place) = (known.schema, known.from);
    let keyspace = &*schema.keyspace.name;
    let feed = changefeed_key(keyspace).into_bytes();
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    store::lock(&transaction, keyspace, place).await.map_err(Failure::into_error)?;
    transaction.batch_execute(rows::DEFER).await.map_err(DatabaseError::from)?;
    let pending = sight::pending(source, &feed, place.entry)?;
    let loading = "SELECT string_agg(table_name, ', ' ORDER BY table_name) FROM keyward_loading \
                   WHERE keyspace = $1";
    let loading = transaction.query_one(loading, &[&keyspace]).await;
    if let Some(tables) = loading.map_err(DatabaseError::from)?.get(0) {
        return Err(FollowError::Loading(tables));
    }
    let mut mended = Mended::default();
    let mirrors = ddl::sinks(schema).filter(|(_, sink)| sink.kind == SinkKind::Mirror);
    let mut tables: Vec<Table<'_, '_>> = mirrors
        .map(|(key, sink)| {
            let (transaction, pending, hindered) = (&transaction, &pending, Vec::new());
            Table { transaction, known, key, sink, pending, order, hindered, has_surplus: false }
        })
        .collect();
    for table in &mut tables {
        let before = table.count().await?;
        let step = if order == Order::AsFound { Step::Store } else { Step::Note };
        let (stored, altered) = table.fill(source, step).await?;
        mended.stored += stored;
        let allowed = (before / SHARE).min(ROWS_MAX);
        let surplus = table.count_surplus(allowed).await?;
        if guard == Guard::Up && altered + surplus > allowed {
            let (table, rows) = (table.sink.table.clone(), before);
            return Err(FollowError::Guard { table, rows, altered, surplus });
        }
    }
    // What refers to a row of another table goes before that.
    for table in tables.iter_mut().rev() {
        mended.removed += table.remove_surplus().await?;
    }
    if order == Order::RemovalsFirst {
        let mut hindered = Vec::new();
        for table in &mut tables {
            mended.stored += table.fill(source, Step::Store).await?.0;
            hindered.append(&mut table.hindered);
        }
        // What a row refers to may have come when its place had been looked at.
        hindered.extend(sight::pending(source, &feed, place.entry)?);
        mended.stored += store_hindered(&transaction, known, source, hindered).await?;
        for table in tables.iter().rev().filter(|table| table.has_surplus) {
            table.remove_last().await?;
        }
    }
    let looked = sight::looked(source, &feed)?;
    let compared = store::note_compared(&transaction, keyspace, place, looked).await?;
    judge(&transaction, place).await?;
    transaction.commit().await.map_err(DatabaseError::from)?;
    Ok((mended, compared))
}

/// Stores rows that others are in the way of, as they are now, and takes those away that are gone;
/// how many were stored. Some at a time, and more together where that is refused: what they are in
/// the way of may be among the next.
async fn store_hindered(
    transaction: &Transaction<'_>,
    known: &Known<'_>,
    source: &mut Source,
    names: Vec<Vec<u8>>,
) -> Result<u64, FollowError> {
    let (id, kind) = (known.from.entry, SinkKind::Mirror);
    let entry = |key| Entry { id, kind, key, pairs: Vec::new() };
    let hindered: Vec<Entry> = names.into_iter().map(entry).collect();
    let (mut rest, mut stored, mut bytes) = (&hindered[..], 0, HINDERED_BYTES[0]);
    let run = async |statement: &str| {
        transaction.batch_execute(statement).await.map_err(DatabaseError::from)
    };
    while !rest.is_empty() {
        let mut batch = Batch { place: known.from.clone(), ..Batch::default() };
        let taken = batch::fill_ahead(&mut batch, known, source, rest, bytes)?;
        run("SAVEPOINT piece").await?;
        let outcome = apart::store(transaction, known.schema, &batch).await;
        match outcome.map_err(Failure::into_error) {
            Ok(more) => {
                run("RELEASE SAVEPOINT piece").await?;
                stored += more.rows as u64;
                (rest, bytes) = (&rest[taken..], HINDERED_BYTES[0]);
            }
            Err(StoreError::Conflict { .. }) if taken < rest.len() && bytes < HINDERED_BYTES[1] => {
                run("ROLLBACK TO SAVEPOINT piece; RELEASE SAVEPOINT piece").await?;
                bytes *= 2;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(stored)
}

/// Has constraints that can be deferred judge what was done.
async fn judge(transaction: &Transaction<'_>, place: &Place) -> Result<(), StoreError> {
    let Err(error) = transaction.batch_execute(rows::JUDGE).await else { return Ok(()) };
    let table = error.as_db_error().and_then(|error| error.table());
    let table: Box<str> = table.unwrap_or("the tables").into();
    Err(match Failure::at(&table, error) {
        Failure::Store(error) => error,
        Failure::Refused(Reason { discreet, .. }) => {
            let key = "a mirrored key".to_owned();
            StoreError::Conflict { table, key, entry: place.entry, reason: discreet }
        }
    })
}

/// A table that is mended.
struct Table<'a, 'c> {
    transaction: &'a Transaction<'c>,
    known: &'a Known<'a>,
    key: &'a Key,
    sink: &'a Sink,
    /// Keys whose changes are on their way.
    pending: &'a BTreeSet<Vec<u8>>,
    order: Order,
    /// Keys of rows that others are in the way of.
    hindered: Vec<Vec<u8>>,
    /// Whether what it has alone could not be taken away at once.
    has_surplus: bool,
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
        [&self.known.schema.keyspace.name, &self.sink.table]
    }

    fn is_own(&self, name: &[u8]) -> bool {
        let found = self.known.matcher.find(name);
        let id = found.and_then(|found| self.known.schema.id(found.pattern));
        id.is_some_and(|id| std::ptr::eq(self.known.schema.key(id), self.key))
    }

    async fn count(&self) -> Result<u64, StoreError> {
        let count = statement::count(self.sink);
        let row = self.transaction.query_one(&count, &[]).await;
        let count: i64 = row.map_err(|error| self.failed(error))?.get(0);
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Notes what there is, and stores what the table lacks or has otherwise; how many rows, and of
    /// how many it had something else: a value where it has none, as in a column that came later,
    /// takes nothing away.
    async fn fill(&mut self, source: &mut Source, step: Step) -> Result<(u64, u64), FollowError> {
        let create = statement::create_seen(self.sink);
        self.transaction.batch_execute(&create).await.map_err(|error| self.failed(error))?;
        let (mut stored, mut altered) = (0, 0);
        let mut cursor = b"0".to_vec();
        loop {
            let (next, names) = sight::scan(source, &cursor, &self.key.pattern.glob())?;
            let names: BTreeSet<Vec<u8>> =
                names.into_iter().filter(|name| self.is_own(name)).collect();
            let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
            let mut rest = &names[..];
            while !rest.is_empty() {
                let asked = rest.iter().map(|name| (self.key, *name));
                let looked = sight::look(source, asked, Extent::COMPARED)?;
                let (page, others) = rest.split_at(looked.len());
                for (page, looked) in sight::pieces(page, &looked, sight::COMPARED_BYTES) {
                    let (more, other) = self.fill_page(page, looked, step).await?;
                    stored += more;
                    altered += other;
                }
                rest = others;
            }
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
        &mut self,
        names: &[&[u8]],
        looked: &[Frame],
        step: Step,
    ) -> Result<(u64, u64), FollowError> {
        let origin = Origin { id: self.known.from.entry, item: None, again: None };
        let mut found: Vec<(&[u8], Vec<Row>)> = Vec::new();
        for (name, reply) in names.iter().zip(looked) {
            match sight::row_of((self.key, self.sink), (name, origin), reply)? {
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
        if step == Step::Note {
            return Ok((0, altered.len() as u64));
        }
        let rows: Vec<(&[u8], &[Row])> =
            owners.iter().map(|owner| (found[*owner].0, &found[*owner].1[..])).collect();
        let stored = self.store(&rows).await?;
        Ok((stored, altered.len() as u64))
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

    /// Stores rows, in halves where some are refused; how many. One that is refused is named; if
    /// another row is in its way, it is put aside for later where that is what comes next.
    async fn store(&mut self, owners: &[(&[u8], &[Row])]) -> Result<u64, StoreError> {
        let failed = |sink: &Sink, error| Failure::at(&sink.table, error).into_error();
        let (mut parts, mut stored) = (vec![owners], 0);
        while let Some(part) = parts.pop() {
            let all: Vec<&Row> = part.iter().flat_map(|(_, rows)| rows.iter()).collect();
            let begun = self.transaction.batch_execute("SAVEPOINT part").await;
            begun.map_err(|error| failed(self.sink, error))?;
            let reason = match rows::insert(self.transaction, self.sink, &all).await {
                Ok(()) => None,
                Err(Failure::Store(error)) => return Err(error),
                Err(Failure::Refused(reason)) => Some(reason),
            };
            let end = match reason {
                None => "RELEASE SAVEPOINT part",
                Some(_) => "ROLLBACK TO SAVEPOINT part; RELEASE SAVEPOINT part",
            };
            let ended = self.transaction.batch_execute(end).await;
            ended.map_err(|error| failed(self.sink, error))?;
            match (reason, part) {
                (None, part) => stored += part.len() as u64,
                (Some(reason), [(name, _)]) => match self.order {
                    Order::RemovalsFirst if reason.is_conflict => self.hindered.push(name.to_vec()),
                    _ => return Err(self.refused_for(name, reason)),
                },
                (Some(reason), _) if reason.is_conflict && self.order == Order::AsFound => {
                    return Err(self.refused_for(part[0].0, reason));
                }
                (Some(_), part) => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
            }
        }
        Ok(stored)
    }

    fn refused_for(&self, name: &[u8], reason: Reason) -> StoreError {
        let is_conflict = reason.is_conflict;
        let reason = if row::is_discreet(self.key) { reason.discreet } else { reason.plain };
        match self.refused(name, reason) {
            StoreError::Refused { table, key, entry, reason } if is_conflict => {
                StoreError::Conflict { table, key, entry, reason }
            }
            refused => refused,
        }
    }

    fn refused(&self, name: &[u8], reason: String) -> StoreError {
        let key = store::shown_name(self.key, name);
        let (table, entry) = (self.sink.table.clone(), self.known.from.entry);
        StoreError::Refused { table, key, entry, reason }
    }

    /// How many rows the table has alone, as far as that matters.
    async fn count_surplus(&self, allowed: u64) -> Result<u64, FollowError> {
        let most = allowed + self.pending.len() as u64 + 1;
        let names = self.surplus(most).await?;
        Ok(names.iter().filter(|name| !self.pending.contains(*name)).count() as u64)
    }

    /// The keys of rows that the table has alone, so many at most.
    async fn surplus(&self, most: u64) -> Result<Vec<Vec<u8>>, StoreError> {
        let surplus = statement::loaded_surplus(self.sink, &self.seen(), most);
        let rows = self.transaction.query(&surplus, &self.named()).await;
        let rows = rows.map_err(|error| self.failed(error))?;
        let columns = statement::name_columns(self.sink);
        let name = |row: &tokio_postgres::Row| {
            let values: Vec<String> = (0..columns.len()).map(|at| row.get(at)).collect();
            ddl::key_name(self.key, self.sink, &columns, &values)
        };
        Ok(rows.iter().map(name).collect())
    }

    /// Takes those rows away, or marks them; how many. What others still refer to is put aside for
    /// later where that is what comes next.
    async fn remove_surplus(&mut self) -> Result<u64, StoreError> {
        let failed = |sink: &Sink, error| Failure::at(&sink.table, error).into_error();
        let begun = self.transaction.batch_execute("SAVEPOINT part").await;
        begun.map_err(|error| failed(self.sink, error))?;
        let remove = statement::remove_surplus(self.sink, &self.seen());
        let error = match self.transaction.execute(&remove, &self.named()).await {
            Ok(removed) => return Ok(removed),
            Err(error) => Failure::at(&self.sink.table, error),
        };
        let reason = match error {
            Failure::Refused(reason) if reason.is_conflict => reason,
            failure => return Err(failure.into_error()),
        };
        if self.order == Order::AsFound {
            return Err(self.refused_for(self.key.pattern.text().as_bytes(), reason));
        }
        let back = self.transaction.batch_execute("ROLLBACK TO SAVEPOINT part").await;
        back.map_err(|error| failed(self.sink, error))?;
        self.has_surplus = true;
        self.hindered = self.surplus(i64::MAX.unsigned_abs()).await?;
        Ok(self.hindered.len() as u64)
    }

    /// Takes away what is left of them.
    async fn remove_last(&self) -> Result<u64, StoreError> {
        let remove = statement::remove_surplus(self.sink, &self.seen());
        let removed = self.transaction.execute(&remove, &self.named()).await;
        removed.map_err(|error| self.failed(error))
    }
}
