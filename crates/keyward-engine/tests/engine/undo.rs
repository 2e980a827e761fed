//! Under a schema, a script that ends in an error leaves nothing behind.

use crate::forkless;
use crate::harness::{TestEngine, request};
use keyward_engine::{ClientId, Random};
use keyward_resp::push_request;

const OPEN: &str = "[keyspace]\nname = \"open\"\nunknown = \"allow\"\n\
    [key.\"declared:{id}\"]\ntype = \"string\"\n";

/// Runs the commands in its arguments, whatever becomes of each, then fails.
const SCRIPT: &str = "for _, line in ipairs(ARGV) do
    local words = {}
    for word in string.gmatch(line, '%S+') do words[#words + 1] = word end
    redis.pcall(unpack(words))
end
return redis.error_reply('GONE all of it')";

/// Commands over a few keys of each type, of which some do not fit the key.
fn random_command(random: &mut Random) -> String {
    let number = |random: &mut Random, below: u64| random.below(below);
    let key = |random: &mut Random| {
        format!("{}{}", ["s", "h", "l", "t", "z", "x"][random.below(6) as usize], random.below(3))
    };
    let forms = [
        "SET s? v?",
        "SET s? v? EX 100",
        "SETNX s? v?",
        "GETSET s? v?",
        "APPEND s? tail?",
        "SETRANGE s? 3 x?",
        "INCRBY s? ?",
        "SETBIT s? ? 1",
        "GETDEL s?",
        "GETEX s? PERSIST",
        "MSET s? v? s? v?",
        "BITOP NOT s? s?",
        "HSET h? f? v? f? ?",
        "HDEL h? f? f?",
        "HINCRBY h? n? ?",
        "HINCRBYFLOAT h? n? 1.5",
        "HSETNX h? f? v?",
        "LPUSH l? a? b?",
        "RPUSH l? a? b? c?",
        "LPOP l? 2",
        "RPOP l?",
        "LINSERT l? BEFORE a? x?",
        "LSET l? -1 y?",
        "LREM l? 0 a?",
        "LREM l? -1 b?",
        "LTRIM l? 1 -2",
        "LMOVE l? l? LEFT RIGHT",
        "LMPOP 2 l0 l1 RIGHT COUNT 3",
        "SADD t? m? m? ?",
        "SREM t? m?",
        "SPOP t? 2",
        "SPOP t? 100",
        "SMOVE t? t? m?",
        "SUNIONSTORE t? t? t?",
        "ZADD z? ? m? 2.5 m?",
        "ZINCRBY z? 3 m?",
        "ZREM z? m?",
        "ZPOPMIN z? 2",
        "ZREMRANGEBYRANK z? 0 1",
        "ZUNIONSTORE z? 2 z0 z1",
        "ZRANGESTORE z? z? 0 2",
        "SORT l? ALPHA STORE l?",
        "XADD x? 5-* f v? n ?",
        "XADD x? 6-* other v?",
        "XADD x? MAXLEN 3 6-* f v? n ?",
        "XDEL x? 5-? 6-?",
        "XTRIM x? MAXLEN 2",
        "XTRIM x? MINID 5-?",
        "XSETID x? 7-?",
        "XGROUP CREATE x? g? 5-? MKSTREAM",
        "XGROUP DESTROY x? g?",
        "XGROUP SETID x? g? 0",
        "XGROUP DELCONSUMER x? g? c?",
        "XREADGROUP GROUP g? c? COUNT 2 STREAMS x? >",
        "XREADGROUP GROUP g? c? NOACK STREAMS x? >",
        "XREADGROUP GROUP g? c? STREAMS x? 0",
        "XACK x? g? 5-? 5-? 6-?",
        "XCLAIM x? g? c? 0 5-? 6-? FORCE",
        "XAUTOCLAIM x? g? c? 0 -",
    ];
    let general = [
        "DEL @ @",
        "RENAME @ @",
        "COPY @ @ REPLACE",
        "EXPIRE @ 50",
        "PERSIST @",
        "MOVE @ 1",
        "UNLINK @",
        "SET @ other?",
        "PEXPIREAT @ 1",
        "RENAMENX @ @",
        "FLUSHDB",
        "SELECT 0",
    ];
    let form = match random.below(4) {
        0 => general[random.below(general.len() as u64) as usize],
        _ => forms[random.below(forms.len() as u64) as usize],
    };
    let mut command = String::new();
    for letter in form.chars() {
        match letter {
            '?' => command.push_str(&number(random, 3).to_string()),
            '@' => command.push_str(&key(random)),
            letter => command.push(letter),
        }
    }
    command
}

/// Every row, in no order that matters: neither of rows nor of members or fields.
fn sorted_state(test: &mut TestEngine) -> Vec<String> {
    let sorted = |line: &str| match line.split_once("({") {
        Some((head, rest)) => {
            let (members, tail) = rest.split_once("})").expect("what is opened is closed");
            let mut members: Vec<&str> = members.split(", ").collect();
            members.sort_unstable();
            format!("{head}{members:?}{tail}")
        }
        None => line.to_owned(),
    };
    let mut lines: Vec<String> = test.state().lines().map(sorted).collect();
    lines.sort();
    lines
}

#[test]
fn a_script_that_ends_in_an_error_leaves_every_row_as_it_was() {
    let mut random = Random::from_seed(11);
    let mut test = TestEngine::governed(11, OPEN);
    let client = test.engine.connect();
    for round in 0..300 {
        for _ in 0..6 {
            let command = random_command(&mut random);
            if command != "FLUSHDB" || round % 20 == 0 {
                test.send(client, &request(&command));
            }
        }
        test.effects();
        let before = sorted_state(&mut test);
        let commands: Vec<String> = (0..8).map(|_| random_command(&mut random)).collect();
        let mut words = vec!["EVAL".to_owned(), SCRIPT.to_owned(), "0".to_owned()];
        words.extend(commands.iter().cloned());
        let mut script = Vec::new();
        push_request(&mut script, words.iter());
        let (_, reply) = test.send(client, &script);
        assert_eq!(reply, b"-GONE all of it\r\n");
        assert_eq!(sorted_state(&mut test), before, "after {commands:#?}");
        test.check_bytes(client);
        assert_eq!(test.effect_lines(), Vec::<String>::new(), "after {commands:#?}");
    }
}

/// A command that changes much of a large collection, or of a long string.
fn large_command(random: &mut Random) -> String {
    let forms = [
        "LTRIM l0 ? -1",
        "LTRIM l0 0 -?",
        "LTRIM l0 5 0",
        "LPOP l0 ?",
        "RPOP l0 ?",
        "LREM l0 0 a1",
        "LREM l0 -? a2",
        "LREM l0 ? 7",
        "LSET l0 0 other?",
        "LINSERT l0 BEFORE a1 between?",
        "RPUSH l0 a1 new? a2",
        "LPUSH l0 a2 new? 7",
        "SPOP t0 ?",
        "SPOP t0 100000",
        "SREM t0 m1 m2 m3 m4",
        "SADD t0 new?",
        "ZREMRANGEBYRANK z0 ? -1",
        "ZREMRANGEBYRANK z0 0 ?",
        "ZREMRANGEBYRANK z0 0 -1",
        "SREM t0 MANY",
        "ZADD z0 ? new?",
        "ZPOPMAX z0 ?",
        "APPEND s0 tail?",
        "SETRANGE s0 ? covered",
        "SETRANGE s0 9?? behind",
        "SETBIT s0 ? 1",
        "BITFIELD s0 SET u8 #? 7 INCRBY u16 #9 3 SET u8 #70?? 1",
        "INCRBY n0 ?",
        "APPEND n0 ?",
        "SETRANGE n0 1 x",
        "EXPIRE l0 100",
        "RENAME l0 l1",
        "RENAME l1 l0",
        "DEL s0",
    ];
    let form = forms[random.below(forms.len() as u64) as usize];
    let many = form.contains("MANY").then(|| random.below(1500));
    let many = many.into_iter().flat_map(|first| first..first + 300);
    let many: Vec<String> = many.map(|number| format!("m{number} {number}")).collect();
    form.replace("MANY", &many.join(" ")).replace('?', &random.below(1500).to_string())
}

/// Makes a large collection of each type, and strings.
fn fill(test: &mut TestEngine, client: ClientId) {
    test.call(client, "FLUSHALL");
    for number in 0..2000 {
        test.call(client, &format!("RPUSH l0 a{} {} item:{number}", number % 3, number % 9));
        test.call(client, &format!("SADD t0 m{number} {number}"));
        test.call(client, &format!("ZADD z0 {number} m{number}"));
    }
    test.call(client, &format!("SET s0 {}", "long".repeat(3000)));
    test.call(client, "SET n0 12");
}

/// Runs large commands in a script that fails.
fn fail(test: &mut TestEngine, client: ClientId, random: &mut Random) -> Vec<String> {
    let count = 1 + random.below(6);
    let commands: Vec<String> = (0..count).map(|_| large_command(random)).collect();
    let mut script = Vec::new();
    let words = ["EVAL", SCRIPT, "0"].into_iter().chain(commands.iter().map(String::as_str));
    push_request(&mut script, words.collect::<Vec<_>>().iter());
    let (_, reply) = test.send(client, &script);
    assert_eq!(reply, b"-GONE all of it\r\n");
    commands
}

#[test]
fn thousands_of_elements_are_back_in_their_order_when_a_unit_is_undone() {
    let mut random = Random::from_seed(5);
    let mut test = TestEngine::governed(5, OPEN);
    let client = test.engine.connect();
    fill(&mut test, client);
    let before = sorted_state(&mut test);
    for _ in 0..60 {
        let commands = fail(&mut test, client, &mut random);
        assert_eq!(sorted_state(&mut test), before, "after {commands:#?}");
        test.check_bytes(client);
    }
}

#[test]
fn a_snapshot_amid_large_collections_has_them_as_they_were_though_units_are_undone() {
    let mut test = TestEngine::governed(6, OPEN);
    let client = test.engine.connect();
    for seed in 0..4 {
        let mut random = Random::from_seed(seed);
        fill(&mut test, client);
        let expected = forkless::digest(&mut test);
        let mut taken = forkless::Taken::begin(&mut test);
        while !taken.step(&mut test) {
            fail(&mut test, client, &mut random);
            if random.below(3) == 0 {
                test.call(client, &large_command(&mut random));
            }
        }
        assert_eq!(forkless::digest_of(&taken.end()), expected, "seed {seed}");
    }
}

#[test]
fn what_was_undone_breaks_no_watch() {
    let mut test = TestEngine::governed(1, OPEN);
    let (client, other) = (test.engine.connect(), test.engine.connect());
    test.call(client, "WATCH s1");
    let mut script = Vec::new();
    push_request(&mut script, ["EVAL", SCRIPT, "0", "SET s1 v"].iter());
    test.send(other, &script);
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXEC"), "*0\r\n");
    test.call(client, "WATCH s1");
    test.call(other, "SET s1 v");
    test.call(client, "MULTI");
    assert_eq!(test.call(client, "EXEC"), "*-1\r\n");
}

#[test]
fn a_script_that_runs_out_of_memory_leaves_every_row_as_it_was() {
    let mut test = TestEngine::governed(1, OPEN);
    let client = test.engine.connect();
    test.call(client, "SET s1 before");
    test.call(client, "RPUSH l1 a b");
    test.effects();
    let before = sorted_state(&mut test);
    let text = "redis.call('SET', 's1', 'after') redis.call('RPUSH', 'l1', 'c') \
                redis.call('SET', 'declared:1', 'new') \
                local s = 'x' while true do s = s .. s end";
    let mut script = Vec::new();
    push_request(&mut script, ["EVAL", text, "0"].iter());
    let (_, reply) = test.send(client, &script);
    let reply = String::from_utf8_lossy(&reply).into_owned();
    assert!(reply.starts_with('-') && reply.contains("not enough memory"), "{reply}");
    assert_eq!(sorted_state(&mut test), before);
    assert_eq!(test.effect_lines(), Vec::<String>::new());
    test.check_bytes(client);
}

#[test]
fn a_script_in_a_database_without_a_schema_keeps_what_it_wrote_as_in_redis() {
    let schema = "[keyspace]\nname = \"shop\"\n[key.\"a\"]\ntype = \"string\"\nttl = \"1h\"\n";
    let mut test = TestEngine::governed(1, schema);
    let client = test.engine.connect();
    let eval = |test: &mut TestEngine, script: &str| {
        let mut request = Vec::new();
        push_request(&mut request, ["EVAL", script, "0"].iter());
        test.send(client, &request);
    };
    let fails = "redis.call('SET','a','2') return redis.error_reply('NO no')";
    assert_eq!(test.call(client, "SELECT 1"), "+OK\r\n");
    eval(&mut test, fails);
    assert_eq!(test.call(client, "GET a"), "$1\r\n2\r\n");
    // It is undone as a whole if any of it was under a schema.
    let both = "redis.call('SET','b','2') redis.call('SELECT','0') redis.call('SET','a','2') \
                error('no')";
    eval(&mut test, both);
    assert_eq!(test.call(client, "EXISTS b"), ":0\r\n");
    assert_eq!(test.call(client, "SELECT 0"), "+OK\r\n");
    eval(&mut test, fails);
    assert_eq!(test.call(client, "EXISTS a"), ":0\r\n");
}
