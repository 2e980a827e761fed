//! An engine under `shop.toml`, its clients, and a host that can run short of
//! memory.

use keyward_engine::{
    ClientId, Delivery, EngineOptions, Host, MemoryLimit, NotifyFlags, Policy, Progress, Tunables,
};
use keyward_testkit::engine::TestEngine;

use super::recompute::{Derived, found, living, wanted};
use super::rows::{Plain, stored};
use super::sound::{fault, may_be_evicted};
use super::steps::{Reform, Step, Who, words};

const SCHEMA: &str = include_str!("shop.toml");

/// The schema without what can be built from other rows whatever clients did to them.
fn loose() -> String {
    let is_derived = |line: &&str| {
        let setting = line.split_whitespace().next();
        // A lookup of a field cannot be claimed by two rows.
        matches!(setting, Some("rank" | "members" | "follows"))
            || (setting == Some("lookup") && line.contains("value ="))
    };
    let kept: Vec<&str> = SCHEMA.lines().filter(|line| !is_derived(line)).collect();
    kept.join("\n")
}

/// A host that knows nothing but how often memory is still short.
#[derive(Default)]
struct World {
    short: usize,
}

impl Host for World {
    fn used_memory(&mut self) -> u64 {
        let is_short = self.short > 0;
        self.short = self.short.saturating_sub(1);
        if is_short { 1 << 40 } else { 0 }
    }
}

/// Settings under which so much memory may be used, and evictions are told.
fn tunables(bytes_max: u64, policy: Option<Policy>, pack_after_seconds: u32) -> Tunables {
    let memory = MemoryLimit { bytes_max, policy, ..MemoryLimit::default() };
    let notify = NotifyFlags::parse(b"Ee").expect("these letters exist");
    Tunables { memory, notify, pack_after_seconds, ..Tunables::default() }
}

/// What came of the commands of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) commands: usize,
    pub(super) refused: usize,
    pub(super) failed: usize,
    pub(super) evicted: usize,
    pub(super) expired: u64,
    pub(super) reforms: usize,
    /// Ticks that a plan took, or applying it.
    pub(super) waits: usize,
}

/// Everything that takes part.
pub(super) struct Stage {
    test: TestEngine<World>,
    pack_after_seconds: u32,
    clients: [ClientId; 4],
    reader: ClientId,
    /// Is told which rows are evicted from the database under the schema.
    listener: ClientId,
    evicted: Vec<String>,
    /// Whose command waits, or is held; by `Who`.
    is_waiting: [bool; 4],
    /// What came for the reader, who had to wait for it.
    answer: Option<String>,
    pub(super) tally: Tally,
}

impl Stage {
    pub(super) fn new(seed: u64) -> Stage {
        // In every second run rows in use stay loose.
        let pack_after_seconds = (seed % 2) as u32;
        let tunables = tunables(0, None, pack_after_seconds);
        let options = EngineOptions { seed, databases: 2, tunables };
        let mut test = TestEngine::with_host(options, World::default());
        test.govern(SCHEMA);
        let clients = std::array::from_fn(|_| test.engine.connect());
        let (reader, listener) = (test.engine.connect(), test.engine.connect());
        let mut stage = Stage {
            test,
            pack_after_seconds,
            clients,
            reader,
            listener,
            evicted: Vec::new(),
            is_waiting: [false; 4],
            answer: None,
            tally: Tally::default(),
        };
        stage.call(stage.clients[Who::Outsider as usize], &["SELECT", "1"]);
        stage.call(stage.listener, &["SUBSCRIBE", "__keyevent@0__:evicted"]);
        stage
    }

    /// Lets a step happen.
    pub(super) fn act(&mut self, step: &Step) {
        match step {
            Step::Send(who, _) if self.is_waiting[*who as usize] => {}
            Step::Send(who, words) => self.send(*who, words),
            Step::Pass(ms) => self.test.pass(*ms),
            // Looking shall change nothing but what is due.
            Step::Look => self.test.host.short = 0,
            Step::Tick => {
                self.test.tick();
                self.test.engine.rest();
            }
            Step::Shortage(policy, rows) => {
                let policy = Policy::by_name(policy);
                self.test.engine.set_tunables(tunables(1, policy, self.pack_after_seconds));
                self.test.host.short = *rows;
            }
            Step::Crowd(count) => (0..*count).for_each(|n| self.send(Who::Second, &newcomer(n))),
            Step::Reform(reform) => self.reform(reform),
        }
        self.hear();
        self.tally.evicted += self.evicted.len();
        self.tally.expired = self.test.engine.facts().keys.expired;
    }

    /// Takes what the engine has for its clients; who was held goes on.
    fn hear(&mut self) {
        for delivery in self.test.engine.take_deliveries() {
            match delivery {
                Delivery::Unblocked(client) => {
                    let mut out = Vec::new();
                    let progress = self.test.engine.resume(&mut self.test.host, client, &mut out);
                    if let Some(who) = self.clients.iter().position(|other| *other == client) {
                        self.is_waiting[who] = progress == Progress::Blocked;
                    }
                    if client == self.reader && !out.is_empty() {
                        self.answer = Some(String::from_utf8_lossy(&out).into_owned());
                    }
                }
                Delivery::Output(client, bytes) if client == self.listener => {
                    self.evicted.extend(bulks(&String::from_utf8_lossy(&bytes)).pop());
                }
                Delivery::Output(client, bytes) if client == self.reader => {
                    self.answer = Some(String::from_utf8_lossy(&bytes).into_owned());
                }
                _ => {}
            }
        }
    }

    fn send(&mut self, who: Who, words: &[String]) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (progress, reply) = self.call(self.clients[who as usize], &words);
        self.is_waiting[who as usize] = progress == Progress::Blocked;
        self.tally.commands += 1;
        self.tally.refused += usize::from(reply.starts_with("-SCHEMA"));
        self.tally.failed += usize::from(reply.starts_with('-') && !reply.starts_with("-SCHEMA"));
    }

    /// Exchanges the schema for one that derives less, and puts it in force again.
    fn reform(&mut self, reform: &Reform) {
        self.test.host.short = 0;
        let plan = self.plan(&loose(), &[]);
        self.apply(&plan, &[]);
        reform.loosely.iter().for_each(|step| self.act(step));
        let plan = self.plan(SCHEMA, &reform.planned);
        self.apply(&plan, &reform.applied);
        self.tally.reforms += 1;
    }

    /// Plans a schema; returns the plan's name.
    fn plan(&mut self, schema: &str, meanwhile: &[Step]) -> String {
        let reply = self.await_reply(&["KEYWARD", "SCHEMA", "PLAN", schema], meanwhile);
        if reply.contains("make another one") {
            return self.plan(schema, &[]);
        }
        bulks(&reply).get(1).unwrap_or_else(|| panic!("no plan: {reply}")).clone()
    }

    /// Puts a plan in force, or the same schema planned anew if rows were exchanged, or came of
    /// which it did not tell.
    fn apply(&mut self, plan: &str, meanwhile: &[Step]) {
        let mut reply = self.await_reply(&["KEYWARD", "SCHEMA", "APPLY", plan], &[]);
        if let Some((_, count)) = reply.split_once("say DESTROY ") {
            let words = ["KEYWARD", "SCHEMA", "APPLY", plan, "DESTROY", count.trim_end()];
            reply = self.await_reply(&words, meanwhile);
        }
        if let Some((_, told)) = reply.split_once("say KEYWARD SCHEMA APPLY ") {
            let told = told.split_whitespace().next().unwrap_or_default().to_owned();
            return self.apply(&told, &[]);
        }
        if reply.contains("make another one") {
            let again = self.plan(SCHEMA, &[]);
            return self.apply(&again, &[]);
        }
        assert!(reply.starts_with('*'), "a plan cannot be applied: {reply}");
    }

    /// Sends a command that may take several ticks, between which steps happen; those that
    /// are left then happen at once. Returns the reply.
    fn await_reply(&mut self, words: &[&str], meanwhile: &[Step]) -> String {
        let (progress, reply) = self.call(self.reader, words);
        let mut reply = (progress != Progress::Blocked).then_some(reply);
        let mut steps = meanwhile.iter();
        while reply.is_none() {
            steps.by_ref().take(1).for_each(|step| self.act(step));
            self.test.tick();
            self.tally.waits += 1;
            self.hear();
            reply = self.answer.take();
        }
        steps.for_each(|step| self.act(step));
        reply.unwrap_or_default()
    }

    fn call(&mut self, client: ClientId, words: &[&str]) -> (Progress, String) {
        let (progress, out) = self.test.ask(client, words);
        (progress, String::from_utf8_lossy(&out).into_owned())
    }

    /// What is wrong with the rows as they are stored.
    pub(super) fn stored_fault(&mut self) -> Option<String> {
        let taken = self.evicted.drain(..).find(|key| !may_be_evicted(key));
        if let Some(key) = taken {
            return Some(format!("{key} was evicted"));
        }
        let rows = stored(&mut self.test.engine, 0);
        let fault = rows.iter().find_map(|(key, row)| fault(&rows, key, row, self.test.now_ms));
        fault.or_else(|| difference(&found(&rows), &wanted(&rows)))
    }

    /// What is wrong with what a client sees, who sees no row whose time is over.
    pub(super) fn visible_fault(&mut self) -> Option<String> {
        // Whose command waits for the end of others must not go on while it is looked.
        while self.is_waiting.contains(&true) && self.test.tick() {
            self.hear();
        }
        self.hear();
        let rows = stored(&mut self.test.engine, 0);
        let wanted = wanted(&living(&rows, self.test.now_ms));
        let stored = found(&rows);
        let keys: Vec<&String> = stored.keys().chain(wanted.keys()).collect();
        let mut seen = Derived::new();
        for key in keys {
            seen.extend(
                self.seen(key, stored.get(key).or(wanted.get(key))).map(|v| (key.clone(), v)),
            );
        }
        difference(&seen, &wanted)
    }

    /// What a client reads at a key that is expected to be like this.
    fn seen(&mut self, key: &str, like: Option<&Plain>) -> Option<Plain> {
        let read = |words: &[&str], stage: &mut Stage| bulks(&stage.await_reply(words, &[]));
        let value = match like? {
            Plain::Text(_) => Plain::Text(read(&["GET", key], self).into_iter().next()?),
            Plain::Zset(_) => {
                let words = read(&["ZRANGE", key, "0", "-1", "WITHSCORES"], self);
                let pairs = words.chunks_exact(2);
                Plain::Zset(
                    pairs.map(|p| (p[0].clone(), p[1].parse().unwrap_or(f64::NAN))).collect(),
                )
            }
            _ => Plain::Set(read(&["SMEMBERS", key], self).into_iter().collect()),
        };
        let is_empty = match &value {
            Plain::Set(members) => members.is_empty(),
            Plain::Zset(members) => members.is_empty(),
            _ => false,
        };
        (!is_empty).then_some(value)
    }
}

/// A command by which a user comes whom others do not name, mostly for a short time.
fn newcomer(n: usize) -> Vec<String> {
    let (id, status) = (1_000 + n, if n.is_multiple_of(20) { "active" } else { "closed" });
    let plan = if n.is_multiple_of(2) { "gold" } else { "free" };
    words(&format!("HSET user:{id} status {status} plan {plan} seen {} email n{n}", n + 1))
}

/// The texts of a reply of bulk strings; there are no line ends in them.
fn bulks(reply: &str) -> Vec<String> {
    let mut lines = reply.split("\r\n");
    let mut texts = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with('$') && line != "$-1" {
            texts.extend(lines.next().map(str::to_owned));
        }
    }
    texts
}

fn difference(is: &Derived, should_be: &Derived) -> Option<String> {
    let key = is.keys().chain(should_be.keys()).find(|key| is.get(*key) != should_be.get(*key))?;
    Some(format!("{key} is {:?} and should be {:?}", is.get(key), should_be.get(key)))
}
