//! Nothing secret is shown: every command of the table, with a secret in every place.
//!
//! Calls are made from the documented arguments of each row of the table, so that a new
//! command is tried by being there. They are sent by themselves, inside MULTI and by a
//! script, while somebody watches and every command is slow.

use crate::harness::TestEngine;
use keyward_commands::argument::{Argument, ArgumentKind};
use keyward_commands::{COMMANDS, Command, CommandId, resolve};
use keyward_engine::{ClientId, Delivery, Tunables};
use keyward_resp::{ArgBuf, push_request};

/// What must not be seen. Fits placeholders, fields, items and members.
pub(crate) const SECRET: &str = "hunter2secret";

const SCHEMA: &str = r#"
[keyspace]
name = "vault"
unknown = "warn"
mode = "warn"

[key."user:{id}"]
type = "hash"
ttl = "none"
[key."user:{id}".fields]
api_key = { type = "str?", secret = true }
pin     = { type = "uint?", secret = true }
name    = "str?"

[key."users:by_api_key:{api_key}"]
type = "string"
lookup = { of = "user:{id}", field = "api_key" }
allow = ["KW0109: redacted"]

[key."token:{id:uint}"]
type = "string"
secret = true
ttl = "none"

[key."count:{id}"]
type = "int"
secret = true
ttl = "none"

[key."doc:{id}"]
type = "json"
ttl = "none"
fields = { open = "str?", inner = { type = "object?", fields = { pin = { type = "uint", secret = true } } } }

[key."list:{id}"]
type = "list"
secret = true
ttl = "none"

[key."set:{id}"]
type = "set"
secret = true
ttl = "none"

[key."zset:{id}"]
type = "zset"
secret = true
ttl = "none"

[key."bag:{id}"]
type = "hash"
secret = true
ttl = "none"

[key."open:{id}"]
type = "hash"
secret = true
ttl = "none"
fields = { api_key = "str?" }
extra = "allow"

[key."visits:{id}"]
type = "hll"
secret = true
ttl = "none"

[key."byplan:{id}"]
type = "hash"
ttl = "none"
fields = { plan = "str?", pin = { type = "uint?", secret = true } }

[key."ranked"]
type = "zset"
rank = { of = "byplan:{id}", by = "pin" }

[key."login:{tenant}:{code}"]
type = "string"
secret = ["code"]
ttl = "none"

[key."plain:{id}"]
type = "string"
ttl = "none"
"#;

/// Commands that speak of the server, connections and channels, and are shown as Redis
/// shows them. A new command is not among them: it is redacted until somebody says here
/// and in `keyward-rules` that it carries neither keys nor values.
const SPEAK_OF_NO_ROW: [&str; 30] = [
    "auth",
    "client",
    "command",
    "config",
    "echo",
    "hello",
    "info",
    "latency",
    "ping",
    "psubscribe",
    "publish",
    "pubsub",
    "punsubscribe",
    "replconf",
    "select",
    "shutdown",
    "slowlog",
    "spublish",
    "ssubscribe",
    "subscribe",
    "sunsubscribe",
    "unsubscribe",
    // Their arguments are a server's address and a time.
    "failover",
    "replicaof",
    "slaveof",
    // Its arguments are an id and a number.
    "psync",
    // These end the connection, or take it over, and have no arguments.
    "monitor",
    "quit",
    "sync",
    "reset",
];

/// Of those, the ones that carry a whole command.
const CARRY_A_COMMAND: [&str; 2] = ["command|getkeys", "command|getkeysandflags"];

fn speaks_of_rows(command: &Command) -> bool {
    let name = command.name.split('|').next().unwrap_or_default();
    !SPEAK_OF_NO_ROW.contains(&name) || CARRY_A_COMMAND.contains(&command.name)
}

/// How a call is filled in.
#[derive(Clone, Copy)]
pub(crate) struct Filling<'a> {
    pub(crate) key: &'a str,
    /// Every text besides keys.
    pub(crate) value: &'a str,
    pub(crate) field: &'a str,
    pub(crate) number: &'a str,
    pub(crate) has_options: bool,
    /// Which of several alternatives.
    pub(crate) choice: usize,
}

pub(crate) fn fill(arguments: &[Argument], with: Filling<'_>, words: &mut Vec<String>) {
    for argument in arguments.iter().filter(|argument| with.has_options || !argument.optional) {
        words.extend(argument.token.map(str::to_owned));
        match argument.kind {
            ArgumentKind::PureToken => {}
            ArgumentKind::Block => fill(argument.arguments, with, words),
            ArgumentKind::OneOf => {
                let choice = with.choice % argument.arguments.len();
                fill(
                    &argument.arguments[choice..=choice],
                    Filling { has_options: true, ..with },
                    words,
                );
            }
            ArgumentKind::Key => words.push(with.key.to_owned()),
            ArgumentKind::Integer if argument.name == "numkeys" => words.push("1".to_owned()),
            ArgumentKind::Integer | ArgumentKind::Double | ArgumentKind::UnixTime => {
                words.push(with.number.to_owned());
            }
            // Where another server is says nothing of a row.
            ArgumentKind::String if argument.name == "host" => words.push("h".to_owned()),
            ArgumentKind::String if argument.name == "field" => words.push(with.field.to_owned()),
            ArgumentKind::String | ArgumentKind::Pattern => words.push(with.value.to_owned()),
        }
    }
}

/// Calls of a command on a key, right and wrong ones.
fn calls(command: &Command, (key, value): (&str, &str)) -> Vec<Vec<String>> {
    let name: Vec<String> = command.name.split('|').map(str::to_owned).collect();
    let mut calls = Vec::new();
    for (field, number) in [("api_key", "1"), (value, "1"), ("pin", value), ("pin", "0.5")] {
        for (has_options, choice) in [(false, 0), (false, 1), (true, 0), (true, 1), (true, 2)] {
            let with = Filling { key, value, field, number, has_options, choice };
            let mut call = name.clone();
            fill(command.args, with, &mut call);
            calls.push(call.clone());
            calls.push([&call[..], &[value.to_owned()]].concat());
            call.truncate(call.len().saturating_sub(1).max(name.len()));
            calls.push(call);
        }
    }
    for count in 1..5 {
        calls.push([&name[..], &vec![value.to_owned(); count]].concat());
        calls.push([&name[..], &[key.to_owned()], &vec![value.to_owned(); count]].concat());
    }
    let inner = ["SET", key, value].map(str::to_owned);
    calls.push([&name[..], &inner].concat());
    calls.retain(|call| !has_secret_stranger(call));
    calls.sort();
    calls.dedup();
    calls
}

/// Whether a call has the secret where a key stands: a key of no pattern is shown.
fn has_secret_stranger(call: &[String]) -> bool {
    let args: ArgBuf = call.iter().collect();
    resolve(args.args()).is_ok_and(|command| {
        let is_key_itself = command.id == CommandId::KeywardMatch && call[2] == SECRET;
        is_key_itself || command.keys_in(args.args()).any(|key| call[key.index] == SECRET)
    })
}

pub(crate) struct Watched {
    pub(crate) test: TestEngine,
    monitor: ClientId,
    /// How many lines were seen in which something was redacted.
    redacted: usize,
}

impl Watched {
    fn new() -> Watched {
        Watched::under(SCHEMA)
    }

    pub(crate) fn under(schema: &str) -> Watched {
        let mut test = TestEngine::governed(1, schema);
        test.host.step_ns = 1000;
        let tunables =
            Tunables { slow_log_us_min: Some(0), slow_log_len_max: 64, ..Tunables::default() };
        test.engine.set_tunables(tunables);
        let monitor = test.engine.connect();
        test.call(monitor, "MONITOR");
        Watched { test, monitor, redacted: 0 }
    }

    /// Sends requests from one client; returns everything that others see of them.
    fn seen(&mut self, requests: &[Vec<String>]) -> String {
        self.told_and_seen(requests).1
    }

    /// Sends requests from one client; returns its replies, and everything that others see.
    pub(crate) fn told_and_seen(&mut self, requests: &[Vec<String>]) -> (String, String) {
        let client = self.test.engine.connect();
        let mut bytes = Vec::new();
        requests.iter().for_each(|words| push_request(&mut bytes, words.iter()));
        let told = self.test.send(client, &bytes).1;
        self.test.engine.disconnect(client);
        (String::from_utf8_lossy(&told).into_owned(), self.seen_by_others())
    }

    /// What others than their clients have seen of commands: MONITOR, the slow log, the log.
    pub(crate) fn seen_by_others(&mut self) -> String {
        let mut seen = String::new();
        for delivery in self.test.deliveries() {
            if let Delivery::Output(to, line) = delivery
                && to == self.monitor
            {
                seen += &String::from_utf8_lossy(&line);
            }
        }
        let reader = self.test.engine.connect();
        seen += &String::from_utf8_lossy(
            &self.test.send(reader, &crate::harness::request("SLOWLOG GET -1")).1,
        );
        self.test.call(reader, "SLOWLOG RESET");
        self.test.engine.disconnect(reader);
        self.test.deliveries();
        seen += &self.test.host.logged.drain(..).collect::<Vec<_>>().join("\n");
        self.redacted += usize::from(seen.contains("(redacted)"));
        seen
    }
}

pub(crate) fn words(call: &str) -> Vec<String> {
    call.split(' ').map(str::to_owned).collect()
}

#[test]
fn no_command_shows_a_secret() {
    let login = format!("login:t:{SECRET}");
    let lookup = format!("users:by_api_key:{SECRET}");
    // Of the last two only the names are secret.
    let secret = ["user:1", "token:1", "count:1", "doc:1", "list:1", "set:1", "zset:1", "plain"];
    let without_shape = ["bag:1", "open:1", "visits:1"];
    let keys = [&secret[..], &without_shape].concat();
    let keys: Vec<_> = keys.into_iter().map(|key| (key, SECRET)).collect();
    let keys = [&keys[..], &[(&*login, "v"), (&*lookup, "v")]].concat();
    let mut watched = Watched::new();
    let (mut tried, mut leaks) = (0, Vec::new());
    for command in COMMANDS.iter().filter(|command| speaks_of_rows(command)) {
        for call in keys.iter().flat_map(|key| calls(command, *key)) {
            let script = ["EVAL", "return redis.pcall(unpack(ARGV))", "0"].map(str::to_owned);
            let by_script = [&script[..], &call].concat();
            let alone = std::slice::from_ref(&call);
            let queued = [words("MULTI"), call.clone(), words("EXEC")];
            for requests in [alone, &queued, &[by_script]] {
                let seen = watched.seen(requests);
                if seen.contains(SECRET) && leaks.len() < 20 {
                    leaks.push(format!("{requests:?}\n{seen}"));
                }
            }
            tried += 1;
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    assert!(tried > 20_000, "{tried}");
    assert!(watched.redacted > tried, "{} of {tried}", watched.redacted);
}

/// What MONITOR shows of a call.
fn check(watched: &mut Watched, call: &str, expected: &str) {
    let seen = watched.seen(&[words(call)]);
    let line = seen.lines().find(|line| line.starts_with('+')).unwrap_or_default();
    let shown = line.split_once("] ").map(|(_, shown)| shown.replace('"', ""));
    assert_eq!(shown.as_deref(), Some(expected), "{call}");
}

#[test]
fn what_is_not_secret_is_shown() {
    let mut watched = Watched::new();
    let mut check = |call: &str, expected: &str| check(&mut watched, call, expected);
    check("SET plain:1 v PX 500", "SET plain:1 v PX 500");
    check("HSET user:1 name Ann api_key k", "HSET user:1 name Ann api_key (redacted)");
    check("HINCRBY user:1 pin 5", "HINCRBY user:1 pin (redacted)");
    check("HGET user:1 api_key", "HGET user:1 api_key");
    check("SETEX token:1 60 t", "SETEX token:1 60 (redacted)");
    check("MSET plain:1 a token:1 b plain:2 c", "MSET plain:1 a token:1 (redacted) plain:2 c");
    check("SET doc:1 {} NX GET", "SET doc:1 (redacted) NX GET");
    check("LRANGE list:1 0 -1", "LRANGE list:1 0 -1");
    check("ZADD zset:1 NX 1 m", "ZADD zset:1 NX (redacted) (redacted)");
    check("LPOS list:1 x RANK 1 COUNT 2", "LPOS list:1 (redacted) RANK 1 COUNT 2");
    check("GET login:acme:77", "GET login:acme:(redacted)");
    check("GET login:acme:77:8", "GET login:acme:(redacted)");
    check("MGET users:by_api_key:k plain:1", "MGET users:by_api_key:(redacted) plain:1");
    check(
        "EVALSHA ffffffffffffffffffffffffffffffffffffffff 1 user:1 x",
        "EVALSHA ffffffffffffffffffffffffffffffffffffffff (redacted) (redacted) (redacted)",
    );
    check("SCAN 0 MATCH user:* COUNT 5", "SCAN 0 MATCH user:* COUNT 5");
    check("SCAN 0 MATCH login:* TYPE string", "SCAN 0 MATCH login:* TYPE string");
    check("KEYS login:acme:7*", "KEYS (redacted)");
    check("KEYS *77*", "KEYS (redacted)");
    check("PUBLISH news hello", "PUBLISH news hello");
    check("SUBSCRIBE __keyspace@0__:login:acme:77", "SUBSCRIBE (redacted)");
    check("KEYWARD MATCH login:acme:77", "KEYWARD MATCH login:acme:(redacted)");
    check("MOVE login:acme:77 1", "MOVE login:acme:(redacted) 1");
}

/// A schema whose only secret is a key of this declaration.
fn only_secret(declaration: &str) -> Watched {
    let head = "[keyspace]\nname = 'vault'\nunknown = 'warn'\nmode = 'warn'\n";
    Watched::under(&format!("{head}[key.'c:{{id}}']\nttl = 'none'\nsecret = true\n{declaration}"))
}

#[test]
fn a_secret_key_without_declared_contents_is_secret() {
    for hash in [
        "type = 'hash'",
        "type = 'hash'\nextra = 'allow'",
        "type = 'hash'\nfields = {}",
        "type = 'hash'\nfields = {}\nextra = 'allow'",
    ] {
        let mut watched = only_secret(hash);
        let mut check = |call: &str, expected: &str| check(&mut watched, call, expected);
        check("HSET c:1 f hunter2", "HSET c:1 (redacted) (redacted)");
        check("HSETNX c:1 f hunter2", "HSETNX c:1 (redacted) (redacted)");
        check("HINCRBY c:1 n 777", "HINCRBY c:1 (redacted) (redacted)");
        check("HGET c:1 f", "HGET c:1 (redacted)");
        check("EVAL return 0 hunter2", "EVAL (redacted) (redacted) (redacted)");
        check("RESTORE c:1 0 hunter2", "RESTORE c:1 0 (redacted)");
        check("SET stranger hunter2", "SET stranger (redacted)");
    }
    let mut watched = only_secret("type = 'hll'");
    check(&mut watched, "APPEND c:1 hunter2", "APPEND c:1 (redacted)");
    check(&mut watched, "EVAL return 0 hunter2", "EVAL (redacted) (redacted) (redacted)");
}

#[test]
fn refusals_name_no_undeclared_field_of_a_secret_key() {
    let mut watched = only_secret("type = 'hash'\nfields = {}\nextra = 'uint'");
    let client = watched.test.engine.connect();
    watched.test.call(client, "KEYWARD MODE ENFORCE");
    let told = watched.test.call(client, &format!("HSET c:1 {SECRET} x"));
    assert!(told.starts_with("-SCHEMA c:1") && !told.contains(SECRET), "{told}");
    let mut watched = only_secret("type = 'hash'\nfields = { a = 'str?' }");
    let client = watched.test.engine.connect();
    watched.test.call(client, "KEYWARD MODE ENFORCE");
    for call in ["HSET", "HINCRBYFLOAT"] {
        let told = watched.test.call(client, &format!("{call} c:1 {SECRET} 1"));
        assert!(told.starts_with("-SCHEMA c:1") && !told.contains(SECRET), "{told}");
    }
}

#[test]
fn a_rank_by_a_secret_field_shows_no_score() {
    let mut watched = Watched::new();
    let client = watched.test.engine.connect();
    let told = watched.test.call(client, "KEYWARD EXPLAIN HSET byplan:1 plan a pin 777777");
    assert!(told.contains("Then ZADD ranked (redacted) 1"), "{told}");
    assert!(!told.contains("777777"), "{told}");
    let seen = watched.seen(&[words("HSET byplan:1 plan a pin 777777")]);
    assert!(seen.contains("(redacted)") && !seen.contains("777777"), "{seen}");
    check(&mut watched, "ZADD ranked 777777 1", "ZADD ranked (redacted) 1");
    check(&mut watched, "ZCOUNT ranked 777777 1", "ZCOUNT ranked (redacted) (redacted)");
    check(&mut watched, "ZSCORE ranked 1", "ZSCORE ranked 1");
}

#[test]
fn explanations_and_refusals_do_not_show_secrets_of_other_rows() {
    let mut watched = Watched::new();
    let client = watched.test.engine.connect();
    let test = &mut watched.test;
    test.call(client, &format!("HSET user:1 api_key {SECRET}"));
    let told = test.call(client, "KEYWARD EXPLAIN HDEL user:1 api_key");
    assert!(told.contains("users:by_api_key:(redacted)") && !told.contains(SECRET), "{told}");
    let told = test.call(client, &format!("KEYWARD MATCH login:acme:{SECRET}"));
    assert!(told.contains("code = (redacted)") && !told.contains(SECRET), "{told}");
    test.call(client, "KEYWARD MODE ENFORCE");
    let told = test.call(client, &format!("HSET user:2 api_key {SECRET}"));
    assert!(told.starts_with("-SCHEMA user:2: api_key belongs to 1 already"), "{told}");
    assert!(!told.contains(SECRET), "{told}");
    let told = test.call(client, &format!("LPUSH login:acme:{SECRET} x"));
    assert!(told.starts_with("-SCHEMA login:acme:(redacted): is declared"), "{told}");
    test.call(client, &format!("RPUSH list:1 {SECRET}"));
    test.call(client, "DEBUG LISTPACK user:1");
    test.call(client, "DEBUG QUICKLIST list:1");
    let logged = test.host.logged.join("\n");
    assert!(logged.contains("list:1: (redacted)") && !logged.contains(SECRET), "{logged}");
}
