//! Comparing both sides: the rows of a server with those of their tables, at one moment.
//!
//! Owns what makes it one moment. The place is locked, so that nobody stores anything meanwhile;
//! a key that changes while rows are read has an entry behind the place, and what is told of it
//! is no difference but on its way. Invariant: a difference that is told is one, whatever happens
//! on the server meanwhile.
//! Only mirrors are compared: of archives and items the server has nothing any more.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resp::Frame;
use keyward_schema::{
    ColumnSource, DataType, Key, Matcher, Schema, Sink, SinkKind, changefeed_key,
};
use tokio_postgres::Transaction;
use tokio_postgres::types::ToSql;

use crate::database::{Database, DatabaseError};
use crate::entry::{EntryId, News, parse_all};
use crate::following::FollowError;
use crate::row::{Held, Origin, Row, rows_of};
use crate::source::{Source, SourceError};
use crate::{ddl, statement, store};

/// How many keys are looked at together.
const KEYS_AT_ONCE: &[u8] = b"1000";
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
    let transaction = client.transaction().await.map_err(DatabaseError::from)?;
    let place = store::lock_place(&transaction, &schema.keyspace.name).await?;
    let db = schema.keyspace.db.to_string();
    source.ask("SELECT", &[b"SELECT", db.as_bytes()])?;
    let matcher = Matcher::new(schema.keys.iter().map(|key| &key.pattern))
        .expect("a checked schema has patterns that a matcher can tell apart");
    let mut suspects: BTreeMap<String, String> = BTreeMap::new();
    let mut verification = Verification::default();
    for (key, sink) in ddl::sinks(schema).filter(|(_, sink)| sink.kind == SinkKind::Mirror) {
        let mut seen = SeenRows { transaction: &transaction, key, sink, suspects: &mut suspects };
        seen.prepare().await?;
        let mut cursor = b"0".to_vec();
        loop {
            let (next, names) = scan(source, &cursor, &key.pattern.glob())?;
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
        seen.find_surplus().await?;
    }
    let pending = pending(source, schema, place.entry)?;
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

/// Some keys of the server, and where to go on.
fn scan(
    source: &mut Source,
    cursor: &[u8],
    glob: &str,
) -> Result<(Vec<u8>, Vec<Vec<u8>>), FollowError> {
    let request: [&[u8]; 6] = [b"SCAN", cursor, b"MATCH", glob.as_bytes(), b"COUNT", KEYS_AT_ONCE];
    let reply = source.ask("SCAN", &request)?;
    let read = |reply: &Frame| -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
        let [next, names] = reply.as_elements()? else { return None };
        let names = names.as_elements()?.iter().map(|name| Some(name.as_bytes()?.to_vec()));
        Some((next.as_bytes()?.to_vec(), names.collect::<Option<_>>()?))
    };
    Ok(read(&reply).ok_or(SourceError::Protocol)?)
}

/// The keys that have changes behind the place, as they are shown.
fn pending(
    source: &mut Source,
    schema: &Schema,
    place: EntryId,
) -> Result<BTreeSet<String>, FollowError> {
    let feed = changefeed_key(&schema.keyspace.name);
    let start = format!("({place}");
    let request: [&[u8]; 4] = [b"XRANGE", feed.as_bytes(), start.as_bytes(), b"+"];
    let entries = parse_all(&source.ask("XRANGE", &request)?).ok_or(SourceError::Protocol)?;
    let names = entries.iter().filter_map(|entry| match &entry.news {
        News::Change { key, .. } => Some(key.escape_ascii().to_string()),
        News::Fork(_) => None,
    });
    Ok(names.collect())
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
        let columns = statement::name_columns(self.sink);
        let definitions = columns.iter().map(|at| ddl::plain_definition(&self.sink.columns[*at]));
        let definitions: Vec<String> = definitions.collect();
        let create = format!(
            "CREATE TEMPORARY TABLE IF NOT EXISTS keyward_seen_{} ({}) ON COMMIT DROP",
            ddl::short_name(self.sink),
            definitions.join(", ")
        );
        Ok(self.transaction.batch_execute(&create).await?)
    }

    fn seen(&self) -> String {
        format!("keyward_seen_{}", ddl::short_name(self.sink))
    }

    /// Compares rows of these keys; how many there are.
    async fn compare(
        &mut self,
        source: &mut Source,
        names: BTreeSet<Vec<u8>>,
    ) -> Result<u64, FollowError> {
        let names: Vec<Vec<u8>> = names.into_iter().collect();
        let command: &[u8] = if self.key.data == DataType::Hash { b"HGETALL" } else { b"GET" };
        let requests: Vec<Vec<&[u8]>> =
            names.iter().map(|name| vec![command, name.as_slice()]).collect();
        let replies = source.ask_all(&requests)?;
        let origin = Origin { id: EntryId::default(), item: None };
        let (mut rows, mut owners): (Vec<Row>, Vec<String>) = (Vec::new(), Vec::new());
        for (name, reply) in names.iter().zip(&replies) {
            let pairs: Vec<(Vec<u8>, Vec<u8>)> = match reply.as_elements() {
                Some(elements) => {
                    let texts: Vec<&[u8]> = elements.iter().filter_map(Frame::as_bytes).collect();
                    let pair = |pair: &[&[u8]]| (pair[0].to_vec(), pair[1].to_vec());
                    texts.chunks_exact(2).map(pair).collect()
                }
                None => Vec::new(),
            };
            let held = match reply.as_bytes() {
                Some(text) if !matches!(reply, Frame::Error(_)) => Held::Text(text),
                _ if pairs.is_empty() => continue,
                _ => Held::Fields(&pairs),
            };
            let shown = name.escape_ascii().to_string();
            match rows_of(self.key, self.sink, name, &held, origin) {
                Ok(own) => {
                    owners.extend(own.iter().map(|_| shown.clone()));
                    rows.extend(own);
                }
                Err(unfit) => {
                    let told = format!("{shown}: {} {}", unfit.column, unfit.problem);
                    self.suspects.insert(shown, told);
                }
            }
        }
        self.ask(&rows, &owners).await?;
        Ok(names.len() as u64)
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
            let is_absent: bool = found.get(1);
            let at = usize::try_from(place - 1).unwrap_or(usize::MAX);
            let Some(owner) = owners.get(at) else { continue };
            let what = if is_absent { "is not in" } else { "is otherwise in" };
            let told = format!("{owner}: {what} {}", self.sink.table);
            self.suspects.insert(owner.clone(), told);
        }
        let note = statement::note_seen(self.sink, &self.seen());
        self.transaction.execute(&note, &arrays).await?;
        Ok(())
    }

    /// Rows of the table that the server does not have.
    async fn find_surplus(&mut self) -> Result<(), DatabaseError> {
        let surplus = statement::surplus(self.sink, &self.seen());
        let placeholders: Vec<usize> = statement::name_columns(self.sink);
        for found in self.transaction.query(&surplus, &[]).await? {
            let values: Vec<String> = (0..placeholders.len()).map(|at| found.get(at)).collect();
            let name = self.key_of(&placeholders, &values);
            let told = format!("{name}: is in {} alone", self.sink.table);
            self.suspects.insert(name, told);
        }
        Ok(())
    }

    /// The key that a row of the table is of.
    fn key_of(&self, columns: &[usize], values: &[String]) -> String {
        let placeholders = self.key.pattern.placeholders();
        let mut filled: Vec<Vec<u8>> = vec![Vec::new(); placeholders.len()];
        for (column, value) in columns.iter().zip(values) {
            match self.sink.columns[*column].from {
                ColumnSource::Placeholder(index) => {
                    let is_month = self.sink.columns[*column].is_month;
                    let value = if is_month { value.get(..7).unwrap_or(value) } else { value };
                    filled[index] = value.as_bytes().to_vec();
                }
                _ => return value.clone(),
            }
        }
        self.key.pattern.fill(&filled).escape_ascii().to_string()
    }
}
