//! The longest that the core is held at a time.
//!
//! One engine, without sockets, is given commands and time for itself while tables of
//! millions of rows grow, are rewritten, packed, expire, are flushed and change their
//! schema, and while large collections come and go. Each call of the engine is timed by
//! itself, by the processor time of this thread, for others may want the core too: no
//! step of growth, compaction, expiry or deletion is to take longer than a millisecond.
//! Commands whose reply or whose own work is as long as what they ask for are not among
//! them.

mod elsewhere;
mod ends;
mod packed;
mod streams;
mod undone;

use crate::arguments::Arguments;
use elsewhere::Elsewhere;
use keyward_engine::{ClientId, EngineOptions, Gathering, Tunables};
use keyward_resp::push_request;
use keyward_testkit::engine::{TestEngine, parsed};
use rustix::time::{ClockId, clock_gettime};
use std::io::Write as _;
use std::time::Duration;

const HOUR_MS: i64 = 3_600_000;
/// Rows that were not used for so long are packed.
const IDLE_MS: i64 = 10_000;
/// What no step is to take.
const TOO_LONG: Duration = Duration::from_millis(1);
/// Commands of a millisecond, after which there is a rest.
const COMMANDS_PER_REST: u64 = 16;

const SCHEMA: &str = r#"
[keyspace]
name = "shelf"

[key."user:{id:uint}"]
type   = "json"
ttl    = { after = "1h", renew = "write" }
fields = { name = "str", email = "str", plan = "gold | free" }

[key."by_email:{email}"]
type   = "string"
lookup = { of = "user:{id}", field = "email" }

[key."note:{user_id:uint}:{n:uint}"]
type  = "string"
value = "str"
ttl   = { with = "user:{user_id}" }

[key."page:{id:uint}"]
type     = "string"
ttl      = { after = "1h", renew = "write" }
compress = "256b"

[key."tags:{id:uint}"]
type  = "set"
items = "str"
ttl   = "2h"

[key."best:{id:uint}"]
type  = "zset"
items = "str"
ttl   = "2h"

[key."card:{id:uint}"]
type   = "hash"
ttl    = "2h"
extra  = "allow"
fields = { owner = "str?" }

[key."log:{id:uint}"]
type  = "list"
items = "str"
ttl   = "2h"

[key."letter:{id:uint}"]
type     = "hash"
ttl      = { after = "1h", renew = "write" }
extra    = "allow"
compress = "64b"

[key."chat:{id:uint}"]
type     = "list"
items    = "string"
ttl      = { after = "1h", renew = "write" }
compress = "64b"

[key."fans:{id:uint}"]
type = "set"
ttl  = "none"

[key."idols:{id:uint}"]
type    = "set"
ttl     = "none"
inverse = "fans:{member}"

[key."crowd:{id:uint}"]
type = "set"
ttl  = "none"

[key."lease:{id:uint}"]
type = "string"
ttl  = { given = true, max = "1d", default = "2h" }

[key."grant:{lease_id:uint}:{n:uint}"]
type = "string"
ttl  = { with = "lease:{lease_id}" }

[key."badge:{lease_id:uint}:{n:uint}"]
type   = "hash"
ttl    = { with = "lease:{lease_id}" }
fields = { code = "str" }

[key."badge_by_code:{lease_id:uint}:{code}"]
type   = "string"
lookup = { of = "badge:{lease_id}:{n}", field = "code" }

[key."badges:{n:uint}"]
type    = "set"
members = { of = "badge:{lease_id}:{n}" }

[key."guest:{id:uint}"]
type   = "json"
ttl    = "2h"
fields = { name = "str" }

[key."guests"]
type    = "set"
members = { of = "guest:{id}" }

[key."pass:{id:uint}"]
type   = "hash"
ttl    = "2h"
fields = { owner = "str", seat = "str" }

[key."file:{id:uint}"]
type     = "string"
ttl      = "2h"
max_size = "64mb"

[key."seat:{id:uint}"]
type  = "string"
value = "uint"
ttl   = "none"

[key."feed:{id:uint}"]
type = "stream"
ttl  = "none"

[key."visit:{id:uint}"]
type   = "json"
ttl    = "2h"
fields = { page = "str", agent = "str" }
"#;

/// Times every call of an engine and writes a table of it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let rows = arguments.keys;
    // As in the server.
    tikv_jemalloc_ctl::background_thread::write(true)
        .map_err(|error| anyhow::anyhow!("the allocator starts no thread: {error}"))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{rows} rows; collections of as many elements:\n")?;
    writeln!(out, "| | calls | the longest, ms | above 1 ms | what it was |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    for (title, schema) in [("plain", None), ("under a schema", Some(SCHEMA))] {
        let mut stage = Stage::new(schema);
        for (part, act) in parts(schema.is_some(), &arguments.only) {
            act(&mut stage, rows);
            stage.settle();
            let Longest { calls, above, time, what } = std::mem::take(&mut stage.longest);
            let ms = time.as_secs_f64() * 1000.0;
            writeln!(out, "| {title}: {part} | {calls} | {ms:.2} | {above} | {what} |")?;
        }
    }
    Ok(())
}

/// Something that is done to all rows, or to a large one.
type Part = (&'static str, fn(&mut Stage, u64));

/// The parts of the groups that have this in their name, in order.
fn parts(is_governed: bool, only: &str) -> Vec<Part> {
    let mut groups =
        vec![("rows", of_rows()), ("collections", of_collections()), ("streams", streams::parts())];
    match is_governed {
        true => groups.extend([
            ("ends", ends::parts()),
            ("packed", packed::parts()),
            ("undone", undone::parts()),
        ]),
        false => groups.push(("swapped", of_swapping())),
    }
    let groups = groups.into_iter().filter(|(name, _)| name.contains(only));
    groups.flat_map(|(_, parts)| parts).collect()
}

fn of_rows() -> Vec<Part> {
    vec![
        ("growth", |stage, rows| (0..rows).for_each(|id| stage.write(id, 1))),
        ("rewritten in other sizes", |stage, rows| (0..rows).for_each(|id| stage.write(id, 7))),
        ("half deleted", |stage, rows| {
            (0..rows).step_by(2).for_each(|id| stage.call(&["DEL", &format!("page:{id}")]));
        }),
        ("gathered", |stage, _| stage.gather()),
        ("written again", |stage, rows| (0..rows).for_each(|id| stage.write(id, 3))),
        ("expiry of all", |stage, _| stage.pass(3 * HOUR_MS)),
        ("growth after that", |stage, rows| (0..rows).for_each(|id| stage.write(id, 2))),
        ("FLUSHALL", |stage, _| stage.call(&["FLUSHALL"])),
    ]
}

fn of_collections() -> Vec<Part> {
    vec![
        ("growth of collections", |stage, rows| (1..=4).for_each(|id| stage.collect(id, rows))),
        ("collections gathered", |stage, _| stage.gather()),
        ("lists that nobody uses", |stage, rows| {
            (0..rows)
                .for_each(|id| stage.call(&["RPUSH", &format!("log:{}", 10 + id / 200), "line"]));
            stage.pass(IDLE_MS);
        }),
        ("RENAME of collections", |stage, _| {
            stage.each_collection(|name| vec!["RENAME", name, "1", name, "9"]);
        }),
        ("DEL of collections", |stage, _| stage.each_collection(|name| vec!["DEL", name, "2"])),
        ("UNLINK of collections", |stage, _| {
            stage.each_collection(|name| vec!["UNLINK", name, "3"]);
        }),
        ("expiry of collections", |stage, _| {
            if !stage.is_governed {
                stage.each_collection(|name| vec!["PEXPIRE", name, "4", "10"]);
            }
            stage.pass(3 * HOUR_MS);
        }),
        ("RENAME over collections", |stage, _| {
            stage.collect(5, 1);
            stage.each_collection(|name| vec!["RENAME", name, "5", name, "9"]);
        }),
        ("growth and FLUSHALL of collections", |stage, rows| {
            stage.collect(1, rows);
            stage.call(&["FLUSHALL"]);
        }),
    ]
}

fn of_swapping() -> Vec<Part> {
    vec![("SWAPDB and FLUSHDB", |stage, rows| {
        (0..rows).for_each(|id| stage.write(id, 1));
        stage.call(&["SWAPDB", "0", "1"]);
        stage.call(&["SWAPDB", "1", "0"]);
        stage.call(&["FLUSHDB"]);
    })]
}

/// How long this thread has had a core.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// The longest of some calls.
#[derive(Default)]
struct Longest {
    calls: u64,
    above: u64,
    time: Duration,
    what: String,
}

impl Longest {
    /// Takes note of a call that began at a time.
    fn note(&mut self, begun: Duration, what: impl FnOnce() -> String) {
        let time = processor_time() - begun;
        self.calls += 1;
        self.above += u64::from(time > TOO_LONG);
        if time > self.time {
            self.time = time;
            self.what = what();
        }
    }
}

/// An engine and a client.
struct Stage {
    test: TestEngine<Elsewhere>,
    client: ClientId,
    /// There is a schema, which gives rows their lifetimes.
    is_governed: bool,
    /// There is time between commands.
    has_leisure: bool,
    longest: Longest,
    out: Vec<u8>,
    commands: u64,
}

impl Stage {
    fn new(schema: Option<&str>) -> Stage {
        // As in the server.
        let tunables = Tunables { pack_after_seconds: 5, ..Tunables::default() };
        let options = EngineOptions { seed: 1, databases: 2, tunables };
        let mut test = TestEngine::with_host(options, Elsewhere::default());
        if let Some(schema) = schema {
            test.govern(schema);
        }
        let client = test.engine.connect();
        Stage {
            test,
            client,
            is_governed: schema.is_some(),
            has_leisure: true,
            longest: Longest::default(),
            out: Vec::new(),
            commands: 0,
        }
    }

    /// Sends a command that is not refused.
    fn call(&mut self, words: &[&str]) {
        self.ask(words);
        assert!(!self.out.starts_with(b"-"), "{words:?}: {}", self.out.escape_ascii());
        self.test.engine.take_deliveries();
        self.commands += 1;
        if self.commands.is_multiple_of(COMMANDS_PER_REST) {
            self.advance(1);
            if self.has_leisure {
                self.rest();
            }
        }
    }

    /// Sends a command.
    fn ask(&mut self, words: &[&str]) {
        let mut request = Vec::new();
        push_request(&mut request, words.iter());
        let (buffer, batch) = parsed(&request);
        self.out.clear();
        let TestEngine { engine, host, .. } = &mut self.test;
        let begun = processor_time();
        engine.execute(host, self.client, &buffer, &batch, &mut self.out);
        self.longest.note(begun, || words.iter().take(2).copied().collect::<Vec<_>>().join(" "));
        if let Some(proposal) = self.test.host.proposal.take() {
            let draft = proposal.read();
            let begun = processor_time();
            self.test.engine.schema_read(&mut self.test.host, draft);
            self.longest.note(begun, || "a schema that was read".to_owned());
        }
        self.test.host.remains.clear();
    }

    fn rest(&mut self) -> bool {
        let begun = processor_time();
        let has_more = self.test.engine.rest();
        self.longest.note(begun, || "rest".to_owned());
        has_more
    }

    fn tick(&mut self) -> bool {
        let begun = processor_time();
        let has_more = self.test.tick();
        self.longest.note(begun, || "tick".to_owned());
        self.test.host.remains.clear();
        has_more
    }

    /// Lets the engine do whatever it has to do, when rows are in use no more.
    fn settle(&mut self) {
        self.advance(IDLE_MS);
        loop {
            while self.rest() {}
            while self.tick() {}
            if !self.test.engine.has_leisure_work() {
                return;
            }
        }
    }

    /// Moves everything to other allocations.
    fn gather(&mut self) {
        let mut walk = Gathering::default();
        loop {
            let begun = processor_time();
            let has_more = self.test.engine.gather(&mut walk);
            self.longest.note(begun, || "gather".to_owned());
            if !has_more {
                return;
            }
        }
    }

    /// Time passes.
    fn pass(&mut self, ms: i64) {
        self.advance(ms);
        self.settle();
    }

    fn advance(&mut self, ms: i64) {
        self.test.pass(ms);
    }

    /// Writes a row whose size depends on its number and the round.
    fn write(&mut self, id: u64, round: u64) {
        let bytes = (id * 7919 * round % 400) as usize;
        let (key, value) = (format!("page:{id}"), format!("{id}{}", "text ".repeat(bytes / 5)));
        let lifetime: &[&str] = if self.is_governed { &[] } else { &["PX", "3600000"] };
        self.call(&[&["SET", &*key, &*value], lifetime].concat());
    }

    /// Makes one collection of each type of so many elements.
    fn collect(&mut self, id: u64, elements: u64) {
        let [set, zset, hash, list] = COLLECTIONS.map(|name| format!("{name}{id}"));
        for number in 0..elements {
            let (element, score) = (format!("element {number}"), number.to_string());
            self.call(&["SADD", &set, &element]);
            self.call(&["ZADD", &zset, &score, &element]);
            self.call(&["HSET", &hash, &element, &score]);
            self.call(&["RPUSH", &list, &element]);
        }
    }

    /// Sends a command for each type of collection: names are followed by numbers.
    fn each_collection(&mut self, words: fn(&'static str) -> Vec<&'static str>) {
        for name in COLLECTIONS {
            let mut whole: Vec<String> = Vec::new();
            let mut words = words(name).into_iter();
            while let Some(word) = words.next() {
                let number = if word == name { words.next() } else { None };
                whole.push(format!("{word}{}", number.unwrap_or_default()));
            }
            let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
            self.call(&whole);
        }
    }
}

const COLLECTIONS: [&str; 4] = ["tags:", "best:", "card:", "log:"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_runs() {
        for schema in [None, Some(SCHEMA)] {
            let mut stage = Stage::new(schema);
            for (part, act) in parts(schema.is_some(), "") {
                act(&mut stage, 200);
                stage.settle();
                assert!(stage.longest.calls > 0, "{part}");
            }
        }
    }
}
