//! Streams: growth, what groups hold, trimming, a snapshot and the end of a long one.

use super::{Part, Stage, processor_time};
use keyward_engine::{Coverage, SnapshotOptions};

/// Entries that one read of a group takes.
const BATCH: u64 = 100;
/// Entries that are pending at most.
const PENDING_MAX: u64 = 1_000_000;
/// More milliseconds than entries are idle for.
const LONG_MS: &str = "100000000";
const FEED: &str = "feed:1";

pub(super) fn parts() -> Vec<Part> {
    vec![
        ("growth of a stream", |stage, rows| stage.feed(rows, &[])),
        ("XADD with MAXLEN ~", |stage, rows| {
            stage.feed(rows / 10, &["MAXLEN", "~", &rows.to_string()]);
        }),
        ("a snapshot of it, entries coming and going", |stage, _| stage.save_amid_entries()),
        ("reads of two consumers", |stage, rows| stage.read(rows, &["ann", "bob"])),
        ("XPENDING of what is idle, and nothing is", |stage, _| {
            stage.call(&["XPENDING", FEED, "g", "IDLE", LONG_MS, "-", "+", "10"]);
            stage.call(&["XPENDING", FEED, "g", "IDLE", LONG_MS, "-", "+", "10", "bob"]);
        }),
        ("XAUTOCLAIM, XSETID, XGROUP SETID, XINFO", |stage, _| {
            stage.call(&["XAUTOCLAIM", FEED, "g", "bob", LONG_MS, "-"]);
            stage.call(&["XAUTOCLAIM", FEED, "g", "bob", "0", "-"]);
            stage.call(&["XSETID", FEED, "99999999999999-0"]);
            stage.call(&["XGROUP", "SETID", FEED, "g", "$"]);
            stage.call(&["XINFO", "STREAM", FEED]);
            stage.call(&["XINFO", "STREAM", FEED, "FULL"]);
        }),
        ("XGROUP DELCONSUMER of one", |stage, _| {
            stage.call(&["XGROUP", "DELCONSUMER", FEED, "g", "ann"]);
            stage.call(&["XPENDING", FEED, "g"]);
            stage.call(&["XPENDING", FEED, "g", "-", "+", "10"]);
            stage.call(&["XAUTOCLAIM", FEED, "g", "bob", "0", "-"]);
            stage.call(&["XINFO", "STREAM", FEED, "FULL"]);
        }),
        ("XGROUP DELCONSUMER of the only one", |stage, _| {
            stage.call(&["XGROUP", "DELCONSUMER", FEED, "g", "bob"]);
        }),
        ("reads of two consumers again", |stage, rows| stage.read(rows, &["ann", "bob"])),
        ("XGROUP DESTROY", |stage, _| stage.call(&["XGROUP", "DESTROY", FEED, "g"])),
        ("reads of one consumer", |stage, rows| stage.read(rows, &["ann"])),
        ("XTRIM of half of it", |stage, rows| {
            stage.call(&["XTRIM", FEED, "MAXLEN", &(rows / 2).to_string()]);
        }),
        ("XTRIM of all but ten", |stage, _| stage.call(&["XTRIM", FEED, "MAXLEN", "10"])),
        ("XTRIM of all", |stage, rows| {
            stage.feed(rows / 10, &[]);
            stage.call(&["XTRIM", FEED, "MAXLEN", "0"]);
        }),
        ("growth of another stream", |stage, rows| stage.feed(rows, &[])),
        ("DEL of it", |stage, _| stage.call(&["DEL", FEED])),
    ]
}

impl Stage {
    /// Adds entries.
    fn feed(&mut self, entries: u64, trim: &[&str]) {
        for number in 0..entries {
            let number = number.to_string();
            self.call(&[&["XADD", FEED], trim, &["*", "n", &number, "kind", "sale"]].concat());
        }
    }

    /// Has consumers of a new group read in turn.
    fn read(&mut self, rows: u64, consumers: &[&str]) {
        self.ask(&["XGROUP", "DESTROY", FEED, "g"]);
        self.call(&["XGROUP", "CREATE", FEED, "g", "0"]);
        let reads = rows.min(PENDING_MAX) / BATCH;
        for (_, consumer) in (0..reads).zip(consumers.iter().cycle()) {
            let count = BATCH.to_string();
            self.call(&[
                "XREADGROUP",
                "GROUP",
                "g",
                consumer,
                "COUNT",
                &count,
                "STREAMS",
                FEED,
                ">",
            ]);
        }
    }

    /// The id of the first entry.
    fn first_entry(&mut self) -> String {
        self.call(&["XRANGE", FEED, "-", "+", "COUNT", "1"]);
        let reply = String::from_utf8_lossy(&self.out).into_owned();
        reply.lines().nth(3).unwrap_or_default().to_owned()
    }

    /// Takes a snapshot in steps, while entries come to the stream and leave it.
    fn save_amid_entries(&mut self) {
        let coverage = Coverage::Everything;
        self.test.engine.begin_snapshot(SnapshotOptions { coverage, sums: true, used_bytes: 0 });
        loop {
            let begun = processor_time();
            let is_over = self.test.engine.step_snapshot(&mut drop);
            self.longest.note(begun, || "a step of the snapshot".to_owned());
            if is_over {
                return;
            }
            self.feed(1, &[]);
            let entry = self.first_entry();
            self.call(&["XDEL", FEED, &entry]);
        }
    }
}
