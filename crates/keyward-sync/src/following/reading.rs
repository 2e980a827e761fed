//! Reading a changefeed: its histories, its entries, and taking away what is stored.

use keyward_resp::Frame;

use crate::entry::{Entry, EntryId, parse_all};
use crate::following::FollowError;
use crate::history::{History, Look};
use crate::pace::Pace;
use crate::sight;
use crate::source::{Source, SourceError};

/// The most entries that are read at once.
const ENTRIES_AT_ONCE: usize = 5_000;
/// About so many bytes of entries are stored in one transaction, or one unit that is larger.
const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long the server is asked to wait for a change, in milliseconds.
const WAIT_MS: &[u8] = b"1000";

/// A changefeed that is read.
pub(super) struct Reading {
    source: Source,
    feed: Vec<u8>,
    /// How many entries are asked for.
    pace: Pace,
}

impl Reading {
    pub(super) fn new(source: Source, feed: Vec<u8>) -> Reading {
        Reading { source, feed, pace: Pace::up_to(ENTRIES_AT_ONCE) }
    }

    pub(super) fn source(&mut self) -> &mut Source {
        &mut self.source
    }

    /// The histories of the changefeed; none if it is not there.
    pub(super) fn histories(&mut self) -> Result<Vec<History>, FollowError> {
        let reply = self.source.ask_all(&[vec![b"XINFO", b"GROUPS", &self.feed]])?.pop();
        match reply {
            Some(Frame::Error(text)) if text.starts_with(b"ERR no such key") => Ok(Vec::new()),
            Some(Frame::Error(text)) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                Err(SourceError::Refused("XINFO GROUPS", text).into())
            }
            reply => {
                let parsed = reply.as_ref().and_then(History::parse_all);
                Ok(parsed.ok_or(SourceError::Protocol)?)
            }
        }
    }

    /// How many entries were taken away since the first one: those before what is there.
    pub(super) fn taken_away(&mut self) -> Result<u64, FollowError> {
        let reply = self.source.ask("XINFO STREAM", &[b"XINFO", b"STREAM", &self.feed])?;
        let pairs = reply.as_elements().ok_or(SourceError::Protocol)?;
        let number = |name: &[u8]| {
            let mut pairs = pairs.chunks_exact(2);
            let pair = pairs.find(|pair| pair[0].as_bytes() == Some(name))?;
            let Frame::Integer(number) = pair[1] else { return None };
            u64::try_from(number).ok()
        };
        let (added, length) =
            number(b"entries-added").zip(number(b"length")).ok_or(SourceError::Protocol)?;
        Ok(added.saturating_sub(length))
    }

    /// Up to where rows that were looked at before this say what the server has told.
    pub(super) fn looked(&mut self) -> Result<Look, FollowError> {
        Ok(sight::looked(&mut self.source, &self.feed)?)
    }

    /// The entries behind a place, up to one, whole units of them: those of one time stay
    /// together.
    pub(super) fn read(
        &mut self,
        from: EntryId,
        until: Option<EntryId>,
    ) -> Result<Vec<Entry>, FollowError> {
        let end = until.map_or("+".to_owned(), |until| until.to_string());
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let last = entries.last().map_or(from, |entry| entry.id);
            let (start, count) = (format!("({last}"), self.pace.count);
            let many = count.to_string();
            let request: [&[u8]; 6] = [
                b"XRANGE",
                &self.feed,
                start.as_bytes(),
                end.as_bytes(),
                b"COUNT",
                many.as_bytes(),
            ];
            let reply = self.source.ask("XRANGE", &request)?;
            let page = parse_all(&reply).ok_or(SourceError::Protocol)?;
            let is_last = page.len() < count;
            self.pace.adapt(page.len(), page.iter().map(Entry::bytes).sum());
            entries.extend(page);
            if let Some(enough) = enough_of(&entries) {
                entries.truncate(enough);
                return Ok(entries);
            }
            if is_last {
                return Ok(entries);
            }
            let end_ms = entries.last().map_or(0, |entry| entry.id.ms);
            let whole = entries.iter().rposition(|entry| entry.id.ms != end_ms);
            if let Some(whole) = whole {
                entries.truncate(whole + 1);
                return Ok(entries);
            }
        }
    }

    /// Takes away what is stored, and reports how many rows that were and how many items were
    /// refused, by pattern. Who may not report has stored them all the same.
    pub(super) fn trim(
        &mut self,
        stored: EntryId,
        counts: &[(&str, usize, usize)],
    ) -> Result<(), FollowError> {
        let next = stored.next().to_string();
        let counts: Vec<[String; 3]> = counts
            .iter()
            .map(|(pattern, rows, refused)| {
                [(*pattern).to_owned(), rows.to_string(), refused.to_string()]
            })
            .collect();
        let trim: Vec<&[u8]> = vec![b"XTRIM", &self.feed, b"MINID", b"=", next.as_bytes()];
        let reports = counts.iter().map(|count| {
            let head: [&[u8]; 2] = [b"KEYWARD", b"STORED"];
            head.into_iter().chain(count.iter().map(String::as_bytes)).collect()
        });
        let requests: Vec<Vec<&[u8]>> = [trim].into_iter().chain(reports).collect();
        match self.source.ask_all(&requests)?.first() {
            Some(Frame::Error(text)) => {
                let text = String::from_utf8_lossy(text).into_owned();
                Err(SourceError::Refused("XTRIM", text).into())
            }
            _ => Ok(()),
        }
    }

    /// Reports of patterns whose tables keep rows for some time how far the clocks of both sides are
    /// apart, if nothing goes for that; else zero. Who may not report has kept them all the same.
    pub(super) fn report_clocks(
        &mut self,
        patterns: &[&str],
        apart_ms: u64,
    ) -> Result<(), FollowError> {
        let apart = apart_ms.to_string();
        let report = |pattern: &&'_ str| -> Vec<Vec<u8>> {
            ["KEYWARD", "STORED", pattern, "0", "0", &apart]
                .map(|word| word.as_bytes().to_vec())
                .into()
        };
        let reports: Vec<Vec<Vec<u8>>> = patterns.iter().map(report).collect();
        let requests: Vec<Vec<&[u8]>> =
            reports.iter().map(|words| words.iter().map(Vec::as_slice).collect()).collect();
        self.source.ask_all(&requests)?;
        Ok(())
    }

    /// Waits until there is something behind a place, or for a second.
    pub(super) fn wait(&mut self, from: EntryId) -> Result<(), FollowError> {
        let from = from.to_string();
        let request: [&[u8]; 6] =
            [b"XREAD", b"BLOCK", WAIT_MS, b"STREAMS", &self.feed, from.as_bytes()];
        self.source.ask("XREAD", &request)?;
        Ok(())
    }
}

/// How many of these entries, whole units, are as many bytes as a batch may have; nothing where all
/// of them are fewer, or are one unit.
fn enough_of(entries: &[Entry]) -> Option<usize> {
    let (mut bytes, mut enough) = (0, 0);
    for unit in entries.chunk_by(|one, next| one.id.ms == next.id.ms) {
        bytes += unit.iter().map(Entry::bytes).sum::<usize>();
        if bytes > BATCH_BYTES_MAX && enough > 0 {
            return Some(enough);
        }
        enough += unit.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_schema::SinkKind;

    #[test]
    fn a_batch_has_so_many_bytes_or_one_unit() {
        let entry = |ms: u64, bytes: usize| {
            let (id, kind) = (EntryId { ms, seq: 0 }, SinkKind::Append);
            Entry { id, kind, key: vec![0; bytes], pairs: Vec::new() }
        };
        let half = BATCH_BYTES_MAX / 2;
        assert_eq!(enough_of(&[entry(1, half), entry(2, half)]), None);
        assert_eq!(enough_of(&[entry(1, half), entry(2, half), entry(3, 1)]), Some(2));
        assert_eq!(enough_of(&[entry(1, half), entry(2, half), entry(2, half)]), Some(1));
        assert_eq!(enough_of(&[entry(1, half), entry(1, half), entry(1, half)]), None);
        assert_eq!(enough_of(&[entry(1, 3 * half), entry(2, 1)]), Some(1));
    }
}
