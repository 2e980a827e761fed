//! Entries of a changefeed, as the server sends them.

use std::fmt;

use keyward_resp::Frame;
use keyward_schema::SinkKind;

/// The id of an entry: the time of the change in milliseconds, and a number. Never given twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId {
    /// When, in milliseconds since 1970.
    pub ms: u64,
    /// Which of that time.
    pub seq: u64,
}

impl EntryId {
    /// Reads `1764862200000-3`.
    pub fn parse(text: &[u8]) -> Option<EntryId> {
        let (ms, seq) = std::str::from_utf8(text).ok()?.split_once('-')?;
        Some(EntryId { ms: ms.parse().ok()?, seq: seq.parse().ok()? })
    }

    /// The least one behind it.
    pub fn next(self) -> EntryId {
        match self.seq.checked_add(1) {
            Some(seq) => EntryId { ms: self.ms, seq },
            None => EntryId { ms: self.ms.saturating_add(1), seq: 0 },
        }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

/// An entry: something happened to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: EntryId,
    /// What happened.
    pub kind: SinkKind,
    /// To which.
    pub key: Vec<u8>,
    /// Fields and values, or items.
    pub pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Entry {
    /// How much it holds.
    pub fn bytes(&self) -> usize {
        let pairs: usize = self.pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.key.len() + pairs
    }
}

/// Reads the reply to XRANGE.
pub fn parse_all(reply: &Frame) -> Option<Vec<Entry>> {
    reply.as_elements()?.iter().map(parse).collect()
}

fn parse(entry: &Frame) -> Option<Entry> {
    let [id, fields] = entry.as_elements()? else { return None };
    let id = EntryId::parse(id.as_bytes()?)?;
    let texts: Vec<&[u8]> =
        fields.as_elements()?.iter().map(Frame::as_bytes).collect::<Option<_>>()?;
    let ([kind, key], rest) = texts.split_first_chunk::<2>()?;
    let kind = SinkKind::named(std::str::from_utf8(kind).ok()?)?;
    let pairs = rest.chunks_exact(2).map(|pair| (pair[0].to_vec(), pair[1].to_vec())).collect();
    Some(Entry { id, kind, key: key.to_vec(), pairs })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(texts: &[&str]) -> Frame {
        Frame::Array(texts.iter().map(|text| Frame::Bulk(text.as_bytes().to_vec())).collect())
    }

    fn entry(id: &str, texts: &[&str]) -> Frame {
        Frame::Array(vec![Frame::Bulk(id.as_bytes().to_vec()), frame(texts)])
    }

    #[test]
    fn entries_are_read() {
        let reply = Frame::Array(vec![entry("5-1", &["append", "tx:7", "item", "a", "item", "b"])]);
        let entries = parse_all(&reply).expect("entries");
        let pairs = vec![(b"item".to_vec(), b"a".to_vec()), (b"item".to_vec(), b"b".to_vec())];
        let (id, key) = (EntryId { ms: 5, seq: 1 }, b"tx:7".to_vec());
        assert_eq!(entries, [Entry { id, kind: SinkKind::Append, key, pairs }]);
    }

    #[test]
    fn what_is_no_entry_is_not_taken_for_one() {
        for broken in [
            entry("5", &["append", "a"]),
            entry("5-1", &["append"]),
            entry("5-1", &["what", "a"]),
            frame(&["5-1"]),
        ] {
            assert_eq!(parse_all(&Frame::Array(vec![broken])), None);
        }
        assert!(EntryId { ms: 5, seq: u64::MAX }.next() > EntryId { ms: 5, seq: u64::MAX });
    }
}
