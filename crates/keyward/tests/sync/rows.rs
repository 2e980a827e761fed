//! Each kind of sink, and what goes wrong.

use keyward_testkit::{Client, wait_until};

use crate::stage::{Stage, begun, call_all, said};

pub(crate) const SHOP: &str = r#"
[keyspace]
name = "shop"
db   = 2

[key."user:{id:uint}"]
type = "hash"
ttl  = "none"
sink = { mirror = "users", deleted = "mark", columns = { id = { from = "{id}", type = "bigint" } } }
[key."user:{id:uint}".fields]
name    = "string"
balance = "decimal"
state   = "active | closed"
token   = { type = "str?", secret = true }

[key."card:{id}"]
type   = "json"
ttl    = "none"
fields = { user = "uint", tags = "string[]?", at = "timestamp?" }
sink   = { mirror = "cards" }

[key."usage:{user:int}:{month:month}"]
type   = "hash"
ttl    = "35d"
extra  = "uint"
fields = { total = "uint?" }
[key."usage:{user:int}:{month:month}".sink]
archive = "usage"
retain  = "2y"
merge   = "add"
columns = { requests = "{product}_requests", tokens = "{product}_tokens" }

[key."page:{path}"]
type = "string"
ttl  = "1h"
sink = { archive = "pages" }

[key."tx:{user:int}"]
type  = "list"
ttl   = "none"
items = { id = "str", amount = "decimal" }
allow = ["KW0310: a row of the table each"]
sink  = { append = "tx", key = ["id"] }

[key."likes"]
type  = "list"
ttl   = "none"
items = "string"
allow = ["KW0310: drained"]
sink  = { drain = "likes", columns = { item = { type = "varchar(5)" } } }
"#;

#[test]
fn rows_and_items_reach_their_tables() {
    let (stage, server, mut client) = begun(
        SHOP,
        r#"
        SELECT 2
        HSET user:1 name Ann balance 0.1 state active token se-cret
        HINCRBYFLOAT user:1 balance 0.2
        HSET user:2 name "Bob's" balance 5 state active
        SET card:a '{"user":1,"tags":["x","y"],"at":"2025-12-04T15:30:00+02:00"}'
        HSET usage:7:2025-12 total 3 a_requests 1 a_tokens 10 b_requests 2
        DEL usage:7:2025-12
        HSET usage:7:2025-12 total 4 a_requests 5
        PEXPIRE usage:7:2025-12 1
        SET page:x one
        DEL page:x
        SET page:x two
        DEL page:x
        RPUSH tx:7 '{"id":"t1","amount":0.001}' '{"id":"t2","amount":-5}'
        RPUSH likes a b
        "#,
    );
    wait_until(|| {
        client
            .call(["EXISTS", "usage:7:2025-12"])
            .is_ok_and(|it| it == keyward_resp::Frame::Integer(0))
    });
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("stored as"), "{told}");
    stage.check(
        "SELECT id, name, balance, state, deleted_at IS NULL FROM users ORDER BY id",
        "1|Ann|0.3|active|t\n2|Bob's|5|active|t",
    );
    stage.check("SELECT id, \"user\", tags->>1, at = '2025-12-04T13:30:00Z' FROM cards", "a|1|y|t");
    stage.check(
        "SELECT \"user\", month, product, total, requests, tokens FROM usage ORDER BY product",
        "7|2025-12-01||7||\n7|2025-12-01|a||6|10\n7|2025-12-01|b||2|",
    );
    stage.check("SELECT path, value FROM pages ORDER BY entry", "x|one\nx|two");
    stage.check("SELECT \"user\", id, amount FROM tx ORDER BY id", "7|t1|0.001\n7|t2|-5");
    stage.check("SELECT item FROM likes ORDER BY entry", "a\nb");
    // What changes next, and nothing twice.
    call_all(
        &mut client,
        r#"
        HSET user:1 state closed
        DEL user:2
        DEL card:a
        RPUSH tx:7 '{"id":"t3","amount":1}'
        "#,
    );
    said(&stage.sync_once(&server));
    assert!(said(&stage.sync_once(&server)).contains("0 changes stored as 0 rows"));
    stage.check(
        "SELECT id, state, deleted_at IS NULL FROM users ORDER BY id",
        "1|closed|t\n2|active|f",
    );
    stage.check("SELECT count(*) FROM cards", "0");
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM tx", "t1 t2 t3");
    // It is there again.
    call_all(&mut client, "HSET user:2 name Bob balance 1 state active");
    said(&stage.sync_once(&server));
    stage.check("SELECT name, deleted_at IS NULL FROM users WHERE id = 2", "Bob|t");
    assert_eq!(
        client.call(["XLEN", "keyward:changefeed:shop"]).expect("a reply"),
        keyward_resp::Frame::Integer(0)
    );
}

#[test]
fn a_drained_item_that_is_refused_is_a_dead_letter_and_holds_nobody_up() {
    let (stage, server, _) = begun(SHOP, "SELECT 2\nRPUSH likes one much-too-long two");
    let told = said(&stage.sync_once(&server));
    assert!(told.contains("2 rows, 1 item refused"), "{told}");
    stage.check("SELECT item FROM likes ORDER BY entry", "one\ntwo");
    stage.check(
        "SELECT table_name, convert_from(key, 'UTF8'), convert_from(item, 'UTF8'), reason \
         FROM keyward_dead_letters",
        "likes|likes|much-too-long|value too long for type character varying(5)",
    );
}

#[test]
fn a_row_that_is_refused_is_named_and_stored_once_it_can_be() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    let mut client = server.client();
    stage.postgres.query("ALTER TABLE tx ADD CONSTRAINT small CHECK (amount < 100)");
    call_all(
        &mut client,
        r#"
        SELECT 2
        RPUSH tx:7 '{"id":"t1","amount":1}'
        RPUSH tx:8 '{"id":"t2","amount":100}'
        "#,
    );
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("tx: the row of tx:8 (entry "), "{told}");
    assert!(told.contains("violates check constraint \"small\""), "{told}");
    // All of it, or nothing.
    stage.check("SELECT count(*) FROM tx", "0");
    stage.postgres.query("ALTER TABLE tx DROP CONSTRAINT small");
    said(&stage.sync_once(&server));
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM tx", "t1 t2");
}

#[test]
fn tables_that_are_not_the_schemas_are_not_written() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    stage.postgres.query("ALTER TABLE users DROP COLUMN name");
    let output = stage.sync_once(&server);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("users: there is no column name, text"), "{told}");
}

#[test]
fn what_a_foreign_key_wants_is_stored_before() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    let mut client = server.client();
    stage.postgres.query("ALTER TABLE tx ADD FOREIGN KEY (\"user\") REFERENCES users (id)");
    call_all(
        &mut client,
        r#"
        SELECT 2
        HSET user:7 name Ann balance 1 state active
        RPUSH tx:7 '{"id":"t1","amount":1}'
        HSET user:8 name Bob balance 1 state active
        RPUSH tx:8 '{"id":"t2","amount":1}'
        "#,
    );
    said(&stage.sync_once(&server));
    stage.check("SELECT string_agg(id, ' ' ORDER BY id) FROM tx", "t1 t2");
}

#[test]
fn rows_whose_time_was_over_while_the_server_was_not_there_are_archived() {
    let (stage, server, _) = begun(SHOP, "SELECT 2\nSET page:x one PX 300\nRPUSH likes a");
    drop(server);
    std::thread::sleep(std::time::Duration::from_millis(400));
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nEXISTS page:x");
    said(&stage.sync_once(&server));
    stage.check("SELECT path, value FROM pages", "x|one");
    stage.check("SELECT item FROM likes", "a");
}

#[test]
fn both_sides_are_compared_row_by_row() {
    let (stage, server, mut client) = begun(
        SHOP,
        r#"
        SELECT 2
        HSET user:1 name Ann balance 0.1 state active
        HSET user:2 name Bob balance 5 state active
        HSET user:3 name Cid balance 5 state active
        SET card:a '{"user":1}'
        "#,
    );
    said(&stage.sync_once(&server));
    assert_eq!(
        stage.verify(&server),
        "exit 0\n4 rows compared, 0 differences, 0 keys on their way\n"
    );
    // What is on its way is no difference.
    call_all(
        &mut client,
        "HSET user:1 balance 2\nDEL user:3\nHSET user:4 name Dan balance 1 state active",
    );
    assert_eq!(
        stage.verify(&server),
        "exit 0\n4 rows compared, 0 differences, 3 keys on their way\n"
    );
    said(&stage.sync_once(&server));
    stage.postgres.query(
        "UPDATE users SET balance = 7 WHERE id = 2; DELETE FROM cards; \
         INSERT INTO users VALUES (9, 'Zoe', 1, 'active'); \
         ALTER TABLE users ALTER name DROP NOT NULL; UPDATE users SET name = NULL WHERE id = 4",
    );
    assert_eq!(
        stage.verify(&server),
        "exit 1\ncard:a: is not in cards\nuser:2: is otherwise in users\n\
         user:4: is otherwise in users\nuser:9: is in users alone\n\
         4 rows compared, 4 differences, 0 keys on their way\n"
    );
}

#[test]
fn what_is_on_its_way_hides_no_difference() {
    let (stage, server, mut client) = begun(SHOP, "SELECT 2");
    let each = |client: &mut Client, what: &str| {
        let script = format!("for id = 1, 10100 do {what} end");
        client.call(["EVAL", &script, "0"]).expect("a reply");
    };
    each(&mut client, "redis.call('HSET','user:'..id,'name','Ann','balance',1,'state','active')");
    said(&stage.sync_once(&server));
    each(&mut client, "redis.call('DEL','user:'..id)");
    stage.postgres.query("INSERT INTO users VALUES (20000, 'Zoe', 1, 'active')");
    assert_eq!(
        stage.verify(&server),
        "exit 1\nuser:20000: is in users alone\n\
         0 rows compared, 1 difference, 10100 keys on their way\n"
    );
}

#[test]
fn rows_that_are_older_than_their_table_keeps_them_go() {
    let stage = Stage::new(SHOP);
    let server = stage.serve();
    stage.postgres.query(
        "CREATE TABLE usage_2020_01 PARTITION OF usage \
         FOR VALUES FROM ('2020-01-01') TO ('2020-02-01'); \
         INSERT INTO usage (\"user\", month, product) VALUES (7, '2020-01-01', '')",
    );
    let month = stage.postgres.query("SELECT to_char(now(), 'YYYY-MM')");
    let key = format!("usage:7:{month}");
    call_all(&mut server.client(), &format!("SELECT 2\nHSET {key} total 1\nDEL {key}"));
    said(&stage.sync_once(&server));
    stage.check("SELECT month FROM usage", &format!("{month}-01"));
}

#[test]
fn a_server_stores_its_changes_itself() {
    let stage = Stage::new(SHOP);
    let url = stage.postgres.url();
    let server = stage.serve_with(&["--postgres", &url, "--requirepass", "hush"]);
    let mut client = server.client();
    call_all(
        &mut client,
        r#"
        AUTH hush
        SELECT 2
        HSET user:1 name Ann balance 1 state active
        RPUSH tx:7 '{"id":"t1","amount":1}'
        "#,
    );
    wait_until(|| stage.postgres.query("SELECT count(*) FROM tx") == "1");
    wait_until(|| stage.postgres.query("SELECT name FROM users") == "Ann");
    // Another one beside it does no harm.
    let other = stage.serve_only(&["--postgres", "host=/nowhere user=x"]);
    assert!(other.client().call(["PING"]).is_ok(), "a database that is not there ends no server");
    call_all(&mut client, "DEL user:1");
    wait_until(|| {
        stage.postgres.query("SELECT count(*) FROM users WHERE deleted_at IS NULL") == "0"
    });
}

#[test]
fn a_server_is_loaded_from_its_tables() {
    let (stage, server, _) = begun(
        SHOP,
        r#"
        SELECT 2
        HSET user:1 name Ann balance 0.10 state active
        HSET user:2 name "Bob's" balance 5 state closed
        HSET user:3 name Cid balance 5 state closed
        DEL user:3
        SET card:a '{"user":1,"tags":["x","y"],"at":"2025-12-04T15:30:00.5+02:00"}'
        SET card:b '{"user":2}'
        "#,
    );
    said(&stage.sync_once(&server));
    drop(server);
    stage.empty_data();
    let server = stage.serve();
    let mut client = server.client();
    call_all(&mut client, "SELECT 2\nHSET user:2 name Other balance 1 state active");
    let told = said(&stage.fill(&server, &[]));
    assert!(told.contains("there is no column for token: rows are loaded without it"), "{told}");
    assert!(told.contains("3 rows loaded, 1 were there and kept, 0 refused"), "{told}");
    let get = |client: &mut keyward_testkit::Client, words: &[&str]| {
        let reply = client.call(words).expect("a reply");
        String::from_utf8_lossy(reply.as_bytes().unwrap_or_default()).into_owned()
    };
    assert_eq!(get(&mut client, &["HGET", "user:1", "balance"]), "0.10");
    assert_eq!(get(&mut client, &["HGET", "user:2", "name"]), "Other");
    let card = r#"{"user":1,"tags":["x", "y"],"at":"2025-12-04T13:30:00.5Z"}"#;
    assert_eq!(get(&mut client, &["GET", "card:a"]), card);
    // Once more: all of it is there. With a word, it is replaced.
    let told = said(&stage.fill(&server, &[]));
    assert!(told.contains("0 rows loaded, 4 were there and kept"), "{told}");
    let told = said(&stage.fill(&server, &["--overwrite"]));
    assert!(told.contains("4 rows loaded, 0 were there and kept"), "{told}");
    assert_eq!(get(&mut client, &["HGET", "user:2", "name"]), "Bob's");
    said(&stage.sync_once(&server));
    assert!(stage.verify(&server).starts_with("exit 0\n4 rows compared, 0 differences"));
    // What the schema refuses is told.
    stage.postgres.query(
        "ALTER TABLE users DROP CONSTRAINT users_state_check; \
                          INSERT INTO users VALUES (9, 'Zoe', 1, 'odd')",
    );
    let output = stage.fill(&server, &[]);
    let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("user:9: ") && told.contains("1 refused"), "{told}");
}

#[test]
fn columns_and_tables_may_have_names_that_statements_use() {
    let schema = r#"
[keyspace]
name = "names"

[key."given:{c0}"]
type   = "hash"
ttl    = "none"
fields = { place = "int", c1 = "string", item = "string?" }
sink   = { mirror = "given" }

[key."other:{c0}"]
type   = "hash"
ttl    = "none"
fields = { place = "int" }
sink   = { mirror = "other.given", deleted = "mark" }

[key."sum:{c1}"]
type   = "hash"
ttl    = "1h"
fields = { place = "int", c0 = "string" }
sink   = { archive = "sums", merge = "add" }
"#;
    let postgres = keyward_testkit::Postgres::start();
    postgres.query("CREATE SCHEMA other");
    let stage = Stage::on(postgres, schema);
    let server = stage.serve();
    let mut client = server.client();
    call_all(
        &mut client,
        "HSET given:a place 1 c1 x\nHSET given:b place 2 c1 y\nHSET other:c place 3\n\
         HSET sum:z place 4 c0 q\nDEL sum:z\nHSET sum:z place 5 c0 r\nDEL sum:z",
    );
    said(&stage.sync_once(&server));
    stage.check("SELECT c1, place, c0 FROM sums", "z|9|r");
    call_all(&mut client, "DEL given:a\nHSET given:b place 7\nHSET other:d place 8");
    said(&stage.sync_once(&server));
    stage.check("SELECT c0, place, c1 FROM given", "b|7|y");
    // Two tables of one name are compared, each with its own rows.
    stage.postgres.query(
        "UPDATE given SET place = 0; DELETE FROM other.given WHERE c0 = 'd'; \
         UPDATE keyward_place SET compares = true",
    );
    assert!(stage.verify(&server).starts_with("exit 1"), "{}", stage.verify(&server));
    said(&stage.sync_with(&server, &["--once", "--accept"]));
    stage.check("SELECT c0, place FROM given", "b|7");
    stage.check("SELECT string_agg(c0, ' ' ORDER BY c0) FROM other.given", "c d");
    assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
}

#[test]
fn large_rows_are_stored_and_compared_some_at_a_time() {
    let (stage, server, mut client) =
        begun(SHOP, "SELECT 2\nHSET user:0 name N balance 1 state active");
    said(&stage.sync_once(&server));
    let name = "n".repeat(1024 * 1024);
    for id in 1..=200 {
        let key = format!("user:{id}");
        let row = ["HSET", &key, "name", &name, "balance", "1", "state", "active"];
        client.call(row).expect("a reply");
    }
    let peak = |arguments: &[&str]| {
        let peak = stage.sync_peak_kb(&server, arguments);
        assert!(peak < 500_000, "{arguments:?}: {peak} kB");
    };
    peak(&["--once"]);
    stage.check("SELECT count(*), sum(length(name)) / 1048576 FROM users", "201|200");
    stage
        .postgres
        .query("DELETE FROM users WHERE id > 0; UPDATE keyward_place SET compares = true");
    peak(&["--once"]);
    stage.check("SELECT count(*), sum(length(name)) / 1048576 FROM users", "201|200");
}
