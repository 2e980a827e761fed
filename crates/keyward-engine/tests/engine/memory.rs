//! Eviction, refusals for want of memory, and freeing in steps.

use crate::forkless::Taken;
use crate::harness::{TestEngine, number_after};
use keyward_engine::{ClientId, LazySettings, MemoryLimit, NotifyFlags, Policy, Tunables};

const LIMIT: u64 = 100;
const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

fn limited(policy: &str) -> (TestEngine, ClientId) {
    let mut test = TestEngine::new(1);
    let memory =
        MemoryLimit { bytes_max: LIMIT, policy: Policy::by_name(policy), ..MemoryLimit::default() };
    let notify = NotifyFlags::parse(b"Ee").expect("these letters exist");
    test.engine.set_tunables(Tunables { memory, notify, ..Tunables::default() });
    let client = test.engine.connect();
    (test, client)
}

/// Memory is above the limit for so many questions.
fn press(test: &mut TestEngine, questions: usize) {
    // So far that what is on its way to the log and to listeners does not matter.
    test.host.used_memory = std::iter::repeat_n(LIMIT + (1 << 40), questions).collect();
}

/// Memory is within the limit again.
fn relax(test: &mut TestEngine) {
    test.host.used_memory.clear();
}

#[test]
fn without_a_policy_commands_that_take_memory_are_refused() {
    let (mut test, client) = limited("noeviction");
    test.call(client, "SET k v");
    for (command, expected) in [
        ("SET k w", OOM),
        ("LPUSH l 1", OOM),
        ("GET k", "$1\r\nv\r\n"),
        ("DEL none", ":0\r\n"),
        ("EXPIRE k 100", ":1\r\n"),
    ] {
        press(&mut test, 1);
        assert_eq!(test.call(client, command), expected, "{command}");
    }
    assert_eq!(test.call(client, "SET k w"), "+OK\r\n");
}

#[test]
fn nothing_goes_because_of_what_is_on_its_way_elsewhere() {
    let (mut test, client) = limited("allkeys-lru");
    (0..100).for_each(|key| drop(test.call(client, &format!("SET {key} v"))));
    let mut snapshot = Taken::begin(&mut test);
    test.call(client, "MSET 1 w 2 w 3 w 4 w 5 w");
    let captured = test.engine.captured_bytes() as u64;
    assert!(captured > 0, "rows that change are captured");
    test.host.outgoing_memory = 1000;
    test.effects();
    for (beyond, rows) in [(0, 100), (1, 99)] {
        test.host.used_memory = [LIMIT + captured + 1000 + beyond].into();
        assert_eq!(test.call(client, "DBSIZE"), format!(":{rows}\r\n"), "{beyond} beyond");
    }
    while !snapshot.step(&mut test) {}
}

/// How many rows there are after a command before which this much is in use.
fn rows_with(test: &mut TestEngine, client: ClientId, used: u64) -> u64 {
    test.host.used_memory = [used].into();
    let reply = test.call(client, "DBSIZE");
    reply.trim_matches([':', '\r', '\n']).parse().expect("a number")
}

#[test]
fn what_readers_are_told_of_a_row_that_went_takes_no_other_with_it() {
    const NAME_BYTES: u64 = 1000;
    let name = |key: usize| format!("{key:0>1000}");
    for tracking in ["CLIENT TRACKING ON", "CLIENT TRACKING ON BCAST"] {
        let (mut test, client) = limited("allkeys-lru");
        let readers: Vec<ClientId> = (0..3).map(|_| test.engine.connect()).collect();
        (0..20).for_each(|key| drop(test.call(client, &format!("SET {} v", name(key)))));
        for reader in &readers {
            test.call(*reader, "HELLO 3");
            assert_eq!(test.call(*reader, tracking), "+OK\r\n");
            (0..20).for_each(|key| drop(test.call(*reader, &format!("GET {}", name(key)))));
        }
        test.effects();
        test.deliveries();
        assert_eq!(rows_with(&mut test, client, LIMIT + 1), 19);
        // As long as nobody has taken it, it is there.
        test.effects();
        assert_eq!(rows_with(&mut test, client, LIMIT + NAME_BYTES), 19, "{tracking}");
        let told = test.deliveries();
        assert_eq!(told.len(), readers.len(), "{told:?}");
        assert_eq!(rows_with(&mut test, client, LIMIT + NAME_BYTES), 18, "{tracking}");
    }
}

#[test]
fn what_is_to_be_logged_takes_no_row_with_it() {
    let (mut test, client) = limited("allkeys-lru");
    (0..20).for_each(|key| drop(test.call(client, &format!("SET {key} v"))));
    test.effects();
    test.call(client, &format!("SET 0 {}", "v".repeat(1000)));
    assert_eq!(rows_with(&mut test, client, LIMIT + 1000), 20);
    assert_eq!(test.effects().len(), 1);
    assert_eq!(rows_with(&mut test, client, LIMIT + 1000), 19);
}

#[test]
fn a_transaction_that_takes_memory_is_discarded() {
    let (mut test, client) = limited("noeviction");
    test.call(client, "MULTI");
    test.call(client, "SET k v");
    press(&mut test, 1);
    assert_eq!(
        test.call(client, "EXEC"),
        format!("-EXECABORT Transaction discarded because of: {}", &OOM[1..])
    );
    assert_eq!(test.call(client, "EXEC"), "-ERR EXEC without MULTI\r\n");

    test.call(client, "MULTI");
    press(&mut test, 1);
    assert_eq!(test.call(client, "GET k"), OOM, "what is queued takes memory too");
    assert!(test.call(client, "EXEC").starts_with("-EXECABORT"));

    test.call(client, "MULTI");
    test.call(client, "GET k");
    press(&mut test, 1);
    assert_eq!(test.call(client, "EXEC"), "*1\r\n$-1\r\n");
}

fn script(test: &mut TestEngine, client: ClientId, text: &str) -> String {
    let mut request = Vec::new();
    keyward_resp::push_request(&mut request, ["EVAL", text, "1", "k"].iter());
    String::from_utf8(test.send(client, &request).1).expect("tests use text")
}

#[test]
fn scripts_are_refused_by_what_they_declare_and_by_their_first_write() {
    let (mut test, client) = limited("noeviction");
    let set = "redis.call('SET', KEYS[1], 'v') return 1";
    press(&mut test, 1);
    assert!(script(&mut test, client, set).starts_with("-OOM command not allowed"));
    press(&mut test, 1);
    let after_write = format!("redis.call('DEL', KEYS[1]) {set}");
    assert_eq!(script(&mut test, client, &after_write), ":1\r\n");
    press(&mut test, 1);
    assert_eq!(script(&mut test, client, &format!("#!lua\n{set}")), OOM);
    for flags in ["allow-oom", "no-writes"] {
        let body = if flags == "allow-oom" { set } else { "return 1" };
        press(&mut test, 1);
        assert_eq!(script(&mut test, client, &format!("#!lua flags={flags}\n{body}")), ":1\r\n");
    }
}

#[test]
fn what_was_not_used_for_longest_goes_first() {
    let (mut test, client) = limited("allkeys-lru");
    for number in 0..10 {
        test.set_time(test.now_ms + 1000);
        test.call(client, &format!("SET k{number} v"));
    }
    test.set_time(test.now_ms + 1000);
    test.call(client, "GET k0");
    test.effects();
    press(&mut test, 3);
    test.call(client, "PING");
    let mut gone = test.effect_lines();
    gone.sort();
    // Samples may miss one, but never take what is used.
    assert_eq!(gone.len(), 3);
    assert!(!gone.contains(&"0: DEL k0".to_owned()) && !gone.contains(&"0: DEL k9".to_owned()));
    assert_eq!(test.call(client, "DBSIZE"), ":7\r\n");
    assert_eq!(test.engine.facts().keys.evicted, 3);
}

#[test]
fn what_is_used_seldom_goes_first() {
    let (mut test, client) = limited("allkeys-lfu");
    for number in 0..10 {
        test.call(client, &format!("SET k{number} v"));
    }
    for _ in 0..100 {
        for number in 0..5 {
            test.call(client, &format!("GET k{number}"));
        }
    }
    assert_ne!(test.call(client, "OBJECT FREQ k0"), ":5\r\n");
    assert_eq!(test.call(client, "OBJECT FREQ k7"), ":5\r\n");
    press(&mut test, 5);
    test.call(client, "PING");
    for number in 0..5 {
        assert_eq!(test.call(client, &format!("GET k{number}")), "$1\r\nv\r\n");
    }
    assert_eq!(test.call(client, "DBSIZE"), ":5\r\n");
}

#[test]
fn a_volatile_policy_takes_only_rows_with_a_deadline() {
    for policy in ["volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"] {
        let (mut test, client) = limited(policy);
        for number in 0..40 {
            test.call(client, &format!("SET keep{number} v"));
        }
        for (number, seconds) in [(0, 300), (1, 100), (2, 200)] {
            test.call(client, &format!("SET go{number} v EX {seconds}"));
        }
        test.effects();
        press(&mut test, 3);
        assert_eq!(test.call(client, "PING"), "+PONG\r\n", "{policy}");
        let gone = test.effect_lines();
        assert_eq!(gone.len(), 3, "{policy}");
        assert!(gone.iter().all(|line| line.starts_with("0: DEL go")), "{policy}: {gone:?}");
        if policy == "volatile-ttl" {
            assert_eq!(gone, ["0: DEL go1", "0: DEL go2", "0: DEL go0"]);
        }
        press(&mut test, 1);
        assert_eq!(test.call(client, "SET k v"), OOM, "{policy}: nothing is left that may go");
    }
}

#[test]
fn a_chance_policy_takes_from_every_database() {
    let (mut test, client) = limited("allkeys-random");
    for db in [0, 3] {
        test.call(client, &format!("SELECT {db}"));
        (0..5).for_each(|number| {
            test.call(client, &format!("SET k{number} v"));
        });
    }
    test.effects();
    press(&mut test, 4);
    test.call(client, "PING");
    let gone = test.effect_lines();
    assert_eq!(gone.iter().filter(|line| line.starts_with("3: DEL")).count(), 2, "{gone:?}");
}

#[test]
fn eviction_is_bounded_and_goes_on_by_ticks() {
    let (mut test, client) = limited("allkeys-lru");
    for number in 0..2_000 {
        test.call(client, &format!("SET k{number} v"));
    }
    press(&mut test, usize::from(u16::MAX));
    assert_eq!(test.call(client, "SET new v"), "+OK\r\n", "there is more that can go");
    let evicted = test.engine.facts().keys.evicted;
    assert!((100..500).contains(&evicted), "{evicted} rows before one command");
    assert_eq!(test.engine.next_deadline(), Some(test.now_ms), "a tick is due at once");
    assert!(test.tick());
    assert!(test.engine.facts().keys.evicted > evicted);
    relax(&mut test);
    assert!(!test.tick());
    assert_eq!(test.engine.next_deadline(), None);
}

#[test]
fn an_eviction_breaks_a_watch_and_is_told() {
    let (mut test, client) = limited("allkeys-lru");
    let listener = test.engine.connect();
    test.call(listener, "SUBSCRIBE __keyevent@0__:evicted");
    test.call(client, "SET k v");
    test.call(client, "WATCH k");
    press(&mut test, 1);
    test.call(client, "MULTI");
    test.call(client, "PING");
    assert_eq!(test.call(client, "EXEC"), "*-1\r\n");
    test.tick();
    let told = format!("{:?}", test.deliveries());
    assert!(told.contains(&format!("{listener:?}")), "{told}");
}

#[test]
fn idle_time_and_frequency_exclude_each_other() {
    let (mut test, client) = limited("allkeys-lfu");
    test.call(client, "SET k v");
    assert!(test.call(client, "OBJECT IDLETIME k").starts_with("-ERR An LFU maxmemory policy is"));
    let (mut test, client) = limited("allkeys-lru");
    test.call(client, "SET k v");
    test.set_time(test.now_ms + 7_000);
    assert_eq!(test.call(client, "OBJECT IDLETIME k"), ":7\r\n");
    assert!(test.call(client, "OBJECT FREQ k").starts_with("-ERR An LFU maxmemory policy is not"));
}

/// A list of many chunks.
fn make_large(test: &mut TestEngine, client: ClientId, key: &str) {
    let items = "x".repeat(200) + " ";
    for _ in 0..100 {
        test.call(client, &format!("RPUSH {key} {}", items.repeat(100)));
    }
}

#[test]
fn unlink_frees_a_large_value_by_ticks_and_del_at_once() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    make_large(&mut test, client, "l");
    test.call(client, "DEL l");
    assert_eq!(test.engine.facts().lazy_pending, 0);
    make_large(&mut test, client, "l");
    assert_eq!(test.call(client, "UNLINK l none"), ":1\r\n");
    assert_eq!(test.call(client, "EXISTS l"), ":0\r\n");
    assert_eq!(test.engine.facts().lazy_pending, 1);
    assert_eq!(test.engine.next_deadline(), Some(test.now_ms));
    while test.tick() {}
    let facts = test.engine.facts();
    assert_eq!((facts.lazy_pending, facts.lazy_freed), (0, 1));
}

#[test]
fn settings_make_other_removals_lazy() {
    let all = LazySettings {
        eviction: true,
        expire: true,
        server_del: true,
        user_del: true,
        user_flush: true,
    };
    for (lazy, pending) in [(LazySettings::default(), 0), (all, 1)] {
        for removal in ["DEL l", "SET l v", "RENAME other l", "FLUSHALL", "PEXPIREAT l 1"] {
            let mut test = TestEngine::new(1);
            test.engine.set_tunables(Tunables { lazy, ..Tunables::default() });
            let client = test.engine.connect();
            make_large(&mut test, client, "l");
            if removal.starts_with("RENAME") {
                test.call(client, "SET other v");
            }
            test.call(client, removal);
            test.call(client, "GET l");
            assert_eq!(test.engine.facts().lazy_pending, pending, "{removal}");
        }
    }
}

#[test]
fn an_asynchronous_flush_keeps_nothing_reachable_and_frees_by_ticks() {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    for number in 0..10_000 {
        test.call(client, &format!("SET k{number} v EX 100"));
    }
    test.call(client, "FLUSHALL ASYNC");
    assert_eq!(test.call(client, "DBSIZE"), ":0\r\n");
    assert_eq!(test.engine.facts().lazy_pending, 10_000);
    let mut ticks = 1;
    while test.tick() {
        ticks += 1;
    }
    assert!(ticks >= 5, "{ticks} ticks");
    assert_eq!(test.engine.facts().lazy_freed, 10_000);
}

const SHELF: &str = "[keyspace]\nname = \"shelf\"\nunknown = \"allow\"\n\
    [key.\"text:{id}\"]\ntype = \"string\"\nttl = \"1h\"\n\
    [key.\"list:{id}\"]\ntype = \"list\"\n\
    [key.\"hash:{id}\"]\ntype = \"hash\"\n\
    [key.\"set:{id}\"]\ntype = \"set\"\n\
    [key.\"zset:{id}\"]\ntype = \"zset\"\n";

#[test]
fn the_bytes_of_patterns_follow_every_change() {
    let mut test = TestEngine::governed(1, SHELF);
    let client = test.engine.connect();
    for round in 0..3_000usize {
        // From a few elements to many, in all forms, and back.
        let (id, element) = (round % 3, round * 7919 % 700);
        let text = "x".repeat(element);
        let commands = [
            format!("SET text:{element} {text}y"),
            format!("APPEND text:{id} {text}y"),
            format!("RPUSH list:{id} {text}y"),
            format!("LSET list:{id} 0 {element}"),
            format!("HSET hash:{id} f{element} {text}y"),
            format!("SADD set:{id} m{element}{text}"),
            format!("ZADD zset:{id} {round} m{element}"),
            format!("ZADD plain:{id} {element}.5 m"),
            format!("EXPIRE list:{id} 100"),
            format!("COPY list:{id} list:9{id} REPLACE"),
        ];
        for command in commands {
            let reply = test.call(client, &command);
            assert!(!reply.starts_with('-'), "{command}: {reply}");
        }
        if round % 500 == 499 {
            test.check_bytes(client);
            test.rest();
            test.check_bytes(client);
        }
    }
    for command in [
        "LTRIM list:0 5 10",
        "LREM list:1 0 7",
        "HDEL hash:0 f1 f2 f3",
        "SPOP set:0 300",
        "ZREMRANGEBYRANK zset:0 10 200",
        "RENAME list:1 list:7",
        "UNLINK hash:1",
        "SET set:1 gone",
        "PERSIST list:2",
        "GETDEL text:7",
    ] {
        test.call(client, command);
        test.check_bytes(client);
        test.rest();
        test.check_bytes(client);
    }
    test.set_time(test.now_ms + 2 * 3_600_000);
    // A row that is due takes memory until it is swept, and nobody sees it.
    let mut before = u64::MAX;
    while before != test.engine.facts().keys.expired {
        before = test.engine.facts().keys.expired;
        test.tick();
    }
    assert!(before > 600, "{before} rows expired");
    test.check_bytes(client);
    test.call(client, "FLUSHALL");
    let stats = test.call(client, "KEYWARD STATS zset:{id}");
    assert!(stats.contains("bytes\r\n:0\r\n"), "{stats}");
}

#[test]
fn rows_are_packed_at_leisure_and_before_any_is_evicted() {
    let mut test = TestEngine::governed(1, SHELF);
    let client = test.engine.connect();
    set_thousand_texts(&mut test, client);
    let loose = bytes_of_texts(&mut test, client);
    let memory = MemoryLimit {
        bytes_max: LIMIT,
        policy: Policy::by_name("allkeys-lru"),
        ..MemoryLimit::default()
    };
    test.engine.set_tunables(Tunables { memory, ..Tunables::default() });
    press(&mut test, 100);
    test.call(client, "PING");
    let (pressed, evicted) = (bytes_of_texts(&mut test, client), test.engine.facts().keys.evicted);
    assert!(pressed < loose && evicted == 0, "{loose} bytes, then {pressed}; {evicted} evicted");
    let mut steps = 1;
    while test.engine.rest() {
        steps += 1;
    }
    let packed = bytes_of_texts(&mut test, client);
    assert!(packed * 2 < loose, "{loose} bytes, then {packed}");
    assert!(steps > 10, "a step is short: there were {steps}");
    assert_eq!(test.call(client, "GET text:77"), "$6\r\nvalue7\r\n");
}

fn bytes_of_texts(test: &mut TestEngine, client: ClientId) -> i64 {
    number_after(&test.call(client, "KEYWARD STATS text:{id}"), "bytes")
}

fn set_thousand_texts(test: &mut TestEngine, client: ClientId) {
    for number in 0..1_000 {
        test.call(client, &format!("SET text:{number} value{}", number % 10));
    }
}

/// A thousand rows of which half are used in each of ten seconds; what the pattern takes
/// then.
fn bytes_while_half_are_used(use_one: impl Fn(usize) -> Vec<String>) -> [i64; 3] {
    let mut test = TestEngine::governed(1, SHELF);
    let client = test.engine.connect();
    test.engine.set_tunables(Tunables { pack_after_seconds: 5, ..Tunables::default() });
    set_thousand_texts(&mut test, client);
    let loose = bytes_of_texts(&mut test, client);
    for _ in 0..10 {
        test.set_time(test.now_ms + 1_000);
        for command in (0..500).flat_map(&use_one) {
            let reply = test.call(client, &command);
            assert!(!reply.starts_with('-'), "{command}: {reply}");
        }
        test.rest();
    }
    let half = bytes_of_texts(&mut test, client);
    test.set_time(test.now_ms + 5_000);
    test.rest();
    [loose, half, bytes_of_texts(&mut test, client)]
}

#[test]
fn rows_in_use_are_left_loose_until_nobody_has_used_them_for_a_while() {
    let writes = |number| vec![format!("SET text:{number} value{}", number % 10)];
    let reads = |number| vec![format!("GET text:{number}")];
    for [loose, half, packed] in [writes, reads].map(bytes_while_half_are_used) {
        assert!(packed * 2 < loose, "{loose} bytes, then {packed}");
        assert!(half > (packed + loose) * 2 / 5, "half of them are loose: {half}");
        assert!(half < loose, "the others are packed: {half}");
    }
}

#[test]
fn packed_rows_are_read_as_they_are_unless_they_are_read_often() {
    let mut test = TestEngine::governed(1, SHELF);
    let client = test.engine.connect();
    set_thousand_texts(&mut test, client);
    test.rest();
    test.engine.set_tunables(Tunables { pack_after_seconds: 5, ..Tunables::default() });
    let read_all = |test: &mut TestEngine| {
        for number in 0..1_000 {
            let reply = test.call(client, &format!("GET text:{number}"));
            assert_eq!(reply, format!("$6\r\nvalue{}\r\n", number % 10));
        }
    };
    let packed = bytes_of_texts(&mut test, client);
    for _ in 0..3 {
        test.set_time(test.now_ms + 1_000);
        read_all(&mut test);
        assert_eq!(bytes_of_texts(&mut test, client), packed, "once a second is not often");
    }
    read_all(&mut test);
    let loose = bytes_of_texts(&mut test, client);
    assert!(loose > packed * 2, "{packed} bytes, then {loose}");
    test.check_bytes(client);
    test.set_time(test.now_ms + 5_000);
    test.rest();
    assert!(bytes_of_texts(&mut test, client) < loose / 2, "they are packed again");
}
