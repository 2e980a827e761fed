//! What the server counts of each pattern: KEYWARD STATS.

use std::io;
use std::time::Instant;

use keyward_resp::Frame;

use crate::connection::Connection;
use crate::system::System;

/// The figures of one system at one moment.
pub(crate) struct SystemFigures {
    pub(crate) system: &'static System,
    pub(crate) at: Instant,
    /// In the order of the schema, keys without a pattern first.
    pub(crate) patterns: Vec<PatternFigures>,
}

/// The figures of one pattern, since the server started.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternFigures {
    /// Empty for keys that match none.
    pub(crate) pattern: String,
    pub(crate) counts: Counts,
}

/// What is counted, of one pattern or summed over several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) keys: u64,
    pub(crate) bytes: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) writes: u64,
    pub(crate) refused: u64,
}

impl Counts {
    /// Reads and writes altogether.
    pub(crate) fn uses(&self) -> u64 {
        self.hits + self.misses + self.writes
    }

    pub(crate) fn sum<'a>(all: impl IntoIterator<Item = &'a Counts>) -> Counts {
        all.into_iter().fold(Counts::default(), |sum, counts| Counts {
            keys: sum.keys + counts.keys,
            bytes: sum.bytes + counts.bytes,
            hits: sum.hits + counts.hits,
            misses: sum.misses + counts.misses,
            writes: sum.writes + counts.writes,
            refused: sum.refused + counts.refused,
        })
    }
}

/// Asks the server about each system.
pub(crate) fn read(
    connection: &mut Connection,
    systems: &[&'static System],
) -> io::Result<Vec<SystemFigures>> {
    let mut all = Vec::new();
    for system in systems {
        connection.select(system.db)?;
        let reply = connection.ask(&["KEYWARD", "STATS"])?;
        let tables = reply.as_elements().ok_or_else(|| io::Error::other(format!("{reply:?}")))?;
        let patterns = tables.iter().map(pattern).collect();
        all.push(SystemFigures { system, at: Instant::now(), patterns });
    }
    Ok(all)
}

/// Reads the names and values of one table. What is not known here is passed over.
fn pattern(table: &Frame) -> PatternFigures {
    let mut figures = PatternFigures::default();
    for pair in table.as_elements().unwrap_or_default().chunks_exact(2) {
        let [name, value] = pair else { continue };
        let count = match value {
            Frame::Integer(count) => u64::try_from(*count).unwrap_or(0),
            _ => 0,
        };
        let counts = &mut figures.counts;
        match name.as_bytes().unwrap_or_default() {
            b"pattern" => {
                let text = value.as_bytes().unwrap_or_default();
                figures.pattern = String::from_utf8_lossy(text).into_owned();
            }
            b"keys" => counts.keys = count,
            b"bytes" => counts.bytes = count,
            b"hits" => counts.hits = count,
            b"misses" => counts.misses = count,
            b"writes" => counts.writes = count,
            b"refused" => counts.refused = count,
            _ => {}
        }
    }
    figures
}
