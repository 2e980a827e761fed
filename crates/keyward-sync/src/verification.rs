//! Comparing both sides: the rows of a server with those of their tables, at one moment.
//!
//! Owns what makes it one moment. The place is locked, so that nobody stores anything meanwhile;
//! a key that changes while rows are read has an entry behind the place, and what is told of it
//! is no difference but on its way. Invariant: a difference that is told is one, whatever happens
//! on the server meanwhile.
//! Only mirrors are compared: of archives and items the server has nothing any more.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resp::Frame;
use keyward_schema::{Key, Matcher, Schema, Sink, SinkKind, changefeed_key};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use crate::database::{Database, DatabaseError};
use crate::entry::EntryId;
use crate::following::FollowError;
use crate::inspection::lacks_of_own;
use crate::row::{Origin, Row};
use crate::sight::{self, Extent};
use crate::source::Source;
use crate::{ddl, statement, store};

/// The most rows that a table alone has which are looked at, besides those on their way.
const SURPLUS_MAX: u64 = 10_000;
/// The most differences that are told one by one.
pub const DIFFERENCES_TOLD: usize = 100;

/// What a comparison found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Rows of the server that were compared.
    pub compared: u64,
    /// Keys whose changes are on their way.
    pub pending: u64,
    /// How many differences there are.
    pub count: u64,
    /// The first of them, a sentence each.
    pub differences: Vec<String>,
}

/// Compares the mirrored rows of a server with their tables.
///
/// # Errors
/// If one of the two cannot be asked.
pub async fn verify(
    database: &Database,
    schema: &Schema,
    source: &mut Source,
) -> Result<Verification, FollowError> {
    let mut client = database.connect().await?;
    if let Some(lacking) = lacks_of_own(&client).await? {
        return Err(FollowError::Tables(lacking));
    }
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    let place = store::lock_place(&transaction, &schema.keyspace.name).await?;
    let db = schema.keyspace.db.to_string();
    source.ask("SELECT", &[b"SELECT", db.as_bytes()])?;
    let matcher = Matcher::new(schema.keys.iter().map(|key| &key.pattern))
        .expect("a checked schema has patterns that a matcher can tell apart");
    let mut suspects: BTreeMap<String, String> = BTreeMap::new();
    let mut verification = Verification::default();
    let mirrors = || ddl::sinks(schema).filter(|(_, sink)| sink.kind == SinkKind::Mirror);
    for (key, sink) in mirrors() {
        let mut seen = SeenRows { transaction: &transaction, key, sink, suspects: &mut suspects };
        seen.prepare().await?;
        let mut cursor = b"0".to_vec();
        loop {
            let (next, names) = sight::scan(source, &cursor, &key.pattern.glob())?;
            let own = names.into_iter().filter(|name| {
                let found = matcher.find(name).and_then(|found| schema.id(found.pattern));
                found.is_some_and(|id| std::ptr::eq(schema.key(id), key))
            });
            let own: BTreeSet<Vec<u8>> = own.collect();
            verification.compared += seen.compare(source, own).await?;
            cursor = next;
            if cursor == b"0" {
                break;
            }
        }
    }
    let feed = changefeed_key(&schema.keyspace.name).into_bytes();
    let pending: BTreeSet<String> = sight::pending(source, &feed, place.entry)?
        .iter()
        .map(|name| name.escape_ascii().to_string())
        .collect();
    // What is on its way is among what tables have alone, however much that is.
    let most = SURPLUS_MAX + pending.len() as u64;
    for (key, sink) in mirrors() {
        let mut seen = SeenRows { transaction: &transaction, key, sink, suspects: &mut suspects };
        seen.find_surplus(most).await?;
    }
    verification.pending = pending.len() as u64;
    for (name, difference) in suspects {
        if pending.contains(&name) {
            continue;
        }
        verification.count += 1;
        if verification.differences.len() < DIFFERENCES_TOLD {
            verification.differences.push(difference);
        }
    }
    transaction.rollback().await.map_err(DatabaseError::from)?;
    Ok(verification)
}

/// The rows of one table, as the server has them and as the table does.
struct SeenRows<'a, 'c> {
    transaction: &'a Transaction<'c>,
    key: &'a Key,
    sink: &'a Sink,
    /// Keys that differ, and how.
    suspects: &'a mut BTreeMap<String, String>,
}

impl SeenRows<'_, '_> {
    /// Makes room for the keys that are seen: what is in the table besides is surplus.
    async fn prepare(&self) -> Result<(), DatabaseError> {
        Ok(self.transaction.batch_execute(&statement::create_seen(self.sink)).await?)
    }

    /// Compares rows of these keys; how many there are.
    async fn compare(
        &mut self,
        source: &mut Source,
        names: BTreeSet<Vec<u8>>,
    ) -> Result<u64, FollowError> {
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        let mut rest = &names[..];
        while !rest.is_empty() {
            let asked = rest.iter().map(|name| (self.key, *name));
            let looked = sight::look(source, asked, Extent::COMPARED)?;
            let (page, others) = rest.split_at(looked.len());
            for (page, looked) in sight::pieces(page, &looked, sight::COMPARED_BYTES) {
                self.compare_page(page, looked).await?;
            }
            rest = others;
        }
        Ok(names.len() as u64)
    }

    /// Compares rows that were looked at.
    async fn compare_page(&mut self, names: &[&[u8]], looked: &[Frame]) -> Result<(), FollowError> {
        let origin = Origin { id: EntryId::default(), item: None, again: None };
        let (mut rows, mut owners): (Vec<Row>, Vec<String>) = (Vec::new(), Vec::new());
        for (name, reply) in names.iter().zip(looked) {
            let shown = name.escape_ascii().to_string();
            match sight::row_of((self.key, self.sink), (name, origin), reply)? {
                None => {}
                Some(Ok(own)) => {
                    owners.extend(own.iter().map(|_| shown.clone()));
                    rows.extend(own);
                }
                Some(Err(unfit)) => {
                    let told = format!("{shown}: {} {}", unfit.column, unfit.problem);
                    self.suspects.insert(shown, told);
                }
            }
        }
        Ok(self.ask(&rows, &owners).await?)
    }

    /// Has the database compare rows.
    async fn ask(&mut self, rows: &[Row], owners: &[String]) -> Result<(), DatabaseError> {
        if rows.is_empty() {
            return Ok(());
        }
        let arrays: Vec<Vec<Option<&str>>> = (0..self.sink.columns.len())
            .map(|column| rows.iter().map(|row| row[column].as_deref()).collect())
            .collect();
        let arrays: Vec<&(dyn ToSql + Sync)> =
            arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        let differing = statement::differing(self.sink);
        for found in self.transaction.query(&differing, &arrays).await? {
            let place: i64 = found.get(0);
            let is_absent: bool = found.get(2);
            let at = usize::try_from(place - 1).unwrap_or(usize::MAX);
            let Some(owner) = owners.get(at) else { continue };
            let what = if is_absent { "is not in" } else { "is otherwise in" };
            let told = format!("{owner}: {what} {}", self.sink.table);
            self.suspects.insert(owner.clone(), told);
        }
        let note = statement::note_seen(self.sink, &statement::seen_table(self.sink));
        self.transaction.execute(&note, &arrays).await?;
        Ok(())
    }

    /// Rows of the table that the server does not have, so many at most.
    async fn find_surplus(&mut self, most: u64) -> Result<(), DatabaseError> {
        let seen = statement::seen_table(self.sink);
        let surplus = statement::surplus(self.sink, &seen, most);
        let columns: Vec<usize> = statement::name_columns(self.sink);
        for found in self.transaction.query(&surplus, &[]).await? {
            let values: Vec<String> = (0..columns.len()).map(|at| found.get(at)).collect();
            let name = ddl::key_name(self.key, self.sink, &columns, &values);
            let name = name.escape_ascii().to_string();
            let told = format!("{name}: is in {} alone", self.sink.table);
            self.suspects.insert(name, told);
        }
        Ok(())
    }
}
