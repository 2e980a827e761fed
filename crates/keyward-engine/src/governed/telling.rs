//! The reply that tells what becomes of the rows of each pattern, written ahead.
//!
//! A schema of thousands of patterns has a reply of tens of thousands of elements: writing
//! it takes longer than a tick may. So it is written by ticks, and handed over as it is.
//! Invariant: the client speaks one protocol all the while, since it waits.
//! Not here: what is told (`keyward_rules::Report`).

use keyward_resp::{Protocol, ReplyWriter};
use keyward_rules::{Findings, Report};
use keyward_schema::{Key, Schema};

/// How many patterns a tick writes about: some 100 µs.
const PATTERNS_PER_TICK: usize = 256;
/// Room for what is told of a pattern of common length.
const PATTERN_BYTES: usize = 192;

/// Whom a reply is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listener {
    /// What it speaks.
    pub(crate) protocol: Protocol,
    /// Whether it may read every key. Who may not is told of no rows.
    pub(crate) reads_all: bool,
}

/// Which patterns a reply tells of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// Those of this keyspace, and others whose rows change with it; or all.
    keyspace: Option<usize>,
    /// Any at all.
    is_any: bool,
    /// How many they are, with keys that have none.
    count: usize,
}

impl Told {
    /// The patterns of a keyspace among several of a schema, and what else a report says of the
    /// others; or all.
    pub(crate) fn of(
        schema: &Schema,
        report: &Report,
        keyspace: Option<usize>,
        listener: Listener,
    ) -> Told {
        let told = Told { keyspace, is_any: listener.reads_all, count: 0 };
        let count = tables(schema, report).filter(|(key, found)| told.has(*key, found)).count();
        Told { count, ..told }
    }

    /// Whether it tells of a pattern, or of keys that have none.
    fn has(self, key: Option<&Key>, found: &Findings) -> bool {
        let is_of = |keyspace: usize| key.is_none_or(|key| keyspace == key.keyspace);
        self.is_any && (self.keyspace.is_none_or(is_of) || found.changes_rows())
    }
}

/// What a report says of keys without a pattern, then of each pattern.
fn tables<'a>(
    schema: &'a Schema,
    report: &'a Report,
) -> impl Iterator<Item = (Option<&'a Key>, &'a Findings)> {
    std::iter::once(None).chain(schema.keys.iter().map(Some)).zip(&report.tables)
}

/// A reply in the making.
#[derive(Debug)]
pub(crate) struct Telling {
    bytes: Vec<u8>,
    protocol: Protocol,
    patterns: Told,
    /// How many tables are done with; keys without a pattern count as the first.
    done: usize,
}

impl Telling {
    /// A reply that begins with what `head` writes; the two pairs of a map about a report
    /// follow.
    pub(crate) fn new(
        protocol: Protocol,
        patterns: Told,
        report: &Report,
        head: impl FnOnce(&mut ReplyWriter<'_>),
    ) -> Telling {
        let mut bytes = Vec::with_capacity(patterns.count * PATTERN_BYTES);
        let mut reply = ReplyWriter::new(&mut bytes, protocol);
        head(&mut reply);
        reply.bulk(b"destroys");
        reply.integer(count(report.destroyed()));
        reply.bulk(b"patterns");
        reply.array(patterns.count);
        Telling { bytes, protocol, patterns, done: 0 }
    }

    /// Writes the figures of some more patterns; whether all are told. Keys without a
    /// pattern come first, under an empty one.
    pub(crate) fn advance(&mut self, schema: &Schema, report: &Report) -> bool {
        let mut reply = ReplyWriter::new(&mut self.bytes, self.protocol);
        for (key, found) in tables(schema, report).skip(self.done).take(PATTERNS_PER_TICK) {
            self.done += 1;
            if !self.patterns.has(key, found) {
                continue;
            }
            let pattern = key.map_or("", |key| key.pattern.text());
            let figures = figures(found);
            reply.map(figures.len() + 1);
            reply.bulk(b"pattern");
            reply.bulk(pattern.as_bytes());
            for (name, figure) in figures {
                reply.bulk(name.as_bytes());
                reply.integer(count(figure));
            }
        }
        self.done == report.tables.len()
    }

    /// The whole reply.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn figures(found: &Findings) -> [(&'static str, u64); 14] {
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
        ("evicted", found.evicted),
        ("unkept", found.unkept),
        ("cut_later", found.cut_later),
        ("shortened_later", found.shortened_later),
    ]
}
