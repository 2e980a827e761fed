//! Looking at rows of a server: which keys there are, what they hold, and which of them have
//! changes on their way.

use std::collections::BTreeSet;

use keyward_resp::Frame;
use keyward_schema::{DataType, Key, Sink, SinkKind};

use crate::entry::{Entry, EntryId, parse_all};
use crate::history::{History, Look};
use crate::pace::Pace;
use crate::row::{Held, Origin, Row, Unfit, rows_of};
use crate::source::{Source, SourceError};

/// How many keys are asked for together.
const KEYS_AT_ONCE: &[u8] = b"1000";
/// The most rows that are looked at together.
const ROWS_AT_ONCE: usize = 500;
/// The most entries that are looked through together.
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

/// About so many bytes of rows are compared together.
pub(crate) const COMPARED_BYTES: usize = 16 * 1024 * 1024;

/// How many rows are looked at: so many at least, and no more once they are this large together.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    pub(crate) least: usize,
    pub(crate) bytes: usize,
}

impl Extent {
    /// Where rows are compared, some after the other.
    pub(crate) const COMPARED: Extent = Extent { least: 1, bytes: COMPARED_BYTES };
}

/// Looks at rows as they are now, from the first on; what there is of each. They may be fewer than
/// were asked for.
pub(crate) fn look<'a>(
    source: &mut Source,
    asked: impl Iterator<Item = (&'a Key, &'a [u8])>,
    extent: Extent,
) -> Result<Vec<Frame>, SourceError> {
    let command =
        |key: &Key| -> &[u8] { if key.data == DataType::Hash { b"HGETALL" } else { b"GET" } };
    let mut requests = asked.map(|(key, name)| vec![command(key), name]);
    let (mut looked, mut held): (Vec<Frame>, usize) = (Vec::new(), 0);
    let mut pace = Pace::up_to(ROWS_AT_ONCE);
    loop {
        let page: Vec<Vec<&[u8]>> = requests.by_ref().take(pace.count).collect();
        if page.is_empty() {
            return Ok(looked);
        }
        let replies = source.ask_all(&page)?;
        let bytes: usize = replies.iter().map(bytes_of).sum();
        pace.adapt(page.len(), bytes);
        looked.extend(replies);
        held += bytes;
        if held > extent.bytes && looked.len() >= extent.least {
            return Ok(looked);
        }
    }
}

/// Rows that were looked at, in pieces that hold no more than so many bytes, or one row that does:
/// PostgreSQL takes no message of a gigabyte.
pub(crate) fn pieces<'a, N>(
    names: &'a [N],
    looked: &'a [Frame],
    most: usize,
) -> Vec<(&'a [N], &'a [Frame])> {
    let (mut pieces, mut start, mut held) = (Vec::new(), 0, 0);
    for (at, reply) in looked.iter().enumerate() {
        let bytes = bytes_of(reply);
        if held + bytes > most && at > start {
            pieces.push((&names[start..at], &looked[start..at]));
            (start, held) = (at, 0);
        }
        held += bytes;
    }
    pieces.push((&names[start..looked.len()], &looked[start..]));
    pieces
}

/// How much a reply holds.
fn bytes_of(reply: &Frame) -> usize {
    match reply.as_elements() {
        Some(elements) => elements.iter().map(bytes_of).sum(),
        None => reply.as_bytes().map_or(0, <[u8]>::len),
    }
}

/// What a reply to a look says of a row.
pub(crate) fn row_of(
    (key, sink): (&Key, &Sink),
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

/// Up to where rows that were looked at before this say what the server has told. Its histories are
/// asked for last: the entry may then be of a former one, never of a later.
pub(crate) fn looked(source: &mut Source, feed: &[u8]) -> Result<Look, SourceError> {
    let reply = source.ask("XINFO STREAM", &[b"XINFO", b"STREAM", feed])?;
    let mut pairs = reply.as_elements().ok_or(SourceError::Protocol)?.chunks_exact(2);
    let last = pairs.find(|pair| pair[0].as_bytes() == Some(b"last-generated-id"));
    let last = last.and_then(|pair| EntryId::parse(pair[1].as_bytes()?));
    let entry = last.ok_or(SourceError::Protocol)?;
    let groups = source.ask("XINFO GROUPS", &[b"XINFO", b"GROUPS", feed])?;
    let histories = History::parse_all(&groups).ok_or(SourceError::Protocol)?;
    let history = histories.last().map(|history| history.name.clone()).unwrap_or_default();
    Ok(Look { history, entry })
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
    let mut pace = Pace::up_to(ENTRIES_AT_ONCE);
    while seen < many {
        let page = page(source, feed, last, &mut pace)?;
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

/// The next entries behind one; none where it was the last.
fn page(
    source: &mut Source,
    feed: &[u8],
    last: EntryId,
    pace: &mut Pace,
) -> Result<Vec<Entry>, SourceError> {
    let (start, count) = (format!("({last}"), pace.count.to_string());
    let request: [&[u8]; 6] = [b"XRANGE", feed, start.as_bytes(), b"+", b"COUNT", count.as_bytes()];
    let page = parse_all(&source.ask("XRANGE", &request)?).ok_or(SourceError::Protocol)?;
    pace.adapt(page.len(), page.iter().map(Entry::bytes).sum());
    Ok(page)
}

/// Looks through the entries behind a place; the last of them.
pub(crate) fn each_entry(
    source: &mut Source,
    feed: &[u8],
    place: EntryId,
    mut see: impl FnMut(Entry),
) -> Result<EntryId, SourceError> {
    let (mut last, mut pace) = (place, Pace::up_to(ENTRIES_AT_ONCE));
    loop {
        let asked = pace.count;
        let entries = page(source, feed, last, &mut pace)?;
        let is_last = entries.len() < asked;
        last = entries.last().map_or(last, |entry| entry.id);
        entries.into_iter().for_each(&mut see);
        if is_last {
            return Ok(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_rows_are_compared_some_at_a_time() {
        let lengths = |bytes: &[usize]| -> Vec<usize> {
            let looked: Vec<Frame> =
                bytes.iter().map(|bytes| Frame::Bulk(vec![b'x'; *bytes])).collect();
            let names: Vec<usize> = (0..bytes.len()).collect();
            let pieces = pieces(&names, &looked, 10);
            assert!(pieces.iter().all(|(names, looked)| names.len() == looked.len()));
            assert_eq!(
                pieces.iter().flat_map(|(names, _)| names.to_vec()).collect::<Vec<_>>(),
                names
            );
            pieces.iter().map(|(names, _)| names.len()).collect()
        };
        assert_eq!(lengths(&[1, 2, 3]), [3]);
        assert_eq!(lengths(&[5, 5, 1]), [2, 1]);
        assert_eq!(lengths(&[20, 20, 1, 9, 1]), [1, 1, 2, 1]);
    }
}
