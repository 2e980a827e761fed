//! Items of lists whose sink goes, comes back, observes or becomes another one.

use keyward_resp::Frame;
use keyward_testkit::Client;

use crate::stage::{begun, call_all, said};

const LEDGER: &str = r#"
[keyspace]
name = "ledger"

[key."tx:{user:int}"]
type  = "list"
ttl   = "none"
items = { id = "str" }
allow = ["KW0310: a row of the table each"]
sink  = { append = "tx" }

[key."queue"]
type  = "list"
ttl   = "none"
items = "string"
allow = ["KW0310: drained"]
sink  = { drain = "queue" }
"#;

const IDS: &str = "SELECT string_agg(id, ' ' ORDER BY id) FROM tx";

fn push(client: &mut Client, id: &str) {
    let item = format!(r#"{{"id":"{id}"}}"#);
    client.call(["RPUSH", "tx:1", &item]).expect("a reply");
}

#[test]
fn items_that_are_pushed_while_their_key_observes_are_stored_when_it_does_not() {
    let (stage, server, mut client) = begun(LEDGER, "RPUSH queue x");
    push(&mut client, "a");
    said(&stage.sync_once(&server));
    for (id, next) in [("b", "c"), ("d", "e")] {
        call_all(&mut client, "KEYWARD MODE observe");
        push(&mut client, id);
        if id == "d" {
            said(&stage.sync_once(&server));
        }
        call_all(&mut client, "KEYWARD MODE enforce");
        push(&mut client, next);
        said(&stage.sync_once(&server));
    }
    said(&stage.sync_once(&server));
    stage.check(IDS, "a b c d e");
}

#[test]
fn items_that_are_pushed_while_their_sink_is_away_are_stored_when_it_is_back() {
    let (stage, server, mut client) = begun(LEDGER, "RPUSH queue x");
    push(&mut client, "a");
    said(&stage.sync_once(&server));
    let without = LEDGER.replace("sink  = { append = \"tx\" }", "");
    for (id, next) in [("b", "c"), ("d", "e")] {
        stage.change_schema(&without);
        stage.apply(&mut client);
        push(&mut client, id);
        if id == "d" {
            said(&stage.sync_once(&server));
        }
        stage.change_schema(LEDGER);
        stage.apply(&mut client);
        push(&mut client, next);
        said(&stage.sync_once(&server));
    }
    stage.check(IDS, "a b c d e");
}

#[test]
fn a_key_that_the_table_of_an_append_has_already_is_a_dead_letter() {
    let schema = LEDGER.replace("append = \"tx\"", "append = \"tx\", key = [\"id\"]");
    let (stage, server, mut client) = begun(&schema, "RPUSH queue x");
    push(&mut client, "a");
    said(&stage.sync_once(&server));
    push(&mut client, "a");
    push(&mut client, "b");
    push(&mut client, "b");
    call_all(&mut client, "RPUSH queue y");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("2 items were refused"), "{told}");
    stage.check(IDS, "a b");
    stage.check("SELECT count(*) FROM queue", "2");
    stage.check(
        "SELECT convert_from(item, 'UTF8'), reason LIKE '%tx_pkey%' FROM keyward_dead_letters \
         ORDER BY entry",
        "{\"id\":\"a\"}|t\n{\"id\":\"b\"}|t",
    );
    // It can be had again once the row is gone.
    stage.postgres.query("DELETE FROM tx WHERE id = 'a'");
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("1 dead letter sent again and stored, 1 refused once more"), "{told}");
    stage.check(IDS, "a b");
}

#[test]
fn an_append_that_becomes_a_drain_stores_what_waits_once() {
    let (stage, server, mut client) = begun(LEDGER, "RPUSH queue x");
    said(&stage.sync_once(&server));
    push(&mut client, "a");
    push(&mut client, "b");
    // It left its list before that was drained, so that nobody else has it.
    push(&mut client, "popped");
    push(&mut client, "popped");
    call_all(&mut client, "RPOP tx:1 2");
    stage.change_schema(&LEDGER.replace("append = \"tx\"", "drain = \"tx\""));
    stage.apply(&mut client);
    said(&stage.sync_once(&server));
    stage.check(IDS, "a b");
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    assert!(told.contains("4 dead letters sent again and stored, 0 refused"), "{told}");
    stage.check(IDS, "a b popped popped");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "0");
}

#[test]
fn dead_letters_stay_what_they_are_when_their_key_has_observed() {
    let schema = LEDGER.replace("append = \"tx\"", "append = \"tx\", key = [\"id\"]");
    let (stage, server, mut client) = begun(&schema, "RPUSH queue x");
    push(&mut client, "a");
    said(&stage.sync_once(&server));
    push(&mut client, "a");
    push(&mut client, "\\u0000");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("2 items were refused"), "{told}");
    // What comes while it observes may be no item at all.
    call_all(&mut client, "KEYWARD MODE observe\nRPUSH tx:1 garbage\nRPUSH tx:1 garbage");
    push(&mut client, "b");
    push(&mut client, "b");
    call_all(&mut client, "KEYWARD MODE enforce");
    push(&mut client, "c");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("1 item that was in a list before is stored"), "{told}");
    assert!(told.contains("3 items were refused"), "{told}");
    stage.check(IDS, "a b c");
    let letters = "SELECT string_agg(convert_from(item, 'UTF8'), ' ' ORDER BY item) \
                   FROM keyward_dead_letters WHERE table_name = 'tx'";
    let all = r#"garbage garbage {"id":"\\u0000"} {"id":"a"} {"id":"b"}"#;
    let all = all.replace("\\\\", "\\");
    stage.check(letters, &all);
    // Nor are they letters once more.
    call_all(&mut client, "KEYWARD MODE observe\nKEYWARD MODE enforce");
    push(&mut client, "d");
    let told = said(&stage.sync_once(&server));
    assert!(!told.contains("refused"), "{told}");
    stage.check(letters, &all);
    stage.check(IDS, "a b c d");
}

#[test]
fn a_letter_of_an_append_is_not_added_to_what_its_drain_adds_up() {
    let append = LEDGER.replace("items = \"string\"", "items = { id = \"str\", n = \"int\" }");
    let append = append.replace("sink  = { drain = \"queue\" }", "sink  = { append = \"single\" }");
    let (stage, server, mut client) = begun(&append, "KEYWARD MODE enforce");
    let item = r#"{"id":"a","n":1}"#;
    client.call(["RPUSH", "queue", item]).expect("a reply");
    said(&stage.sync_once(&server));
    client.call(["RPUSH", "queue", item]).expect("a reply");
    client.call(["RPUSH", "queue", item]).expect("a reply");
    let drain = "sink  = { drain = \"sums\", merge = \"add\", key = [\"id\"] }";
    stage.change_schema(&append.replace("sink  = { append = \"single\" }", drain));
    stage.apply(&mut client);
    said(&stage.sync_once(&server));
    // The list had all three, and was drained.
    stage.check("SELECT id, n FROM sums", "a|3");
    let told = said(&stage.sync_with(&server, &["--once", "--resend"]));
    stage.check("SELECT id, n FROM sums", "a|3");
    assert!(told.contains("0 dead letters sent again and stored, 2 refused once more"), "{told}");
}

#[test]
fn the_last_sink_goes_while_items_wait_and_comes_back() {
    let only = LEDGER.split("[key.\"queue\"]").next().expect("a part");
    let (stage, server, mut client) = begun(only, "KEYWARD MODE enforce");
    push(&mut client, "a");
    said(&stage.sync_once(&server));
    push(&mut client, "b");
    let without = only.replace("sink  = { append = \"tx\" }", "");
    std::fs::write(stage.schema(), &without).expect("the schema is written");
    stage.apply(&mut client);
    push(&mut client, "c");
    // What waits stays, whatever the schema says.
    let feed = "keyward:changefeed:ledger";
    let flushed = format!("{:?}", client.call(["FLUSHALL"]).expect("a reply"));
    assert!(flushed.contains("are not flushed"), "{flushed}");
    assert_eq!(client.call(["XLEN", feed]).expect("a reply"), Frame::Integer(1));
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && told.contains("no key has a sink"), "{told}");
    assert!(told.contains("the schema before"), "{told}");
    // With the schema before it is stored; also after a start, which says so.
    drop(client);
    drop(server);
    let server = stage.serve();
    let mut client = server.client();
    stage.change_schema(only);
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && told.contains("other sinks than this one"),
        "{told}"
    );
    stage.check(IDS, "a b");
    assert_eq!(client.call(["XLEN", feed]).expect("a reply"), Frame::Integer(0));
    // And what was pushed meanwhile is, once it is back.
    stage.apply(&mut client);
    push(&mut client, "d");
    said(&stage.sync_once(&server));
    stage.check(IDS, "a b c d");
}
