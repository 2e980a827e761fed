//! Schemas that come into force over more rows than a tick takes: others are served
//! meanwhile, no step does much, and nobody sees a derived key that is behind.

use crate::forkless::{OPTIONS, Taken};
use crate::harness::{START_MS, TestEngine, request};
use crate::shop::{Shop, Told};
use keyward_engine::{Coverage, DueRows, Progress};

/// How many words a command may have, and all of a step.
const COMMAND_MAX: usize = 2 + 2 * 256;
const STEP_MAX: usize = 250 + COMMAND_MAX;
const USERS: usize = 3_000;

const OLD: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
[key."user:{id:uint}".fields]
plan = "free | paid"
seen = "int"

[key."users:on:{plan}"]
type = "set"
ttl = "none"
members = { of = "user:{id}" }

[key."stays:{id:uint}"]
type = "string"
ttl = "1h"
"#;

/// The old one with lifetimes, and a ranking instead of the sets.
fn new() -> String {
    let users = OLD.replacen("ttl = \"none\"", "ttl = \"1h\"", 1);
    let (users, rest) = users.split_once("[key.\"users:on").expect("the sets");
    let (_, stays) = rest.split_once("[key.\"stays").expect("what stays");
    let rank = "type = \"zset\"\nttl = \"none\"\nrank = { of = \"user:{id}\", by = \"seen\" }\n";
    format!("{users}[key.\"users:seen\"]\n{rank}[key.\"stays{stays}")
}

fn shop() -> Shop {
    let mut shop = Shop::new(1, OLD);
    for id in 0..USERS {
        let plan = ["free", "paid"][usize::from(id % 3 == 0)];
        shop.call(&format!("HSET user:{id} plan {plan} seen {id}"));
    }
    shop
}

/// Asks to apply a plan that takes a while.
fn begin(shop: &mut Shop, plan: &Told, destroyed: usize) {
    let count = destroyed.to_string();
    let words = ["KEYWARD", "SCHEMA", "APPLY", plan.id(), "DESTROY", &count];
    assert_eq!(shop.ask(&words), None);
}

#[test]
fn rows_that_are_not_concerned_are_served_and_others_are_read_until_it_is_in_force() {
    let mut shop = shop();
    let plan = shop.plan(&new());
    begin(&mut shop, &plan, USERS);
    shop.check(&[
        ("HGET user:1 plan", "$4 free"),
        ("SCARD users:on:free", ":2000"),
        ("SET stays:1 x", "+OK"),
        ("PING", "+PONG"),
        ("SELECT 1", "+OK"),
        ("SET a 1", "+OK"),
        ("SELECT 0", "+OK"),
    ]);
    let (writer, reader) = (shop.test.engine.connect(), shop.test.engine.connect());
    let (progress, _) = shop.test.send(writer, &request("HSET user:1 seen 7"));
    assert_eq!(progress, Progress::Blocked, "what is concluded about must not change");
    let (progress, _) = shop.test.send(reader, &request("SCAN 0"));
    assert_eq!(progress, Progress::Blocked, "it may see any row");
    let mut ticks = 0;
    let answer = loop {
        ticks += 1;
        assert!(shop.test.tick() || ticks > 5, "there is more to do");
        if let Some(answer) = shop.answer(shop.admin) {
            break answer;
        }
        assert_eq!(shop.call("GET stays:1"), "$1 x");
    };
    assert!(answer.starts_with("*4\r\n$8\r\ndestroys\r\n:3000\r\n"), "{answer}");
    assert!(ticks > 5, "{ticks} ticks");
    assert_eq!(shop.test.resume(writer), ":0\r\n");
    assert!(shop.test.resume(reader).starts_with("*2\r\n"));
    shop.check(&[
        ("ZSCORE users:seen 1", "$1 7"),
        ("ZCARD users:seen", ":3000"),
        ("TTL user:2999", ":3600"),
        ("EXISTS users:on:free users:on:paid", ":0"),
        ("DBSIZE", ":3002"),
    ]);
    while shop.test.tick() {}
    assert_eq!(shop.test.engine.next_deadline(), None);
}

#[test]
fn no_step_does_more_than_its_share_and_no_command_is_long() {
    let mut shop = shop();
    let plan = shop.plan(&new());
    begin(&mut shop, &plan, USERS);
    let mut done = 0;
    while shop.answer(shop.admin).is_none() {
        shop.test.effects();
        shop.test.tick();
        let effects = shop.test.effects();
        let words: usize = effects.iter().map(|effect| effect.command.args().len()).sum();
        assert!(words <= STEP_MAX, "{words} words in one step");
        let longest = effects.iter().map(|effect| effect.command.args().len()).max();
        assert!(longest.unwrap_or(0) <= COMMAND_MAX, "{longest:?} words of one command");
        done += words;
    }
    // A deadline each, and a place in the ranking.
    assert!(done >= USERS * 3 + USERS * 2, "{done} words in all");
}

#[test]
fn until_it_is_in_force_it_goes_with_its_client() {
    let mut shop = shop();
    let plan = shop.plan(&new());
    let before = shop.test.state();
    begin(&mut shop, &plan, USERS);
    let writer = shop.test.engine.connect();
    let (progress, _) = shop.test.send(writer, &request("HSET user:1 seen 7"));
    assert_eq!(progress, Progress::Blocked);
    shop.test.tick();
    shop.test.engine.disconnect(shop.admin);
    while shop.test.tick() {}
    assert_eq!(shop.test.state(), before);
    assert_eq!(shop.test.resume(writer), ":0\r\n");
    assert_eq!(shop.call("SCARD users:on:free"), ":2000");
}

#[test]
fn once_it_is_in_force_it_is_carried_to_its_end() {
    let mut shop = shop();
    let plan = shop.plan(&new());
    begin(&mut shop, &plan, USERS);
    let schema = OLD.len();
    while shop.call("KEYWARD SCHEMA SHOW").starts_with(&format!("${schema} ")) {
        shop.test.tick();
    }
    let (progress, _) = shop.test.send(shop.client, &request("HGET user:1 plan"));
    assert_eq!(progress, Progress::Blocked, "it may be on the way to its table");
    shop.test.engine.disconnect(shop.admin);
    while shop.test.tick() {}
    assert_eq!(shop.test.resume(shop.client), "$4\r\nfree\r\n");
    shop.check(&[("ZCARD users:seen", ":3000"), ("TTL user:1", ":3600")]);
}

#[test]
fn what_is_destroyed_must_be_announced_and_the_plan_stays() {
    let mut shop = shop();
    let plan = shop.plan(&new());
    let refused = shop.apply(&plan, 7);
    assert!(refused.starts_with("-SCHEMA this plan destroys 3000 rows"), "{refused}");
    shop.check(&[("HSET user:9000 plan free seen 1", ":2"), ("TTL user:1", ":-1")]);
    assert!(shop.apply(&plan, 3_001).starts_with("*4 "));
}

#[test]
fn a_kind_of_change_that_the_plan_did_not_tell_of_is_refused_by_another_name() {
    let text = "[keyspace]\nname = \"shop\"\n[key.\"a:{id}\"]\ntype = \"string\"\nttl = \"none\"\n";
    let mut shop = Shop::new(1, text);
    let hour = text.replace("none", "1h");
    let empty = shop.plan(&hour);
    shop.check(&[("SET a:1 x", "+OK"), ("SET a:2 x", "+OK")]);
    let refused = shop.apply(&empty, 0);
    let expected = "-SCHEMA rows came since that this plan did not tell of: a:{id}: 2 rows dated; \
                    if that is meant, say KEYWARD SCHEMA APPLY ";
    assert!(refused.starts_with(expected), "{refused}");
    shop.check(&[("TTL a:1", ":-1")]);
    let name = refused.rsplit(' ').next().expect("a name").to_owned();
    assert_ne!(name, empty.id());
    // More rows of a kind that was told, or none, are no other plan.
    shop.check(&[("SET a:3 x", "+OK"), ("DEL a:1", ":1")]);
    let gone = shop.await_reply(&["KEYWARD", "SCHEMA", "APPLY", empty.id()]);
    assert!(gone.starts_with("-ERR no such plan"), "{gone}");
    let applied = shop.await_reply(&["KEYWARD", "SCHEMA", "APPLY", &name]);
    assert!(applied.starts_with('*'), "{applied}");
    shop.check(&[("TTL a:2", ":3600"), ("TTL a:3", ":3600")]);
    // It is the name that a plan with these rows has.
    let mut other = Shop::new(1, text);
    other.check(&[("SET a:1 x", "+OK")]);
    assert_eq!(other.plan(&hour).id(), name);
    other.check(&[("DEL a:1", ":1")]);
    let made = other.await_reply(&["KEYWARD", "SCHEMA", "APPLY", &name]);
    assert!(made.starts_with('*'), "fewer kinds than were told: {made}");
}

#[test]
fn rows_that_fall_due_meanwhile_go_when_it_is_done() {
    let mut shop = shop();
    let plan = shop.plan(&new());
    assert!(shop.apply(&plan, 3_000).starts_with("*4 "));
    let plan = shop.plan(&new().replace("paid\"\n", "paid | gold\"\n"));
    begin(&mut shop, &plan, 0);
    shop.test.set_time(START_MS + 3_600_001);
    let (progress, _) = shop.test.send(shop.client, &request("ZCARD users:seen"));
    assert_eq!(progress, Progress::Blocked);
    while shop.answer(shop.admin).is_none() {
        shop.test.tick();
    }
    // So many rows that are due it does not remove by itself, but waits for.
    let mut reply = shop.test.resume(shop.client);
    while reply.is_empty() {
        shop.test.tick();
        reply = shop.test.resume(shop.client);
    }
    assert_eq!(reply, ":0\r\n");
    assert_eq!(shop.call("DBSIZE"), ":0");
}

#[test]
fn a_snapshot_that_is_being_taken_is_over_first() {
    let mut shop = shop();
    let plan = shop.plan(&new());
    let mut taken = Taken::begin(&mut shop.test);
    begin(&mut shop, &plan, USERS);
    assert!(!shop.test.tick(), "there is nothing to do but to wait");
    shop.check(&[("HSET user:1 seen 7", ":0")]);
    while !taken.step(&mut shop.test) {}
    while shop.answer(shop.admin).is_none() {
        assert!(shop.test.tick() || shop.test.engine.next_deadline().is_none());
    }
    shop.check(&[("ZSCORE users:seen 1", "$1 7")]);
}

/// Patterns that take over what had none: each row comes to another table.
#[test]
fn a_snapshot_that_begins_while_rows_move_has_them_all() {
    let none = "[keyspace]\nname = \"x\"\nunknown = \"allow\"\n[key.x]\ntype = \"int\"\n";
    let mut plain = Shop::new(1, none);
    for id in 0..USERS {
        plain.call(&format!("HSET user:{id} plan free seen {id}"));
    }
    let plan = plain.plan(OLD);
    begin(&mut plain, &plan, 0);
    while !plain.call("KEYWARD SCHEMA SHOW").contains("users:on") {
        plain.test.tick();
        assert_eq!(plain.answer(plain.admin), None);
    }
    let mut taken = Taken::begin(&mut plain.test);
    while !taken.step(&mut plain.test) {}
    let file = taken.end();
    let mut loaded = Shop::new(2, OLD);
    loaded.test.engine.load(&mut loaded.test.host, &mut file.as_slice()).expect("a sound file");
    loaded.check(&[("SCARD users:on:free", ":3000"), ("HGET user:2999 seen", "$4 2999")]);
    while plain.answer(plain.admin).is_none() {
        plain.test.tick();
    }
    plain.check(&[("SCARD users:on:free", ":3000"), ("DBSIZE", ":3001")]);
}

/// What clients wait for is not served past those who are held.
#[test]
fn a_wait_that_would_end_in_a_concerned_row_goes_on() {
    let lists = "[key.\"list:{id}\"]\ntype = \"list\"\nttl = \"none\"\n\
                 [key.\"from:{id}\"]\ntype = \"list\"\nttl = \"none\"\n";
    let mut shop = Shop::new(1, &format!("{OLD}{lists}"));
    (0..USERS).for_each(|id| drop(shop.call(&format!("RPUSH list:{id} a"))));
    let waiting = shop.test.engine.connect();
    let wait = "BLMOVE from:1 list:1 LEFT RIGHT 0";
    assert_eq!(shop.test.send(waiting, &request(wait)).0, Progress::Blocked);
    let lists = lists.replacen("\"none\"", "\"1h\"", 1);
    let plan = shop.plan(&format!("{OLD}{lists}"));
    begin(&mut shop, &plan, 0);
    assert_eq!(shop.call("RPUSH from:1 b"), ":1");
    assert_eq!(shop.answer(waiting), None);
    let mut moved = None;
    while shop.test.tick() || moved.is_none() {
        moved = moved.or(shop.answer(waiting));
    }
    assert_eq!(moved.as_deref(), Some("$1\r\nb\r\n"));
    shop.check(&[("LLEN list:1", ":2"), ("TTL list:1", ":3600"), ("LLEN from:1", ":0")]);
}

#[test]
fn loaded_rows_are_made_what_the_schema_says_in_steps() {
    let mut plain = TestEngine::new(1);
    let client = plain.engine.connect();
    for id in 0..USERS {
        plain.call(client, &format!("HSET user:{id} plan free seen {id}"));
    }
    let file = plain.engine.snapshot().write_to(Vec::new(), OPTIONS).expect("memory takes it");
    let mut shop = Shop::new(2, &new());
    let TestEngine { engine, host, .. } = &mut shop.test;
    engine.begin_loading();
    let rows = engine.open_snapshot(file.as_slice(), Coverage::Whole, DueRows::Dropped);
    let mut rows = rows.expect("a sound file");
    while engine.load_rows(host, &mut rows, 1_000).expect("a sound file") {}
    let mut settling = engine.begin_settling(false);
    let mut steps = 0;
    while engine.settle_rows(host, &mut settling, 100).expect("nothing is asked") {
        steps += 1;
    }
    // Each row is met, judged, related, dated and ranked.
    assert!(steps >= USERS / 100 * 5, "{steps} steps");
    engine.end_loading(host, keyward_engine::Loaded::default());
    assert!(shop.test.effects().is_empty(), "loading is not logged");
    shop.check(&[("ZCARD users:seen", ":3000"), ("TTL user:2999", ":3600")]);
}
