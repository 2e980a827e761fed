//! What is counted of stored rows, what of a sink that is gone is kept, a server that stores by
//! itself under another schema, and loading that was broken off.

use std::process::{Command, Stdio};

use keyward_resp::Frame;
use keyward_testkit::{Client, wait_until};

use crate::rows::SHOP;
use crate::stage::{PROGRAM, Stage, begun, call_all, said};

/// A figure of a pattern, as KEYWARD STATS has it.
fn figure(client: &mut Client, pattern: &str, name: &str) -> Frame {
    let reply = client.call(["KEYWARD", "STATS", pattern]).expect("figures");
    let pairs = reply.as_elements().expect("figures");
    let found = pairs.chunks(2).find(|pair| pair[0].as_bytes() == Some(name.as_bytes()));
    found.unwrap_or_else(|| panic!("{name}: {reply:?}"))[1].clone()
}

#[test]
fn stored_rows_and_dead_letters_are_counted_for_each_pattern() {
    let (stage, server, mut client) = begun(
        SHOP,
        r#"
        SELECT 2
        HSET user:1 name Ann balance 1 state active
        RPUSH tx:7 '{"id":"t1","amount":1}' '{"id":"t2","amount":1}'
        RPUSH likes one much-too-long two
        "#,
    );
    said(&stage.sync_once(&server));
    for (pattern, stored, dead) in
        [("user:{id:uint}", 1, 0), ("tx:{user:int}", 2, 0), ("likes", 2, 1), ("card:{id}", 0, 0)]
    {
        assert_eq!(figure(&mut client, pattern, "stored"), Frame::Integer(stored), "{pattern}");
        assert_eq!(figure(&mut client, pattern, "dead_letters"), Frame::Integer(dead), "{pattern}");
    }
    let info = client.call(["INFO", "patterns"]).expect("a reply");
    let info = String::from_utf8_lossy(info.as_bytes().expect("text")).into_owned();
    let line = info.lines().find(|line| line.contains("pattern=likes,")).expect("its line");
    assert!(line.contains(",stored=2,dead_letters=1,"), "{line}");
    // Nothing is counted of what has no table, and nobody is believed who counts nonsense.
    for (words, expected) in [
        (["KEYWARD", "STORED", "nothing", "1", "0"], "ERR no such pattern with a sink"),
        (["KEYWARD", "STORED", "likes", "-1", "0"], "ERR value is not an integer or out of range"),
    ] {
        let reply = client.call(words).expect("a reply");
        assert_eq!(reply, Frame::Error(expected.as_bytes().to_vec()));
    }
}

#[test]
fn what_was_secret_of_a_sink_that_is_gone_is_masked() {
    let schema = r#"
[keyspace]
name = "shop"

[key."visit:{id}"]
type   = "hash"
ttl    = "1h"
fields = { who = "string", token = { type = "str", secret = true } }
sink   = { archive = "visits", columns = { token = "token" } }

[key."queue"]
type  = "list"
ttl   = "none"
allow = ["KW0310: drained"]
items = { id = "str", token = { type = "str", secret = true } }
sink  = { drain = "queue" }

[key."other"]
type  = "list"
ttl   = "none"
allow = ["KW0310: drained"]
items = "string"
sink  = { drain = "other" }
"#;
    let (stage, server, mut client) = begun(
        schema,
        r#"
        HSET visit:1 who Ann token se-cret
        DEL visit:1
        RPUSH queue '{"id":"a","token":"se-cret"}'
        "#,
    );
    let without =
        schema.replace("sink   = { archive", "# ").replace("sink  = { drain = \"queue", "# ");
    stage.change_schema(&without);
    stage.apply(&mut client);
    said(&stage.sync_once(&server));
    stage.check(
        "SELECT convert_from(item, 'UTF8') FROM keyward_dead_letters ORDER BY 1",
        "{\"id\":\"a\",\"token\":\"***\"}\n{\"token\":\"***\",\"who\":\"Ann\"}",
    );
}

#[test]
fn a_server_that_stores_by_itself_goes_on_after_another_schema_was_applied() {
    let without = SHOP.replace("sink = { archive = \"pages\" }", "");
    let stage = Stage::new(&without);
    let url = stage.postgres.url();
    let server = stage.serve_with(&["--postgres", &url]);
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nRPUSH likes one");
    wait_until(|| stage.postgres.query("SELECT count(*) FROM likes") == "1");
    stage.change_schema(SHOP);
    stage.apply(&mut client);
    call_all(&mut client, "RPUSH likes two\nSET page:x text\nDEL page:x");
    wait_until(|| stage.postgres.query("SELECT count(*) FROM pages") == "1");
    stage.check("SELECT string_agg(item, ' ' ORDER BY entry) FROM likes", "one two");
}

const SPLIT: &str = r#"
[keyspace]
name = "shop"

[key."day:{user:int}:{date:date}"]
type   = "hash"
ttl    = "90d"
extra  = "uint"
fields = { requests = "uint?", user_id = { type = "int", same = "{user}" } }
[key."day:{user:int}:{date:date}".sink]
mirror  = "days"
columns = { total = "requests", requests = "{product}_requests", tokens = "{product}_tokens" }
"#;

#[test]
fn loading_that_was_broken_off_goes_on_and_puts_split_rows_together() {
    let stage = Stage::new(SPLIT);
    let server = stage.serve();
    let mut client = server.client();
    for user in 0..1_500 {
        let row = format!(
            "HSET day:{user}:2025-12-04 user_id {user} requests 3 a_requests {user} a_tokens 7 \
             b_requests 2 other 9"
        );
        call_all(&mut client, &row);
    }
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*), sum(total), sum(requests) FROM days", "4500|4500|1127250");
    let cold = stage.serve_only(&[]);
    // Some rows are there when it ends.
    let (source, url) = (cold.address().to_string(), stage.postgres.url());
    let mut filling = Command::new(PROGRAM)
        .args(["fill", "--postgres", &url, "--source", &source, stage.schema_text()])
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let mut reader = cold.client();
    let count = |reader: &mut Client| match reader.call(["DBSIZE"]).expect("a reply") {
        Frame::Integer(count) => count,
        other => panic!("{other:?}"),
    };
    wait_until(|| count(&mut reader) > 0);
    filling.kill().expect("it is killed");
    filling.wait().expect("it ends");
    let told = said(&stage.fill(&cold, &[]));
    let kept = told.split(" loaded, ").nth(1).and_then(|rest| rest.split(' ').next());
    assert_ne!(kept, Some("0"), "{told}");
    // The changefeed is a key as well.
    assert_eq!(count(&mut reader), 1_501, "{told}");
    for user in [0, 700, 1_499] {
        let key = format!("day:{user}:2025-12-04");
        let pairs = |client: &mut Client| {
            let reply = client.call(["HGETALL", &key]).expect("a row");
            let texts = reply.as_elements().expect("fields").iter();
            let texts: Vec<_> = texts.map(|text| text.as_bytes().map(<[u8]>::to_vec)).collect();
            let mut pairs: Vec<_> = texts.chunks(2).map(<[_]>::to_vec).collect();
            pairs.sort();
            pairs
        };
        assert_eq!(pairs(&mut reader), pairs(&mut client), "{key}");
    }
}
