//! Items that were in lists before these had a sink.
//!
//! Owns how they reach their tables, each once. Of a `drain` the server tells all items of a list
//! when one is pushed: one that is moved to where it was has it do so. Of an `append` they are
//! stored here, once for each table: whatever a list has, and neither its table nor the changefeed.
//! That is exact as long as items differ, as those with an id do.
//! Invariants: the lists are looked at before the changefeed, so that what was told is in one of
//! the two places; the note that it was done is in the transaction of the rows.
//! Not here: entries of streams.

use std::collections::HashMap;

use keyward_resp::Frame;
use keyward_schema::{DataType, Key, Matcher, Schema, Sink, SinkKind, changefeed_key};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

use crate::database::DatabaseError;
use crate::entry::{Entry, EntryId};
use crate::following::FollowError;
use crate::history::Place;
use crate::row::{Held, Origin, Row, rows_of};
use crate::source::{Source, SourceError};
use crate::store::{self, Failure, rows};
use crate::{ddl, sight, statement};

/// How many lists are looked at together.
const LISTS_AT_ONCE: usize = 100;

/// Stores items that are in lists and were never told; how many.
///
/// # Errors
/// If a side cannot be asked, or an item is refused.
pub(crate) async fn store_former(
    client: &mut Client,
    schema: &Schema,
    matcher: &Matcher,
    source: &mut Source,
    place: &Place,
) -> Result<u64, FollowError> {
    let keyspace = &*schema.keyspace.name;
    let mut stored = 0;
    for (key, sink) in ddl::sinks(schema).filter(|(key, _)| key.data == DataType::List) {
        let lists = Lists { schema, matcher, key };
        if sink.kind == SinkKind::Drain {
            lists.nudge(source)?;
            continue;
        }
        let transaction = client.transaction().await.map_err(DatabaseError::from)?;
        store::lock(&transaction, keyspace, place).await.map_err(Failure::into_error)?;
        let note = "INSERT INTO keyward_fills (keyspace, table_name) VALUES ($1, $2) \
                    ON CONFLICT DO NOTHING";
        let is_new = transaction.execute(note, &[&keyspace, &&*sink.table]).await;
        if is_new.map_err(DatabaseError::from)? == 1 {
            let feed = changefeed_key(keyspace).into_bytes();
            let now_ms = sight::time_ms(source)?;
            let told = Told { feed, last: place.entry, items: HashMap::new() };
            let (looked_at, stored_here) = (0, 0);
            let transaction = &transaction;
            let mut filling =
                Filling { transaction, sink, told, now_ms, looked_at, stored: stored_here };
            filling.run(&lists, source).await?;
            stored += filling.stored;
        }
        transaction.commit().await.map_err(DatabaseError::from)?;
    }
    Ok(stored)
}

/// The lists of a key.
struct Lists<'a> {
    schema: &'a Schema,
    matcher: &'a Matcher,
    key: &'a Key,
}

impl Lists<'_> {
    /// Some of them, and where to go on.
    fn scan(
        &self,
        source: &mut Source,
        cursor: &[u8],
    ) -> Result<(Vec<u8>, Vec<Vec<u8>>), SourceError> {
        let (next, mut names) = sight::scan(source, cursor, &self.key.pattern.glob())?;
        names.retain(|name| {
            let found = self.matcher.find(name).and_then(|found| self.schema.id(found.pattern));
            found.is_some_and(|id| std::ptr::eq(self.schema.key(id), self.key))
        });
        Ok((next, names))
    }

    /// Has the server tell what is in drained lists.
    fn nudge(&self, source: &mut Source) -> Result<(), SourceError> {
        let mut cursor = b"0".to_vec();
        loop {
            let (next, names) = self.scan(source, &cursor)?;
            for name in names {
                // The first item is put where it was, by one command.
                let request: Vec<&[u8]> = vec![b"LMOVE", &name, &name, b"LEFT", b"LEFT"];
                match source.ask_all(&[request])?.pop() {
                    // A row that does not fit its key has no items.
                    Some(Frame::Error(text)) if !text.starts_with(b"WRONGTYPE") => {
                        let text = String::from_utf8_lossy(&text).into_owned();
                        return Err(SourceError::Refused("LMOVE", text));
                    }
                    _ => {}
                }
            }
            cursor = next;
            if cursor == b"0" {
                return Ok(());
            }
        }
    }
}

/// What is in the changefeed behind the place: items by list, and how often.
struct Told {
    feed: Vec<u8>,
    /// The last entry that was looked at.
    last: EntryId,
    items: HashMap<Vec<u8>, HashMap<Vec<u8>, usize>>,
}

impl Told {
    /// Looks at what has come since.
    fn catch_up(&mut self, source: &mut Source) -> Result<(), SourceError> {
        let items = &mut self.items;
        self.last = sight::each_entry(source, &self.feed, self.last, |entry: Entry| {
            if entry.kind == SinkKind::Append {
                let own = items.entry(entry.key).or_default();
                entry.pairs.into_iter().for_each(|(_, item)| *own.entry(item).or_default() += 1);
            }
        })?;
        Ok(())
    }

    /// Leaves out of a list's items what was told, each as often as it was.
    fn leave_out(&mut self, name: &[u8], items: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let Some(told) = self.items.get(name) else { return items };
        let mut told = told.clone();
        let is_former = |item: &Vec<u8>| match told.get_mut(item) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        items.into_iter().filter(is_former).collect()
    }
}

/// A table that gets the items which were there before it.
struct Filling<'a, 'c> {
    transaction: &'a Transaction<'c>,
    sink: &'a Sink,
    told: Told,
    now_ms: u64,
    /// How many items were looked at.
    looked_at: usize,
    stored: u64,
}

impl Filling<'_, '_> {
    async fn run(&mut self, lists: &Lists<'_>, source: &mut Source) -> Result<(), FollowError> {
        let mut cursor = b"0".to_vec();
        loop {
            let (next, names) = lists.scan(source, &cursor)?;
            for names in names.chunks(LISTS_AT_ONCE) {
                self.fill(lists.key, source, names).await?;
            }
            cursor = next;
            if cursor == b"0" {
                return Ok(());
            }
        }
    }

    async fn fill(
        &mut self,
        key: &Key,
        source: &mut Source,
        names: &[Vec<u8>],
    ) -> Result<(), FollowError> {
        let requests: Vec<Vec<&[u8]>> =
            names.iter().map(|name| vec![b"LRANGE", &name[..], b"0", b"-1"]).collect();
        let replies = source.ask_all(&requests)?;
        self.told.catch_up(source)?;
        let mut all: Vec<Row> = Vec::new();
        for (name, reply) in names.iter().zip(&replies) {
            let items = reply.as_elements().unwrap_or_default().iter();
            let items = items.filter_map(|item| Some(item.as_bytes()?.to_vec())).collect();
            for item in self.told.leave_out(name, items) {
                // No entry has such a number.
                let id = EntryId { ms: self.now_ms, seq: u64::MAX };
                let origin = Origin { id, item: Some(self.looked_at), again: None };
                self.looked_at += 1;
                let rows = rows_of(key, self.sink, name, &Held::Text(&item), origin);
                all.extend(rows.map_err(|unfit| {
                    let problem = format!("{} {}", unfit.column, unfit.problem);
                    let shown = store::shown_name(key, name);
                    let reason = format!("{}: an item of {shown}: {problem}", self.sink.table);
                    DatabaseError::Statement(reason)
                })?);
            }
        }
        self.store(&all).await
    }

    /// Stores those that the table lacks.
    async fn store(&mut self, all: &[Row]) -> Result<(), FollowError> {
        if all.is_empty() {
            return Ok(());
        }
        let refs: Vec<&Row> = all.iter().collect();
        let arrays = rows::arrays_of(self.sink, &refs);
        let arrays: Vec<&(dyn ToSql + Sync)> =
            arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        let failed = |error| Failure::at(&self.sink.table, error).into_error();
        let lacking = statement::lacking_items(self.sink);
        let lacking = self.transaction.query(&lacking, &arrays).await.map_err(failed)?;
        let lacking: Vec<&Row> = lacking
            .iter()
            .filter_map(|row| all.get(usize::try_from(row.get::<_, i64>(0) - 1).ok()?))
            .collect();
        let inserted = rows::insert(self.transaction, self.sink, &lacking).await;
        inserted.map_err(Failure::into_error)?;
        self.stored += lacking.len() as u64;
        Ok(())
    }
}
