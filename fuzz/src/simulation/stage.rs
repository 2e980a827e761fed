//! An engine under `shelf.toml`, a client, and one that is told of evictions.

use std::collections::BTreeMap;

use keyward_engine::{
    ClientId, Delivery, Engine, EngineOptions, Gathering, Nobody, NotifyFlags, Tunables,
};
use keyward_resp::{Batch, RequestLimits, RequestParser, push_request};

use super::model::{Model, START_MS, Value};

const SCHEMA: &str = include_str!("shelf.toml");
/// `max_memory` of the schema, and as much as the command may add that came last.
const BYTES_MAX: i64 = (64 + 8) << 10;

/// Everything that takes part.
pub(super) struct Stage {
    engine: Engine,
    client: ClientId,
    listener: ClientId,
    evicted: Vec<String>,
    /// Rows are moved about all the time.
    walk: Gathering,
    pub(super) now_ms: i64,
}

impl Stage {
    pub(super) fn new(seed: u64) -> Stage {
        let checked = keyward_schema::check("shelf.toml", SCHEMA.as_bytes());
        let schema = checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
        let notify = NotifyFlags::parse(b"Ee").expect("these letters exist");
        // In every second run rows in use stay loose.
        let pack_after_seconds = (seed % 2) as u32;
        let tunables = Tunables { notify, pack_after_seconds, ..Tunables::default() };
        let mut engine = Engine::new(EngineOptions { seed, databases: 1, tunables });
        engine.set_time(START_MS * 1000);
        engine.govern(0, schema);
        let (client, listener) = (engine.connect(), engine.connect());
        let now_ms = START_MS;
        let walk = Gathering::default();
        let mut stage = Stage { engine, client, listener, evicted: Vec::new(), walk, now_ms };
        let words = ["SUBSCRIBE", "__keyevent@0__:evicted"].map(str::to_owned);
        stage.send(stage.listener, &words);
        stage
    }

    /// Time passes.
    pub(super) fn pass(&mut self, ms: i64) {
        self.now_ms += ms;
        self.engine.set_time(self.now_ms * 1000);
    }

    /// The engine is given time for itself, as much as it wants.
    pub(super) fn tick(&mut self) {
        // Packing changes what rows take, and so what has to go.
        while self.engine.rest() {}
        while self.engine.tick(&mut Nobody) {}
        if !self.engine.gather(&mut self.walk) {
            self.walk = Gathering::default();
        }
        self.hear();
    }

    /// Sends a command; answers its reply.
    pub(super) fn call(&mut self, words: &[String]) -> String {
        let reply = self.send(self.client, words);
        self.hear();
        reply
    }

    fn send(&mut self, client: ClientId, words: &[String]) -> String {
        let mut buffer = Vec::new();
        push_request(&mut buffer, words.iter());
        let mut batch = Batch::new();
        let parsed = RequestParser::new().parse(&mut buffer, &RequestLimits::default(), &mut batch);
        parsed.expect("requests are well formed");
        let mut out = Vec::new();
        self.engine.execute(&mut Nobody, client, &buffer, &batch, &mut out);
        String::from_utf8(out).expect("replies are text")
    }

    fn hear(&mut self) {
        for delivery in self.engine.take_deliveries() {
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
        self.engine.facts().keys.expired
    }

    /// Reads every row of the model, and counts those of the engine.
    ///
    /// # Panics
    /// If they are not the same, or take too much.
    pub(super) fn check_rows(&mut self, model: &Model) {
        let rows = model.living(self.now_ms);
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
