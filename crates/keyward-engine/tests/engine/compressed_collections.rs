//! Long values of fields and long items that are compressed inside: nobody can tell.

use crate::forkless::OPTIONS;
use crate::harness::{TestEngine, number_after, request};
use keyward_engine::ClientId;
use keyward_testkit::Random;

const SCHEMA: &str = r#"
[keyspace]
name = "mail"

[key."note:{id:uint}"]
type     = "hash"
ttl      = "1h"
extra    = "allow"
compress = "200b"

[key."log:{id:uint}"]
type     = "list"
ttl      = "1h"
compress = "200b"

[key."aside:{id:uint}"]
type  = "hash"
ttl   = "1h"
extra = "allow"

[key."copy:{id:uint}"]
type = "list"
ttl  = "1h"
"#;

/// A message of about so many bytes, which differ from those of another number.
fn message(number: usize, bytes: usize) -> String {
    let words = ["order", "has", "been", "sent", "to", "the", "customer", "today", "again"];
    let mut text = format!("no-{number}");
    let mut at = number;
    while text.len() < bytes {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push('_');
        text.push_str(words[(at >> 33) % words.len()]);
    }
    text
}

struct Side {
    test: TestEngine,
    client: ClientId,
}

impl Side {
    fn new(schema: &str) -> Side {
        let mut test = TestEngine::governed(1, schema);
        let client = test.engine.connect();
        Side { test, client }
    }

    fn call(&mut self, command: &str) -> String {
        self.test.call(self.client, command)
    }

    fn ask(&mut self, words: &[Vec<u8>]) -> Vec<u8> {
        self.test.ask(self.client, words).1
    }

    /// Everything is packed that can be.
    fn settle(&mut self) {
        for _ in 0..3 {
            self.test.pass(60_000);
            self.test.tick();
            self.test.rest();
        }
    }

    /// A snapshot of everything, as it would be saved.
    fn file(&self) -> Vec<u8> {
        self.test.engine.snapshot().write_to(Vec::new(), OPTIONS).expect("memory takes it")
    }

    /// A server without a schema that has loaded a file.
    fn loaded(mut file: &[u8]) -> Side {
        let mut test = TestEngine::new(1);
        test.engine.load(&mut test.host, &mut file).expect("a sound file");
        let client = test.engine.connect();
        Side { test, client }
    }

    fn usage(&mut self, key: &str) -> usize {
        let usage = self.call(&format!("MEMORY USAGE {key}"));
        usage[1..].trim_end().parse().expect("a number")
    }
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

#[test]
fn a_long_field_takes_less_and_is_the_same() {
    let mut side = Side::new(SCHEMA);
    let long = message(1, 5_000);
    for table in ["note", "aside"] {
        assert_eq!(side.call(&format!("HSET {table}:1 title a body {long} n 7")), ":3\r\n");
    }
    side.settle();
    let (packed, loose) = (side.usage("note:1"), side.usage("aside:1"));
    assert!(loose > 5_000 && packed < loose * 2 / 3, "{packed} bytes for {loose}");
    for (command, expected) in [
        ("HGET note:1 body", bulk(&long)),
        ("HSTRLEN note:1 body", ":5000\r\n".replace("5000", &long.len().to_string())),
        ("HGET note:1 title", bulk("a")),
        ("OBJECT ENCODING note:1", bulk("hashtable")),
        ("HINCRBY note:1 n 3", ":10\r\n".to_owned()),
        ("HLEN note:1", ":3\r\n".to_owned()),
        ("HDEL note:1 title", ":1\r\n".to_owned()),
        ("HEXISTS note:1 body", ":1\r\n".to_owned()),
        ("HMGET note:1 n body", format!("*2\r\n$2\r\n10\r\n{}", bulk(&long))),
        (
            "EVAL return(redis.call('HSTRLEN',KEYS[1],'body')) 1 note:1",
            format!(":{}\r\n", long.len()),
        ),
    ] {
        side.settle();
        assert_eq!(side.call(command), expected, "{command}");
    }
    side.settle();
    side.test.check_bytes(side.client);
}

#[test]
fn items_of_a_list_are_compressed_together() {
    let mut side = Side::new(SCHEMA);
    let items: Vec<String> = (0..100).map(|number| message(number, 400)).collect();
    for table in ["log", "copy"] {
        let items = items.join(" ");
        assert_eq!(side.call(&format!("RPUSH {table}:1 {items} short")), ":101\r\n");
    }
    side.settle();
    let (packed, loose) = (side.usage("log:1"), side.usage("copy:1"));
    assert!(packed < loose / 3, "{packed} bytes for {loose}");
    let dump = |side: &mut Side, key: &str| {
        side.settle();
        side.test.send(side.client, &request(&format!("DUMP {key}"))).1
    };
    assert_eq!(dump(&mut side, "log:1"), dump(&mut side, "copy:1"), "files are plain");
    for (command, expected) in [
        ("LINDEX log:1 7", bulk(&items[7])),
        ("LLEN log:1", ":101\r\n".to_owned()),
        ("LRANGE log:1 99 -1", format!("*2\r\n{}{}", bulk(&items[99]), bulk("short"))),
        ("RPOP log:1", bulk("short")),
        ("LPOP log:1", bulk(&items[0])),
    ] {
        side.settle();
        assert_eq!(side.call(command), expected, "{command}");
    }
    side.settle();
    side.test.check_bytes(side.client);
}

#[test]
fn bytes_that_look_like_a_stand_in_come_back() {
    let mut side = Side::new(SCHEMA);
    let texts: [&[u8]; 7] = [b"\0", b"\0\0", b"\x000", b"\x007", b"\0x", b"", b"\x01"];
    let long = message(1, 2_000).into_bytes();
    let mut words = vec![b"RPUSH".to_vec(), b"log:1".to_vec()];
    let mut fields = vec![b"HSET".to_vec(), b"note:1".to_vec()];
    for (at, text) in texts.iter().enumerate() {
        words.extend([text.to_vec(), long.clone()]);
        fields.extend([format!("s{at}").into_bytes(), text.to_vec()]);
        fields.extend([format!("l{at}").into_bytes(), long.clone()]);
    }
    side.ask(&words);
    side.ask(&fields);
    side.settle();
    assert!(side.usage("log:1") < 3_000 && side.usage("note:1") < 3_000);
    for (at, text) in texts.iter().enumerate() {
        side.settle();
        let reply = [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat();
        let item = [b"LINDEX".to_vec(), b"log:1".to_vec(), (2 * at).to_string().into_bytes()];
        assert_eq!(side.ask(&item), reply);
        let field = [b"HGET".to_vec(), b"note:1".to_vec(), format!("s{at}").into_bytes()];
        assert_eq!(side.ask(&field), reply);
    }
}

#[test]
fn noise_and_large_collections_stay_as_they_are() {
    let mut side = Side::new(SCHEMA);
    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..3_000).map(|_| random.below(256) as u8).collect();
    side.ask(&[b"HSET".to_vec(), b"note:1".to_vec(), b"f".to_vec(), noise.clone()]);
    side.call(&format!("HSET note:2 f {}", message(1, 100_000)));
    for number in 0..600 {
        side.call(&format!("RPUSH log:2 {}", message(number, 250)));
    }
    side.settle();
    assert!(side.usage("note:1") > 3_000);
    assert!(side.usage("note:2") > 100_000);
    assert!(side.usage("log:2") > 600 * 250);
    let reply = [b"$3000\r\n", &noise[..], b"\r\n"].concat();
    assert_eq!(side.ask(&[b"HGET".to_vec(), b"note:1".to_vec(), b"f".to_vec()]), reply);
    side.test.check_bytes(side.client);
}

#[test]
fn space_comes_back_when_compressed_collections_go() {
    let mut side = Side::new(SCHEMA);
    for round in 0..3 {
        for id in 0..100 {
            side.call(&format!("HSET note:{id} body {}", message(id + round, 2_000)));
            side.call(&format!("DEL log:{id}"));
            side.call(&format!("RPUSH log:{id} {} x", message(id + round, 2_000)));
        }
        side.settle();
        side.test.check_bytes(side.client);
    }
    for id in 0..100 {
        assert_eq!(side.call(&format!("DEL note:{id} log:{id}")), ":2\r\n");
    }
    side.settle();
    for pattern in ["note:{id:uint}", "log:{id:uint}"] {
        let stats = side.call(&format!("KEYWARD STATS {pattern}"));
        let bytes = number_after(&stats, "bytes");
        assert!(bytes < 20_000, "{bytes} bytes for nothing of {pattern}");
    }
}

/// A value: short, long, long and like others, beginning as a stand-in does, or noise.
fn value(random: &mut Random) -> Vec<u8> {
    let number = random.below(1_000);
    match random.below(8) {
        0 => number.to_string().into_bytes(),
        1 => format!("short{}", number % 5).into_bytes(),
        2 => [&[0][..], (number % 3).to_string().as_bytes()].concat(),
        3 => (0..250 + number).map(|_| random.below(256) as u8).collect(),
        4 => message(number, 40_000).into_bytes(),
        5 => message(number % 4, 300).into_bytes(),
        _ => message(number, 200 + number).into_bytes(),
    }
}

/// A command on one of a few hashes and lists.
fn command(random: &mut Random) -> Vec<Vec<u8>> {
    let id = random.below(3);
    let (hash, list) = (format!("note:{id}"), format!("log:{id}"));
    let field = format!("f{}", random.below(6));
    let index = (random.below(9) as i64 - 4).to_string();
    let words = |text: String| text.split(' ').map(|it| it.as_bytes().to_vec()).collect();
    let with = |text: String, values: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        let words: Vec<Vec<u8>> = text.split(' ').map(|it| it.as_bytes().to_vec()).collect();
        words.into_iter().chain(values).collect()
    };
    match random.below(36) {
        0..=5 => with(format!("HSET {hash} {field}"), vec![value(random)]),
        6 => with(format!("HSETNX {hash} {field}"), vec![value(random)]),
        7 => words(format!("HGET {hash} {field}")),
        8 => words(format!("HSTRLEN {hash} {field}")),
        9 => words(format!("HINCRBY {hash} n 2")),
        10 => words(format!("HINCRBYFLOAT {hash} {field} 1.5")),
        11 => words(format!("HDEL {hash} {field}")),
        12 => words(format!("HGETALL {hash}")),
        13 => words(format!("HSCAN {hash} 0 COUNT 1000")),
        14 => words(format!("HRANDFIELD {hash} 100 WITHVALUES")),
        15 => words(format!("HMGET {hash} {field} n")),
        16 => words(format!("COPY {hash} aside:{id} REPLACE")),
        17 => words(format!("RENAME {hash} note:{}", random.below(3))),
        18 => words(format!("RENAME aside:{id} {hash}")),
        19..=22 => with(format!("RPUSH {list}"), vec![value(random), value(random)]),
        23 => with(format!("LPUSH {list}"), vec![value(random)]),
        24 => words(format!("LRANGE {list} {index} -1")),
        25 => words(format!("LINDEX {list} {index}")),
        26 => with(format!("LPOS {list}"), vec![message(1, 300).into_bytes()]),
        27 => with(format!("LINSERT {list} AFTER short1"), vec![value(random)]),
        28 => with(format!("LREM {list} 0"), vec![message(2, 300).into_bytes()]),
        29 => with(format!("LSET {list} {index}"), vec![value(random)]),
        30 => words(format!("SORT {list} ALPHA")),
        31 => words(format!("LMOVE {list} copy:{id} LEFT RIGHT")),
        32 => words(format!("DUMP {list}")),
        33 => words(format!("LPOP {list} 2")),
        34 => with(
            "EVAL".to_owned(),
            vec![
                b"return{redis.call('HGET',KEYS[1],'f1'),redis.call('LINDEX',KEYS[2],0)}".to_vec(),
                b"2".to_vec(),
                hash.into_bytes(),
                list.into_bytes(),
            ],
        ),
        _ => words(format!("LTRIM {list} 0 11")),
    }
}

/// A reply whose order says nothing is put in order.
fn in_order(command: &[Vec<u8>], reply: &[u8]) -> Vec<u8> {
    let is_unordered = matches!(&command[0][..], b"HGETALL" | b"HSCAN" | b"HRANDFIELD");
    if !is_unordered {
        return reply.to_vec();
    }
    let mut parts: Vec<&[u8]> = reply.split(|byte| *byte == b'\n').collect();
    parts.sort_unstable();
    parts.join(&b'\n')
}

#[test]
fn a_compressed_row_answers_as_a_plain_one() {
    let plain_schema = SCHEMA.replace("compress = \"200b\"\n", "");
    assert_ne!(plain_schema, SCHEMA);
    let mut smaller = 0;
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let (mut compressed, mut plain) = (Side::new(SCHEMA), Side::new(&plain_schema));
        for step in 0..400 {
            let command = command(&mut random);
            let replies = [compressed.ask(&command), plain.ask(&command)];
            let shown =
                || command.iter().map(|it| it.escape_ascii().to_string()).collect::<Vec<_>>();
            assert!(
                in_order(&command, &replies[0]) == in_order(&command, &replies[1]),
                "seed {seed}, step {step}: {:.300?}",
                shown().join(" ")
            );
            assert_eq!(compressed.test.effect_lines(), plain.test.effect_lines());
            if random.below(4) == 0 {
                compressed.settle();
                plain.settle();
            }
            if random.below(50) == 0 {
                compressed.test.check_bytes(compressed.client);
                let digests = [&mut compressed, &mut plain].map(|side| {
                    [side.call("DEBUG DIGEST"), Side::loaded(&side.file()).call("DEBUG DIGEST")]
                });
                assert_eq!(digests[0], [digests[1][0].clone(), digests[1][0].clone()]);
                assert_eq!(digests[1][0], digests[1][1]);
            }
        }
        let bytes = |side: &mut Side| {
            side.settle();
            let stats = side.call("KEYWARD STATS note:{id:uint}");
            number_after(&stats, "bytes")
        };
        smaller += usize::from(bytes(&mut compressed) < bytes(&mut plain));
    }
    assert!(smaller > 6, "{smaller} of 12 are smaller, or this tests nothing");
}
