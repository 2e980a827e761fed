//! Nothing secret is shown where it is taken to a key that is not secret: by every command
//! of the table that reads one key and writes another, by scripts, from another database.
//!
//! What is refused is told to the client without the value; so is what the log has of it,
//! where it passes, and what KEYWARD EXPLAIN says of it. Replies to commands that read are
//! left out: they show what there is.

use crate::harness::TestEngine;
use crate::shown::{Filling, SECRET, Watched, fill, words};
use keyward_commands::flags::{Flag, KeyFlag};
use keyward_commands::{COMMANDS, Command};
use keyward_engine::Delivery;
use keyward_resp::ArgBuf;
use std::collections::BTreeSet;

const SCHEMA: &str = r#"
[keyspace]
name = "vault"
unknown = "warn"

[key."token:{id}"]
type = "string"
secret = true
ttl = "none"

[key."bag:{id}"]
type = "hash"
secret = true
ttl = "none"

[key."user:{id}"]
type = "hash"
ttl = "none"
fields = { pin = { type = "str?", secret = true } }

[key."hidden:{id}"]
type = "list"
secret = true
ttl = "none"

[key."marks:{id}"]
type = "set"
secret = true
ttl = "none"

[key."scores:{id}"]
type = "zset"
secret = true
ttl = "none"

[key."doc:{id}"]
type = "json"
ttl = "none"
fields = { pin = { type = "str", secret = true } }

[key."session:{code}"]
type = "string"
secret = ["code"]
ttl = "none"
value = "uint"

[key."sessions"]
type = "set"
members = { of = "session:{code}" }

[key."n:{id}"]
type = "int"
ttl = "none"

[key."account:{id}"]
type = "hash"
ttl = "none"
fields = { plan = "uint?" }

[key."typed:{id}"]
type = "hash"
ttl = "none"
fields = {}
extra = "uint"

[key."numbers:{id}"]
type = "list"
items = "uint"
ttl = "none"

[key."ids:{id}"]
type = "set"
items = "uint"
ttl = "none"

[key."board:{id}"]
type = "zset"
items = "uint"
ttl = "none"

[key."plan:{id}"]
type = "json"
ttl = "none"
fields = { plan = "uint" }

[key."map:{id}"]
type = "json"
ttl = "none"
value = "{uint: uint}"

[key."follows:{a}"]
type = "set"
items = "uint"
ttl = "none"

[key."amount:{id}"]
type = "string"
value = "decimal(2)"
ttl = "none"

[key."plain:{id}"]
type = "string"
ttl = "none"
"#;

/// Secret keys, and what makes them.
fn sources() -> Vec<(&'static str, Vec<String>)> {
    let make = |call: &str| words(&call.replace('$', SECRET));
    let pin = format!("{{\"pin\":\"{SECRET}\"}}");
    vec![
        ("token:1", make("SET token:1 $")),
        ("bag:1", make("HSET bag:1 $ $")),
        ("user:1", make("HSET user:1 pin $")),
        ("hidden:1", make("RPUSH hidden:1 $ $")),
        ("marks:1", make("SADD marks:1 $")),
        ("scores:1", make("ZADD scores:1 5 $")),
        ("doc:1", ["SET", "doc:1", &pin].map(str::to_owned).to_vec()),
        ("sessions", make("SET session:$ 1")),
        ("stranger", make("SET stranger $")),
    ]
}

const TARGETS: [&str; 10] = [
    "n:1",
    "account:1",
    "typed:1",
    "numbers:1",
    "ids:1",
    "board:1",
    "plan:1",
    "map:1",
    "amount:1",
    "follows:1",
];

/// Whether a call stores in one key what it reads in another.
fn moves(command: &Command, call: &[String]) -> bool {
    let args: ArgBuf = call.iter().collect();
    let keys: Vec<_> = command.keys_in(args.args()).collect();
    let is_target = |flag| keys.iter().any(|key| key.flags.has(flag));
    command.flags.has(Flag::Write)
        && keys.len() > 1
        && keys.iter().any(|key| key.flags.has(KeyFlag::Access))
        && [KeyFlag::Ow, KeyFlag::Insert, KeyFlag::Update].into_iter().any(is_target)
}

/// Calls of a command that take what is in one key to another.
fn calls(command: &Command, source: &str, target: &str) -> Vec<Vec<String>> {
    let name: Vec<String> = command.name.split('|').map(str::to_owned).collect();
    let mut calls = BTreeSet::new();
    for value in [SECRET, "0", "OR"] {
        for (has_options, choice) in [(false, 0), (true, 0)] {
            let (field, number) = ("f", "1");
            let with = Filling { key: source, value, field, number, has_options, choice };
            let mut call = name.clone();
            fill(command.args, with, &mut call);
            calls.insert(call);
        }
    }
    if command.name == "sort" {
        calls.insert(words(&format!("sort {source} BY nosort GET token:1 STORE {target}")));
        calls.insert(words(&format!("sort numbers:2 BY nosort GET token:1 STORE {target}")));
        calls.insert(words(&format!("sort {source} STORE {target}")));
    }
    match command.name {
        "georadius" => {
            calls.insert(words(&format!("georadius {source} 0 0 30000 km STORE {target}")));
        }
        "georadiusbymember" => {
            let near = format!("georadiusbymember {source} {SECRET} 9 m STORE {target}");
            calls.insert(words(&near));
        }
        // What is no HyperLogLog is not merged; where there is nothing, an empty one is made.
        "pfmerge" => {
            calls.insert(words(&format!("pfmerge {target} plain:2")));
        }
        _ => {}
    }
    let mut calls: Vec<_> = calls.into_iter().filter(|call| moves(command, call)).collect();
    for call in &mut calls {
        let args: ArgBuf = call.iter().collect();
        for key in command.keys_in(args.args()) {
            if !key.flags.has(KeyFlag::Access) {
                call[key.index] = target.to_owned();
            }
        }
    }
    calls
}

/// What a reply says of refusals.
fn refusals(told: &str) -> String {
    told.lines().filter(|line| line.contains("SCHEMA ")).collect::<Vec<_>>().join("\n")
}

struct Attack {
    watched: Watched,
    leaks: Vec<String>,
    /// Commands of which something was refused, or passed with a warning.
    judged: BTreeSet<String>,
}

impl Attack {
    fn new(mode: &str) -> Attack {
        let mut watched = Watched::under(SCHEMA);
        let client = watched.test.engine.connect();
        watched.test.call(client, &format!("KEYWARD MODE {mode}"));
        Attack { watched, leaks: Vec::new(), judged: BTreeSet::new() }
    }

    /// Puts the secret into this key, and into one that SORT and scripts read.
    fn lay_out(&mut self, source: &str) {
        let sources = sources().into_iter().filter(|(key, _)| *key == source || *key == "token:1");
        let mut requests = vec![words("FLUSHALL"), words("RPUSH numbers:2 1")];
        requests.extend(sources.map(|(_, call)| call));
        let client = self.watched.test.engine.connect();
        let mut bytes = Vec::new();
        requests.iter().for_each(|words| keyward_resp::push_request(&mut bytes, words.iter()));
        self.watched.test.send(client, &bytes);
        self.watched.test.call(client, "SLOWLOG RESET");
        self.watched.test.engine.disconnect(client);
        self.watched.test.deliveries();
        self.watched.test.host.logged.clear();
    }

    /// Sends requests; `name` is what they are about.
    fn check(&mut self, name: &str, requests: &[Vec<String>]) {
        let (told, seen) = self.watched.told_and_seen(requests);
        self.note(name, &format!("{requests:?}"), &told, &seen);
    }

    /// Has a call explained and run; in a transaction and by a script too.
    fn move_by(&mut self, command: &Command, source: &str, call: Vec<String>, in_many_ways: bool) {
        let explained = [&words("KEYWARD EXPLAIN")[..], &call].concat();
        self.lay_out(source);
        // What is explained is undone.
        self.check(command.name, &[explained]);
        self.check(command.name, std::slice::from_ref(&call));
        if in_many_ways {
            let script = ["EVAL", "return redis.pcall(unpack(ARGV))", "0"];
            let by_script = [&script.map(str::to_owned)[..], &call].concat();
            for requests in [vec![words("MULTI"), call, words("EXEC")], vec![by_script]] {
                self.lay_out(source);
                self.check(command.name, &requests);
            }
        }
    }

    fn note(&mut self, name: &str, what: &str, told: &str, seen: &str) {
        let said = refusals(told);
        if !said.is_empty() || seen.contains("SCHEMA ") {
            self.judged.insert(name.to_owned());
        }
        if (said.contains(SECRET) || seen.contains(SECRET)) && self.leaks.len() < 20 {
            self.leaks.push(format!("{what}\n{said}\n{seen}"));
        }
    }
}

#[test]
fn no_command_that_takes_a_secret_elsewhere_shows_it() {
    let mut movers = BTreeSet::new();
    for mode in ["ENFORCE", "WARN"] {
        let mut judged = BTreeSet::new();
        for (command, (source, _)) in
            COMMANDS.iter().flat_map(|command| sources().into_iter().map(move |it| (command, it)))
        {
            // Of warnings about a table only the first few are logged: each gets an engine.
            let mut attack: Option<Attack> = None;
            for target in TARGETS {
                for (index, call) in calls(command, source, target).into_iter().enumerate() {
                    let attack = attack.get_or_insert_with(|| Attack::new(mode));
                    movers.insert(command.name.to_owned());
                    attack.move_by(command, source, call, index == 0);
                }
            }
            if let Some(attack) = attack {
                assert!(attack.leaks.is_empty(), "{mode}: {}", attack.leaks.join("\n\n"));
                judged.extend(attack.judged);
            }
        }
        assert_eq!(judged, movers, "{mode}");
    }
    let known = [
        "bitop",
        "blmove",
        "brpoplpush",
        "copy",
        "georadius",
        "georadiusbymember",
        "geosearchstore",
        "lmove",
        "pfmerge",
        "rename",
        "renamenx",
        "rpoplpush",
        "sdiffstore",
        "sinterstore",
        "smove",
        "sort",
        "sunionstore",
        "zdiffstore",
        "zinterstore",
        "zrangestore",
        "zunionstore",
    ];
    for name in known {
        assert!(movers.contains(name), "{name} is not tried");
    }
}

#[test]
fn a_client_that_waits_for_a_secret_is_refused_without_it() {
    for waiting in ["BLMOVE hidden:1 numbers:1 LEFT LEFT 0", "BRPOPLPUSH hidden:1 numbers:1 0"] {
        for mode in ["ENFORCE", "WARN"] {
            let mut attack = Attack::new(mode);
            let client = attack.watched.test.engine.connect();
            attack.watched.test.call(client, waiting);
            let pusher = attack.watched.test.engine.connect();
            attack.watched.test.call(pusher, &format!("RPUSH hidden:1 {SECRET}"));
            let mut told = String::new();
            let deliveries = attack.watched.test.deliveries();
            for delivery in deliveries {
                if let Delivery::Output(to, line) = delivery
                    && to == client
                {
                    told += &String::from_utf8_lossy(&line);
                }
            }
            let seen = attack.watched.seen_by_others();
            attack.note("waiting", waiting, &told, &seen);
            assert!(attack.leaks.is_empty(), "{mode}: {}", attack.leaks.join("\n\n"));
            assert_eq!(attack.judged.len(), 1, "{mode} {waiting}: {told} {seen}");
        }
    }
}

#[test]
fn a_script_that_takes_a_secret_elsewhere_does_not_show_it() {
    let read = "local s = redis.call('GET', 'token:1')\n";
    let writes = [
        "redis.call('SET', 'n:1', s)",
        "redis.call('MSET', 'n:1', s)",
        "redis.call('HSET', 'account:1', s, '1')",
        "redis.call('HSET', 'account:1', 'plan', s)",
        "redis.call('HINCRBYFLOAT', 'account:1', s, '1')",
        "redis.call('HSET', 'typed:1', s, s)",
        "redis.call('RPUSH', 'numbers:1', s)",
        "redis.call('SADD', 'ids:1', s)",
        "redis.call('ZADD', 'board:1', 1, s)",
        "redis.call('SET', 'plan:1', '{\"plan\":\"' .. s .. '\"}')",
        "redis.call('SET', 'plan:1', '{\"' .. s .. '\":1}')",
        "redis.call('SET', 'map:1', '{\"' .. s .. '\":1}')",
        "redis.call('SET', 'map:1', '{\"1\":\"' .. s .. '\"}')",
        "redis.call('APPEND', 'n:1', s)",
        "redis.call('SETRANGE', 'n:1', 0, s)",
        "redis.call('SET', 'plain:1', s)\nredis.call('RENAME', 'plain:1', 'n:1')",
        "redis.call('SET', 'plain:1', s)\nredis.call('APPEND', 'n:1', redis.call('GET', 'plain:1'))",
        "redis.call('RESTORE', 'n:1', 0, redis.call('DUMP', 'token:1'))",
    ];
    for mode in ["ENFORCE", "WARN"] {
        for write in writes {
            let mut attack = Attack::new(mode);
            attack.lay_out("token:1");
            let script = format!("{read}{write}");
            let call = ["EVAL", &script, "0"].map(str::to_owned).to_vec();
            attack.check(write, &[call]);
            attack.lay_out("token:1");
            let name = "#!lua name=lib\nredis.register_function('f', function()\n";
            let library = format!("{name}{script}\nend)");
            let load = ["FUNCTION", "LOAD", "REPLACE", &library].map(str::to_owned).to_vec();
            let call = words("FCALL f 0");
            attack.check(write, &[load, words("MULTI"), call, words("EXEC")]);
            assert!(attack.leaks.is_empty(), "{mode}: {}", attack.leaks.join("\n\n"));
            assert_eq!(attack.judged.len(), 1, "{mode}: {write}");
        }
    }
}

/// A database that is under another schema, without secrets.
const ELSEWHERE: &str = r#"
[keyspace]
name = "elsewhere"

[key."token:{id}"]
type = "int"
ttl = "none"
"#;

#[test]
fn what_comes_from_a_secret_of_another_database_is_not_shown() {
    for (call, mode) in [
        ("MOVE token:1 1", "ENFORCE"),
        ("COPY token:1 token:1 DB 1", "ENFORCE"),
        ("MOVE token:1 1", "WARN"),
        ("COPY token:1 token:1 DB 1", "WARN"),
    ] {
        let mut attack = Attack::new("ENFORCE");
        let schema = keyward_schema::check("other/keyward.toml", ELSEWHERE.as_bytes()).schema;
        attack.watched.test.engine.govern(1, schema.expect("a sound schema"));
        let client = attack.watched.test.engine.connect();
        attack.watched.test.call(client, "SELECT 1");
        attack.watched.test.call(client, &format!("KEYWARD MODE {mode}"));
        attack.lay_out("token:1");
        attack.check(call, &[words(call)]);
        assert!(attack.leaks.is_empty(), "{mode}: {}", attack.leaks.join("\n\n"));
        assert_eq!(attack.judged.len(), 1, "{mode} {call}");
    }
}

#[test]
fn a_secret_that_went_by_way_of_a_database_without_a_schema_is_not_shown() {
    let schema = "[keyspace]\nname = \"vault\"\n\
                  [key.\"token:{id}\"]\ntype = \"string\"\nttl = \"none\"\nsecret = true\n\
                  [key.\"count:{id}\"]\ntype = \"int\"\nttl = \"none\"\n";
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    test.call(client, &format!("SET token:1 {SECRET}"));
    assert_eq!(test.call(client, "COPY token:1 x DB 1"), ":1\r\n");
    assert_eq!(test.call(client, "COPY token:1 count:2 DB 1"), ":1\r\n");
    test.call(client, "SELECT 1");
    for call in ["COPY x count:1 DB 0", "MOVE count:2 0"] {
        let told = test.call(client, call);
        assert!(told.contains("SCHEMA count:") && !told.contains(SECRET), "{call}: {told}");
    }
}

#[test]
fn json_with_a_secret_field_is_not_shown_where_it_is_of_a_wrong_kind() {
    let schema = r#"
[keyspace]
name = "vault"
[key."cred:{id}"]
type = "json"
ttl = "none"
fields = { pin = { type = "str", secret = true }, plan = "uint?", tags = "str[]?" }
[key."queue"]
type = "list"
ttl = "none"
items = { type = "object", fields = { pin = { type = "str", secret = true } } }
[key."box:{id}"]
type = "hash"
ttl = "none"
[key."box:{id}".fields]
cred = { type = "object?", fields = { pin = { type = "str", secret = true } } }
all  = { type = "object?", fields = { pin = { type = "str?", secret = true } }, extra = "uint" }
[key."row:{id}"]
type = "hash"
ttl = "none"
fields = { pin = { type = "str?", secret = true } }
extra = "uint"
[key."strict:{id}"]
type = "hash"
ttl = "none"
fields = { pin = { type = "str?", secret = true }, sum = "decimal(2)?" }
"#;
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    let mut check = |call: &[&str], expected: &str| {
        let call: Vec<String> = call.iter().map(|word| word.replace('$', SECRET)).collect();
        let mut bytes = Vec::new();
        keyward_resp::push_request(&mut bytes, call.iter());
        let told = String::from_utf8_lossy(&test.send(client, &bytes).1).into_owned();
        let (said, _) = told.rsplit_once(" (test/").unwrap_or((&told, ""));
        assert_eq!(said, format!("-SCHEMA {expected}"), "{call:?}");
    };
    check(&["SET", "cred:1", "\"$\""], "cred:1: the value must be a JSON object");
    check(
        &["SET", "cred:1", "\"{\\\"pin\\\":\\\"$\\\"}\""],
        "cred:1: the value must be a JSON object",
    );
    check(&["SET", "cred:1", "[\"$\"]"], "cred:1: the value must be a JSON object");
    check(&["SET", "cred:1", "{\"$\":1}"], "cred:1: has no field of that name");
    check(&["SET", "cred:1", "{\"pin\":7}"], "cred:1: pin must be text without a colon");
    check(
        &["SET", "cred:1", "{\"plan\":{\"pin\":\"$\"}}"],
        "cred:1: plan must be a whole number not below zero",
    );
    check(&["SET", "cred:1", "{\"tags\":\"$\"}"], "cred:1: tags must be a JSON array");
    check(&["RPUSH", "queue", "\"$\""], "queue: an item must be a JSON object");
    check(&["RPUSH", "queue", "{\"$\":1}"], "queue: an item has no field of that name");
    check(&["HSET", "box:1", "cred", "\"$\""], "box:1: cred must be a JSON object");
    check(
        &["HSET", "box:1", "all", "{\"$\":\"$\"}"],
        "box:1: all[…] must be a whole number not below zero",
    );
    check(&["HSET", "row:1", "$", "$"], "row:1: […] must be a whole number not below zero");
    check(&["HSET", "strict:1", "$", "1"], "strict:1: has no field of that name");
    check(&["HINCRBYFLOAT", "strict:1", "$", "1"], "strict:1: has no field of that name");
}

#[test]
fn what_is_not_secret_is_still_told() {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    let mut check = |call: &str, expected: &str| {
        let told = test.call(client, call);
        assert!(told.contains(expected), "{call}: {told}");
    };
    check("SET n:1 x", "must be a whole number, not \"x\"");
    check("HSET account:1 plna 1", "has no field \"plna\"; did you mean plan?");
    check("RPUSH numbers:1 x", "must be a whole number not below zero, not \"x\"");
    check("SET plain:1 x", "+OK");
    check("RENAME plain:1 n:1", "must be a whole number, not \"x\"");
    check("MSET token:1 a n:1 x", "must be a whole number, not \"x\"");
}

/// What MONITOR and the slow log show of a script.
fn shown_of_script(watched: &mut Watched, script: &str) -> (Vec<String>, String) {
    let call = ["EVAL", script, "1", "token:1", SECRET].map(str::to_owned).to_vec();
    let (_, seen) = watched.told_and_seen(&[call]);
    let lines = seen.lines().filter(|line| line.starts_with('+'));
    let lines = lines.map(|line| line.split_once(' ').unwrap_or_default().1.to_owned());
    (lines.collect(), seen)
}

#[test]
fn monitor_and_the_slow_log_show_what_a_script_calls_without_values() {
    let script = "redis.call('SET', KEYS[1], ARGV[1])\n\
                  redis.call('SET', 'plain:1', redis.call('GET', KEYS[1]), 'KEEPTTL')\n\
                  redis.call('HSET', 'account:1', 'plan', 1)";
    let mut watched = Watched::under(SCHEMA);
    let (lines, seen) = shown_of_script(&mut watched, script);
    assert_eq!(
        lines,
        [
            r#"[0 ] "EVAL" "(redacted)" "(redacted)" "(redacted)" "(redacted)""#,
            r#"[0 lua] "SET" "token:1" "(redacted)""#,
            r#"[0 lua] "GET" "token:1""#,
            r#"[0 lua] "SET" "plain:1" "(redacted)" "KEEPTTL""#,
            r#"[0 lua] "HSET" "account:1" "(redacted)" "(redacted)""#,
        ]
    );
    assert!(seen.contains("$7\r\nplain:1\r\n$10\r\n(redacted)\r\n"), "{seen}");
    assert!(!seen.contains(SECRET), "{seen}");
}

#[test]
fn monitor_shows_what_a_script_calls_under_a_schema_without_secrets() {
    let schema = "[keyspace]\nname = 'open'\n[key.'token:{id}']\ntype = 'string'\nttl = 'none'";
    let mut watched = Watched::under(schema);
    let (lines, seen) = shown_of_script(&mut watched, "redis.call('SET', KEYS[1], ARGV[1])");
    assert_eq!(lines[1..], [format!(r#"[0 lua] "SET" "token:1" "{SECRET}""#)]);
    assert!(seen.contains(&format!("$7\r\ntoken:1\r\n$13\r\n{SECRET}\r\n")), "{seen}");
}

#[test]
fn keys_and_members_that_a_secret_would_name_are_not_shown() {
    let schema = r#"
[keyspace]
name = "vault"
[key."marks:{id}"]
type = "set"
secret = true
ttl = "none"
[key."bag:{id}"]
type = "hash"
secret = true
ttl = "none"
[key."message:{id}"]
type = "string"
ttl = "none"
[key."recent"]
type = "set"
follows = "message:{member}"
[key."private"]
type = "set"
secret = true
follows = "message:{member}"
[key."follows:{a}"]
type = "set"
ttl = "none"
inverse = "followers:{member}"
[key."followers:{b}"]
type = "set"
ttl = "none"
max_members = 1
inverse = "follows:{member}"
[key."account:{id}"]
type = "hash"
ttl = "none"
fields = { plan = "str?" }
[key."plan:{plan}"]
type = "set"
members = { of = "account:{id}" }
"#;
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    let told = |test: &mut TestEngine, call: &str, expected: &str| {
        let told = test.call(client, call);
        assert!(told.contains(expected) && !told.contains(SECRET), "{call}: {told}");
    };
    test.call(client, &format!("SADD marks:1 {SECRET}"));
    test.call(client, &format!("SADD marks:2 {SECRET}:x:"));
    test.call(client, &format!("HSET bag:1 plan {SECRET}"));
    test.call(client, &format!("SADD follows:1 {SECRET}"));
    told(&mut test, "SUNIONSTORE recent marks:1", "and what this one names does not exist");
    let add = format!("SADD private {SECRET}");
    told(&mut test, &add, "and what this one names does not exist");
    told(&mut test, &format!("KEYWARD EXPLAIN {add}"), "and what this one names does not exist");
    told(&mut test, "SUNIONSTORE follows:2 marks:2", "a member must be text without a colon (");
    told(&mut test, "SUNIONSTORE follows:2 marks:1", "-SCHEMA followers:{b}: may have at most 1");
    test.call(client, "DEL follows:1");
    for call in ["COPY bag:1 account:1", "SUNIONSTORE follows:1 marks:1 marks:1"] {
        told(&mut test, &format!("KEYWARD EXPLAIN {call}"), "Then SADD");
    }
}
