//! Plans over more rows than a tick meets: others are served meanwhile, and what they
//! change counts.

use crate::harness::START_MS;
use crate::shop::{Shop, Told};
use keyward_engine::Random;

const OLD: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"

[key."user:{id:uint}"]
type = "hash"
ttl = "none"
extra = "allow"

[key."note:{id:uint}"]
type = "string"

[key."mark:{id:uint}"]
type = "string"

[key."stays:{id:uint}"]
type = "string"
ttl = "1h"

[key."follows:{id:uint}"]
type = "set"
ttl = "none"
items = "uint"

[key."recent"]
type = "zset"
ttl = "none"
items = "uint"
"#;

/// The same keys with everything that can be derived from them.
const NEW: &str = r#"
[keyspace]
name = "shop"
unknown = "allow"

[key."user:{id:uint}"]
type = "hash"
ttl = "2h"
[key."user:{id:uint}".fields]
email = "str"
plan = "free | paid"
seen = "int?"

[key."users:by_email:{email}"]
type = "string"
ttl = "none"
lookup = { of = "user:{id}", field = "email" }

[key."users:on:{plan}"]
type = "set"
ttl = "none"
members = { of = "user:{id}" }

[key."users:seen"]
type = "zset"
ttl = "none"
rank = { of = "user:{id}", by = "seen" }

[key."note:{id:uint}"]
type = "string"
ttl = { with = "user:{id}" }

[key."mark:{id:uint}"]
type = "string"
ttl = { with = "note:{id}" }

[key."stays:{id:uint}"]
type = "string"
ttl = "1h"

[key."follows:{id:uint}"]
type = "set"
ttl = "none"
items = "uint"

[key."followed:{id:uint}"]
type = "set"
ttl = "none"
items = "uint"
inverse = "follows:{member}"

[key."recent"]
type = "zset"
ttl = "none"
items = "uint"
follows = "user:{member}"
"#;

/// Asks for a plan of the new schema; returns it if it came at once.
fn ask(shop: &mut Shop) -> Option<Told> {
    shop.ask(&["KEYWARD", "SCHEMA", "PLAN", NEW]).map(Told)
}

/// All rows, in the order of their keys, without when they were used.
fn rows(shop: &mut Shop) -> Vec<String> {
    let client = shop.client;
    let keys = shop.test.call(client, "KEYS *");
    let mut keys: Vec<&str> = keys.lines().filter(|line| !line.starts_with(['*', '$'])).collect();
    keys.sort_unstable();
    let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
    let row = |key: String| {
        let test = &mut shop.test;
        let read = match test.call(client, &format!("TYPE {key}")).trim_end() {
            "+string" => format!("GET {key}"),
            "+hash" => format!("HGETALL {key}"),
            "+set" => format!("SORT {key} ALPHA"),
            "+zset" => format!("ZRANGE {key} 0 -1 WITHSCORES"),
            other => panic!("{key}: {other}"),
        };
        let end = test.call(client, &format!("PEXPIRETIME {key}"));
        let held = test.call(client, &read).replace("\r\n", " ");
        format!("{key} until {} holds {held}", end.trim_end())
    };
    keys.into_iter().map(row).collect()
}

/// A write that the old schema admits; some of what it leaves does not fit the new one.
fn any_write(random: &mut Random, ids: u64) -> String {
    let (id, other) = (random.below(ids), random.below(ids));
    let plan = ["free", "paid", "gold"][random.below(3) as usize];
    match random.below(16) {
        0..=4 => format!("HSET user:{id} email {other}@x plan {plan} seen {other}"),
        5 => format!("HDEL user:{id} {}", ["seen", "plan"][random.below(2) as usize]),
        6 => format!("DEL user:{id}"),
        7 => format!("RENAME user:{id} user:{other}"),
        8 => format!("SET note:{id} x"),
        9 => format!("SET mark:{id} x EX 60"),
        10 => format!("DEL note:{id} mark:{other}"),
        11 => format!("SADD follows:{id} {other} {}", random.below(ids)),
        12 => format!("DEL follows:{id}"),
        13 => format!("ZADD recent {other} {id}"),
        14 => format!("SET stays:{id} x"),
        // What was no derived key before may stand where one will be.
        _ => format!("SADD users:on:{plan} {id}"),
    }
}

/// What a plan says that is made in steps while rows change, and what applying it
/// does, is what one does that is made at once when all is over.
#[test]
fn a_plan_that_rows_change_under_comes_to_the_same() {
    for seed in 0..3 {
        let mut random = Random::from_seed(seed);
        let ids = 2000;
        let before: Vec<String> = (0..8000).map(|_| any_write(&mut random, ids)).collect();
        let meanwhile: Vec<String> = (0..600).map(|_| any_write(&mut random, ids)).collect();
        let (mut slow, mut fast) = (Shop::new(seed, OLD), Shop::new(seed, OLD));
        for command in &before {
            slow.call(command);
            fast.call(command);
        }
        assert!(ask(&mut slow).is_none(), "there are more rows than a tick meets");
        let (mut ticks, mut reply) = (0, None);
        for command in &meanwhile {
            slow.call(command);
            fast.call(command);
            if reply.is_none() && random.below(60) == 0 {
                ticks += 1;
                slow.test.tick();
                reply = slow.answer(slow.admin);
            }
        }
        while reply.is_none() {
            ticks += 1;
            slow.test.tick();
            reply = slow.answer(slow.admin);
        }
        assert!(ticks > 1, "{ticks} ticks");
        assert!(ask(&mut fast).is_none());
        let at_once = std::iter::repeat_with(|| {
            fast.test.tick();
            fast.answer(fast.admin)
        });
        let at_once = at_once.flatten().next().expect("it is repeated until there is one");
        let said = [
            slow.apply_whatever(&Told(reply.expect("it came"))),
            fast.apply_whatever(&Told(at_once)),
        ];
        let figures = |said: &str| -> Vec<String> {
            let words: Vec<&str> = said.split(' ').filter(|word| !word.starts_with('$')).collect();
            let pairs = words.windows(2).filter(|pair| pair[0] != "moved");
            pairs.filter(|pair| pair[1].starts_with(':')).map(|pair| pair.join(" ")).collect()
        };
        assert!(said[0].starts_with("*4 "), "{}", said[0]);
        assert_eq!(figures(&said[0]), figures(&said[1]), "seed {seed}");
        assert_eq!(rows(&mut slow), rows(&mut fast), "seed {seed}");
        assert!(slow.call("KEYS users:*").split(' ').count() > 3, "something was built");
    }
}

fn many_users(shop: &mut Shop) {
    for id in 0..3000 {
        shop.call(&format!("HSET user:{id} email {id}@x plan free"));
    }
}

#[test]
fn who_asks_for_a_plan_waits_and_others_are_served() {
    let mut shop = Shop::new(1, OLD);
    many_users(&mut shop);
    assert!(ask(&mut shop).is_none());
    assert_eq!(shop.call("GET none"), "$-1");
    let refused = shop.call("KEYWARD SCHEMA PLAN x");
    assert_eq!(refused, "-ERR another schema is being planned; try again later");
    assert!(shop.test.tick(), "there is more to do");
    assert_eq!(shop.test.engine.next_deadline(), Some(START_MS));
    while shop.test.tick() {}
    let reply = shop.answer(shop.admin).expect("the plan is made");
    assert!(reply.starts_with("*8\r\n$4\r\nplan\r\n"), "{reply}");
    assert_eq!(shop.test.engine.next_deadline(), None);
    assert!(shop.apply_whatever(&Told(reply)).starts_with("*4 "));
    assert_eq!(shop.call("SCARD users:on:free"), ":3000");
}

/// The replies of a plan and of applying it were written in one go, however many patterns
/// they tell of.
#[test]
fn the_reply_about_thousands_of_patterns_is_written_in_steps() {
    let many = |kind: &str| {
        let key = |n: usize| {
            format!("[key.\"k{n}:{{id:uint}}\"]\ntype = \"string\"\nvalue = \"{kind}\"\n")
        };
        "[keyspace]\nname = \"shop\"\n".to_owned() + &(0..2000).map(key).collect::<String>()
    };
    let mut shop = Shop::new(1, &many("str"));
    let ticks = |shop: &mut Shop, words: &[&str]| {
        let (mut count, mut reply) = (0, shop.ask(words));
        while reply.is_none() {
            shop.test.tick();
            count += 1;
            reply = shop.answer(shop.admin);
        }
        (count, reply.unwrap_or_default())
    };
    let (count, plan) = ticks(&mut shop, &["KEYWARD", "SCHEMA", "PLAN", &many("uint")]);
    // All tables are met, fifty a tick; what is beyond that is the reply.
    assert!(count >= 2000 / 50 + 5, "{count} ticks");
    assert_eq!(plan.matches("$7\r\npattern\r\n").count(), 2001);
    let plan = Told(plan);
    let (count, told) = ticks(&mut shop, &["KEYWARD", "SCHEMA", "APPLY", plan.id()]);
    assert!(count >= 5, "{count} ticks");
    assert!(told.starts_with("*4\r\n$8\r\ndestroys\r\n:0\r\n$8\r\npatterns\r\n*2001\r\n"));
    assert!(plan.0.ends_with(&told["*4\r\n".len()..]), "applying does what was planned");
    assert_eq!(shop.call("KEYWARD SCHEMA").matches("\"uint\"").count(), 2000);
}

#[test]
fn a_plan_whose_client_goes_is_given_up() {
    let mut shop = Shop::new(1, OLD);
    many_users(&mut shop);
    assert!(ask(&mut shop).is_none());
    shop.test.engine.disconnect(shop.admin);
    while shop.test.tick() {}
    let none = "-ERR no such plan of this database; KEYWARD SCHEMA PLAN makes one";
    assert_eq!(shop.call("KEYWARD SCHEMA APPLY x"), none);
    assert_eq!(shop.test.engine.next_deadline(), None);
}

#[test]
fn a_plan_is_void_once_the_rows_are_exchanged_and_after_an_hour() {
    let mut shop = Shop::new(1, OLD);
    many_users(&mut shop);
    assert!(ask(&mut shop).is_none());
    shop.call("FLUSHDB");
    while shop.test.tick() {}
    let void = "-ERR the rows were emptied, swapped or loaded since this plan was begun; make \
                another one\r\n";
    assert_eq!(shop.answer(shop.admin).as_deref(), Some(void));
    let reply = ask(&mut shop).expect("there are no rows to meet");
    shop.call("FLUSHALL");
    assert_eq!(shop.apply(&reply, 0), void.trim_end());
    let reply = ask(&mut shop).expect("there are no rows to meet");
    shop.test.set_time(START_MS + 3_600_001);
    shop.test.tick();
    let none = "-ERR no such plan of this database; KEYWARD SCHEMA PLAN makes one";
    assert_eq!(shop.apply(&reply, 0), none);
}

#[test]
fn what_a_change_does_not_concern_is_not_met() {
    let mut shop = Shop::new(1, OLD);
    many_users(&mut shop);
    let same = OLD.replace("ttl = \"1h\"", "ttl = \"2h\"");
    let reply = shop.ask(&["KEYWARD", "SCHEMA", "PLAN", &same]);
    let reply = Told(reply.expect("users are not met"));
    assert!(reply.0.contains("user:{id:uint}\r\n$4\r\nkeys\r\n:3000\r\n"), "{}", reply.0);
    assert!(shop.apply(&reply, 0).starts_with("*4 "));
    shop.check(&[
        ("HGET user:2999 plan", "$4 free"),
        ("DBSIZE", ":3000"),
        ("SET stays:1 x EX 7200", "+OK"),
    ]);
}
