//! Long values that are compressed inside: nobody can tell.

use crate::harness::{TestEngine, request};
use keyward_engine::ClientId;

const SCHEMA: &str = r#"
[keyspace]
name = "shop"

[key."page:{id:uint}"]
type     = "string"
ttl      = "1h"
compress = "1kb"

[key."search:{query}"]
type     = "json"
ttl      = "1h"
compress = "1kb"
fields   = { hits = "str[]" }

[key."plain:{id:uint}"]
type = "string"
ttl  = "1h"
"#;

/// A text of so many bytes that repeats itself, but not quite.
fn text(bytes: usize) -> String {
    (0..bytes).map(|at| char::from(b'a' + (at * at / 7 % 11) as u8)).collect()
}

fn engine() -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(1, SCHEMA);
    let client = test.engine.connect();
    (test, client)
}

fn bytes(test: &mut TestEngine, client: ClientId, key: &str) -> usize {
    let usage = test.call(client, &format!("MEMORY USAGE {key}"));
    usage[1..].trim_end().parse().expect("a number")
}

#[test]
fn a_long_value_takes_less_and_is_the_same() {
    let (mut test, client) = engine();
    let long = text(10_000);
    for table in ["page", "plain"] {
        assert_eq!(test.call(client, &format!("SET {table}:1 {long}")), "+OK\r\n");
    }
    test.rest();
    assert!(bytes(&mut test, client, "plain:1") > 10_000);
    assert!(bytes(&mut test, client, "page:1") < 3_000, "{}", bytes(&mut test, client, "page:1"));
    assert_eq!(test.call(client, "GET page:1"), format!("$10000\r\n{long}\r\n"));
    assert_eq!(test.call(client, "STRLEN page:1"), ":10000\r\n");
    assert_eq!(test.call(client, "TYPE page:1"), "+string\r\n");
    assert_eq!(test.call(client, "OBJECT ENCODING page:1"), "$3\r\nraw\r\n");
    assert_eq!(
        test.call(client, "GETRANGE page:1 5000 5009"),
        format!("$10\r\n{}\r\n", &long[5000..5010])
    );
    let dump =
        |test: &mut TestEngine, key: &str| test.send(client, &request(&format!("DUMP {key}"))).1;
    assert_eq!(dump(&mut test, "page:1"), dump(&mut test, "plain:1"));
}

#[test]
fn commands_that_change_a_compressed_value_see_all_of_it() {
    let (mut test, client) = engine();
    let long = text(5_000);
    for (command, expected) in [
        ("APPEND page:1 xyz", format!("{long}xyz")),
        ("SETRANGE page:1 4000 xyz", format!("{}xyz{}", &long[..4000], &long[4003..])),
        ("SETBIT page:1 7 0", format!("`{}", &long[1..])),
        ("SET page:1 xyz", "xyz".to_owned()),
        ("GETEX page:1 PERSIST", long.clone()),
        ("RENAME page:1 page:1", long.clone()),
    ] {
        test.call(client, &format!("SET page:1 {long}"));
        test.rest();
        test.call(client, command);
        let reply = format!("${}\r\n{expected}\r\n", expected.len());
        assert_eq!(test.call(client, "GET page:1"), reply, "{command}");
        test.check_bytes(client);
        test.rest();
        assert_eq!(test.call(client, "GET page:1"), reply, "{command}");
        test.check_bytes(client);
    }
    assert_eq!(test.call(client, "GETDEL page:1"), format!("$5000\r\n{long}\r\n"));
    test.rest();
}

#[test]
fn space_comes_back_when_compressed_rows_go() {
    let (mut test, client) = engine();
    let stats = |test: &mut TestEngine| {
        let stats = test.call(client, "KEYWARD STATS page:{id:uint}");
        let (_, bytes) = stats.split_once("bytes\r\n:").expect("the figure is there");
        bytes.split('\r').next().and_then(|bytes| bytes.parse::<usize>().ok()).expect("a number")
    };
    for round in 0..3 {
        for id in 0..300 {
            test.call(client, &format!("SET page:{id} {}", text(2_000 + id + round)));
        }
        test.rest();
        let full = stats(&mut test);
        assert!(full < 300 * 1_200, "{full} bytes for 600 thousand");
        test.check_bytes(client);
    }
    for id in 0..300 {
        assert_eq!(test.call(client, &format!("DEL page:{id}")), ":1\r\n");
        if id % 50 == 0 {
            test.check_bytes(client);
        }
    }
    test.rest();
    let left = stats(&mut test);
    assert!(left < 20_000, "{left} bytes for nothing");
}

#[test]
fn json_is_judged_as_it_was_sent() {
    let (mut test, client) = engine();
    let hits: Vec<String> = (0..2_000).map(|n| format!("\"hit-{n}\"")).collect();
    let json = format!("{{\"hits\":[{}]}}", hits.join(","));
    assert_eq!(test.call(client, &format!("SET search:a {json}")), "+OK\r\n");
    test.rest();
    assert!(bytes(&mut test, client, "search:a") < json.len() / 2);
    assert_eq!(test.call(client, "GET search:a"), format!("${}\r\n{json}\r\n", json.len()));
    assert!(test.call(client, "APPEND search:a x").starts_with("-SCHEMA"));
    test.rest();
    assert_eq!(test.call(client, "GET search:a"), format!("${}\r\n{json}\r\n", json.len()));
}
