//! The reply that tells what becomes of the rows of each pattern, written ahead.
//!
//! A schema of thousands of patterns has a reply of tens of thousands of elements: writing
//! it takes longer than a tick may. So it is written by ticks, and handed over as it is.
//! Invariant: the client speaks one protocol all the while, since it waits.
//! Not here: what is told (`keyward_rules::Report`).

use keyward_resp::{Protocol, ReplyWriter};
use keyward_rules::{Findings, Report};
use keyward_schema::Schema;

/// How many patterns a tick writes about: some 100 µs.
const PATTERNS_PER_TICK: usize = 256;
/// Room for what is told of a pattern of common length.
const PATTERN_BYTES: usize = 192;

/// A reply in the making.
#[derive(Debug)]
pub(crate) struct Telling {
    bytes: Vec<u8>,
    protocol: Protocol,
    /// How many patterns are told; keys without one count as the first.
    told: usize,
}

impl Telling {
    /// A reply that begins with what `head` writes; the two pairs of a map about a report
    /// follow.
    pub(crate) fn new(
        protocol: Protocol,
        report: &Report,
        head: impl FnOnce(&mut ReplyWriter<'_>),
    ) -> Telling {
        let mut bytes = Vec::with_capacity(report.tables.len() * PATTERN_BYTES);
        let mut reply = ReplyWriter::new(&mut bytes, protocol);
        head(&mut reply);
        reply.bulk(b"destroys");
        reply.integer(count(report.destroyed()));
        reply.bulk(b"patterns");
        reply.array(report.tables.len());
        Telling { bytes, protocol, told: 0 }
    }

    /// Writes the figures of some more patterns; whether all are told. Keys without a
    /// pattern come first, under an empty one.
    pub(crate) fn advance(&mut self, schema: &Schema, report: &Report) -> bool {
        let mut reply = ReplyWriter::new(&mut self.bytes, self.protocol);
        let patterns = schema.keys.iter().map(|key| key.pattern.text());
        let all = std::iter::once("").chain(patterns).zip(&report.tables);
        for (pattern, found) in all.skip(self.told).take(PATTERNS_PER_TICK) {
            let figures = figures(found);
            reply.map(figures.len() + 1);
            reply.bulk(b"pattern");
            reply.bulk(pattern.as_bytes());
            for (name, figure) in figures {
                reply.bulk(name.as_bytes());
                reply.integer(count(figure));
            }
            self.told += 1;
        }
        self.told == report.tables.len()
    }

    /// The whole reply.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn figures(found: &Findings) -> [(&'static str, u64); 10] {
    [
        ("keys", found.rows),
        ("moved", found.moved),
        ("misfits", found.misfits),
        ("conflicts", found.conflicts),
        ("overlong", found.overlong),
        ("redated", found.redated),
        ("dated", found.dated),
        ("shortened", found.shortened),
        ("built", found.built),
        ("destroyed", found.destroyed),
    ]
}
