//! Units (MULTI/EXEC, scripts) under a schema: judged at their end, undone whole, and telling
//! nobody of what was undone.

use crate::harness::{TestEngine, number_after, request};
use keyward_engine::{ClientId, Delivery, NotifyFlags, Tunables};
use keyward_resp::push_request;

const OPEN: &str = "[keyspace]\nname = \"open\"\nunknown = \"allow\"\n\
    [key.\"declared:{id}\"]\ntype = \"string\"\n";

/// Runs a script without keys.
fn eval(test: &mut TestEngine, client: ClientId, script: &str) -> String {
    let mut bytes = Vec::new();
    push_request(&mut bytes, ["EVAL", script, "0"].iter());
    let (_, reply) = test.send(client, &bytes);
    String::from_utf8(reply).expect("tests use text")
}

#[test]
fn a_due_row_that_an_undone_script_came_upon_stays_ended_in_the_log_and_for_who_listens() {
    let mut test = TestEngine::governed(1, OPEN);
    let notify = NotifyFlags::parse(b"KEA").expect("these letters exist");
    test.engine.set_tunables(Tunables { notify, ..Tunables::default() });
    let (client, listener) = (test.engine.connect(), test.engine.connect());
    test.call(listener, "PSUBSCRIBE __keyspace@*");
    test.call(client, "SET k v PX 100");
    test.effects();
    test.deliveries();
    test.set_time(test.now_ms + 1_000);
    let script = "redis.call('SET','declared:1','x') redis.call('GET','k') \
                  redis.call('SET','k','again') return redis.error_reply('NO more')";
    assert_eq!(eval(&mut test, client, script), "-NO more\r\n");
    assert_eq!(test.call(client, "EXISTS k declared:1"), ":0\r\n");
    assert_eq!(test.effect_lines(), ["0: DEL k"]);
    assert_eq!(test.events(listener), ["expired k"]);
}

#[test]
fn an_undone_flush_breaks_no_watch_and_one_that_stands_does() {
    let mut test = TestEngine::governed(1, OPEN);
    let (client, other) = (test.engine.connect(), test.engine.connect());
    test.call(other, "SET k v");
    test.call(client, "WATCH k");
    eval(&mut test, other, "redis.call('SET','declared:1','x') redis.call('FLUSHDB') error('no')");
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXEC"), "*0\r\n");
    test.call(client, "WATCH k");
    eval(&mut test, other, "redis.call('FLUSHDB')");
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXEC"), "*-1\r\n");
}

const SHOP: &str = r#"
[keyspace]
name = "shop"

[key."user:{id:uint}"]
type = "hash"
ttl  = "none"
[key."user:{id:uint}".fields]
email   = "str"
balance = { type = "int?", min = 0, max = 100 }

[key."by_email:{email}"]
type   = "string"
lookup = { of = "user:{id}", field = "email" }

[key."msg:{id:uint}"]
type  = "string"
ttl   = "none"

[key."recent"]
type    = "zset"
score   = "uint"
follows = "msg:{member}"

[key."session:{sid}"]
type = "string"
ttl  = { given = true, max = "1d", default = "1h" }

[key."item:{sid}:{n:uint}"]
type = "string"
ttl  = { with = "session:{sid}" }

[key."queue:{n:uint}"]
type  = "list"
items = "str"
ttl   = "none"

[key."stock:{n:uint}"]
type  = "string"
value = { type = "int", min = 0 }
ttl   = "none"
"#;

/// The reply to EXEC of these commands, each of which must be queued.
#[track_caller]
fn exec(test: &mut TestEngine, client: ClientId, commands: &[&str]) -> String {
    test.call(client, "MULTI");
    for command in commands {
        assert_eq!(test.call(client, command), "+QUEUED\r\n", "{command}");
    }
    test.call(client, "EXEC")
}

fn script_of(commands: &[&str]) -> String {
    let call = |command: &&str| {
        let words: Vec<String> = command.split(' ').map(|word| format!("'{word}'")).collect();
        format!("redis.call({}) ", words.join(","))
    };
    commands.iter().map(call).collect::<String>() + "return 'done'"
}

/// Runs commands as a transaction, as a script and as a script within a transaction, each in an
/// engine that has seen the others before. Each stands, or is refused with this text.
#[track_caller]
fn check(before: &[&str], unit: &[&str], expected: Result<&[(&str, &str)], &str>) {
    for form in ["transaction", "script", "script within a transaction"] {
        let mut test = TestEngine::governed(1, SHOP);
        let client = test.engine.connect();
        for command in before {
            let reply = test.call(client, command);
            assert!(!reply.starts_with('-'), "{command}: {reply}");
        }
        test.effects();
        let rows = test.state();
        let reply = match form {
            "transaction" => exec(&mut test, client, unit),
            "script" => eval(&mut test, client, &script_of(unit)),
            _ => {
                test.call(client, "MULTI");
                eval(&mut test, client, &script_of(unit));
                test.call(client, "EXEC")
            }
        };
        match expected {
            Ok(replies) => {
                assert!(!reply.contains("SCHEMA"), "{form} of {unit:?}: {reply}");
                for (command, expected) in replies {
                    assert_eq!(test.call(client, command).trim_end(), *expected, "{command}");
                }
            }
            Err(refusal) => {
                let because = match form {
                    "script" => "",
                    _ => "EXECABORT Transaction discarded because of: ",
                };
                assert_eq!(reply, format!("-{because}{refusal}\r\n"), "{form} of {unit:?}");
                assert_eq!(test.state(), rows, "{form} of {unit:?}");
                assert_eq!(test.effect_lines(), Vec::<String>::new(), "{form} of {unit:?}");
            }
        }
        test.check_bytes(client);
    }
}

#[test]
fn rows_may_come_in_any_order_within_a_unit() {
    check(&[], &["ZADD recent 5 123", "SET msg:123 hello"], Ok(&[("ZCARD recent", ":1")]));
    check(
        &[],
        &["HSET user:1 balance -5", "HINCRBY user:1 balance 10", "HSET user:1 email a"],
        Ok(&[("HGET user:1 balance", "$1\r\n5"), ("GET by_email:a", "$1\r\n1")]),
    );
    check(
        &[],
        &["SET item:s:1 x", "SET session:s x EX 50"],
        Ok(&[("TTL item:s:1", ":50"), ("DEL session:s", ":1"), ("EXISTS item:s:1", ":0")]),
    );
    check(&[], &["SET by_email:a 7", "HSET user:7 email a"], Ok(&[("GET by_email:a", "$1\r\n7")]));
    check(&[], &["DECR stock:1", "INCRBY stock:1 3"], Ok(&[("GET stock:1", "$1\r\n2")]));
    check(&[], &["SET stock:1 -1", "SET stock:1 1"], Ok(&[("GET stock:1", "$1\r\n1")]));
}

#[test]
fn two_users_can_swap_unique_values_within_a_unit() {
    check(
        &["HSET user:1 email a", "HSET user:2 email b"],
        &["HSET user:1 email b", "HSET user:2 email a"],
        Ok(&[("GET by_email:a", "$1\r\n2"), ("GET by_email:b", "$1\r\n1")]),
    );
}

#[test]
fn a_unit_that_breaks_the_schema_at_its_end_is_undone_whole() {
    check(
        &["SET msg:1 x"],
        &["SET msg:2 y", "DEL msg:1", "ZADD recent 5 123"],
        Err("SCHEMA recent: a member must name a living key, and msg:123 does not exist; write \
             that first (test/keyward.toml:20)"),
    );
    check(
        &["RPUSH queue:1 a b"],
        &["RPOP queue:1", "HSET user:1 balance 5", "RPUSH queue:1 c"],
        Err("SCHEMA user:1: lacks the required field email (test/keyward.toml:5)"),
    );
    check(
        &["HSET user:1 email a", "HSET user:2 email b"],
        &["HSET user:1 email c", "HSET user:2 email c"],
        Err("SCHEMA user:2: email belongs to 1 already, and by_email:{email} is unique \
             (test/keyward.toml:9)"),
    );
    check(
        &["HSET user:1 email a balance 3"],
        &["HINCRBY user:1 balance -10", "FLUSHDB", "SET item:s:1 x"],
        Err("SCHEMA item:s:1: lives with session:s, which does not exist; create that first \
             (test/keyward.toml:31)"),
    );
    check(
        &["HSET user:1 email a balance 3"],
        &["HINCRBY user:1 balance -10"],
        Err("SCHEMA user:1: balance must be at least 0, not \"-7\" (test/keyward.toml:10)"),
    );
    check(
        &["HSET user:1 email a"],
        &["DEL by_email:a"],
        Err("SCHEMA by_email:a: is kept by Keyward from user:{id:uint}, which says otherwise; \
             write that instead (test/keyward.toml:12)"),
    );
    check(
        &[],
        &["HSET user:1 balance 5", "RENAME user:1 user:2"],
        Err("SCHEMA user:2: lacks the required field email (test/keyward.toml:5)"),
    );
}

#[test]
fn what_nothing_in_a_unit_can_mend_is_refused_at_once_and_leaves_the_others() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    test.call(client, "SET msg:1 x");
    test.call(client, "SET session:s x EX 50");
    test.call(client, "SET item:s:1 x");
    let reply = exec(&mut test, client, &["SET msg:2 y", "EXPIRE item:s:1 9", "INCR msg:1"]);
    assert!(reply.starts_with("*3\r\n+OK\r\n-SCHEMA item:s:1: lives with session:s"), "{reply}");
    assert!(reply.contains("\r\n-ERR value is not an integer"), "{reply}");
    assert_eq!(test.call(client, "EXISTS msg:2"), ":1\r\n");
    for command in ["SET nothing x", "HSET user:1 other x", "SET stock:1 x", "ZADD recent x 1"] {
        test.call(client, "MULTI");
        let reply = test.call(client, command);
        let is_redis = command.starts_with("ZADD");
        assert_eq!(reply.starts_with("-SCHEMA"), !is_redis, "{command}: {reply}");
        test.call(client, "DISCARD");
    }
    // A script may catch what is refused at once, and nothing else.
    let script = "local it = redis.pcall('SET','stock:1','x') redis.call('SET','stock:1','1') \
                  return it.err";
    assert!(eval(&mut test, client, script).contains("SCHEMA stock:1"));
    assert_eq!(test.call(client, "GET stock:1"), "$1\r\n1\r\n");
    let script = "redis.pcall('SET','stock:1','-1') return 'caught'";
    assert!(eval(&mut test, client, script).starts_with("-SCHEMA stock:1: the value must be at"));
    assert_eq!(test.call(client, "GET stock:1"), "$1\r\n1\r\n");
}

#[test]
fn a_script_that_is_undone_within_a_transaction_leaves_nothing_to_its_end() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    test.call(client, "MULTI");
    eval(&mut test, client, "redis.call('HSET','user:1','balance','5') error('no')");
    test.call(client, "SET msg:1 x");
    let reply = test.call(client, "EXEC");
    assert!(reply.starts_with("*2\r\n-ERR") && reply.ends_with("+OK\r\n"), "{reply}");
    assert_eq!(test.call(client, "EXISTS user:1 msg:1"), ":1\r\n");
    // What others of the unit left is still judged.
    test.call(client, "MULTI");
    test.call(client, "HSET user:2 balance 5");
    eval(&mut test, client, "redis.call('HSET','user:1','balance','5') error('no')");
    let reply = test.call(client, "EXEC");
    assert!(reply.contains("because of: SCHEMA user:2: lacks"), "{reply}");
}

#[test]
fn an_undone_unit_wakes_and_tells_nobody() {
    let mut test = TestEngine::governed(1, SHOP);
    let notify = NotifyFlags::parse(b"KEA").expect("these letters exist");
    test.engine.set_tunables(Tunables { notify, ..Tunables::default() });
    let [client, listener, waiting, tracking, watching] = [(); 5].map(|()| test.engine.connect());
    test.call(client, "SET msg:1 x");
    test.call(listener, "PSUBSCRIBE __keyspace@*");
    test.send(waiting, &request("BLPOP queue:1 0"));
    test.call(tracking, "HELLO 3");
    test.call(tracking, "CLIENT TRACKING on");
    test.call(tracking, "GET msg:1");
    test.call(watching, "WATCH msg:1");
    test.deliveries();
    let unit = ["RPUSH queue:1 a", "SET msg:1 y", "HSET user:1 balance 5"];
    let reply = exec(&mut test, client, &unit);
    assert!(reply.starts_with("-EXECABORT"), "{reply}");
    assert!(eval(&mut test, client, &script_of(&unit)).starts_with("-SCHEMA"));
    assert_eq!(test.deliveries(), []);
    test.call(watching, "MULTI");
    assert_eq!(test.call(watching, "EXEC"), "*0\r\n");
    test.call(watching, "WATCH msg:1");
    let unit = ["RPUSH queue:1 a", "SET msg:1 y", "HSET user:1 balance 5 email a"];
    assert_eq!(exec(&mut test, client, &unit), "*3\r\n:1\r\n+OK\r\n:2\r\n");
    let told: Vec<ClientId> = test
        .deliveries()
        .iter()
        .filter_map(|delivery| match delivery {
            Delivery::Output(to, _) => Some(*to),
            _ => None,
        })
        .collect();
    for concerned in [listener, waiting, tracking] {
        assert!(told.contains(&concerned), "{told:?}");
    }
    test.call(watching, "MULTI");
    assert_eq!(test.call(watching, "EXEC"), "*-1\r\n");
}

#[test]
fn a_due_row_that_an_undone_transaction_came_upon_stays_ended() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    test.call(client, "SET session:s x EX 1");
    test.call(client, "SET item:s:1 x");
    test.effects();
    test.set_time(test.now_ms + 5_000);
    let reply = exec(&mut test, client, &["SET session:s y", "HSET user:1 balance 1"]);
    assert!(reply.starts_with("-EXECABORT"), "{reply}");
    assert_eq!(test.effect_lines(), ["0: DEL session:s"]);
    assert_eq!(test.call(client, "EXISTS session:s item:s:1"), ":0\r\n");
}

#[test]
fn what_is_not_undone_stays_in_the_log() {
    let mut test = TestEngine::governed(1, SHOP);
    let (client, listener) = (test.engine.connect(), test.engine.connect());
    test.call(listener, "SUBSCRIBE news");
    test.effects();
    test.deliveries();
    let reply = exec(&mut test, client, &["PUBLISH news x", "SELECT 1", "HSET user:1 balance 1"]);
    // In database 1 there is no schema.
    assert!(reply.starts_with("*3"), "{reply}");
    test.call(client, "SELECT 0");
    test.effects();
    test.deliveries();
    test.call(client, "MULTI");
    test.call(client, "HSET user:1 balance 1");
    let library = "#!lua name=l\nredis.register_function('f', function() return 1 end)";
    let mut load = Vec::new();
    push_request(&mut load, ["FUNCTION", "LOAD", library].iter());
    test.send(client, &load);
    test.call(client, "PUBLISH news y");
    test.call(client, "SELECT 1");
    let reply = test.call(client, "EXEC");
    assert!(reply.starts_with("-EXECABORT"), "{reply}");
    let effects = test.effect_lines();
    assert_eq!(effects.len(), 1, "{effects:?}");
    assert!(effects[0].starts_with("0: FUNCTION LOAD #!lua"), "{effects:?}");
    assert_eq!(test.call(client, "FCALL f 0"), ":1\r\n");
    assert_eq!(test.deliveries().len(), 1);
    // The client is where it was.
    assert!(test.call(client, "HSET user:1 balance 1").starts_with("-SCHEMA"));
}

#[test]
fn a_unit_with_swapdb_is_judged_command_by_command() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    let commands = ["HSET user:1 balance 1", "SWAPDB 1 2", "SET msg:1 x"];
    let reply = exec(&mut test, client, &commands);
    assert!(reply.starts_with("*3\r\n-SCHEMA user:1: lacks"), "{reply}");
    assert!(reply.ends_with("+OK\r\n+OK\r\n"), "{reply}");
    // A script is judged before it swaps, and what it did stays.
    let fails = "redis.call('HSET','user:1','balance','1') redis.call('SWAPDB','1','2')";
    assert!(eval(&mut test, client, fails).contains("SCHEMA user:1: lacks"));
    assert_eq!(test.call(client, "EXISTS user:1"), ":0\r\n");
    test.call(client, "SELECT 1");
    test.call(client, "RPUSH l a");
    test.call(client, "SELECT 0");
    let parts = "redis.call('SET','msg:2','x') redis.call('SELECT','1') redis.call('RPUSH','l','b') \
                 redis.call('SWAPDB','1','2') redis.call('SELECT','0') \
                 redis.call('SET','msg:3','x') return redis.error_reply('NO more')";
    assert_eq!(eval(&mut test, client, parts), "-NO more\r\n");
    assert_eq!(test.call(client, "EXISTS msg:2 msg:3"), ":2\r\n");
    test.call(client, "SELECT 2");
    assert_eq!(test.call(client, "LRANGE l 0 -1"), "*2\r\n$1\r\na\r\n$1\r\nb\r\n");
    test.call(client, "SELECT 0");
    let lacks = "redis.call('SWAPDB','1','2') redis.call('HSET','user:1','balance','1')";
    assert!(eval(&mut test, client, lacks).contains("SCHEMA user:1: lacks"));
}

#[test]
fn under_warn_a_unit_stands_and_is_counted_by_its_end() {
    let warn = SHOP.replace("name = \"shop\"", "name = \"shop\"\nmode = \"warn\"");
    let mut test = TestEngine::governed(1, &warn);
    let client = test.engine.connect();
    let swap = ["HSET user:1 email b", "HSET user:2 email a"];
    for command in ["HSET user:1 email a", "HSET user:2 email b"] {
        test.call(client, command);
    }
    assert!(exec(&mut test, client, &swap).starts_with("*2"));
    assert_eq!(test.call(client, "GET by_email:a"), "$1\r\n2\r\n");
    let warned = |test: &mut TestEngine| {
        number_after(&test.call(client, "KEYWARD STATS user:{id:uint}"), "warned")
    };
    assert_eq!(warned(&mut test), 0);
    assert!(
        exec(&mut test, client, &["HSET user:3 balance 500", "HSET user:3 balance 5"])
            .starts_with("*2")
    );
    assert_eq!(warned(&mut test), 1);
    assert_eq!(test.call(client, "HGET user:3 balance"), "$1\r\n5\r\n");
    let misfits = test.call(client, "KEYWARD MISFITS");
    assert!(misfits.contains("lacks the required field email"), "{misfits}");
}

#[test]
fn a_refused_unit_is_remembered_by_the_command_that_ended_it() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    exec(&mut test, client, &["HSET user:1 balance 1", "HSET user:1 balance 2"]);
    let refusals = test.call(client, "KEYWARD REFUSALS");
    assert_eq!(refusals.matches("lacks the required field").count(), 1, "{refusals}");
    assert!(refusals.contains("EXEC"), "{refusals}");
    let figures = test.call(client, "KEYWARD STATS user:{id:uint}");
    assert_eq!(number_after(&figures, "refused"), 1);
}

#[test]
fn explain_judges_a_command_by_itself_within_a_unit_too() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    let alone = test.call(client, "KEYWARD EXPLAIN HSET user:1 balance 1");
    assert!(alone.contains("lacks the required field email"), "{alone}");
    let within = exec(&mut test, client, &["SET msg:1 x", "KEYWARD EXPLAIN HSET user:1 balance 1"]);
    assert!(within.ends_with(&alone), "{within}");
}

#[test]
fn a_command_behind_a_queued_select_is_judged_by_that_database() {
    let mut test = TestEngine::governed(1, SHOP);
    let client = test.engine.connect();
    let reply = exec(&mut test, client, &["SELECT 3", "SET stranger x"]);
    assert_eq!(reply, "*2\r\n+OK\r\n+OK\r\n");
    // The other way, it is refused when it is queued; a SELECT that will fail selects nothing.
    test.call(client, "MULTI");
    test.call(client, "SELECT 0");
    test.call(client, "SELECT 99999");
    assert!(test.call(client, "SET stranger x").starts_with("-SCHEMA stranger"));
    test.call(client, "DISCARD");
}
