//! The append-only file of a node: a base and what was logged behind it.
//!
//! A replica begins it anew when it has got everything. What is logged is synced now and then;
//! who is killed loses the rest.

use crate::node::SetHost;
use keyward_engine::{Coverage, DueRows, Engine, Replay, SnapshotOptions};
use keyward_resp::{Batch, RequestLimits, RequestParser};
use std::io::Cursor;

/// An append-only file.
#[derive(Default)]
pub(crate) struct LogFile {
    base: Option<Vec<u8>>,
    bytes: Vec<u8>,
    synced_bytes: usize,
}

impl LogFile {
    /// Whether there is a file that a start loads.
    pub(crate) fn is_begun(&self) -> bool {
        self.base.is_some()
    }

    /// Begins it with what there is.
    pub(crate) fn begin(&mut self, engine: &mut Engine) {
        engine.log_changes(true);
        let options = SnapshotOptions { coverage: Coverage::AppendOnly, sums: true, used_bytes: 0 };
        let base = engine.snapshot().write_to(Vec::new(), options);
        self.base = Some(base.expect("memory takes it"));
        self.bytes.clear();
        self.synced_bytes = 0;
    }

    /// Everything is about to go: the file has nothing of what comes.
    pub(crate) fn stop(&mut self, engine: &mut Engine) {
        self.collect(engine, true);
        engine.log_changes(false);
    }

    /// Goes on after a start, or begins.
    pub(crate) fn go_on(&mut self, engine: &mut Engine) {
        match self.is_begun() {
            true => engine.go_on_logging(),
            false => self.begin(engine),
        }
    }

    /// Takes what was logged, and maybe syncs it.
    pub(crate) fn collect(&mut self, engine: &mut Engine, is_synced: bool) {
        let mut logged = Vec::new();
        engine.take_log(&mut logged);
        self.bytes.append(&mut logged);
        if is_synced {
            self.synced_bytes = self.bytes.len();
        }
    }

    /// Takes what was logged and forgets it: a fault.
    pub(crate) fn lose(&mut self, engine: &mut Engine) {
        engine.take_log(&mut Vec::new());
    }

    /// The machine fails.
    pub(crate) fn lose_unsynced(&mut self) {
        self.bytes.truncate(self.synced_bytes);
    }

    /// The end as it should be.
    pub(crate) fn end(&mut self, engine: &mut Engine) {
        self.collect(engine, true);
        self.bytes.extend_from_slice(engine.last_annotation().unwrap_or_default().as_bytes());
        self.synced_bytes = self.bytes.len();
    }

    /// Loads it.
    pub(crate) fn load(&self, engine: &mut Engine, host: &mut SetHost) {
        let Some(base) = &self.base else { return };
        let opened = engine.open_snapshot(Cursor::new(base), Coverage::Whole, DueRows::Kept);
        let mut loader = opened.expect("it wrote this file");
        while engine.load_rows(host, &mut loader, 100).expect("it wrote this file") {}
        let (mut replay, mut rest, mut last) = (Replay::new(), &self.bytes[..], &b""[..]);
        while !rest.is_empty() {
            let line_bytes = rest.iter().position(|byte| *byte == b'\n').expect("whole lines") + 1;
            let bytes = if rest[0] == b'#' { line_bytes } else { command_bytes(rest) };
            let (record, later) = rest.split_at(bytes);
            rest = later;
            if record[0] == b'#' {
                engine.load_annotations(record);
                while engine.bring_rows(100) {}
                last = record;
                continue;
            }
            last = b"";
            let (mut parser, mut batch, mut buffer) =
                (RequestParser::new(), Batch::new(), record.to_vec());
            parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).expect("a command");
            engine.load_commands(host, &mut replay, &buffer, &batch).expect("it wrote this file");
        }
        engine.resume_stream(last);
        assert_eq!(replay.failures, 0, "commands of its own file fail");
        engine.end_log_files();
        engine.drop_unlogged(false);
    }
}

/// How long the command is that bytes begin with.
fn command_bytes(bytes: &[u8]) -> usize {
    let mut at = 0;
    let mut number = |mark: u8| -> usize {
        assert_eq!(bytes[at], mark, "a command");
        let end = at + bytes[at..].iter().position(|byte| *byte == b'\r').expect("a line");
        let text = std::str::from_utf8(&bytes[at + 1..end]).expect("digits");
        let number: usize = text.parse().expect("digits");
        at = end + 2;
        if mark == b'$' {
            at += number + 2;
        }
        number
    };
    let words = number(b'*');
    for _ in 0..words {
        number(b'$');
    }
    at
}
