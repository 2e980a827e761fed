//! Items that were in lists before these had a sink.
//!
//! Owns how they reach their tables, each once. Of a `drain` the server tells all items of a list
//! when one is pushed: one that is moved to where it was has it do so. Of an `append` they are
//! stored here, once for each table: whatever a list has, and neither its table nor the changefeed
//! nor the dead letters. That is exact as long as items differ, as those with an id do. What the table
//! can never hold, or has by its key, becomes a dead letter, as it does when it is pushed.
//! Invariants: the lists are looked at before the changefeed, so that what was told is in one of
//! the two places; letters are locked before the table is looked at, so that one which is sent again
//! meanwhile is in one of the two; the note that it was done is in the transaction of the rows.
//! Not here: entries of streams.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use keyward_resp::Frame;
use keyward_schema::{
    ColumnSource, DataType, Key, Matcher, Schema, Sink, SinkKind, changefeed_key,
};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

use crate::database::DatabaseError;
use crate::entry::{Entry, EntryId};
use crate::following::FollowError;
use crate::history::Place;
use crate::pace::Pace;
use crate::row::{Held, Origin, Row, masked, rows_of};
use crate::source::{Source, SourceError};
use crate::store::dead_letters::letters_of;
use crate::store::{self, Batch, Change, Failure, Stored, What, apart, rows};
use crate::{ddl, sight, statement};

/// The most lists that are looked at together.
const LISTS_AT_ONCE: usize = 100;
/// About the most bytes of items that the table is asked about together: PostgreSQL takes no message
/// of a gigabyte.
const ASKED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Stores items that are in lists and were never told; how many, and how many became dead letters.
///
/// # Errors
/// If a side cannot be asked, or an item is refused for what may pass.
pub(crate) async fn store_former(
    client: &mut Client,
    schema: &Schema,
    matcher: &Matcher,
    source: &mut Source,
    place: &Place,
) -> Result<Stored, FollowError> {
    let keyspace = &*schema.keyspace.name;
    let mut stored = Stored::default();
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
            let transaction = &transaction;
            let mut filling =
                Filling { transaction, sink, told, now_ms, looked_at: 0, stored: &mut stored };
            filling.run(&lists, source).await?;
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
    /// The key, by index.
    fn index(&self) -> usize {
        let place = self.schema.keys.iter().position(|key| std::ptr::eq(key, self.key));
        place.expect("the key is one of the schema's")
    }

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

    /// Leaves out of a list's items what was told.
    fn leave_out(&self, name: &[u8], items: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        match self.items.get(name) {
            Some(told) => leave_out(items, told.clone(), Vec::clone),
            None => items,
        }
    }
}

/// Leaves items out, each as often as it is there; `as_there` says what it would be there.
fn leave_out(
    items: Vec<Vec<u8>>,
    mut there: HashMap<Vec<u8>, usize>,
    as_there: impl Fn(&Vec<u8>) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let is_left = |item: &Vec<u8>| match there.get_mut(&as_there(item)) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    items.into_iter().filter(is_left).collect()
}

/// A table that gets the items which were there before it.
struct Filling<'a, 'c> {
    transaction: &'a Transaction<'c>,
    sink: &'a Sink,
    told: Told,
    now_ms: u64,
    /// How many items were looked at.
    looked_at: usize,
    stored: &'a mut Stored,
}

impl Filling<'_, '_> {
    async fn run(&mut self, lists: &Lists<'_>, source: &mut Source) -> Result<(), FollowError> {
        let (mut cursor, mut pace) = (b"0".to_vec(), Pace::up_to(LISTS_AT_ONCE));
        loop {
            let (next, names) = lists.scan(source, &cursor)?;
            let mut rest = &names[..];
            while !rest.is_empty() {
                let (some, others) = rest.split_at(pace.count.min(rest.len()));
                let bytes = self.fill(lists, source, some).await?;
                pace.adapt(some.len(), bytes);
                rest = others;
            }
            cursor = next;
            if cursor == b"0" {
                return Ok(());
            }
        }
    }

    /// Stores what the table lacks of some lists; how many bytes they hold.
    async fn fill(
        &mut self,
        lists: &Lists<'_>,
        source: &mut Source,
        names: &[Vec<u8>],
    ) -> Result<usize, FollowError> {
        let requests: Vec<Vec<&[u8]>> =
            names.iter().map(|name| vec![b"LRANGE", &name[..], b"0", b"-1"]).collect();
        let replies = source.ask_all(&requests)?;
        self.told.catch_up(source)?;
        let (key, keyspace) = (lists.key, &*lists.schema.keyspace.name);
        let letters = letters_of(self.transaction, keyspace, self.sink, names).await;
        let mut letters = letters.map_err(Failure::into_error)?;
        let (mut changes, mut bytes): (Vec<Change>, usize) = (Vec::new(), 0);
        for (name, reply) in names.iter().zip(&replies) {
            let items = items_of(reply)?;
            bytes += items.iter().map(Vec::len).sum::<usize>();
            let mut items = self.told.leave_out(name, items);
            if let Some(letters) = letters.remove(name) {
                items = leave_out(items, letters, |item| masked(key, Some(self.sink), item));
            }
            for item in items {
                changes.push(self.change(lists, name, item));
            }
        }
        self.store(lists.schema, changes).await?;
        Ok(bytes)
    }

    /// What an item does to the table.
    fn change(&mut self, lists: &Lists<'_>, name: &[u8], item: Vec<u8>) -> Change {
        // No entry has such a number.
        let id = EntryId { ms: self.now_ms, seq: u64::MAX };
        let number = self.looked_at;
        self.looked_at += 1;
        let origin = Origin { id, item: Some(number), again: None };
        let what = match rows_of(lists.key, self.sink, name, &Held::Text(&item), origin) {
            Ok(rows) => What::Store(rows),
            Err(unfit) => What::Unfit(format!("{} {}", unfit.column, unfit.problem)),
        };
        let (name, item) = (name.to_vec(), Some((number, item)));
        Change { id, key: lists.index(), name, what, item }
    }

    /// Stores those that the table lacks.
    async fn store(&mut self, schema: &Schema, all: Vec<Change>) -> Result<(), FollowError> {
        let mut changes: Vec<Change> = Vec::new();
        let mut parts = parts_of(self.sink, all);
        while let Some(mut part) = parts.pop() {
            match self.lacking(&part).await? {
                Some(lacking) => changes.extend(
                    part.into_iter().zip(lacking).filter_map(|(change, is)| is.then_some(change)),
                ),
                // A value that no column takes is not there, and is told when it is stored.
                None if part.len() == 1 => changes.append(&mut part),
                None => {
                    let second = part.split_off(part.len() / 2);
                    parts.extend([second, part]);
                }
            }
        }
        if changes.is_empty() {
            return Ok(());
        }
        changes.sort_by_key(|change| change.item.as_ref().map(|(number, _)| *number));
        let batch = Batch { changes, ..Batch::default() };
        let stored = apart::store(self.transaction, schema, &batch).await;
        self.stored.add(stored.map_err(Failure::into_error)?);
        Ok(())
    }

    /// Which of some items the table lacks; nothing if it cannot be asked for one of them. What can
    /// be no row it lacks.
    async fn lacking(&self, changes: &[Change]) -> Result<Option<Vec<bool>>, FollowError> {
        let (mut owners, mut given): (Vec<usize>, Vec<&Row>) = (Vec::new(), Vec::new());
        let mut is_lacking = vec![false; changes.len()];
        for (at, change) in changes.iter().enumerate() {
            match &change.what {
                What::Store(rows) => {
                    owners.extend(rows.iter().map(|_| at));
                    given.extend(rows);
                }
                What::Remove(_) | What::Unfit(_) => is_lacking[at] = true,
            }
        }
        if given.is_empty() {
            return Ok(Some(is_lacking));
        }
        let arrays = rows::arrays_of(self.sink, &given);
        let arrays: Vec<&(dyn ToSql + Sync)> =
            arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        let done = |done: Result<(), _>| done.map_err(DatabaseError::from);
        done(self.transaction.batch_execute("SAVEPOINT look").await)?;
        let asked = self.transaction.query(&statement::lacking_items(self.sink), &arrays).await;
        let found = match asked.map_err(|error| Failure::at(&self.sink.table, error)) {
            Ok(found) => found,
            Err(Failure::Store(error)) => return Err(error.into()),
            Err(Failure::Refused(_)) => {
                let back = "ROLLBACK TO SAVEPOINT look; RELEASE SAVEPOINT look";
                done(self.transaction.batch_execute(back).await)?;
                return Ok(None);
            }
        };
        done(self.transaction.batch_execute("RELEASE SAVEPOINT look").await)?;
        for row in found {
            let at = usize::try_from(row.get::<_, i64>(0) - 1).unwrap_or(usize::MAX);
            if let Some(owner) = owners.get(at) {
                is_lacking[*owner] = true;
            }
        }
        Ok(Some(is_lacking))
    }
}

/// Items in parts that are not too large. Those that say the same are in the same one: each counts as
/// often as the table has it.
fn parts_of(sink: &Sink, all: Vec<Change>) -> Vec<Vec<Change>> {
    let item = |change: &Change| change.item.as_ref().map_or(0, |(_, item)| item.len());
    let bytes: usize = all.iter().map(|change| change.name.len() + item(change)).sum();
    let count = bytes / ASKED_BYTES_MAX + 1;
    let says: Vec<usize> = (0..sink.columns.len())
        .filter(|at| !matches!(sink.columns[*at].from, ColumnSource::Time | ColumnSource::Entry))
        .collect();
    let mut parts: Vec<Vec<Change>> = (0..count).map(|_| Vec::new()).collect();
    for change in all {
        let mut hasher = DefaultHasher::new();
        if let What::Store(rows) = &change.what {
            rows.iter().for_each(|row| says.iter().for_each(|at| row[*at].hash(&mut hasher)));
        }
        let at = usize::try_from(hasher.finish() % count as u64).unwrap_or(0);
        parts[at].push(change);
    }
    parts
}

/// The items of a list. A row that does not fit its key has none.
fn items_of(reply: &Frame) -> Result<Vec<Vec<u8>>, SourceError> {
    match reply {
        Frame::Error(text) if !text.starts_with(b"WRONGTYPE") => {
            Err(SourceError::Refused("LRANGE", String::from_utf8_lossy(text).into_owned()))
        }
        reply => {
            let items = reply.as_elements().unwrap_or_default().iter();
            Ok(items.filter_map(|item| Some(item.as_bytes()?.to_vec())).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_are_asked_about_together_and_not_too_many_bytes() {
        let schema = "[keyspace]\nname = 'l'\n[key.\"l:{id}\"]\ntype = 'list'\nttl = 'none'\n\
                      items = 'string'\nallow = ['KW0310: kept']\nsink = { append = 'l' }";
        let schema = keyward_schema::check("l.toml", schema.as_bytes()).schema.expect("a schema");
        let (key, sink) = ddl::sinks(&schema).next().expect("a sink");
        let change = |number: usize| {
            let id = EntryId::default();
            // Each is there twice.
            let item = format!("{}-{}", number / 2, "x".repeat(1024 * 1024)).into_bytes();
            let origin = Origin { id, item: Some(number), again: None };
            let rows = rows_of(key, sink, b"l:1", &Held::Text(&item), origin).expect("a row");
            let (name, what) = (b"l:1".to_vec(), What::Store(rows));
            Change { id, key: 0, name, what, item: Some((number, item)) }
        };
        let parts = parts_of(sink, (0..200).map(change).collect());
        assert_eq!(parts.len(), 7);
        let item = |change: &Change| change.item.as_ref().map(|(number, _)| number / 2);
        for part in &parts {
            assert!(part.chunks(2).all(|pair| pair.len() == 2 && item(&pair[0]) == item(&pair[1])));
            assert!(part.len() < 100, "{}", part.len());
        }
        assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 200);
    }
}
