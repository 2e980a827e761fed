//! Foreign keys and unique columns of the database's own: rows are stored as they are now, and
//! their changes come one batch after the other.

use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyward_resp::Frame;
use keyward_testkit::{Client, Server};

use crate::stage::{Stage, begun, call_all, said};

const SHOP: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:int}"]
type   = "hash"
ttl    = "none"
fields = { email = "string", n = "int?" }
sink   = { mirror = "users" }

[key."pass:{id}"]
type   = "hash"
ttl    = "none"
fields = { owner = "int", n = "int?" }
sink   = { mirror = "passes" }

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
sink  = { drain = "queue", columns = { item = { type = "varchar(5)" } } }
"#;

const OWNER: &str = "ALTER TABLE passes ADD FOREIGN KEY (owner) REFERENCES users (id)";
const EMAIL: &str = "ALTER TABLE users ADD UNIQUE (email)";

/// How a constraint is judged.
const TIMES: [&str; 3] = ["", "DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED"];

/// Changes of other users, more than one batch has. Each unit ends a millisecond, so that a batch
/// may end between any two of them.
fn others(client: &mut Client, count: usize) {
    client.call(["PING"]).expect("a reply");
    std::thread::sleep(Duration::from_millis(5));
    for id in 0..count {
        let (key, email) = (format!("user:{}", 1_000 + id), format!("e{id}"));
        let reply = client.call(["HSET", &key, "email", &email]).expect("a reply");
        assert!(matches!(reply, Frame::Integer(_)), "{reply:?}");
    }
    std::thread::sleep(Duration::from_millis(5));
}

/// A stage whose tables have a constraint, and whose server has stored these commands.
fn stored(constraint: &str, commands: &str) -> (Stage, Server, Client) {
    let (stage, server, client) = begun(SHOP, commands);
    stage.postgres.query(constraint);
    said(&stage.sync_once(&server));
    (stage, server, client)
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_row_may_refer_to_one_that_comes_in_a_later_batch() {
    for time in TIMES {
        let begin = "HSET user:1 email a\nHSET pass:x owner 1";
        let (stage, server, mut client) = stored(&format!("{OWNER} {time}"), begin);
        call_all(&mut client, "HSET pass:x n 1");
        others(&mut client, 700);
        call_all(&mut client, "HSET user:2 email b\nHSET pass:x owner 2\nDEL user:1");
        let told = said(&stage.sync_once(&server));
        // The pass and the first user are counted with their last change.
        assert!(told.contains("704 changes stored as 702 rows"), "{told}");
        stage.check("SELECT count(*) FROM users", "701");
        stage.check("SELECT owner FROM passes", "2");
        assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
    }
}

#[test]
fn a_row_goes_though_what_referred_to_it_changes_in_a_later_batch() {
    for time in TIMES {
        let begin = "HSET user:1 email a\nHSET pass:x owner 1";
        let (stage, server, mut client) = stored(&format!("{OWNER} {time}"), begin);
        call_all(&mut client, "HSET user:1 n 1");
        others(&mut client, 700);
        call_all(&mut client, "HSET user:2 email b\nHSET pass:x owner 2\nDEL user:1");
        said(&stage.sync_once(&server));
        stage.check("SELECT count(*) FROM users WHERE id < 9", "1");
        stage.check("SELECT owner FROM passes", "2");
    }
}

#[test]
fn an_item_may_refer_to_a_row_that_comes_later() {
    let foreign = "ALTER TABLE tx ADD FOREIGN KEY (\"user\") REFERENCES users (id)";
    let (stage, server, mut client) = stored(foreign, "HSET user:1 email a");
    call_all(&mut client, r#"RPUSH tx:7 '{"id":"t1"}'"#);
    others(&mut client, 700);
    call_all(&mut client, "HSET user:7 email b");
    said(&stage.sync_once(&server));
    stage.check("SELECT \"user\", id FROM tx", "7|t1");
}

#[test]
fn a_unique_value_goes_from_row_to_row_in_any_order() {
    for time in TIMES {
        let begin: String = (1..=9).map(|id| format!("HSET user:{id} email {id}\n")).collect();
        let (stage, server, mut client) = stored(&format!("{EMAIL} {time}"), &begin);
        // The first to change takes what the last one leaves, a batch later.
        call_all(&mut client, "HSET user:2 n 1");
        others(&mut client, 700);
        call_all(&mut client, "HSET user:1 email z\nHSET user:2 email 1");
        said(&stage.sync_once(&server));
        stage.check("SELECT string_agg(email, ' ' ORDER BY id) FROM users WHERE id < 3", "z 1");
        // A chain through many of them, up and down, in one batch.
        for id in 2..=9 {
            let email = if id == 2 { "y".to_owned() } else { format!("{}", id - 1) };
            let email = if email == "2" { "1".to_owned() } else { email };
            call_all(&mut client, &format!("HSET user:{id} email {email}"));
        }
        said(&stage.sync_once(&server));
        let emails = "SELECT string_agg(email, ' ' ORDER BY id) FROM users WHERE id < 10";
        stage.check(emails, "z y 1 3 4 5 6 7 8");
        call_all(&mut client, "HSET user:9 email x");
        for id in (2..=8).rev() {
            let next =
                stage.postgres.query(&format!("SELECT email FROM users WHERE id = {}", id + 1));
            call_all(&mut client, &format!("HSET user:{id} email {next}"));
        }
        said(&stage.sync_once(&server));
        stage.check(emails, "z 1 3 4 5 6 7 8 x");
    }
}

#[test]
fn a_refused_item_does_not_change_what_becomes_of_rows_beside_it() {
    let (stage, server, mut client) = stored(OWNER, "HSET user:1 email a");
    call_all(
        &mut client,
        "HSET user:40 email p\nHSET pass:y owner 40\nHSET user:40 n 1\nRPUSH queue too-long-for-it",
    );
    said(&stage.sync_once(&server));
    stage.check("SELECT owner FROM passes", "40");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "1");
}

#[test]
fn tables_may_be_declared_in_any_order() {
    let (users, rest) = SHOP.split_once("[key.\"pass").expect("two parts");
    let (passes, rest) = rest.split_once("[key.\"tx").expect("two parts");
    let (head, users) = users.split_once("[key.\"user").expect("two parts");
    let turned = format!("{head}[key.\"pass{passes}[key.\"user{users}[key.\"tx{rest}");
    let (stage, server, mut client) = begun(&turned, "HSET user:1 email a");
    stage.postgres.query(OWNER);
    said(&stage.sync_once(&server));
    for id in 2..300 {
        call_all(&mut client, &format!("HSET user:{id} email {id}\nHSET pass:{id} owner {id}"));
    }
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM passes", "298");
    // Also where they are compared.
    stage.postgres.query("DELETE FROM passes; UPDATE keyward_place SET compares = true");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM passes", "298");
    call_all(&mut client, "DEL user:2 pass:2");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM users", "298");
}

#[test]
fn what_a_constraint_refuses_for_good_is_named_and_all_of_it_stored_when_it_can() {
    let (stage, server, mut client) = stored(OWNER, "HSET user:1 email a");
    call_all(&mut client, "HSET user:2 email b\nHSET pass:x owner 99");
    others(&mut client, 700);
    let output = stage.sync_once(&server);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("passes: the row of pass:x (entry "), "{}", told(&output));
    assert!(told(&output).contains("passes_owner_fkey"), "{}", told(&output));
    stage.check("SELECT count(*) FROM users", "1");
    call_all(&mut client, "HSET user:99 email c");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM users", "703");
}

#[test]
fn what_is_refused_for_good_is_told_while_others_go_on_writing() {
    let (stage, server, mut client) = stored(OWNER, "HSET user:1 email a");
    call_all(&mut client, "HSET pass:x owner 99");
    let (is_over, mut writer) = (AtomicBool::new(false), server.client());
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                call_all(&mut writer, "RPUSH queue x");
            }
        });
        let output = stage.sync_once(&server);
        is_over.store(true, Ordering::Relaxed);
        output
    });
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("passes: the row of pass:x (entry "), "{}", told(&output));
}

#[test]
fn a_comparison_meets_unique_values_and_rows_that_refer_to_others() {
    for time in TIMES {
        let begin: String = (1..=300).map(|id| format!("HSET user:{id} email e{id}\n")).collect();
        let constraints = format!("{EMAIL} {time}; {OWNER} {time}");
        let begin = format!("{begin}HSET pass:x owner 9");
        let (stage, server, mut client) = stored(&constraints, &begin);
        // What one gives up another takes, and a pass goes from one that goes to a new one; nobody
        // is told.
        call_all(
            &mut client,
            "DEL user:5\nHSET user:6 email e5\nHSET user:7 email f\nHSET user:8 email e7\n\
             HSET user:900 email e6\nHSET pass:x owner 900\nDEL user:9\n\
             XTRIM keyward:changefeed:shop MINID = 99999999999999",
        );
        let output = stage.sync_once(&server);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        let told = said(&stage.sync_with(&server, &["--once", "--accept"]));
        assert!(told.contains("mirrored rows were compared: 5 stored, 2 taken away"), "{told}");
        stage.check(
            "SELECT string_agg(email, ' ' ORDER BY id) FROM users WHERE id < 9",
            "e1 e2 e3 e4 e5 f e7",
        );
        stage.check("SELECT owner FROM passes", "900");
        assert!(stage.verify(&server).starts_with("exit 0"), "{}", stage.verify(&server));
    }
}

#[test]
fn a_refused_item_of_many_costs_few_statements() {
    let (stage, server, mut client) = begun(SHOP, "HSET user:1 email a");
    said(&stage.sync_once(&server));
    stage.postgres.query(
        "CREATE SEQUENCE statements; \
         CREATE FUNCTION count_them() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM nextval('statements'); RETURN NULL; END $$; \
         CREATE TRIGGER count_them BEFORE INSERT ON queue EXECUTE FUNCTION count_them()",
    );
    let items: Vec<String> = (0..2_000).map(|id| format!("i{id}")).collect();
    let mut words = vec!["RPUSH".to_owned(), "queue".to_owned()];
    words.extend(items);
    words[1_000] = "much-too-long".to_owned();
    client.call(words.iter().map(String::as_str)).expect("a reply");
    said(&stage.sync_once(&server));
    stage.check("SELECT count(*) FROM queue", "1999");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "1");
    let statements: usize =
        stage.postgres.query("SELECT last_value FROM statements").parse().expect("a number");
    // All of it at once, and then halves of it down to the one: no fewer can find it.
    assert!((12..40).contains(&statements), "{statements}");
    // In their order all the same.
    let mut expected = words.split_off(2);
    expected.remove(998);
    stage.check(
        "SELECT string_agg(item, ' ' ORDER BY (string_to_array(entry, '-'))[1:3]::numeric[]) \
         FROM queue",
        &expected.join(" "),
    );
}
