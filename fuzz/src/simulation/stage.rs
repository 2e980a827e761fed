//! An engine under `shelf.toml`, a client, and one that is told of evictions.

use std::collections::BTreeMap;

use keyward_engine::{ClientId, Delivery, EngineOptions, Gathering, Nobody, NotifyFlags, Tunables};
use keyward_testkit::engine::TestEngine;

use super::model::{Model, Value};

const SCHEMA: &str = include_str!("shelf.toml");
/// `max_memory` of the schema, and as much as the command may add that came last.
const BYTES_MAX: i64 = (64 + 8) << 10;

/// Everything that takes part.
pub(super) struct Stage {
    test: TestEngine<Nobody>,
    client: ClientId,
    listener: ClientId,
    evicted: Vec<String>,
    /// Rows are moved about all the time.
    walk: Gathering,
}

impl Stage {
    pub(super) fn new(seed: u64) -> Stage {
        let notify = NotifyFlags::parse(b"Ee").expect("these letters exist");
        // In every second run rows in use stay loose.
        let pack_after_seconds = (seed % 2) as u32;
        let tunables = Tunables { notify, pack_after_seconds, ..Tunables::default() };
        let options = EngineOptions { seed, databases: 1, tunables };
        let mut test = TestEngine::with_host(options, Nobody);
        test.govern(SCHEMA);
        let (client, listener) = (test.engine.connect(), test.engine.connect());
        let walk = Gathering::default();
        let mut stage = Stage { test, client, listener, evicted: Vec::new(), walk };
        let words = ["SUBSCRIBE", "__keyevent@0__:evicted"].map(str::to_owned);
        stage.send(stage.listener, &words);
        stage
    }

    /// The time.
    pub(super) fn now_ms(&self) -> i64 {
        self.test.now_ms
    }

    /// Time passes.
    pub(super) fn pass(&mut self, ms: i64) {
        self.test.pass(ms);
    }

    /// The engine is given time for itself, as much as it wants.
    pub(super) fn tick(&mut self) {
        // Packing changes what rows take, and so what has to go.
        self.test.rest();
        while self.test.tick() {}
        if !self.test.engine.gather(&mut self.walk) {
            self.walk = Gathering::default();
        }
        self.hear();
    }

    /// Sends a command; returns its reply.
    pub(super) fn call(&mut self, words: &[String]) -> String {
        let reply = self.send(self.client, words);
        self.hear();
        reply
    }

    fn send(&mut self, client: ClientId, words: &[String]) -> String {
        let (_, out) = self.test.ask(client, words);
        String::from_utf8(out).expect("replies are text")
    }

    fn hear(&mut self) {
        for delivery in self.test.engine.take_deliveries() {
            if let Delivery::Output(client, bytes) = delivery
                && client == self.listener
            {
                let message = String::from_utf8_lossy(&bytes).into_owned();
                self.evicted.extend(message.lines().last().map(str::to_owned));
            }
        }
    }

    /// The rows that were evicted since the last call, in order.
    pub(super) fn take_evicted(&mut self) -> Vec<String> {
        std::mem::take(&mut self.evicted)
    }

    /// How many rows ended by themselves.
    pub(super) fn expired(&self) -> u64 {
        self.test.engine.facts().keys.expired
    }

    /// Reads every row of the model, and counts those of the engine.
    ///
    /// # Panics
    /// If they are not the same, or take too much.
    pub(super) fn check_rows(&mut self, model: &Model) {
        let rows = model.living(self.test.now_ms);
        for (key, value) in &rows {
            let found = self.read(key, value);
            // Reading unpacks rows, which takes memory, and so others may have to go.
            assert!(found == *value || self.evicted.contains(key), "{key} is {found:?}");
        }
        self.evicted.retain(|key| rows.contains_key(key));
        let kept = rows.len() - self.evicted.len();
        assert_eq!(self.call(&["DBSIZE".to_owned()]), format!(":{kept}\r\n"));
        let stats = self.call(&["KEYWARD", "STATS"].map(str::to_owned));
        let figures = stats.split("\r\nbytes\r\n:").skip(1);
        let figures = figures.filter_map(|rest| rest.split('\r').next()?.parse::<i64>().ok());
        let bytes: i64 = figures.sum();
        assert!(bytes > 0 && bytes < BYTES_MAX, "{bytes} bytes are taken");
    }

    /// What is stored at a key that should hold something like this.
    fn read(&mut self, key: &str, like: &Value) -> Value {
        let read = |stage: &mut Stage, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let reply = stage.call(&words);
            let lines = reply.split("\r\n").skip(usize::from(reply.starts_with('*')));
            let texts = lines.skip(1).step_by(2).map(str::to_owned);
            texts.collect::<Vec<String>>()
        };
        match like {
            Value::Text(_) => Value::Text(read(self, &["GET", key]).concat()),
            Value::List(_) => {
                let mut lines = read(self, &["LRANGE", key, "0", "-1"]);
                lines.retain(|line| !line.is_empty());
                Value::List(lines)
            }
            Value::Hash(_) => {
                let pairs = read(self, &["HGETALL", key]);
                let pairs = pairs.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
                Value::Hash(pairs.collect::<BTreeMap<_, _>>())
            }
        }
    }
}
