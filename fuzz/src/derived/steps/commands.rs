//! Random commands of all kinds on the keys of `shop.toml`.

use crate::Random;

/// Any command a client of the keyspace may send.
pub(super) fn any_command(random: &mut Random, now_ms: i64) -> Vec<String> {
    if random.one_in(10) {
        return script(random, now_ms);
    }
    words(&simple(random, now_ms))
}

/// A command of a client of another database, on keys of the same names.
pub(super) fn plain_command(random: &mut Random, now_ms: i64) -> Vec<String> {
    let (key, other) = (any_key(random), any_key(random));
    words(&match random.below(5) {
        0 => format!("MOVE {key} 0"),
        1 => format!("COPY {key} {key} DB 0"),
        2 => format!("COPY {key} {other} DB 0 REPLACE"),
        3 if random.one_in(8) => random.pick(&["FLUSHDB", "SWAPDB 0 1", "FLUSHALL"]).to_string(),
        _ => simple(random, now_ms),
    })
}

/// A command that may wait, on keys that others write to.
pub(super) fn blocking_command(random: &mut Random) -> Vec<String> {
    let (a, b) = (random.below(2), random.below(2));
    words(&match random.below(5) {
        0 => format!("BLPOP log:{a} 3"),
        1 => format!("BLMOVE log:{a} log:{b} LEFT RIGHT 3"),
        2 => format!("BRPOPLPUSH log:{a} recent:{b} 3"),
        3 => format!("BZPOPMIN recent:{a} recent:{b} 3"),
        _ => format!("BZMPOP 3 1 recent:{a} MAX COUNT 2"),
    })
}

pub(in crate::derived) fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

/// A script or a function of a few commands, which may end in an error.
fn script(random: &mut Random, now_ms: i64) -> Vec<String> {
    let mut lua = String::new();
    for _ in 0..1 + random.below(4) {
        let line = if random.one_in(5) { restore(random) } else { call(random, now_ms) };
        lua.push_str(&format!("do {line} end "));
    }
    if random.one_in(3) {
        lua.push_str("error('enough')");
    }
    match random.below(4) {
        0 | 1 => vec!["EVAL".to_owned(), lua, "0".to_owned()],
        2 => {
            let body = format!("function(keys, args) {lua} end");
            let library = format!("#!lua name=shop\nredis.register_function('act', {body})");
            ["FUNCTION", "LOAD", "REPLACE", &library].map(str::to_owned).to_vec()
        }
        _ => words("FCALL act 0"),
    }
}

fn call(random: &mut Random, now_ms: i64) -> String {
    let command = simple(random, now_ms);
    let words: Vec<String> = command.split(' ').map(|word| format!("'{word}'")).collect();
    format!("redis.{}({})", random.pick(&["call", "call", "pcall"]), words.join(","))
}

fn restore(random: &mut Random) -> String {
    let (from, to) = (any_key(random), any_key(random));
    let ttl = random.below(2) * random.below(9_000);
    let how = random.pick(&["'REPLACE'", "'REPLACE'", "'FREQ','3'"]);
    format!(
        "local d = redis.call('DUMP','{from}'); \
         if d then redis.call('RESTORE','{to}','{ttl}',d,{how}) end"
    )
}

/// A command whose words have no spaces in them.
fn simple(random: &mut Random, now_ms: i64) -> String {
    match random.below(12) {
        0 | 1 => user_command(random),
        2 => string_command(random),
        3 | 4 => doc_command(random, now_ms),
        5 => set_command(random),
        6 | 7 => follower_command(random),
        8 => list_command(random),
        9 => session_command(random),
        _ => key_command(random, now_ms),
    }
}

fn id(random: &mut Random) -> usize {
    random.below(3)
}

fn user_command(random: &mut Random) -> String {
    let id = id(random);
    let status = random.pick(&["active", "active", "closed", "lost"]);
    let (plan, mail) = (random.pick(&["gold", "free"]), random.below(4));
    match random.below(10) {
        0..=2 => format!("HSET user:{id} status {status} plan {plan} email m{mail}"),
        3 => format!("HMSET user:{id} plan {plan} status {status} seen {mail}"),
        4 => format!("HSET user:{id} seen {}", random.below(5)),
        5 => format!("HINCRBY user:{id} seen {}", random.below(5) as i64 - 2),
        6 => format!("HSET user:{id} status {status}"),
        7 => format!("HSETNX user:{id} email m{mail}"),
        8 => format!("HDEL user:{id} email seen plan status"),
        _ => format!("HDEL user:{id} {}", random.pick(&["email", "seen", "plan", "email seen"])),
    }
}

fn string_command(random: &mut Random) -> String {
    let (table, other) = (random.pick(&["code", "lease"]), random.pick(&["code", "lease"]));
    let (id, next) = (id(random), id(random));
    let (text, more) = (random.below(4), random.below(4));
    let condition = random.pick(&["NX", "XX", "KEEPTTL", "PX 900"]);
    let lifetime = random.pick(&["PX 700", "PERSIST", "EX 90", "EXAT 9"]);
    match random.below(14) {
        0..=2 => format!("SET {table}:{id} c{text}"),
        3 => format!("SET {table}:{id} c{text} {condition}"),
        4 => format!("MSET {table}:{id} c{text} {other}:{next} c{more}"),
        5 => format!("MSETNX {table}:{id} c{text} {other}:{next} c{more}"),
        6 => format!("MSET code:{id} c{text} owner:c{text} {id}"),
        7 => format!("APPEND {table}:{id} x"),
        8 => format!("SETRANGE {table}:{id} 1 {text}"),
        9 => format!("GETSET {table}:{id} c{text}"),
        10 => format!("GETDEL {table}:{id}"),
        11 => format!("GETEX {table}:{id} {lifetime}"),
        12 => format!("BITOP AND {table}:{id} {other}:{next} {table}:{id}"),
        _ => format!("SETBIT {table}:{id} {} 1", 11 + random.below(4)),
    }
}

fn doc_command(random: &mut Random, now_ms: i64) -> String {
    let (doc, n, text) = (random.below(2), id(random), random.below(4));
    let ends = now_ms - 300 + random.below(12_000) as i64;
    let kind = random.pick(&["text", "image", "image", "sound"]);
    match random.below(13) {
        0..=2 => format!("SET doc:{doc} {{\"kind\":\"{kind}\",\"ends\":{ends}}}"),
        3 => format!("SET doc:{doc} {{\"ends\":{ends},\"size\":{text},\"kind\":\"{kind}\"}}"),
        4 => format!("SETRANGE doc:{doc} 9 {}", random.pick(&["text", "image\""])),
        5 => format!("APPEND doc:{doc} {}", random.pick(&["}", "x"])),
        6 | 7 => format!("SET note:{doc}:{n} t{text}"),
        8 => format!("MSET note:{doc}:{n} t{text} stamp:{doc}:{n} s"),
        9 | 10 => format!("SET stamp:{doc}:{n} s{text}"),
        11 => format!("SADD notes:{doc} {n} {}", id(random)),
        _ => format!("SREM notes:{doc} {n}"),
    }
}

fn set_command(random: &mut Random) -> String {
    let (a, b, c) = (id(random), id(random), id(random));
    let (one, other) = (random.pick(&["out", "in"]), random.pick(&["out", "in"]));
    let store = random.pick(&["SUNIONSTORE", "SINTERSTORE", "SDIFFSTORE"]);
    match random.below(9) {
        0..=2 => format!("SADD {one}:{a} {b} {c}"),
        3 => format!("SREM {one}:{a} {b}"),
        4 => format!("SMOVE {one}:{a} {other}:{b} {c}"),
        5 => format!("SPOP {one}:{a}"),
        6 => format!("SPOP {one}:{a} 2"),
        7 => format!("SADD {one}:{a} {}", random.pick(&["007", "x", "5"])),
        _ => format!("{store} {one}:{a} {other}:{b} {one}:{c}"),
    }
}

fn follower_command(random: &mut Random) -> String {
    let (room, n, score) = (random.below(2), random.below(5), random.below(50));
    match random.below(11) {
        0..=2 => format!("SET msg:{room}:{n} hello"),
        3 => format!("APPEND msg:{room}:{n} x"),
        4..=6 => format!("ZADD recent:{room} {score} {n} {} {}", score + 1, random.below(5)),
        7 => format!("ZINCRBY recent:{room} 1 {n}"),
        8 => format!("ZPOPMIN recent:{room}"),
        9 => format!("ZRANGESTORE recent:{room} recent:{} 0 -1", random.below(2)),
        _ => format!("ZUNIONSTORE recent:{room} 2 recent:0 recent:1"),
    }
}

fn list_command(random: &mut Random) -> String {
    let (a, b) = (random.below(2), random.below(2));
    match random.below(8) {
        0..=2 => format!("{} log:{a} x y", random.pick(&["LPUSH", "RPUSH"])),
        3 => format!("LMOVE log:{a} log:{b} LEFT RIGHT"),
        4 => format!("LINSERT log:{a} BEFORE x z"),
        5 => format!("SORT log:{a} ALPHA STORE log:{b}"),
        6 => format!("INCRBY hits:{a} 2"),
        _ => format!("LREM log:{a} 1 x"),
    }
}

fn session_command(random: &mut Random) -> String {
    let (session, user) = (id(random), id(random));
    match random.below(6) {
        0..=2 => format!("HSET session:{session} user {user}"),
        3 => format!("HGET session:{session} user"),
        4 => format!("HSET session:{session} note n{user}"),
        _ => format!("{} {}", random.pick(&["TOUCH", "EXISTS", "TYPE"]), any_key(random)),
    }
}

/// A command that does not care what a key holds, or does not care for keys.
fn key_command(random: &mut Random, now_ms: i64) -> String {
    let (key, other) = (any_key(random), any_key(random));
    match random.below(18) {
        0 | 1 => format!("{} {key}", random.pick(&["DEL", "UNLINK"])),
        2 => format!("DEL {key} {other}"),
        3 => format!("RENAME {key} {other}"),
        4 => format!("RENAMENX {key} {other}"),
        5 => format!("COPY {key} {other} REPLACE"),
        6 => format!("COPY {key} {key} DB 1"),
        7 => format!("MOVE {key} 1"),
        8 => format!("PEXPIRE {key} {}", random.below(9_000)),
        9 => format!("PEXPIREAT {key} {}", now_ms - 100 + random.below(9_000) as i64),
        10 => format!("EXPIRE {key} 100 {}", random.pick(&["NX", "XX", "GT", "LT"])),
        11 => format!("PERSIST {key}"),
        12 => format!("SET {key} {}", random.below(3)),
        13 => format!("SADD {key} {}", random.below(3)),
        14 => format!("SUNIONSTORE {key} {other}"),
        15 if random.one_in(6) => {
            random.pick(&["FLUSHDB", "FLUSHALL", "FLUSHDB ASYNC", "SWAPDB 0 1"]).to_string()
        }
        16 => random.pick(&["RANDOMKEY", "DBSIZE", "KEYS *", "SCAN 0"]).to_string(),
        _ => format!("ZADD {key} {} {}", random.below(3), random.below(3)),
    }
}

/// A key of any pattern, and now and then of none.
pub(super) fn any_key(random: &mut Random) -> String {
    const SOURCES: &[&str] = &[
        "user:B",
        "code:B",
        "lease:B",
        "doc:A",
        "note:A:B",
        "stamp:A:B",
        "out:B",
        "in:B",
        "msg:A:B",
        "session:B",
    ];
    const OTHERS: &[&str] = &[
        "notes:A",
        "recent:A",
        "log:A",
        "hits:A",
        "active",
        "active:gold",
        "seen",
        "users",
        "sizes",
        "docs:text",
        "owner:cB",
        "leaser:cB",
        "by_email:mB",
        "plan_of:A",
        "note_of:tB",
        "stamps:A",
        "sessions:B",
        "stray:B",
    ];
    let (a, b) = (random.below(2), random.below(3));
    let pattern = if random.one_in(3) { random.pick(OTHERS) } else { random.pick(SOURCES) };
    pattern.replace('A', &a.to_string()).replace('B', &b.to_string())
}
