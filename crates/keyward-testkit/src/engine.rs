//! An engine by itself, with a host that knows next to nothing or another one.
//!
//! Owns the one way in which tests, benchmarks and the fuzzer drive an engine without a
//! server: time, requests, replies.

use keyward_engine::{
    ClientId, Delivery, Effect, Engine, EngineOptions, Host, Library, LogLevel, NoSecrets,
    Outgoing, Progress, Tunables,
};
use keyward_resp::{Batch, RequestLimits, RequestParser, push_request};
use std::collections::VecDeque;

/// The time every test begins at, in milliseconds since the epoch.
pub const START_MS: i64 = 1_700_000_000_000;

/// A host that knows nothing but a clock, which goes on whenever it is asked, and
/// what it was told to answer.
#[derive(Default)]
pub struct TestHost {
    /// What the clock said last.
    pub clock_ns: u64,
    /// How far it goes on each time it is asked.
    pub step_ns: u64,
    /// The next answers to how much memory is in use; then none is.
    pub used_memory: VecDeque<u64>,
    /// How much of it is on its way to files and replicas.
    pub outgoing_memory: u64,
    /// The lines it was given for its log.
    pub logged: Vec<String>,
    /// The code of the libraries beside a schema.
    pub libraries: Vec<&'static str>,
    /// How many bytes a snapshot may have captured amid a unit.
    pub captured_bytes_max: Option<usize>,
    /// What it gave then.
    pub captured: Vec<Vec<u8>>,
    /// What its secrets are made of.
    pub secrets: u8,
    /// It has none.
    pub lacks_secrets: bool,
    /// Follow-ups may fail that follow from no command.
    pub expects_failures: bool,
}

impl Host for TestHost {
    fn fill_with_secrets(&mut self, bytes: &mut [u8]) -> Result<(), NoSecrets> {
        bytes.fill(self.secrets);
        if self.lacks_secrets { Err(NoSecrets) } else { Ok(()) }
    }

    fn monotonic_ns(&mut self) -> u64 {
        self.clock_ns += self.step_ns;
        self.clock_ns
    }

    fn used_memory(&mut self) -> u64 {
        self.used_memory.pop_front().unwrap_or(0)
    }

    fn outgoing_memory(&mut self, _outgoing: &Outgoing<'_>) -> u64 {
        self.outgoing_memory
    }

    fn log(&mut self, _level: LogLevel, line: &[u8]) {
        let failed = b"failed, which follows from";
        let is_failure = line.windows(failed.len()).any(|window| window == failed);
        assert!(self.expects_failures || !is_failure, "{}", line.escape_ascii());
        self.logged.push(line.escape_ascii().to_string());
    }

    fn libraries(&mut self, db: usize) -> Result<Vec<Library>, String> {
        let library = |code: &&str| Library {
            name: format!("functions/{db}.lua"),
            code: code.as_bytes().to_vec(),
        };
        Ok(self.libraries.iter().map(library).collect())
    }

    fn captured_bytes_max(&self) -> usize {
        self.captured_bytes_max.unwrap_or(usize::MAX)
    }

    fn take_captured(&mut self, parts: Vec<Vec<u8>>) {
        self.captured.extend(parts);
    }

    fn may_debug(&self, _client: ClientId) -> bool {
        true
    }
}

/// An engine, its host and the time it was last told.
#[derive(Debug)]
pub struct TestEngine<H = TestHost> {
    /// The engine.
    pub engine: Engine,
    /// The host that commands are given.
    pub host: H,
    /// The time, in milliseconds since the epoch.
    pub now_ms: i64,
}

impl TestEngine {
    /// An engine of 16 databases whose effects are recorded.
    pub fn new(seed: u64) -> TestEngine {
        let options = EngineOptions { seed, databases: 16, tunables: Tunables::default() };
        let mut test = TestEngine::with_host(options, TestHost::default());
        test.engine.keyspace().effects.listen(true);
        test
    }

    /// As [`TestEngine::new`], with database 0 under a schema.
    ///
    /// # Panics
    /// If the schema is not sound.
    pub fn governed(seed: u64, schema: &str) -> TestEngine {
        let mut test = TestEngine::new(seed);
        test.govern(schema);
        test
    }
}

impl<H: Host> TestEngine<H> {
    /// An engine at [`START_MS`].
    pub fn with_host(options: EngineOptions, host: H) -> TestEngine<H> {
        let mut test = TestEngine { engine: Engine::new(options), host, now_ms: 0 };
        test.set_time(START_MS);
        test
    }

    /// Puts database 0 under a schema.
    ///
    /// # Panics
    /// If the schema is not sound.
    pub fn govern(&mut self, schema: &str) {
        let checked = keyward_schema::check("test/keyward.toml", schema.as_bytes());
        let schema = checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        self.engine.govern(0, schema);
    }

    /// Tells the engine the time.
    pub fn set_time(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
        self.engine.set_time(now_ms * 1000);
    }

    /// Time passes.
    pub fn pass(&mut self, ms: i64) {
        self.set_time(self.now_ms + ms);
    }

    /// Sends bytes of the protocol as one batch; returns the replies.
    ///
    /// # Panics
    /// If they are no requests.
    pub fn send(&mut self, client: ClientId, bytes: &[u8]) -> (Progress, Vec<u8>) {
        let (buffer, batch) = parsed(bytes);
        let mut out = Vec::new();
        let progress = self.engine.execute(&mut self.host, client, &buffer, &batch, &mut out);
        (progress, out)
    }

    /// Sends one command; returns the reply.
    pub fn ask<W: AsRef<[u8]>>(&mut self, client: ClientId, words: &[W]) -> (Progress, Vec<u8>) {
        let mut bytes = Vec::new();
        push_request(&mut bytes, words.iter());
        self.send(client, &bytes)
    }

    /// Sends one command, written as words; returns the reply as text.
    ///
    /// # Panics
    /// If the reply is no text.
    pub fn call(&mut self, client: ClientId, command: &str) -> String {
        let (_, out) = self.send(client, &request(command));
        String::from_utf8(out).expect("tests use text")
    }

    /// Runs what the engine kept for a client; returns the replies.
    ///
    /// # Panics
    /// If they are no text.
    pub fn resume(&mut self, client: ClientId) -> String {
        let mut out = Vec::new();
        self.engine.resume(&mut self.host, client, &mut out);
        String::from_utf8(out).expect("tests use text")
    }

    /// A tick; whether there is more to do.
    pub fn tick(&mut self) -> bool {
        self.engine.tick(&mut self.host)
    }

    /// Has leisure until there is nothing left to do in it.
    pub fn rest(&mut self) {
        while self.engine.rest() {}
    }

    /// What the engine has for clients since the last call.
    pub fn deliveries(&mut self) -> Vec<Delivery> {
        self.engine.take_deliveries()
    }

    /// The effects since the last call.
    pub fn effects(&mut self) -> Vec<Effect> {
        self.engine.keyspace().effects.take()
    }

    /// The effects since the last call, as words: `0: SET a 1`.
    pub fn effect_lines(&mut self) -> Vec<String> {
        let line = |effect: &Effect| {
            let words = effect.command.args().iter().map(|word| word.escape_ascii().to_string());
            format!("{}: {}", effect.db, words.collect::<Vec<_>>().join(" "))
        };
        self.effects().iter().map(line).collect()
    }

    /// The keyspace events a client was told since the last call: `lpush k`.
    ///
    /// # Panics
    /// If it was told anything else.
    pub fn events(&mut self, listener: ClientId) -> Vec<String> {
        let deliveries = self.deliveries();
        let messages = deliveries.iter().filter_map(|delivery| match delivery {
            Delivery::Output(to, bytes) if *to == listener => Some(bytes),
            _ => None,
        });
        let event = |bytes: &std::rc::Rc<[u8]>| {
            let text = String::from_utf8(bytes.to_vec()).expect("tests use text");
            let [channel, _, event] = text.lines().skip(6).collect::<Vec<_>>()[..] else {
                panic!("no message of a pattern: {text:?}");
            };
            let (_, key) = channel.split_once("__:").expect("the channel names the key");
            format!("{event} {key}")
        };
        messages.map(event).collect()
    }

    /// Checks that the bytes of all patterns of database 0, which is under a schema, are
    /// what its keys take, whose parts of what they share are whole bytes.
    ///
    /// # Panics
    /// If they are not.
    pub fn check_bytes(&mut self, client: ClientId) {
        let stats = self.call(client, "KEYWARD STATS");
        // A table without rows may have room for some.
        let tables = stats.split("\r\nkeys\r\n:").skip(1);
        let tables = tables.filter(|table| !table.starts_with("0\r"));
        let tables: i64 = tables.map(|table| number_after(table, "bytes")).sum();
        let keys = self.call(client, "KEYS *");
        let keys: Vec<&str> =
            keys.split("\r\n").skip(2).step_by(2).filter(|key| !key.is_empty()).collect();
        let usage = |key: &str| -> i64 {
            let usage = self.call(client, &format!("MEMORY USAGE {key}"));
            usage[1..].trim_end().parse().expect("a number")
        };
        let beyond = keys.iter().copied().map(usage).sum::<i64>() - tables;
        assert!(
            (0..keys.len().max(1) as i64).contains(&beyond),
            "all keys take {beyond} bytes more"
        );
    }

    /// Every row of every database in the order of the index.
    pub fn state(&mut self) -> String {
        let keys = self.engine.keyspace();
        let mut state = String::new();
        for db in 0..keys.database_count() {
            let mut cursor = 0;
            loop {
                cursor = keys.scan(db, cursor, b"", |row| {
                    state.push_str(&format!("{db} {row:?} {:06x}\n", row.clock()));
                });
                if cursor == 0 {
                    break;
                }
            }
        }
        state
    }
}

/// The number that follows this name in a reply.
///
/// # Panics
/// If there is none.
pub fn number_after(reply: &str, name: &str) -> i64 {
    let (_, rest) = reply.split_once(&format!("\r\n{name}\r\n:")).expect("there is such a name");
    rest.split('\r').next().and_then(|number| number.parse().ok()).expect("it is a number")
}

/// A request of these words.
pub fn request(command: &str) -> Vec<u8> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut bytes = Vec::new();
    push_request(&mut bytes, words.iter());
    bytes
}

/// Requests as the engine is given them.
///
/// # Panics
/// If these bytes are none.
pub fn parsed(requests: &[u8]) -> (Vec<u8>, Batch) {
    let (mut buffer, mut batch) = (requests.to_vec(), Batch::new());
    let outcome = RequestParser::new().parse(&mut buffer, &RequestLimits::default(), &mut batch);
    outcome.expect("requests are well formed");
    (buffer, batch)
}
