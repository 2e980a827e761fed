//! Looking at rows of a server: which keys there are, what they hold, and which of them have
//! changes on their way.

use std::collections::BTreeSet;

use keyward_resp::Frame;
use keyward_schema::{DataType, Key, Sink, SinkKind};

use crate::entry::{Entry, EntryId, parse_all};
use crate::row::{Held, Origin, Row, Unfit, rows_of};
use crate::source::{Source, SourceError};

/// How many keys are asked for together.
const KEYS_AT_ONCE: &[u8] = b"1000";
/// How many rows are looked at together.
const ROWS_AT_ONCE: usize = 500;
/// How many entries are looked through together.
const ENTRIES_AT_ONCE: usize = 2_000;

/// Some keys of the server, and where to go on.
pub(crate) fn scan(
    source: &mut Source,
    cursor: &[u8],
    glob: &str,
) -> Result<(Vec<u8>, Vec<Vec<u8>>), SourceError> {
    let request: [&[u8]; 6] = [b"SCAN", cursor, b"MATCH", glob.as_bytes(), b"COUNT", KEYS_AT_ONCE];
    let reply = source.ask("SCAN", &request)?;
    let read = |reply: &Frame| -> Option<(Vec<u8>, Vec<Vec<u8>>)> {
        let [next, names] = reply.as_elements()? else { return None };
        let names = names.as_elements()?.iter().map(|name| Some(name.as_bytes()?.to_vec()));
        Some((next.as_bytes()?.to_vec(), names.collect::<Option<_>>()?))
    };
    read(&reply).ok_or(SourceError::Protocol)
}

/// What a row of the server is in its table; nothing if there is none.
pub(crate) type Looked = Option<Result<Vec<Row>, Unfit>>;

/// Looks at rows of a key as they are now.
pub(crate) fn look(
    source: &mut Source,
    (key, sink): (&Key, &Sink),
    names: &[(&[u8], Origin)],
) -> Result<Vec<Looked>, SourceError> {
    let command: &[u8] = if key.data == DataType::Hash { b"HGETALL" } else { b"GET" };
    let mut looked = Vec::with_capacity(names.len());
    for names in names.chunks(ROWS_AT_ONCE) {
        let requests: Vec<Vec<&[u8]>> = names.iter().map(|(name, _)| vec![command, name]).collect();
        let replies = source.ask_all(&requests)?;
        for ((name, origin), reply) in names.iter().zip(&replies) {
            looked.push(row_of(key, sink, (name, *origin), reply)?);
        }
    }
    Ok(looked)
}

fn row_of(
    key: &Key,
    sink: &Sink,
    (name, origin): (&[u8], Origin),
    reply: &Frame,
) -> Result<Looked, SourceError> {
    if let Frame::Error(text) = reply {
        if text.starts_with(b"WRONGTYPE") {
            let (column, problem) = ("the row".into(), "is of another type than its key's");
            return Ok(Some(Err(Unfit { column, problem })));
        }
        let text = String::from_utf8_lossy(text).into_owned();
        return Err(SourceError::Refused("a look at a row", text));
    }
    let pairs: Vec<(Vec<u8>, Vec<u8>)> = reply.as_elements().map_or(Vec::new(), |elements| {
        let texts: Vec<&[u8]> = elements.iter().filter_map(Frame::as_bytes).collect();
        texts.chunks_exact(2).map(|pair| (pair[0].to_vec(), pair[1].to_vec())).collect()
    });
    let held = match reply.as_bytes() {
        Some(text) => Held::Text(text),
        None if pairs.is_empty() => return Ok(None),
        None => Held::Fields(&pairs),
    };
    Ok(Some(rows_of(key, sink, name, &held, origin)))
}

/// The server's time in milliseconds.
pub(crate) fn time_ms(source: &mut Source) -> Result<u64, SourceError> {
    let reply = source.ask("TIME", &[b"TIME"])?;
    let number =
        |part: &Frame| -> Option<u64> { std::str::from_utf8(part.as_bytes()?).ok()?.parse().ok() };
    match reply.as_elements() {
        Some([seconds, micros]) => {
            let ms = number(seconds).zip(number(micros)).map(|(s, us)| s * 1000 + us / 1000);
            ms.ok_or(SourceError::Protocol)
        }
        _ => Err(SourceError::Protocol),
    }
}

/// The keys of mirrored rows that have changes behind a place.
pub(crate) fn pending(
    source: &mut Source,
    feed: &[u8],
    place: EntryId,
) -> Result<BTreeSet<Vec<u8>>, SourceError> {
    let mut names = BTreeSet::new();
    each_entry(source, feed, place, |entry| {
        if entry.kind == SinkKind::Mirror {
            names.insert(entry.key);
        }
    })?;
    Ok(names)
}

/// The entries of mirrored rows among about so many behind a place, and the last of all.
pub(crate) fn some_mirrored(
    source: &mut Source,
    feed: &[u8],
    place: EntryId,
    many: usize,
) -> Result<(Vec<Entry>, EntryId), SourceError> {
    let (mut found, mut last, mut seen): (Vec<Entry>, EntryId, usize) = (Vec::new(), place, 0);
    while seen < many {
        let page = page(source, feed, last)?;
        let Some(end) = page.last() else { break };
        (last, seen) = (end.id, seen + page.len());
        found.extend(page.into_iter().filter(|entry| entry.kind == SinkKind::Mirror));
    }
    Ok((found, last))
}

/// The last entry of all, if there is one.
pub(crate) fn last_entry(source: &mut Source, feed: &[u8]) -> Result<Option<EntryId>, SourceError> {
    let request: [&[u8]; 6] = [b"XREVRANGE", feed, b"+", b"-", b"COUNT", b"1"];
    let last = parse_all(&source.ask("XREVRANGE", &request)?).ok_or(SourceError::Protocol)?;
    Ok(last.first().map(|entry| entry.id))
}

/// The next entries behind one.
fn page(source: &mut Source, feed: &[u8], last: EntryId) -> Result<Vec<Entry>, SourceError> {
    let (start, count) = (format!("({last}"), ENTRIES_AT_ONCE.to_string());
    let request: [&[u8]; 6] = [b"XRANGE", feed, start.as_bytes(), b"+", b"COUNT", count.as_bytes()];
    parse_all(&source.ask("XRANGE", &request)?).ok_or(SourceError::Protocol)
}

/// Looks through the entries behind a place; the last of them.
pub(crate) fn each_entry(
    source: &mut Source,
    feed: &[u8],
    place: EntryId,
    mut see: impl FnMut(Entry),
) -> Result<EntryId, SourceError> {
    let mut last = place;
    loop {
        let entries = page(source, feed, last)?;
        let count = entries.len();
        last = entries.last().map_or(last, |entry| entry.id);
        entries.into_iter().for_each(&mut see);
        if count < ENTRIES_AT_ONCE {
            return Ok(last);
        }
    }
}
