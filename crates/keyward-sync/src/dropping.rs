//! Items that leave their list after so long, since their table has them (`drop`).
//!
//! Owns the decision which may go. Nothing is counted or remembered for it: an item goes only if
//! the table has a row that is what this item would be stored as, and that was pushed so long ago.
//! Invariants: an item that the table lacks stays, whatever its age; what is taken from an end of
//! the list is what was looked at, or nothing.

use keyward_resp::Frame;
use keyward_schema::{DataType, Key, Matcher, Schema, Sink};
use tokio_postgres::Client;
use tokio_postgres::types::ToSql;

use crate::entry::EntryId;
use crate::following::FollowError;
use crate::row::{Held, Origin, Row, rows_of, time_text};
use crate::source::{Source, SourceError};
use crate::store::{Failure, rows};
use crate::{ddl, sight, statement};

/// How many items are read and taken together: few enough that nobody waits for it.
const ITEMS_AT_ONCE: usize = 100;
/// The most items of a list that its table is asked about together. All that it has of the list is
/// looked through for that, so each time it is asked about twice as many as before.
const ASKED_MAX: usize = 50_000;
/// About the most bytes of them.
const ASKED_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Takes items from an end of a list, if they are those.
const TAKE: &[u8] = b"local first, last, pop = 0, #ARGV - 2, 'LPOP' \
    if ARGV[1] == 'tail' then first, last, pop = 1 - #ARGV, -1, 'RPOP' end \
    local found = redis.call('LRANGE', KEYS[1], first, last) \
    for at = 1, #ARGV - 1 do if found[at] ~= ARGV[at + 1] then return 0 end end \
    redis.call(pop, KEYS[1], #ARGV - 1) return #ARGV - 1";

/// An end of a list; the oldest items are at the one that is not pushed to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Head,
    Tail,
}

/// Drops what is old enough of all lists; how many items went.
///
/// # Errors
/// If a side cannot be asked.
pub(crate) async fn drop_old(
    client: &Client,
    schema: &Schema,
    matcher: &Matcher,
    source: &mut Source,
) -> Result<u64, FollowError> {
    let mut dropped = 0;
    for (key, sink) in ddl::sinks(schema).filter(|(key, _)| key.data == DataType::List) {
        let Some(drop) = sink.drop else { continue };
        let before_ms = sight::time_ms(source)?.saturating_sub(drop.as_ms());
        let lists = Lists { client, key, sink, before: time_text(before_ms) };
        let mut cursor = b"0".to_vec();
        loop {
            let (next, names) = sight::scan(source, &cursor, &key.pattern.glob())?;
            let is_own = |name: &Vec<u8>| {
                let found = matcher.find(name).and_then(|found| schema.id(found.pattern));
                found.is_some_and(|id| std::ptr::eq(schema.key(id), key))
            };
            let names: Vec<Vec<u8>> = names.into_iter().filter(is_own).collect();
            for end in [End::Head, End::Tail] {
                dropped += lists.drop_at(source, &names, end).await?;
            }
            cursor = next;
            if cursor == b"0" {
                break;
            }
        }
    }
    Ok(dropped)
}

/// The lists of a key, and their table.
struct Lists<'a> {
    client: &'a Client,
    key: &'a Key,
    sink: &'a Sink,
    /// What was pushed before goes.
    before: String,
}

impl Lists<'_> {
    /// Drops what is old enough at this end of lists. One item of each tells whether to look on.
    async fn drop_at(
        &self,
        source: &mut Source,
        names: &[Vec<u8>],
        end: End,
    ) -> Result<u64, FollowError> {
        let place: &[u8] = if end == End::Head { b"0" } else { b"-1" };
        let requests: Vec<Vec<&[u8]>> =
            names.iter().map(|name| vec![b"LINDEX", &name[..], place]).collect();
        let replies = source.ask_all(&requests)?;
        let is_refusal =
            |reply: &&Frame| matches!(reply, Frame::Error(text) if !text.starts_with(b"WRONGTYPE"));
        if let Some(Frame::Error(text)) = replies.iter().find(is_refusal) {
            let text = String::from_utf8_lossy(text).into_owned();
            return Err(SourceError::Refused("LINDEX", text).into());
        }
        let outermost: Vec<(&[u8], &[u8])> = names
            .iter()
            .zip(&replies)
            .filter_map(|(name, reply)| Some((&name[..], reply.as_bytes()?)))
            .collect();
        let mut dropped = 0;
        let may_go = self.may_go(&outermost).await?;
        for ((name, _), _) in outermost.iter().zip(may_go).filter(|(_, may_go)| *may_go) {
            let mut many = ITEMS_AT_ONCE;
            loop {
                let (taken, looked_at) = self.take(source, name, end, many).await?;
                dropped += taken as u64;
                if taken < looked_at || looked_at < ITEMS_AT_ONCE {
                    break;
                }
                many = (many * 2).min(ASKED_MAX);
            }
        }
        Ok(dropped)
    }

    /// Takes what may go at an end of a list, so many items at most; how many that were, and how
    /// many were looked at.
    async fn take(
        &self,
        source: &mut Source,
        name: &[u8],
        end: End,
        many: usize,
    ) -> Result<(usize, usize), FollowError> {
        let found = read_end(source, name, end, many)?;
        let items: Vec<(&[u8], &[u8])> = found.iter().map(|item| (name, &item[..])).collect();
        let may_go = self.may_go(&items).await?;
        let going = may_go.iter().position(|may_go| !may_go).unwrap_or(found.len());
        let mut taken = 0;
        for items in found[..going].chunks(ITEMS_AT_ONCE) {
            let word: &[u8] = if end == End::Head { b"head" } else { b"tail" };
            let mut request: Vec<&[u8]> = vec![b"EVAL", TAKE, b"1", name, word];
            request.extend(items.iter().map(Vec::as_slice));
            if end == End::Tail {
                request[5..].reverse();
            }
            match source.ask("EVAL", &request)? {
                Frame::Integer(0) => break,
                Frame::Integer(count) => taken += usize::try_from(count).unwrap_or(0),
                _ => return Err(SourceError::Protocol.into()),
            }
        }
        Ok((taken, found.len()))
    }

    /// Which of these items are in the table, and were pushed long enough ago.
    async fn may_go(&self, items: &[(&[u8], &[u8])]) -> Result<Vec<bool>, FollowError> {
        let bytes: usize = items.iter().map(|(name, item)| name.len() + item.len()).sum();
        if bytes > ASKED_BYTES_MAX && items.len() > 1 {
            return self.may_go_in_halves(items).await;
        }
        let origin = Origin { id: EntryId::default(), item: Some(0), again: None };
        let mut may_go = vec![false; items.len()];
        let (mut owners, mut all): (Vec<usize>, Vec<Row>) = (Vec::new(), Vec::new());
        for (at, (name, item)) in items.iter().enumerate() {
            // What has no row is not in the table.
            if let Ok(rows) = rows_of(self.key, self.sink, name, &Held::Text(item), origin) {
                may_go[at] = true;
                owners.extend(rows.iter().map(|_| at));
                all.extend(rows);
            }
        }
        if all.is_empty() {
            return Ok(may_go);
        }
        let refs: Vec<&Row> = all.iter().collect();
        let arrays = rows::arrays_of(self.sink, &refs);
        let mut values: Vec<&(dyn ToSql + Sync)> =
            arrays.iter().map(|array| array as &(dyn ToSql + Sync)).collect();
        values.push(&self.before);
        let lacking = statement::not_stored_before(self.sink);
        match self.client.query(&lacking, &values).await {
            Ok(found) => {
                for row in found {
                    let place: i64 = row.get(0);
                    let at = usize::try_from(place - 1).unwrap_or(usize::MAX);
                    may_go[owners[at]] = false;
                }
                Ok(may_go)
            }
            Err(error) => match Failure::at(&self.sink.table, error) {
                // A value that no column takes: then the table does not have it either.
                Failure::Refused(_) if items.len() == 1 => Ok(vec![false]),
                Failure::Refused(_) => self.may_go_in_halves(items).await,
                Failure::Store(error) => Err(error.into()),
            },
        }
    }

    async fn may_go_in_halves(&self, items: &[(&[u8], &[u8])]) -> Result<Vec<bool>, FollowError> {
        let (first, second) = items.split_at(items.len() / 2);
        let mut all = Box::pin(self.may_go(first)).await?;
        all.extend(Box::pin(self.may_go(second)).await?);
        Ok(all)
    }
}

/// Items at an end of a list, the outermost first, so many at most.
fn read_end(
    source: &mut Source,
    name: &[u8],
    end: End,
    many: usize,
) -> Result<Vec<Vec<u8>>, SourceError> {
    let (mut found, mut bytes): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
    while found.len() < many && bytes < ASKED_BYTES_MAX {
        let at = i64::try_from(found.len()).unwrap_or(i64::MAX);
        let page = ITEMS_AT_ONCE as i64;
        let [first, last] = match end {
            End::Head => [at, at + page - 1],
            End::Tail => [-at - page, -at - 1],
        };
        let [first, last] = [first, last].map(|at| at.to_string());
        let reply = source.ask("LRANGE", &[b"LRANGE", name, first.as_bytes(), last.as_bytes()])?;
        let items = reply.as_elements().unwrap_or_default().iter();
        let mut items: Vec<Vec<u8>> =
            items.filter_map(|item| Some(item.as_bytes()?.to_vec())).collect();
        if end == End::Tail {
            items.reverse();
        }
        let is_last = items.len() < ITEMS_AT_ONCE;
        bytes += items.iter().map(Vec::len).sum::<usize>();
        found.append(&mut items);
        if is_last {
            break;
        }
    }
    Ok(found)
}
