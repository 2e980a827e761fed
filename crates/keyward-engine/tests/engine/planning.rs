//! Plans over more rows than a tick meets: others are served meanwhile, and what they
//! change counts.

use crate::harness::{START_MS, TestEngine, request};
use keyward_engine::{ClientId, Delivery, Progress, Random};
use keyward_resp::push_request;

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

struct Shop {
    test: TestEngine,
    admin: ClientId,
    client: ClientId,
}

impl Shop {
    fn new(seed: u64) -> Shop {
        let mut test = TestEngine::governed(seed, OLD);
        let (admin, client) = (test.engine.connect(), test.engine.connect());
        Shop { test, admin, client }
    }

    fn call(&mut self, command: &str) -> String {
        self.test.call(self.client, command)
    }

    /// Asks for a plan; answers the reply if it came at once.
    fn ask(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        push_request(&mut bytes, ["KEYWARD", "SCHEMA", "PLAN", NEW].iter());
        let (progress, reply) = self.test.send(self.admin, &bytes);
        match progress {
            Progress::Blocked => None,
            _ => Some(String::from_utf8(reply).expect("tests use text")),
        }
    }

    /// What came for the admin since the last call.
    fn answer(&mut self) -> Option<String> {
        let deliveries = self.test.deliveries();
        deliveries.into_iter().find_map(|delivery| match delivery {
            Delivery::Output(to, bytes) if to == self.admin => {
                Some(String::from_utf8(bytes.to_vec()).expect("tests use text"))
            }
            _ => None,
        })
    }

    /// Applies a plan, whatever it destroys; answers the reply.
    fn apply(&mut self, reply: &str) -> String {
        let id = reply.lines().nth(4).expect("a plan has a name").to_owned();
        let said = self.test.call(self.admin, &format!("KEYWARD SCHEMA APPLY {id}"));
        match said.split_once("say DESTROY ") {
            None => said,
            Some((_, count)) => {
                let count = count.trim_end();
                self.test.call(self.admin, &format!("KEYWARD SCHEMA APPLY {id} DESTROY {count}"))
            }
        }
    }

    /// All rows, in the order of their keys, without when they were used.
    fn rows(&mut self) -> Vec<String> {
        let client = self.client;
        let keys = self.test.call(client, "KEYS *");
        let mut keys: Vec<&str> =
            keys.lines().filter(|line| !line.starts_with(['*', '$'])).collect();
        keys.sort_unstable();
        let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
        let row = |key: String| {
            let test = &mut self.test;
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
        let (mut slow, mut fast) = (Shop::new(seed), Shop::new(seed));
        for command in &before {
            slow.call(command);
            fast.call(command);
        }
        assert!(slow.ask().is_none(), "there are more rows than a tick meets");
        let (mut ticks, mut reply) = (0, None);
        for command in &meanwhile {
            slow.call(command);
            fast.call(command);
            if reply.is_none() && random.below(60) == 0 {
                ticks += 1;
                slow.test.tick();
                reply = slow.answer();
            }
        }
        while reply.is_none() {
            ticks += 1;
            slow.test.tick();
            reply = slow.answer();
        }
        assert!(ticks > 1, "{ticks} ticks");
        assert!(fast.ask().is_none());
        let at_once = std::iter::repeat_with(|| {
            fast.test.tick();
            fast.answer()
        });
        let at_once = at_once.flatten().next().expect("it is repeated until there is one");
        let said = [slow.apply(&reply.expect("it came")), fast.apply(&at_once)];
        let figures = |said: &str| -> Vec<String> {
            let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with('$')).collect();
            let pairs = lines.windows(2).filter(|pair| pair[0] != "moved");
            pairs.filter(|pair| pair[1].starts_with(':')).map(|pair| pair.join(" ")).collect()
        };
        assert!(said[0].starts_with("*4\r\n"), "{}", said[0]);
        assert_eq!(figures(&said[0]), figures(&said[1]), "seed {seed}");
        assert_eq!(slow.rows(), fast.rows(), "seed {seed}");
        assert!(slow.call("KEYS users:*").lines().count() > 3, "something was built");
    }
}

fn many_users(shop: &mut Shop) {
    for id in 0..3000 {
        shop.call(&format!("HSET user:{id} email {id}@x plan free"));
    }
}

#[test]
fn who_asks_for_a_plan_waits_and_others_are_served() {
    let mut shop = Shop::new(1);
    many_users(&mut shop);
    assert!(shop.ask().is_none());
    assert_eq!(shop.call("GET none"), "$-1\r\n");
    let refused = shop.call("KEYWARD SCHEMA PLAN x");
    assert_eq!(refused, "-ERR another schema is being planned; try again later\r\n");
    assert!(shop.test.tick(), "there is more to do");
    assert_eq!(shop.test.engine.next_deadline(), Some(START_MS));
    while shop.test.tick() {}
    let reply = shop.answer().expect("the plan is made");
    assert!(reply.starts_with("*8\r\n$4\r\nplan\r\n"), "{reply}");
    assert_eq!(shop.test.engine.next_deadline(), None);
    assert!(shop.apply(&reply).starts_with("*4\r\n"));
    assert_eq!(shop.call("SCARD users:on:free"), ":3000\r\n");
}

#[test]
fn a_plan_whose_client_goes_is_given_up() {
    let mut shop = Shop::new(1);
    many_users(&mut shop);
    assert!(shop.ask().is_none());
    shop.test.engine.disconnect(shop.admin);
    assert!(!shop.test.tick(), "nobody waits");
    assert_eq!(shop.test.engine.next_deadline(), None);
}

#[test]
fn a_plan_is_void_once_the_rows_are_exchanged_and_after_an_hour() {
    let mut shop = Shop::new(1);
    many_users(&mut shop);
    assert!(shop.ask().is_none());
    shop.call("FLUSHDB");
    while shop.test.tick() {}
    let void = "-ERR the rows were emptied, swapped or loaded since this plan was begun; make \
                another one\r\n";
    assert_eq!(shop.answer().as_deref(), Some(void));
    let reply = shop.ask().expect("there are no rows to meet");
    shop.call("FLUSHALL");
    assert_eq!(shop.apply(&reply), void);
    let reply = shop.ask().expect("there are no rows to meet");
    shop.test.set_time(START_MS + 3_600_001);
    shop.test.tick();
    let none = "-ERR no such plan of this database; KEYWARD SCHEMA PLAN makes one\r\n";
    assert_eq!(shop.apply(&reply), none);
}

#[test]
fn what_a_change_does_not_concern_is_not_met() {
    let mut shop = Shop::new(1);
    many_users(&mut shop);
    let same = OLD.replace("ttl = \"1h\"", "ttl = \"2h\"");
    let mut bytes = Vec::new();
    push_request(&mut bytes, ["KEYWARD", "SCHEMA", "PLAN", &same].iter());
    let (progress, reply) = shop.test.send(shop.admin, &bytes);
    assert_eq!(progress, Progress::Done, "users are not met");
    let reply = String::from_utf8(reply).expect("tests use text");
    assert!(reply.contains("user:{id:uint}\r\n$4\r\nkeys\r\n:3000\r\n"), "{reply}");
    assert!(shop.apply(&reply).starts_with("*4\r\n"));
    assert_eq!(shop.call("HGET user:2999 plan"), "$4\r\nfree\r\n");
    assert_eq!(shop.call("DBSIZE"), ":3000\r\n");
    let (_, reply) = shop.test.send(shop.client, &request("SET stays:1 x EX 7200"));
    assert_eq!(reply, b"+OK\r\n");
}
