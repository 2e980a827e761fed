//! Loading a keyspace from the tables of its mirrors: a cold start.
//!
//! Owns the way back of a value, from a column to the field that it was. Invariants: a row that
//! the server has is left as it is, unless it is to be overwritten; so a run that was ended is
//! gone on with by another, which finds what is there. Every row is written in one step, and
//! judged by the schema as any other. What would not come back to the table as it is there is not
//! loaded ([`coming_back`]); what was not loaded, and that loading has not ended, is noted in the
//! database ([`notes`]), so that no comparison takes it away there.
//! Not here: archives and items, which are no rows of the server any longer.

mod coming_back;
mod notes;
mod value;

use std::time::{Duration, Instant};

use keyward_resp::Frame;
use keyward_schema::{ColumnSource, Content, DataType, Key, Object, Schema, Sink, SinkKind};
use thiserror::Error;
use tokio_postgres::{Client, Row, Transaction};

use crate::database::DatabaseError;
use crate::ddl;
use crate::source::{Source, SourceError};
use crate::{row, statement, store};

/// How many rows are read and written together.
const ROWS_AT_ONCE: usize = 1_000;
/// How often it is told how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// The most refusals that are told one by one.
const REFUSALS_TOLD: usize = 20;

/// Writes a hash that is not there. ARGV[1] says what becomes of one that is there: it stays (0), or
/// goes but for the fields that are listed (1), or but for those that are not (2). ARGV[2] says how
/// many are.
const LOAD_HASH: &[u8] = b"local listed, behind, kept = {}, 2 + ARGV[2], {} \
    for at = 3, behind do listed[ARGV[at]] = true end \
    if redis.call('EXISTS', KEYS[1]) == 1 then \
    if ARGV[1] == '0' then return 0 end \
    local all = redis.call('HGETALL', KEYS[1]) \
    for at = 1, #all, 2 do if (ARGV[1] == '1') == (listed[all[at]] or false) then \
    kept[#kept + 1] = all[at] kept[#kept + 1] = all[at + 1] end end \
    redis.call('DEL', KEYS[1]) end \
    for at = 1, #kept, 1000 do \
    redis.call('HSET', KEYS[1], unpack(kept, at, math.min(at + 999, #kept))) end \
    for at = behind + 1, #ARGV, 1000 do \
    redis.call('HSET', KEYS[1], unpack(ARGV, at, math.min(at + 999, #ARGV))) end return 1";

/// Why tables were not loaded.
#[derive(Debug, Error)]
pub enum FillError {
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The server cannot be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Rows of a table are not all that the server needs.
    #[error("{0}")]
    Unfit(String),
}

/// What a server already has of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Present {
    /// It stays.
    Keep,
    /// It is replaced.
    Overwrite,
}

/// What was loaded.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// Rows that the server has from the tables now.
    pub loaded: u64,
    /// Rows that it had, and keeps.
    pub kept: u64,
    /// Rows that it refused.
    pub refused: u64,
    /// The first of the refusals, a sentence each.
    pub refusals: Vec<String>,
}

/// The tables that are loaded, in the order of the file.
fn mirrors(schema: &Schema) -> impl Iterator<Item = (&Key, &Sink)> {
    ddl::sinks(schema).filter(|(_, sink)| sink.kind == SinkKind::Mirror)
}

/// What of the tables cannot be loaded, or not all of it: an error where a row would lack what it
/// must have, else what is to be told.
///
/// # Errors
/// If a table does not have what its rows need.
pub fn look_over(schema: &Schema) -> Result<Vec<String>, FillError> {
    let mut told = Vec::new();
    for (key, sink) in mirrors(schema) {
        let Some(object) = object_of(&key.content) else { continue };
        for (at, field) in object.fields.iter().enumerate() {
            if sink.column_from(&ColumnSource::Field(at)).is_some() || field.same.is_some() {
                continue;
            }
            let text = format!("{}: there is no column for {}", sink.table, field.name);
            match field.required {
                true => return Err(FillError::Unfit(format!("{text}, which every row has"))),
                false => told.push(format!("{text}: rows are loaded without it")),
            }
        }
    }
    Ok(told)
}

fn object_of(content: &Content) -> Option<&Object> {
    match content {
        Content::Fields(object) => Some(object),
        Content::Json(shape) => shape.object(),
        _ => None,
    }
}

/// Loads all mirrors; `tell` hears how far it is.
///
/// # Errors
/// If a side cannot be used, or a table does not have what rows need.
pub async fn fill(
    client: &mut Client,
    schema: &Schema,
    source: &mut Source,
    present: Present,
    mut tell: impl FnMut(&str),
) -> Result<Filled, FillError> {
    look_over(schema)?.iter().for_each(|line| tell(line));
    let db = schema.keyspace.db.to_string();
    source.ask("SELECT", &[b"SELECT", db.as_bytes()])?;
    let mut filled = Filled::default();
    let keyspace = &*schema.keyspace.name;
    notes::begin(client, schema).await?;
    for (key, sink) in mirrors(schema) {
        // One moment of the table, however long it takes.
        let transaction = client.transaction().await.map_err(DatabaseError::from)?;
        let count = transaction.query_one(&statement::count(sink), &[]).await;
        let count: i64 = count.map_err(DatabaseError::from)?.get(0);
        let declare = format!("DECLARE rows CURSOR FOR {}", value::select(key, sink));
        transaction.batch_execute(&declare).await.map_err(DatabaseError::from)?;
        notes::forget(&transaction, keyspace, sink).await?;
        let loading = Loading { transaction: &transaction, keyspace, key, sink, present };
        let (mut done, mut told_at) = (0, Instant::now());
        // Rows of a key stand together; the last ones may go on in the next page.
        let mut open: Vec<Parts> = Vec::new();
        loop {
            let fetch = format!("FETCH {ROWS_AT_ONCE} FROM rows");
            let rows = transaction.query(&fetch, &[]).await.map_err(DatabaseError::from)?;
            gather((key, sink), &rows, &mut open);
            let last = if rows.is_empty() { None } else { open.pop() };
            loading.load(source, std::mem::take(&mut open), &mut filled).await?;
            open.extend(last);
            if rows.is_empty() {
                break;
            }
            done += rows.len();
            if told_at.elapsed() > TOLD_EVERY {
                tell(&format!("{}: {done} of {count} rows", sink.table));
                told_at = Instant::now();
            }
        }
        notes::end(&transaction, keyspace, sink).await?;
        transaction.commit().await.map_err(DatabaseError::from)?;
        tell(&format!("{}: {done} rows read", sink.table));
    }
    Ok(filled)
}

/// A key, and the rows of the table that it is: one, or one for each part of a split.
struct Parts {
    name: Vec<u8>,
    /// The columns that name it, as the database writes them.
    named: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
}

/// Adds rows to those of their keys.
fn gather((key, sink): (&Key, &Sink), rows: &[Row], open: &mut Vec<Parts>) {
    let columns = statement::name_columns(sink);
    for row in rows {
        let values: Vec<Option<String>> = (0..sink.columns.len()).map(|at| row.get(at)).collect();
        let named: Vec<String> =
            columns.iter().map(|at| values[*at].clone().unwrap_or_default()).collect();
        let name = ddl::key_name(key, sink, &columns, &named);
        // By its columns as the database writes them.
        let count = columns.len();
        let own = (0..count).map(|at| row.get::<_, Option<String>>(sink.columns.len() + at));
        let named: Vec<String> = own.map(Option::unwrap_or_default).collect();
        match open.last_mut().filter(|last| last.name == name) {
            Some(last) => last.rows.push(values),
            None => open.push(Parts { name, named, rows: vec![values] }),
        }
    }
}

/// What the server would have of a key.
enum Written {
    /// Fields of a hash.
    Fields(Vec<(Vec<u8>, Vec<u8>)>),
    /// A text.
    Text(Vec<u8>),
}

/// A table that is loaded.
struct Loading<'a, 'c> {
    transaction: &'a Transaction<'c>,
    keyspace: &'a str,
    key: &'a Key,
    sink: &'a Sink,
    present: Present,
}

impl Loading<'_, '_> {
    /// Writes some rows; what would not come back as it is, and what the server refuses, is noted.
    async fn load(
        &self,
        source: &mut Source,
        all: Vec<Parts>,
        filled: &mut Filled,
    ) -> Result<(), FillError> {
        let all: Vec<(Parts, Written)> = all
            .into_iter()
            .map(|parts| {
                let written = written(self.key, self.sink, &parts);
                (parts, written)
            })
            .collect();
        let (transaction, table) = (self.transaction, (self.key, self.sink));
        let objections = coming_back::objections(transaction, table, &all).await?;
        let mut loaded: Vec<&(Parts, Written)> = Vec::new();
        for (own, objection) in all.iter().zip(objections) {
            match objection {
                Some(reason) => self.refuse(&own.0, &reason, &reason, filled).await?,
                None => loaded.push(own),
            }
        }
        let requests: Vec<Vec<Vec<u8>>> =
            loaded.iter().map(|(parts, written)| self.request(parts, written)).collect();
        let requests: Vec<Vec<&[u8]>> =
            requests.iter().map(|request| request.iter().map(Vec::as_slice).collect()).collect();
        for ((parts, _), reply) in loaded.into_iter().zip(source.ask_all(&requests)?) {
            match reply {
                Frame::Error(text) if !text.starts_with(b"SCHEMA") && !text.starts_with(b"ERR") => {
                    let text = String::from_utf8_lossy(&text).into_owned();
                    return Err(SourceError::Refused("a row", text).into());
                }
                Frame::Error(text) => {
                    let discreet = "refused by the schema; what it holds is personal";
                    self.refuse(parts, &String::from_utf8_lossy(&text), discreet, filled).await?;
                }
                Frame::Integer(0) | Frame::NullBulk | Frame::Null => filled.kept += 1,
                _ => filled.loaded += 1,
            }
        }
        Ok(())
    }

    /// Notes and tells that a row is not loaded, in words that show a value or none.
    async fn refuse(
        &self,
        parts: &Parts,
        plain: &str,
        discreet: &str,
        filled: &mut Filled,
    ) -> Result<(), FillError> {
        let reason = if row::is_discreet(self.key) { discreet } else { plain };
        notes::refused(self.transaction, self.keyspace, self.sink, &parts.named, reason).await?;
        filled.refused += 1;
        if filled.refusals.len() < REFUSALS_TOLD {
            let shown = store::shown_name(self.key, &parts.name);
            let text = if self.key.has_personal() { discreet } else { plain };
            filled.refusals.push(format!("{shown}: {text}"));
        }
        Ok(())
    }

    /// What [`LOAD_HASH`] is told of fields: those stay that the table has no column for.
    fn fields_that_stay(&self) -> (&'static [u8], Vec<&str>) {
        let Some(object) = object_of(&self.key.content) else { return (b"0", Vec::new()) };
        if self.present == Present::Keep {
            return (b"0", Vec::new());
        }
        let has_column = |at: usize| {
            let is_there = self.sink.column_from(&ColumnSource::Field(at)).is_some();
            is_there || object.fields[at].same.is_some()
        };
        let names = |wanted: bool| {
            let fields = object.fields.iter().enumerate();
            let fields = fields.filter(move |(at, _)| has_column(*at) == wanted);
            fields.map(|(_, field)| &*field.name).collect::<Vec<&str>>()
        };
        // Fields that are not declared come from a column of them all, or are split.
        let has_others = self
            .sink
            .columns
            .iter()
            .any(|column| matches!(column.from, ColumnSource::Extra | ColumnSource::Split(..)));
        match has_others {
            true => (b"1", names(false)),
            false => (b"2", names(true)),
        }
    }

    /// The request that writes a row.
    fn request(&self, Parts { name, .. }: &Parts, written: &Written) -> Vec<Vec<u8>> {
        match written {
            Written::Fields(pairs) => {
                let (flag, listed) = self.fields_that_stay();
                let count = listed.len().to_string().into_bytes();
                let head = [b"EVAL", LOAD_HASH, b"1", name, flag, &count].map(<[u8]>::to_vec);
                let listed = listed.into_iter().map(|name| name.as_bytes().to_vec());
                let fields = pairs.iter().flat_map(|(name, value)| [name.clone(), value.clone()]);
                head.into_iter().chain(listed).chain(fields).collect()
            }
            Written::Text(text) => {
                let mut request = vec![b"SET".to_vec(), name.clone(), text.clone()];
                if self.present == Present::Keep {
                    request.push(b"NX".to_vec());
                }
                request
            }
        }
    }
}

/// What the server would have of the rows of a key.
fn written(key: &Key, sink: &Sink, Parts { rows, .. }: &Parts) -> Written {
    if key.data == DataType::Hash {
        let fields: Vec<Vec<u8>> =
            rows.iter().flat_map(|values| value::fields(key, sink, values)).collect();
        let pairs = fields.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        return Written::Fields(pairs.collect());
    }
    let text = match object_of(&key.content) {
        Some(object) => value::json(object, sink, rows),
        None => {
            let column = sink.column_from(&ColumnSource::Value);
            let found = column.zip(rows.first());
            let value = found.and_then(|(at, values)| {
                Some(value::bytes_of(&sink.columns[at], values[at].as_deref()?))
            });
            return Written::Text(value.unwrap_or_default());
        }
    };
    Written::Text(text.into_bytes())
}
