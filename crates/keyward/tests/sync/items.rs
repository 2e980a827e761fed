//! Items of lists: those that were there before their table, and those that leave their list
//! because it has them.

use keyward_resp::Frame;
use keyward_testkit::{Client, Server, wait_until};

use crate::stage::{Stage, advance_database, call_all, said};

const LEDGER: &str = r#"
[keyspace]
name = "ledger"

[key."tx:{user:int}"]
type  = "list"
ttl   = "none"
items = { id = "str", amount = "decimal", note = "string?" }
allow = ["KW0310: a row of the table each"]
sink  = { append = "tx", drop = "1y" }

[key."queue"]
type  = "list"
ttl   = "none"
items = "string"
allow = ["KW0310: drained"]
sink  = { drain = "queue" }
"#;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn serve(stage: &Stage) -> Server {
    stage.serve_with(&["--enable-debug-command", "yes"])
}

fn advance(client: &mut Client, days: u64) {
    call_all(client, &format!("DEBUG CLOCK ADVANCE {}", days * DAY_MS));
}

fn items(client: &mut Client, key: &str) -> Vec<String> {
    let reply = client.call(["LRANGE", key, "0", "-1"]).expect("a reply");
    let items = reply.as_elements().expect("items").iter();
    items.map(|item| String::from_utf8_lossy(item.as_bytes().expect("an item")).into()).collect()
}

fn item(id: u32) -> String {
    format!(r#"{{"id":"t{id}","amount":0.{id:03}}}"#)
}

#[test]
fn items_that_lists_and_tables_keep_as_long_leave_both() {
    let stage = Stage::new(&LEDGER.replace("drop = \"1y\"", "drop = \"1y\", retain = \"1y\""));
    let server = serve(&stage);
    let mut client = server.client();
    client.call(["RPUSH", "tx:7", &item(1)]).expect("a reply");
    said(&stage.sync_once(&server));
    advance(&mut client, 400);
    advance_database(&stage, 400);
    client.call(["RPUSH", "tx:7", &item(2)]).expect("a reply");
    said(&stage.sync_once(&server));
    assert_eq!(items(&mut client, "tx:7"), [item(2)]);
    stage.check("SELECT string_agg(id, ' ') FROM tx", "t2");
}

#[test]
fn old_items_leave_their_list_once_they_are_stored_and_not_before() {
    let stage = Stage::new(LEDGER);
    let server = serve(&stage);
    let mut client = server.client();
    for id in 0..250 {
        client.call(["RPUSH", "tx:7", &item(id)]).expect("a reply");
        // The oldest are at the end here.
        client.call(["LPUSH", "tx:8", &item(id)]).expect("a reply");
    }
    // Nobody has stored them: nothing goes, whatever its age.
    advance(&mut client, 400);
    client.call(["RPUSH", "tx:7", &item(250)]).expect("a reply");
    client.call(["LPUSH", "tx:8", &item(250)]).expect("a reply");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("items that are stored were dropped from their lists"), "{told}");
    for key in ["tx:7", "tx:8"] {
        assert_eq!(items(&mut client, key), [item(250)], "{key}");
    }
    stage.check("SELECT count(*), count(DISTINCT (\"user\", id)) FROM tx", "502|502");
    // A day before its year is over it stays, and what the table lost stays too.
    client.call(["RPUSH", "tx:7", &item(251)]).expect("a reply");
    said(&stage.sync_once(&server));
    advance(&mut client, 364);
    said(&stage.sync_once(&server));
    assert_eq!(items(&mut client, "tx:7").len(), 2);
    stage.postgres.query("DELETE FROM tx WHERE id = 't250' AND \"user\" = 7");
    advance(&mut client, 2);
    said(&stage.sync_once(&server));
    assert_eq!(items(&mut client, "tx:7"), [item(250)], "the newer one is stored and goes");
    assert!(items(&mut client, "tx:8").is_empty());
    // So does one that is otherwise there.
    client.call(["RPUSH", "tx:9", &item(1)]).expect("a reply");
    said(&stage.sync_once(&server));
    stage.postgres.query("UPDATE tx SET note = 'changed' WHERE \"user\" = 9");
    advance(&mut client, 366);
    said(&stage.sync_once(&server));
    assert_eq!(items(&mut client, "tx:9"), [item(1)]);
}

/// Pushes many items to a list, a thousand at a time.
fn push_many(client: &mut Client, key: &str, count: usize) {
    for first in (0..count).step_by(1_000) {
        let items: Vec<String> = (first..count.min(first + 1_000))
            .map(|id| format!(r#"{{"id":"t{id}","amount":1}}"#))
            .collect();
        let words = ["RPUSH", key].into_iter().chain(items.iter().map(String::as_str));
        client.call(words.collect::<Vec<&str>>()).expect("a reply");
    }
}

/// How many rows of the table were read so far. Sessions that ended have reported that; one that
/// has not yet, as PostgreSQL's statistics come late, is waited for.
fn rows_read(stage: &Stage) -> usize {
    let others = "SELECT count(*) FROM pg_stat_activity \
                  WHERE application_name = 'keyward' AND backend_type = 'client backend'";
    wait_until(|| stage.postgres.query(others) == "0");
    let read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'tx'";
    stage.postgres.query(read).parse().expect("a number")
}

#[test]
fn long_lists_take_time_that_goes_with_their_length() {
    let stage = Stage::new(LEDGER);
    let server = serve(&stage);
    let mut client = server.client();
    let count = 20_000;
    push_many(&mut client, "tx:1", count);
    said(&stage.sync_once(&server));
    // Some of them are missing, and looked for.
    stage.postgres.query("DELETE FROM tx WHERE id IN ('t7', 't19999')");
    call_all(&mut client, "RPUSH queue x\nXTRIM keyward:changefeed:ledger MINID = 99999999999999");
    let before = rows_read(&stage);
    let told = said(&stage.sync_with(&server, &["--once", "--accept"]));
    assert!(told.contains("2 items that were in lists before are stored"), "{told}");
    let read = rows_read(&stage) - before;
    assert!((count..20 * count).contains(&read), "{read} rows");
    stage.check("SELECT count(*), count(DISTINCT id) FROM tx", "20000|20000");
    // All but the last one are old.
    stage.postgres.query("UPDATE tx SET pushed_at = '2020-01-01' WHERE id <> 't19999'");
    call_all(&mut client, "RPUSH queue y");
    let before = rows_read(&stage);
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("19999 items that are stored were dropped from their lists"), "{told}");
    let read = rows_read(&stage) - before;
    assert!((count..20 * count).contains(&read), "{read} rows");
    assert_eq!(items(&mut client, "tx:1").len(), 1);
}

#[test]
fn items_that_were_there_before_their_table_are_stored_once() {
    let without = LEDGER.replace("sink  = {", "# sink  = {");
    let other = "\n[key.\"other\"]\ntype = 'list'\nttl = 'none'\nitems = 'string'\n\
                 allow = ['KW0310: appended']\nsink = { append = 'other' }\n";
    let stage = Stage::new(&format!("{without}{other}"));
    let server = serve(&stage);
    let mut client = server.client();
    for id in 0..130 {
        client.call(["RPUSH", &format!("tx:{}", id % 3), &item(id)]).expect("a reply");
    }
    call_all(&mut client, "RPUSH queue a b c\nRPUSH other x");
    said(&stage.sync_once(&server));
    stage.change_schema(&format!("{LEDGER}{other}"));
    stage.apply(&mut client);
    // Some come before anybody stores anything, and one that is as one before.
    client.call(["RPUSH", "tx:1", &item(500)]).expect("a reply");
    client.call(["RPUSH", "tx:1", &item(1)]).expect("a reply");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("130 items that were in lists before are stored"), "{told}");
    stage.check("SELECT count(*), count(DISTINCT id) FROM tx", "132|131");
    stage.check("SELECT count(*) FROM tx WHERE \"user\" = 1 AND id = 't1'", "2");
    stage.check("SELECT string_agg(item, ' ' ORDER BY entry) FROM queue", "a b c");
    assert_eq!(client.call(["LLEN", "queue"]).expect("a reply"), Frame::Integer(0));
    // Once: also after a start, which begins a history, and after lost changes.
    drop(client);
    drop(server);
    let server = serve(&stage);
    let mut client = server.client();
    client.call(["RPUSH", "tx:1", &item(501)]).expect("a reply");
    said(&stage.sync_once(&server));
    stage.postgres.query("UPDATE keyward_place SET compares = true");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM tx", "133");
}

#[test]
fn a_unit_that_swaps_unique_values_or_comes_before_what_it_refers_to_is_stored() {
    let schema = r#"
[keyspace]
name = "shop"

[key."user:{id:int}"]
type   = "hash"
ttl    = "none"
fields = { card = "string" }
sink   = { mirror = "users" }

[key."card:{id}"]
type   = "json"
ttl    = "none"
fields = { user = "int" }
sink   = { mirror = "cards" }

[key."queue"]
type  = "list"
ttl   = "none"
items = "string"
allow = ["KW0310: drained"]
sink  = { drain = "queue", columns = { item = { type = "varchar(5)" } } }
"#;
    let stage = Stage::new(schema);
    stage.postgres.query(
        "ALTER TABLE users ADD UNIQUE (card) DEFERRABLE; \
         ALTER TABLE cards ADD FOREIGN KEY (\"user\") REFERENCES users (id)",
    );
    let server = serve(&stage);
    let mut client = server.client();
    call_all(&mut client, "SET card:a '{\"user\":1}'\nHSET user:1 card a\nHSET user:2 card b");
    said(&stage.sync_once(&server));
    stage.check("SELECT string_agg(card, ' ' ORDER BY id) FROM users", "a b");
    // They swap, and a new user comes behind his card; also where an item is refused beside it.
    let more = "MULTI\nHSET user:1 card b\nHSET user:2 card a\nSET card:c '{\"user\":3}'\n\
                HSET user:3 card c\nRPUSH queue much-too-long\nRPUSH queue ok\nEXEC";
    call_all(&mut client, more);
    said(&stage.sync_once(&server));
    stage.check("SELECT string_agg(card, ' ' ORDER BY id) FROM users", "b a c");
    stage.check("SELECT string_agg(item, ' ') FROM queue", "ok");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "1");
    // A row goes with those that refer to it.
    call_all(&mut client, "MULTI\nDEL user:3\nDEL card:c\nEXEC");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM users", "2");
    // What stays broken at the end of its unit is named.
    call_all(&mut client, "SET card:z '{\"user\":99}'");
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("cards: the row of card:z (entry "), "{told}");
    assert!(told.contains("cards_user_fkey"), "{told}");
    call_all(&mut client, "HSET user:99 card z");
    said(&stage.sync_once(&server));
    call_all(&mut client, "HSET user:2 card z");
    let told = String::from_utf8_lossy(&stage.sync_once(&server).stderr).into_owned();
    assert!(told.contains("users: the row of user:2 (entry "), "{told}");
    assert!(told.contains("users_card_key"), "{told}");
}
