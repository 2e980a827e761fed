//! Keys, rows and items that PostgreSQL can never hold.

use crate::stage::{Stage, begun, call_all, said};

const DAYS: &str = r#"
[keyspace]
name    = "days"
unknown = "allow"

[key."day:{id:uint}:{on:date}"]
type   = "hash"
ttl    = "none"
fields = { n = "int" }
sink   = { mirror = "days" }

[key."memo:{id:rest}"]
type = "string"
ttl  = "none"
sink = { mirror = "memos" }

[key."visit:{id:uint}"]
type   = "hash"
ttl    = "1h"
fields = { what = "string", at = "timestamp?" }
sink   = { archive = "visits" }

[key."tx:{user:uint}"]
type  = "list"
ttl   = "none"
items = { id = "string", at = "timestamp?" }
allow = ["KW0310: a row of the table each"]
sink  = { append = "tx" }

[key."queue"]
type  = "list"
ttl   = "none"
items = { id = "string" }
allow = ["KW0310: drained"]
sink  = { drain = "queue", key = ["id"] }
"#;

#[test]
fn a_mirrored_key_that_no_table_can_hold_is_passed_over_once_it_is_gone() {
    let stage = Stage::new(DAYS);
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "HSET day:1:2025-01-01 n 1");
    said(&stage.sync_once(&server));
    call_all(&mut client, "HSET day:1:0000-01-01 n 1\nHSET day:2:2025-01-01 n 2");
    for name in [&b"memo:a\0b"[..], b"memo:\xff"] {
        client.call([&b"SET"[..], name, b"x"]).expect("a reply");
    }
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("days: the row of day:1:0000-01-01 "), "{told}");
    for name in [&b"memo:a\0b"[..], b"memo:\xff", b"day:1:0000-01-01"] {
        client.call([&b"DEL"[..], name]).expect("a reply");
    }
    said(&stage.sync_once(&server));
    stage.check("SELECT id, n FROM days ORDER BY id", "1|1\n2|2");
}

#[test]
fn a_key_that_stops_a_comparison_is_named() {
    let stage = Stage::new(DAYS);
    let server = stage.serve();
    call_all(&mut server.client(), "HSET day:1:2025-01-01 n 1\nHSET day:1:0000-01-01 n 1");
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("days: the row of day:1:0000-01-01 "), "{told}");
}

#[test]
fn a_drained_item_too_long_for_its_index_is_a_dead_letter() {
    let stage = Stage::new(DAYS);
    let server = stage.serve();
    let mut client = server.client();
    let mut state = 7_u64;
    let long: String = (0..9_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            char::from(b'a' + u8::try_from((state >> 40) % 26).unwrap_or(0))
        })
        .collect();
    call_all(&mut client, &format!(r#"RPUSH queue '{{"id":"{long}"}}' '{{"id":"b"}}'"#));
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("1 row, 1 item refused"), "{told}");
    stage.check("SELECT id FROM queue", "b");
    stage.check("SELECT reason ~ 'index row' FROM keyward_dead_letters", "t");
}

#[test]
fn items_and_rows_that_can_never_be_stored_are_dead_letters_and_hold_nobody_up() {
    let stage = Stage::new(DAYS);
    let server = stage.serve();
    let mut client = server.client();
    call_all(
        &mut client,
        r#"
        RPUSH tx:1 '{"id":"a\u0000b"}' '{"id":"c"}'
        RPUSH tx:1 '{"id":"d","at":"0000-01-01T00:00:00Z"}'
        HSET visit:2 what good
        DEL visit:2
        "#,
    );
    client.call([&b"HSET"[..], b"visit:1", b"what", b"x\0\xff"]).expect("a reply");
    call_all(&mut client, "DEL visit:1");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("2 rows, 3 items refused"), "{told}");
    stage.check("SELECT id FROM tx", "c");
    stage.check("SELECT id, what FROM visits", "2|good");
    stage.check(
        "SELECT convert_from(key, 'UTF8'), table_name FROM keyward_dead_letters ORDER BY entry",
        "tx:1|tx\ntx:1|tx\nvisit:1|visits",
    );
    // Nothing of them is lost: once they can be stored, they are.
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("0 dead letters sent again and stored, 3 refused once more"), "{told}");
    let item = stage.postgres.query(
        "SELECT convert_from(item, 'UTF8') FROM keyward_dead_letters WHERE table_name = 'visits'",
    );
    assert_eq!(item, r#"{"what":{"hex":"7800ff"}}"#);
    stage.postgres.query(
        "UPDATE keyward_dead_letters SET item = convert_to('{\"what\":{\"hex\":\"78\"}}', 'UTF8') \
         WHERE table_name = 'visits'; \
         UPDATE keyward_dead_letters SET item = convert_to('{\"id\":\"e\"}', 'UTF8') \
         WHERE table_name = 'tx'",
    );
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("3 dead letters sent again and stored"), "{told}");
    stage.check("SELECT id, what FROM visits ORDER BY id", "1|x\n2|good");
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM tx", "c e e");
}

#[test]
fn a_leap_second_is_stored_as_postgresql_has_it() {
    let item = r#"RPUSH tx:1 '{"id":"a","at":"2016-12-31T23:59:60Z"}' '{"id":"b","at":"1990-12-31T15:59:60.25-08:00"}'"#;
    let (stage, server, mut client) = begun(DAYS, item);
    call_all(&mut client, "HSET visit:1 what left at 2015-06-30T23:59:60Z\nDEL visit:1");
    said(&stage.sync_once(&server));
    let times = |table: &str| {
        format!("SELECT string_agg((at AT TIME ZONE 'UTC')::text, ' ' ORDER BY at) FROM {table}")
    };
    stage.check(&times("tx"), "1991-01-01 00:00:00.25 2017-01-01 00:00:00");
    stage.check(&times("visits"), "2015-07-01 00:00:00");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "0");
    let verified = stage.verify(&server);
    assert!(verified.starts_with("exit 0\n"), "{verified}");
}

const EVENTS: &str = r#"
[keyspace]
name    = "events"
unknown = "allow"

[key."log:{id:str}"]
type   = "stream"
ttl    = "none"
allow  = ["KW0310: rows"]
fields = { item = "string?", b = "string?" }
sink   = { append = "log" }

[key."visit:{id:uint}"]
type   = "hash"
ttl    = "1h"
extra  = "string"
fields = { n = "uint?", pin = { type = "string?", secret = true } }
sink   = { archive = "visits" }
"#;

/// All letters, in their order.
const LETTERS: &str =
    "SELECT string_agg(convert_from(item, 'UTF8'), ' ' ORDER BY entry) FROM keyward_dead_letters";

#[test]
fn a_row_whose_fields_have_names_that_are_no_texts_is_whole_in_its_letter() {
    let (stage, server, mut client) = begun(EVENTS, "");
    client
        .call([&b"HSET"[..], b"visit:1", b"n", b"7", b"\xff", b"a", b"\xfe", b"b", b"pin", b"1"])
        .expect("a reply");
    call_all(&mut client, "DEL visit:1");
    said(&stage.sync_once(&server));
    stage.check(LETTERS, r#"[["n","7"],[{"hex":"ff"},"a"],[{"hex":"fe"},"b"],["pin","***"]]"#);
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("0 dead letters sent again and stored, 1 refused"), "{told}");
    // With another name it is stored.
    stage.postgres.query(
        "UPDATE keyward_dead_letters SET item = \
         convert_to(replace(convert_from(item, 'UTF8'), '{\"hex\":\"ff\"}', '\"x\"'), 'UTF8'); \
         UPDATE keyward_dead_letters SET item = \
         convert_to(replace(convert_from(item, 'UTF8'), '{\"hex\":\"fe\"}', '\"y\"'), 'UTF8')",
    );
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("1 dead letter sent again and stored"), "{told}");
    stage.check("SELECT n, extra FROM visits", r#"7|{"x": "a", "y": "b"}"#);
}

#[test]
fn an_entry_of_a_stream_that_has_a_field_twice_is_a_dead_letter() {
    let (stage, server, _client) = begun(EVENTS, "XADD log:1 * b one b two\nXADD log:1 * b three");
    said(&stage.sync_once(&server));
    stage.check("SELECT b FROM log", "three");
    stage.check(LETTERS, r#"[["b","one"],["b","two"]]"#);
    stage.check("SELECT reason FROM keyward_dead_letters", "the row has a field twice");
}

/// What becomes of entries that wait when a schema comes without their sink, and it comes back.
#[track_caller]
fn comes_back(without: &str, letters: &str) {
    let (stage, server, mut client) = begun(EVENTS, "XADD log:1 * b first");
    said(&stage.sync_once(&server));
    call_all(&mut client, r#"XADD log:1 * item '{"b":"x"}'"#);
    call_all(&mut client, "XADD log:1 * item p2 b x");
    stage.change_schema(without);
    stage.apply(&mut client);
    said(&stage.sync_once(&server));
    stage.check(LETTERS, letters);
    stage.change_schema(EVENTS);
    stage.apply(&mut client);
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("2 dead letters sent again and stored"), "{told}");
    stage.check("SELECT item, b FROM log ORDER BY entry", "|first\n{\"b\":\"x\"}|\np2|x");
}

#[test]
fn the_one_field_item_of_a_stream_comes_back_from_its_letter() {
    let sink = "sink   = { append = \"log\" }\n";
    let letters = r#"{"item":"{\"b\":\"x\"}"} {"item":"p2","b":"x"}"#;
    comes_back(&EVENTS.replace(sink, ""), letters);
    // Where the key is gone nobody knows what it was.
    let start = EVENTS.find("[key.\"log").expect("the key");
    let end = EVENTS.find("[key.\"visit").expect("the next");
    let letters = r#"{"b":"x"} {"item":"p2","b":"x"}"#;
    comes_back(&format!("{}{}", &EVENTS[..start], &EVENTS[end..]), letters);
}

#[test]
fn a_letter_that_is_no_row_stays_one() {
    let (stage, server, _client) = begun(EVENTS, "XADD log:1 * b one b two");
    said(&stage.sync_once(&server));
    stage.postgres.query("UPDATE keyward_dead_letters SET item = 'precious'");
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("1 refused once more"), "{told}");
    stage.check(LETTERS, "precious");
    stage.check("SELECT count(*) FROM log", "0");
}
