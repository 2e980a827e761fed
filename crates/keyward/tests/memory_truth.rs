//! Under a schema four figures tell of memory, and they agree within a tenth: what is in
//! use, the bytes of patterns, what MEMORY USAGE says of all keys, and what is resident.
//!
//! Rows are packed, loose, compressed and collections, and some live with others; they are
//! loaded, rewritten in other sizes, and deleted in a way that leaves holes everywhere.
//! What is resident is held against fewer rows of more bytes, beside which the process
//! itself is small. Not here: memory without a schema (`memory`).

use keyward_resp::Frame;
use keyward_testkit::{Client, Server};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long packing may take to come to its end.
const PATIENCE: Duration = Duration::from_secs(180);
/// As for all that is done at leisure, and what is free to be given back after that.
const LONG_PATIENCE: Duration = Duration::from_secs(240);
/// Readings in a row that are the same when it has.
const SAME_READINGS: usize = 6;
const BATCH: usize = 500;
const ROWS: usize = 12_000;
/// Rows of some hundred bytes and more.
const LONG_ROWS: usize = 60_000;
/// One row in so many is written to begin with.
const WARM_UP_STEP: usize = 20;
/// Figures that differ by one part in so many agree.
const AGREE_SHARE: i64 = 10;
/// The allocator needs one byte in so many for its own records.
const PAGE_RECORDS_SHARE: i64 = 24;

const SCHEMA: &str = r#"
[keyspace]
name = "shelf"

[key."user:{id:uint}"]
type   = "json"
ttl    = "1d"
fields = { name = "str", email = "str", plan = "gold | free", seen = "uint" }

[key."by_email:{email}"]
type   = "string"
lookup = { of = "user:{id}", field = "email" }

[key."text:{id:uint}"]
type = "string"
ttl  = "1d"

[key."card:{id:uint}"]
type   = "hash"
ttl    = "1d"
fields = { owner = "str", number = "uint", note = "str?" }

[key."note:{user_id:uint}:{n:uint}"]
type  = "string"
value = "str"
ttl   = { with = "user:{user_id}" }

[key."page:{id:uint}"]
type     = "string"
ttl      = "1d"
compress = "1kb"

[key."log:{id:uint}"]
type  = "list"
items = "str"
ttl   = "1d"

[key."best:{id:uint}"]
type  = "zset"
items = "str"
ttl   = "none"
"#;

/// A server under the schema, which it reads once.
fn serve() -> Server {
    let directory = tempfile::tempdir().expect("a directory");
    let schema = directory.path().join("keyward.toml");
    std::fs::write(&schema, SCHEMA).expect("the directory can be written to");
    let schema = schema.to_str().expect("a path of text");
    Server::keyward(Path::new(env!("CARGO_BIN_EXE_keyward")), &[schema])
}

/// The commands that write a row of each pattern, in a size that depends on the round.
fn writes(id: usize, round: usize) -> Vec<Vec<String>> {
    let size = (id * 7919 + round * 104_729) % 300;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let (filler, plan) = ("v".repeat(size), if id.is_multiple_of(3) { "gold" } else { "free" });
    let email = format!("{round}-{filler}{id}@example.org");
    let email = &email[email.len().saturating_sub(40)..];
    let user = format!(
        r#"{{"name":"name {id}","email":"{email}","plan":"{plan}","seen":{}}}"#,
        id * round
    );
    let mut commands = vec![
        words(&["SET", &format!("user:{id}"), &user]),
        words(&["SET", &format!("text:{id}"), &format!("{filler}{}", id * 7919 % 9973)]),
        words(&["SET", &format!("note:{id}:{}", round % 2), &format!("note {id} {filler}")]),
        words(&["RPUSH", &format!("log:{}", id % 40), &format!("line {id} {filler}")]),
        words(&["ZADD", &format!("best:{}", id % 40), &id.to_string(), &format!("m{id}")]),
    ];
    let card = format!("card:{id}");
    commands.push(words(&["HSET", &card, "owner", &email[..10], "number", &id.to_string()]));
    if id.is_multiple_of(10) {
        let lines = (0..40 + size).map(|line| format!("line {line} of {id}, {}\n", line * id));
        commands.push(words(&["SET", &format!("page:{id}"), &lines.collect::<String>()]));
    }
    commands
}

/// Sends many commands at once.
fn pipeline(client: &mut Client, commands: &[Vec<String>]) {
    for batch in commands.chunks(BATCH) {
        let mut bytes = Vec::new();
        batch.iter().for_each(|words| keyward_resp::push_request(&mut bytes, words.iter()));
        client.send(&bytes).expect("the server reads");
        for command in batch {
            let reply = client.receive().expect("an answer");
            assert!(!matches!(reply, Frame::Error(_)), "{command:?}: {reply:?}");
        }
    }
}

/// A field of INFO.
fn field(client: &mut Client, name: &str) -> i64 {
    let Frame::Bulk(text) = client.call(["INFO", "memory"]).expect("an answer") else {
        panic!("INFO is text");
    };
    let text = String::from_utf8(text).expect("INFO is text");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.expect("the field is there").parse().expect("a number")
}

/// Bytes in use, once the server has come to rest.
fn memory(client: &mut Client) -> i64 {
    let deadline = Instant::now() + PATIENCE;
    let mut used = 0;
    let mut same = 0;
    while same < SAME_READINGS {
        assert!(Instant::now() < deadline, "the server does not come to rest");
        std::thread::sleep(Duration::from_millis(300));
        let before = std::mem::replace(&mut used, field(client, "used_memory"));
        same = if used == before { same + 1 } else { 0 };
    }
    used
}

/// The bytes of all patterns.
fn bytes_of_patterns(client: &mut Client) -> i64 {
    let Frame::Array(tables) = client.call(["KEYWARD", "STATS"]).expect("an answer") else {
        panic!("STATS is an array");
    };
    let bytes = |table: &Frame| {
        let Frame::Array(figures) = table else { panic!("a table is a map: {table:?}") };
        let at = figures.iter().position(|figure| *figure == Frame::Bulk(b"bytes".to_vec()));
        let Frame::Integer(bytes) = figures[at.expect("a figure") + 1] else { panic!("a number") };
        bytes
    };
    tables.iter().map(bytes).sum()
}

/// What MEMORY USAGE says of all keys together.
fn bytes_of_keys(client: &mut Client) -> i64 {
    let Frame::Array(keys) = client.call(["KEYS", "*"]).expect("an answer") else {
        panic!("KEYS is an array");
    };
    let key = |frame| match frame {
        Frame::Bulk(key) => key,
        other => panic!("a key is text: {other:?}"),
    };
    let keys: Vec<Vec<u8>> = keys.into_iter().map(key).collect();
    let mut sum = 0;
    for batch in keys.chunks(BATCH) {
        let mut bytes = Vec::new();
        for key in batch {
            keyward_resp::push_request(&mut bytes, [b"MEMORY", b"USAGE".as_slice(), key].iter());
        }
        client.send(&bytes).expect("the server reads");
        for _ in batch {
            let usage = client.receive().expect("an answer");
            let Frame::Integer(bytes) = usage else { panic!("a number: {usage:?}") };
            sum += bytes;
        }
    }
    sum
}

fn check(client: &mut Client, before: i64, when: &str) {
    let used = memory(client) - before;
    let figures = [("by patterns", bytes_of_patterns(client)), ("by keys", bytes_of_keys(client))];
    let differs = |(_, bytes): &(&str, i64)| (used - bytes).abs() * AGREE_SHARE > used;
    let wrong: Vec<_> = figures.iter().filter(|figure| differs(figure)).collect();
    assert!(wrong.is_empty(), "{when}: {used} bytes are in use, {figures:?}");
}

#[test]
fn all_figures_of_memory_agree_under_load_after_deletes_and_in_fragments() {
    let server = serve();
    let mut client = server.client();
    let load = |round: usize, step: usize| -> Vec<Vec<String>> {
        (1..=ROWS).step_by(step).flat_map(|id| writes(id, round)).collect()
    };
    // What the program itself needs for all this is there before anything is counted.
    pipeline(&mut client, &load(1, WARM_UP_STEP));
    bytes_of_keys(&mut client);
    client.call(["FLUSHALL"]).expect("an answer");
    let before = memory(&mut client);
    pipeline(&mut client, &load(1, 1));
    check(&mut client, before, "loaded");
    pipeline(&mut client, &load(2, 2));
    pipeline(&mut client, &load(3, 3));
    check(&mut client, before, "rewritten in other sizes");
    let tables = ["user", "text", "card", "page"];
    let removals: Vec<Vec<String>> = (1..=ROWS)
        .filter(|id| id % 3 != 0)
        .map(|id| {
            let keys = tables.iter().map(|table| format!("{table}:{id}"));
            std::iter::once("DEL".to_owned()).chain(keys).collect()
        })
        .collect();
    pipeline(&mut client, &removals);
    check(&mut client, before, "two thirds deleted");
}

/// Waits until what is resident agrees with what is in use, both less what the empty server
/// had: rows are packed and gathered at leisure, and free pages given back some seconds later.
/// What the allocator wrote down of its pages when there were most of them stays.
fn check_resident(client: &mut Client, before: (i64, i64), when: &str) {
    let deadline = Instant::now() + LONG_PATIENCE;
    loop {
        let used = field(client, "used_memory") - before.0;
        let resident = field(client, "used_memory_rss") - before.1;
        let kept = field(client, "used_memory_peak") / PAGE_RECORDS_SHARE;
        if (used - resident).abs() <= used / AGREE_SHARE + kept {
            return;
        }
        assert!(Instant::now() < deadline, "{when}: {used} bytes are in use, {resident} resident");
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[test]
fn resident_memory_agrees_under_load_after_deletes_and_in_fragments() {
    let server = serve();
    let mut client = server.client();
    let write = |id: usize, round: usize| -> Vec<String> {
        let text = "v".repeat(200 + (id * 7919 + round * 104_729) % 1_500);
        let (command, key) = match id % 4 {
            0 => ("RPUSH", format!("log:{}", id / 40)),
            _ => ("SET", format!("text:{id}")),
        };
        vec![command.to_owned(), key, text]
    };
    let before = (field(&mut client, "used_memory"), field(&mut client, "used_memory_rss"));
    let load: Vec<Vec<String>> = (0..LONG_ROWS).map(|id| write(id, 1)).collect();
    pipeline(&mut client, &load);
    check_resident(&mut client, before, "loaded");
    let rewritten: Vec<Vec<String>> = (0..LONG_ROWS).step_by(3).map(|id| write(id, 2)).collect();
    pipeline(&mut client, &rewritten);
    check_resident(&mut client, before, "rewritten in other sizes");
    let removals: Vec<Vec<String>> = (0..LONG_ROWS)
        .filter(|id| id % 5 != 0)
        .map(|id| vec!["DEL".to_owned(), format!("text:{id}")])
        .collect();
    pipeline(&mut client, &removals);
    check_resident(&mut client, before, "most are deleted");
}
