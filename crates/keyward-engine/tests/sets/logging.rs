//! The append-only file of a node: a base and what was logged behind it.
//!
//! A replica begins it anew when it has got everything: writing the base takes a while, and until
//! that is done the file before is what a start loads. What is logged is synced now and then; who
//! is killed loses the rest.

use crate::node::SetHost;
use keyward_engine::{Coverage, DueRows, Engine, Replay, SnapshotOptions};
use keyward_resp::{Batch, RequestLimits, RequestParser};
use std::collections::BTreeSet;
use std::io::Cursor;

/// What the key of a write that is waited for begins with; a number of so many digits follows.
const PROOF: &[u8] = b"proof:";
const PROOF_DIGITS: usize = 6;

/// A base, and what was logged behind it.
#[derive(Default)]
struct Content {
    base: Vec<u8>,
    bytes: Vec<u8>,
}

/// An append-only file.
#[derive(Default)]
pub(crate) struct LogFile {
    /// What a start loads.
    content: Option<Content>,
    synced_bytes: usize,
    /// Writes that are waited for, of those that it would have if the machine failed.
    proofs: BTreeSet<u64>,
    /// What takes its place when its base is written.
    coming: Option<Content>,
    /// Bytes that were logged since the node is there, and how many of them are synced.
    logged: u64,
    synced: u64,
    is_on: bool,
}

impl LogFile {
    /// Whether there is a file that a start loads.
    pub(crate) fn is_begun(&self) -> bool {
        self.content.is_some()
    }

    /// Begins it with what there is.
    pub(crate) fn begin(&mut self, engine: &mut Engine, host: &mut SetHost) {
        engine.log_changes(true);
        let options = SnapshotOptions { coverage: Coverage::AppendOnly, sums: true, used_bytes: 0 };
        let base = engine.snapshot().write_to(Vec::new(), options);
        let base = base.expect("memory takes it");
        self.coming = Some(Content { base, bytes: Vec::new() });
        // That 0 is synced says that nothing is known to be.
        self.logged = self.logged.max(1);
        self.is_on = true;
        self.tell(host);
    }

    /// Everything is about to go: the file has nothing of what comes.
    pub(crate) fn stop(&mut self, engine: &mut Engine, host: &mut SetHost) {
        self.collect(engine, host, true);
        engine.log_changes(false);
        self.is_on = false;
        self.tell(host);
    }

    /// Goes on after a start, or begins.
    pub(crate) fn go_on(&mut self, engine: &mut Engine, host: &mut SetHost) {
        match self.is_begun() {
            true => engine.go_on_logging(),
            false => {
                self.begin(engine, host);
                // Nobody is served before there is one.
                self.sync();
            }
        }
        self.is_on = true;
        self.tell(host);
    }

    /// Takes what was logged, and maybe syncs it.
    pub(crate) fn collect(&mut self, engine: &mut Engine, host: &mut SetHost, is_synced: bool) {
        let mut logged = Vec::new();
        engine.take_log(&mut logged);
        self.logged += logged.len() as u64;
        if let Some(content) = self.coming.as_mut().or(self.content.as_mut()) {
            content.bytes.append(&mut logged);
        }
        if is_synced {
            self.sync();
        }
        self.tell(host);
    }

    /// All of it is on the disk, a base that was being written too.
    fn sync(&mut self) {
        self.synced = self.logged;
        if let Some(coming) = self.coming.take() {
            self.proofs = proofs_in(&coming.base);
            (self.content, self.synced_bytes) = (Some(coming), 0);
        }
        if let Some(content) = &self.content {
            self.proofs.extend(proofs_in(&content.bytes[self.synced_bytes..]));
            self.synced_bytes = content.bytes.len();
        }
    }

    /// Says how far it is.
    fn tell(&self, host: &mut SetHost) {
        // Without its base a file has nothing.
        let synced = if self.coming.is_some() { 0 } else { self.synced };
        host.log_ends = self.is_on.then_some((self.logged, synced));
    }

    /// Takes what was logged and forgets it: a fault.
    pub(crate) fn lose(&mut self, engine: &mut Engine) {
        engine.take_log(&mut Vec::new());
    }

    /// The machine fails.
    pub(crate) fn lose_unsynced(&mut self) {
        self.coming = None;
        self.synced = self.logged;
        if let Some(content) = &mut self.content {
            content.bytes.truncate(self.synced_bytes);
        }
    }

    /// Whether it would have a write that is waited for if the machine failed now.
    pub(crate) fn has_synced(&self, proof: u64) -> bool {
        self.proofs.contains(&proof)
    }

    /// The end as it should be.
    pub(crate) fn end(&mut self, engine: &mut Engine, host: &mut SetHost) {
        self.collect(engine, host, true);
        if let Some(content) = &mut self.content {
            let last = engine.last_annotation().unwrap_or_default();
            content.bytes.extend_from_slice(last.as_bytes());
            self.synced_bytes = content.bytes.len();
        }
    }

    /// Loads it.
    pub(crate) fn load(&self, engine: &mut Engine, host: &mut SetHost) {
        let Some(Content { base, bytes }) = &self.content else { return };
        let opened = engine.open_snapshot(Cursor::new(base), Coverage::Whole, DueRows::Kept);
        let mut loader = opened.expect("it wrote this file");
        while engine.load_rows(host, &mut loader, 100).expect("it wrote this file") {}
        let (mut replay, mut rest, mut last) = (Replay::new(), &bytes[..], &b""[..]);
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

/// The writes that are waited for, of those that bytes have.
fn proofs_in(bytes: &[u8]) -> BTreeSet<u64> {
    let keys = bytes.windows(PROOF.len() + PROOF_DIGITS).filter(|part| part.starts_with(PROOF));
    let digits = keys.filter_map(|key| std::str::from_utf8(&key[PROOF.len()..]).ok());
    digits.filter_map(|digits| digits.parse().ok()).collect()
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
