//! Eviction by meaning: which rows go is what the schema says of their patterns.

use crate::harness::{START_MS, TestEngine};
use keyward_engine::{ClientId, MemoryLimit, NotifyFlags, Policy, Tunables};

const SCHEMA: &str = r#"
[keyspace]
name    = "shop"
unknown = "allow"

[key."recent:{id:uint}"]
type  = "string"
ttl   = "1h"
evict = "lru"

[key."often:{id:uint}"]
type  = "string"
ttl   = "1h"
evict = "lfu"

[key."soon:{id:uint}"]
type  = "string"
ttl   = { given = true, min = "1s", max = "1d" }
evict = "ttl"

[key."unsaid:{id:uint}"]
type = "string"
ttl  = "1h"

[key."paid:{id:uint}"]
type = "string"
ttl  = "none"

[key."kept:{id:uint}"]
type  = "string"
ttl   = "1h"
evict = "never"
"#;

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
/// What a keyspace says that is full by its own limit.
const FULL: &str = "-OOM command not allowed when used memory > 'max_memory' of the keyspace \
                    bounded (262144 bytes).\r\n";
/// What memory is in use while it is short: so much that what is on its way to the log and
/// to listeners does not matter.
const SHORT: u64 = 1 << 40;

/// An engine under a schema whose server has a limit, and a client.
fn limited(schema: &str, policy: &str) -> (TestEngine, ClientId) {
    let mut test = TestEngine::governed(1, schema);
    let policy = Policy::by_name(policy);
    let memory = MemoryLimit { bytes_max: 1, policy, ..MemoryLimit::default() };
    test.engine.set_tunables(Tunables { memory, ..Tunables::default() });
    let client = test.engine.connect();
    (test, client)
}

/// So many rows have to go before the next command, which does nothing; returns what
/// is logged of it.
fn evict(test: &mut TestEngine, client: ClientId, rows: usize) -> Vec<String> {
    test.effects();
    // What can be packed would be before anything goes.
    test.rest();
    test.host.used_memory = std::iter::repeat_n(SHORT, rows).collect();
    test.call(client, "PING");
    test.host.used_memory.clear();
    test.effect_lines()
}

fn figure(test: &mut TestEngine, client: ClientId, pattern: &str, name: &str) -> u64 {
    let stats = test.call(client, &format!("KEYWARD STATS {pattern}"));
    let (_, figure) = stats.split_once(&format!("{name}\r\n:")).expect("there is the figure");
    figure.split('\r').next().and_then(|figure| figure.parse().ok()).expect("a number")
}

#[test]
fn each_pattern_loses_rows_by_its_own_order_whatever_the_policy() {
    for policy in ["noeviction", "allkeys-random", "volatile-ttl"] {
        let (mut test, client) = limited(SCHEMA, policy);
        for id in 0..4 {
            test.call(client, &format!("SET recent:{id} x"));
            test.call(client, &format!("SET often:{id} x"));
            test.call(client, &format!("SET soon:{id} x EX {}", 1000 - id));
        }
        for second in 1..=300 {
            test.set_time(START_MS + second * 1000);
            // The last one is used most recently, and the first most often.
            test.call(client, "GET often:0");
            test.call(client, &format!("GET recent:{}", second % 3 + 1));
        }
        let gone = evict(&mut test, client, 9);
        assert_eq!(gone.len(), 9, "{policy}: {gone:?}");
        let of = |table: &str| -> Vec<&str> {
            let prefix = format!("0: DEL {table}:");
            gone.iter().filter_map(|line| line.strip_prefix(&prefix)).collect()
        };
        assert!(of("recent").first().is_none_or(|first| *first == "0"), "{policy}: {gone:?}");
        assert!(of("often").len() == 4 || !of("often").contains(&"0"), "{policy}: {gone:?}");
        assert!(["3", "2", "1", "0"].starts_with(&of("soon")), "{policy}: {gone:?}");
        for table in ["recent", "often", "soon"] {
            let counted = figure(&mut test, client, &format!("{table}:{{id:uint}}"), "evicted");
            assert_eq!(counted as usize, of(table).len(), "{policy}: {table}");
        }
    }
}

#[test]
fn tables_lose_rows_in_proportion_to_how_many_they_have() {
    let (mut test, client) = limited(SCHEMA, "noeviction");
    for (table, rows) in [("recent", 600), ("often", 200), ("soon", 200)] {
        for id in 0..rows {
            test.call(client, &format!("SET {table}:{id} x EX 3600"));
        }
    }
    let gone = evict(&mut test, client, 100);
    let of = |table: &str| gone.iter().filter(|line| line.contains(table)).count();
    assert_eq!(of("recent") + of("often") + of("soon"), 100);
    assert!((45..=75).contains(&of("recent")), "{} of 100", of("recent"));
    assert!((10..=32).contains(&of("often")), "{} of 100", of("often"));
}

#[test]
fn what_says_nothing_goes_by_recency_unless_it_is_persistent() {
    let (mut test, client) = limited(SCHEMA, "noeviction");
    for id in 0..3 {
        test.set_time(test.now_ms + 1000);
        for table in ["unsaid", "paid", "kept"] {
            assert_eq!(test.call(client, &format!("SET {table}:{id} x")), "+OK\r\n");
        }
    }
    test.set_time(test.now_ms + 1000);
    test.call(client, "GET unsaid:0");
    assert_eq!(evict(&mut test, client, 2), ["0: DEL unsaid:1", "0: DEL unsaid:2"]);
    evict(&mut test, client, 1);
    test.rest();
    test.host.used_memory.push_back(SHORT);
    assert_eq!(test.call(client, "SET unsaid:9 x"), OOM);
    test.rest();
    test.host.used_memory.push_back(SHORT);
    assert_eq!(test.call(client, "GET kept:0"), "$1\r\nx\r\n", "reading takes no memory");
    assert_eq!(test.call(client, "DBSIZE"), ":6\r\n");
}

#[test]
fn keys_that_no_pattern_speaks_for_obey_the_policy() {
    for (policy, expected) in [("noeviction", 0), ("allkeys-random", 3), ("volatile-ttl", 1)] {
        let (mut test, client) = limited(SCHEMA, policy);
        test.call(client, "SET kept:0 x");
        test.call(client, "MSET a 1 b 2");
        test.call(client, "SET c 3 EX 100");
        assert_eq!(evict(&mut test, client, 5).len(), expected, "{policy}");
        assert_eq!(test.call(client, "EXISTS kept:0"), ":1\r\n", "{policy}");
    }
}

#[test]
fn what_is_known_of_a_rows_use_is_what_its_pattern_goes_by() {
    let (mut test, client) = limited(SCHEMA, "allkeys-lfu");
    for key in ["recent:1", "often:1", "kept:1", "a"] {
        test.call(client, &format!("SET {key} x"));
    }
    test.set_time(test.now_ms + 5000);
    for key in ["recent:1", "kept:1"] {
        assert_eq!(test.call(client, &format!("OBJECT IDLETIME {key}")), ":5\r\n");
        assert!(test.call(client, &format!("OBJECT FREQ {key}")).starts_with("-ERR An LFU"));
    }
    for key in ["often:1", "a"] {
        assert_eq!(test.call(client, &format!("OBJECT FREQ {key}")), ":5\r\n");
        assert!(test.call(client, &format!("OBJECT IDLETIME {key}")).starts_with("-ERR An LFU"));
    }
}

const FAMILY: &str = r#"
[keyspace]
name = "family"

[key."doc:{id:uint}"]
type   = "hash"
ttl    = "1h"
fields = { title = "str" }

[key."by_title:{title}"]
type   = "string"
lookup = { of = "doc:{id}", field = "title" }

[key."docs"]
type    = "set"
members = { of = "doc:{id}" }

[key."note:{doc:uint}:{n:uint}"]
type  = "string"
ttl   = { with = "doc:{doc}" }
evict = "never"

[key."shelf"]
type    = "set"
follows = "doc:{member}"
"#;

#[test]
fn a_row_goes_with_what_depends_on_it_in_one_unit() {
    let (mut test, client) = limited(FAMILY, "noeviction");
    let notify = NotifyFlags::parse(b"EA").expect("these letters exist");
    let memory = MemoryLimit { bytes_max: 1, ..MemoryLimit::default() };
    test.engine.set_tunables(Tunables { memory, notify, ..Tunables::default() });
    let listener = test.engine.connect();
    test.call(listener, "PSUBSCRIBE __keyevent@0__:evicted");
    for command in ["HSET doc:1 title a", "SET note:1:1 x", "SET note:1:2 y", "SADD shelf 1"] {
        assert!(!test.call(client, command).starts_with('-'), "{command}");
    }
    test.effects();
    test.deliveries();
    test.rest();
    test.host.used_memory.push_back(SHORT);
    test.call(client, "PING");
    let effects = test.effects();
    assert!(effects.len() > 5, "{effects:?}");
    assert!(effects.iter().all(|effect| effect.unit == effects[0].unit), "{effects:?}");
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
    let told = format!("{:?}", test.deliveries());
    assert!(told.contains(&format!("{listener:?}")), "{told}");
    assert_eq!(figure(&mut test, client, "doc:{id:uint}", "evicted"), 1);
    assert_eq!(figure(&mut test, client, "note:{doc:uint}:{n:uint}", "evicted"), 2);
    assert_eq!(figure(&mut test, client, "docs", "evicted"), 0);
    assert_eq!(test.engine.facts().keys.evicted, 3);
}

#[test]
fn what_follows_others_stays_whoever_wants_memory() {
    let forever = FAMILY.replace("ttl    = \"1h\"", "ttl    = \"none\"");
    let (mut test, client) = limited(&forever, "allkeys-lru");
    for command in ["HSET doc:1 title a", "SADD shelf 1"] {
        assert_eq!(test.call(client, command), ":1\r\n", "{command}");
    }
    assert_eq!(evict(&mut test, client, 10), [""; 0], "nothing may go");
    assert_eq!(test.call(client, "SMEMBERS shelf"), "*1\r\n$1\r\n1\r\n");
}

const BOUNDED: &str = r#"
[keyspace]
name       = "bounded"
max_memory = "256kb"

[key."page:{id:uint}"]
type = "string"
ttl  = "1h"

[key."pages"]
type    = "set"
members = { of = "page:{id}" }

[key."paid:{id:uint}"]
type = "string"
ttl  = "none"
"#;

const BOUND: u64 = 256 << 10;

/// The bytes of all patterns of database 0.
fn bytes(test: &mut TestEngine, client: ClientId) -> u64 {
    ["page:{id:uint}", "pages", "paid:{id:uint}"]
        .iter()
        .map(|pattern| figure(test, client, pattern, "bytes"))
        .sum()
}

#[test]
fn a_keyspace_stays_within_its_own_memory() {
    let mut test = TestEngine::governed(1, BOUNDED);
    let (client, outsider) = (test.engine.connect(), test.engine.connect());
    test.call(outsider, "SELECT 1");
    for id in 0..3_000 {
        let value = "x".repeat(id * 7919 % 1000);
        test.call(outsider, &format!("SET page:{id} {value}y"));
        assert_eq!(test.call(client, &format!("SET page:{id} {value}y")), "+OK\r\n");
        if id % 100 == 0 {
            test.set_time(test.now_ms + 1000);
            let bytes = bytes(&mut test, client);
            assert!(bytes < BOUND + BOUND / 16, "{bytes} bytes after {id} rows");
        }
    }
    assert_eq!(test.call(outsider, "DBSIZE"), ":3000\r\n");
    let evicted = figure(&mut test, client, "page:{id:uint}", "evicted");
    assert_eq!(test.call(client, "SCARD pages"), format!(":{}\r\n", 3_000 - evicted));
    assert!((1_000..2_900).contains(&evicted), "{evicted} rows evicted");
    assert_eq!(test.call(client, "EXISTS page:2999"), ":1\r\n");
}

#[test]
fn a_full_keyspace_refuses_writes_and_others_do_not() {
    let mut test = TestEngine::governed(1, BOUNDED);
    let (client, outsider) = (test.engine.connect(), test.engine.connect());
    test.call(outsider, "SELECT 1");
    let value = "x".repeat(1000);
    let refused = (0..1_000).find(|id| {
        let reply = test.call(client, &format!("SET paid:{id} {value}"));
        assert!(["+OK\r\n", FULL].contains(&reply.as_str()), "{reply}");
        reply == FULL
    });
    let rows = refused.expect("a full keyspace takes no more");
    assert!((150..300).contains(&rows), "{rows} rows fit");
    assert_eq!(test.call(client, "DBSIZE"), format!(":{rows}\r\n"), "nothing is lost");
    assert_eq!(test.call(client, "EXISTS paid:0"), ":1\r\n");
    assert_eq!(test.call(outsider, "SET a 1"), "+OK\r\n");
    let script = "EVAL return(redis.call('SET',KEYS[1],'x')) 1 paid:9999";
    assert!(test.call(client, script).starts_with(FULL.trim_end()));
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "SET paid:9999 x"), FULL);
    test.call(client, "DISCARD");
    test.call(client, "DEL paid:0 paid:1 paid:2 paid:3 paid:4 paid:5 paid:6 paid:7");
    assert_eq!(test.call(client, "SET paid:9999 x"), "+OK\r\n");
}
