//! A server of a set without its sockets: an engine, what its host has under way, and the files
//! that it leaves behind: a snapshot, or an append-only file (`logging`).

use crate::load::SCHEMA;
use crate::logging::LogFile;
use keyward_engine::{
    ClientId, Coverage, DueRows, EngineOptions, FullSync, Host, Loaded, LogLevel, MemoryLimit,
    Replicating, SnapshotOptions, Tunables,
};
use keyward_rdb::Ending;
use keyward_testkit::Random;
use keyward_testkit::engine::{TestEngine, request};
use std::collections::BTreeSet;
use std::io::Cursor;

/// What marks the end of a snapshot.
pub(crate) const MARK: &[u8] = b"the-mark-that-ends-every-snapshot-is-here";

/// What the engine of a node asks for.
#[derive(Debug, Default)]
pub(crate) struct SetHost {
    /// How often somebody else was to be followed, or nobody.
    pub(crate) orders: u64,
    /// What must never stand in a log.
    pub(crate) alarms: Vec<String>,
    /// Where the append-only file ends, and up to where it is synced.
    pub(crate) log_ends: Option<(u64, u64)>,
    /// It says that all is synced, which it is not: a fault.
    pub(crate) is_ahead: bool,
}

impl Host for SetHost {
    fn primary_changed(&mut self, _primary: Option<(&[u8], u16)>) {
        self.orders += 1;
    }

    fn log(&mut self, _level: LogLevel, line: &[u8]) {
        let line = line.escape_ascii().to_string();
        if line.contains("CRITICAL") || line.contains("not supported") {
            self.alarms.push(line);
        }
    }

    fn log_ends(&self) -> Option<(u64, u64)> {
        let (logged, synced) = self.log_ends?;
        Some((logged, if self.is_ahead { logged } else { synced }))
    }

    fn may_debug(&self, _client: ClientId) -> bool {
        true
    }
}

/// A snapshot that is made for some who follow.
pub(crate) struct Making {
    pub(crate) sync: FullSync,
    pub(crate) ending: Ending,
    /// What was confirmed and is in it.
    pub(crate) proofs: BTreeSet<u64>,
}

/// A server.
pub(crate) struct Node {
    pub(crate) test: TestEngine<SetHost>,
    pub(crate) is_up: bool,
    /// Who looks at rows and gives orders.
    pub(crate) admin: ClientId,
    /// The last snapshot that it wrote.
    pub(crate) file: Option<Vec<u8>>,
    /// The append-only file of a node that has one, in the place of snapshots.
    pub(crate) log: Option<LogFile>,
    pub(crate) making: Option<Making>,
    /// Those who were sent a snapshot, and take it.
    pub(crate) ending: Vec<ClientId>,
    /// Confirmed writes that it has to have.
    pub(crate) proofs: BTreeSet<u64>,
    /// When it tries to connect again.
    pub(crate) retry_ms: i64,
    seed: u64,
    few: usize,
    backlog_bytes: u64,
}

impl Node {
    /// A node; `few` is what is removed at once.
    pub(crate) fn new(random: &mut Random, few: usize, now_ms: i64) -> Node {
        let seed = random.number();
        let backlog_bytes = *random.pick(&[2_000, 20_000, 1_000_000]);
        let test = engine(seed, few, backlog_bytes);
        let mut node = Node {
            test,
            is_up: true,
            admin: ClientId(0),
            file: None,
            log: random.one_in(2).then(LogFile::default),
            making: None,
            ending: Vec::new(),
            proofs: BTreeSet::new(),
            retry_ms: 0,
            seed,
            few,
            backlog_bytes,
        };
        node.begin(None, now_ms);
        node
    }

    /// Starts with what its file has.
    pub(crate) fn begin(&mut self, primary: Option<usize>, now_ms: i64) {
        self.seed = self.seed.wrapping_add(1);
        let is_ahead = self.test.host.is_ahead;
        self.test = engine(self.seed, self.few, self.backlog_bytes);
        let TestEngine { engine, host, .. } = &mut self.test;
        host.is_ahead = is_ahead;
        engine.set_time(now_ms * 1000);
        if let Some(primary) = primary {
            engine.follow_from_start(host, name(primary).as_bytes(), PORT);
        }
        engine.begin_loading();
        let mut loaded = Loaded::default();
        if let Some(file) = &self.file {
            let due = if primary.is_some() { DueRows::Kept } else { DueRows::Dropped };
            let opened = engine.open_snapshot(Cursor::new(file), Coverage::Whole, due);
            let mut loader = opened.expect("it wrote this file");
            while engine.load_rows(host, &mut loader, 100).expect("it wrote this file") {}
            loaded = loader.loaded;
        }
        if let Some(log) = &self.log {
            log.load(engine, host);
        }
        let has_log = self.log.as_ref().is_some_and(LogFile::is_begun);
        let mut settling = engine.begin_settling(has_log);
        if primary.is_none() {
            if has_log {
                engine.go_on_logging();
            }
            while engine.settle_rows(host, &mut settling, 100).expect("nothing is asked") {}
        }
        engine.end_loading(host, loaded);
        if let Some(log) = &mut self.log {
            log.go_on(engine, host);
        }
        self.test.now_ms = now_ms;
        self.admin = self.test.engine.connect();
        (self.is_up, self.making, self.retry_ms) = (true, None, 0);
        self.ending.clear();
    }

    /// Ends at once: whatever is not in its file is lost.
    pub(crate) fn kill(&mut self) {
        if let Some(log) = &mut self.log {
            log.lose_unsynced();
        }
        self.is_up = false;
        let log = self.log.as_ref();
        self.proofs.retain(|number| log.is_some_and(|log| log.has_synced(*number)));
    }

    /// Whether it would have a write after the power is cut.
    pub(crate) fn has_synced(&self, number: u64) -> bool {
        self.log.as_ref().is_some_and(|log| log.has_synced(number))
    }

    /// Writes its file and ends. What it has is in there.
    pub(crate) fn end(&mut self) {
        let TestEngine { engine, host, .. } = &mut self.test;
        engine.finish_ends(host);
        if let Some(log) = &mut self.log {
            log.end(engine, host);
            self.is_up = false;
            return;
        }
        let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
        let written = engine.last_snapshot().write_to(Vec::new(), options);
        self.file = Some(written.expect("memory takes it"));
        self.is_up = false;
    }

    /// Writes its file and goes on.
    pub(crate) fn save(&mut self) {
        if self.log.is_some() || self.test.engine.has_pending_ends() || self.is_loading() {
            return;
        }
        let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
        let written = self.test.engine.snapshot().write_to(Vec::new(), options);
        self.file = Some(written.expect("memory takes it"));
    }

    /// Its reply to a command of whoever looks after it.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        let (_, out) = self.test.send(self.admin, &request(command));
        String::from_utf8_lossy(&out).into_owned()
    }

    pub(crate) fn is_loading(&mut self) -> bool {
        self.ask("EXISTS x").starts_with("-LOADING")
    }

    /// Whom it follows.
    pub(crate) fn primary(&self) -> Option<usize> {
        let address = self.test.engine.primary()?;
        let digits = address.host.strip_prefix(b"node").expect("it is one of them");
        Some(String::from_utf8_lossy(digits).parse().expect("a number"))
    }

    pub(crate) fn has_proof(&mut self, number: u64) -> bool {
        self.ask(&format!("GET proof:{number}")).contains(&format!("\r\n{number}\r\n"))
    }

    /// Has it have everything that it must.
    pub(crate) fn check_proofs(&mut self, when: &str) {
        if !self.is_up || self.is_loading() {
            return;
        }
        for number in self.proofs.clone() {
            assert!(self.has_proof(number), "{when}: the confirmed write {number} is lost");
        }
        assert!(self.test.host.alarms.is_empty(), "{when}: {:?}", self.test.host.alarms);
    }

    /// Every key with its type and when it ends, and what all rows come to.
    pub(crate) fn picture(&mut self) -> (Vec<String>, String) {
        let mut lines = Vec::new();
        for db in 0..4 {
            self.ask(&format!("SELECT {db}"));
            let keys = self.ask("KEYS *");
            let mut keys: Vec<&str> = keys.split("\r\n").skip(2).step_by(2).collect();
            keys.retain(|key| !key.is_empty());
            keys.sort_unstable();
            for key in keys {
                let ends = self.ask(&format!("PEXPIRETIME {key}"));
                let digest = self.ask(&format!("DEBUG DIGEST-VALUE {key}"));
                let digest = digest.lines().last().unwrap_or_default();
                lines.push(format!("{db} {key} {} {digest}", ends.trim_end()));
            }
        }
        self.ask("SELECT 0");
        (lines, self.ask("DEBUG DIGEST"))
    }

    /// Its rows once they are loaded elsewhere and made what the schema says: the same, if derived
    /// keys agree with their sources.
    pub(crate) fn recomputed(&mut self, now_ms: i64) -> Vec<String> {
        let options = SnapshotOptions { coverage: Coverage::Whole, sums: true, used_bytes: 0 };
        let written = self.test.engine.snapshot().write_to(Vec::new(), options);
        let mut copy = Node {
            test: engine(self.seed, self.few, self.backlog_bytes),
            is_up: true,
            admin: ClientId(0),
            file: Some(written.expect("memory takes it")),
            log: None,
            making: None,
            ending: Vec::new(),
            proofs: BTreeSet::new(),
            retry_ms: 0,
            seed: self.seed,
            few: self.few,
            backlog_bytes: self.backlog_bytes,
        };
        copy.begin(None, now_ms);
        copy.picture().0
    }
}

/// The port of all nodes.
pub(crate) const PORT: u16 = 6379;

/// What a node is called by others.
pub(crate) fn name(node: usize) -> String {
    format!("node{node}")
}

fn engine(seed: u64, few: usize, backlog_bytes: u64) -> TestEngine<SetHost> {
    let replicating = Replicating {
        backlog_bytes,
        ping_s: 1,
        timeout_s: 5,
        delay_s: (seed % 2) as i64,
        ..Replicating::default()
    };
    let memory = MemoryLimit::default();
    let tunables = Tunables { replicating, memory, ..Tunables::default() };
    let options = EngineOptions { seed, databases: 4, tunables: tunables.clone() };
    let mut test = TestEngine::with_host(options, SetHost::default());
    test.engine.set_tunables(tunables);
    test.govern(SCHEMA);
    test.engine.keyspace().set_removed_at_once(few);
    test
}
