use keyward_commands::{COMMANDS, Flag, lookup};
use keyward_resp::ArgBuf;

use super::*;

const NOW: i64 = 1_000_000;

fn check(call: &str, expected: &str) {
    let args: ArgBuf = call.split(' ').collect();
    let command = lookup(args.args().at(0)).expect("a command of the table");
    let found = match Call::read(command, args.args(), NOW) {
        Call::Set { value, asked } => format!("set {} {asked:?}", value.escape_ascii()),
        Call::Add { key, elements } => {
            format!("add {key} {:?} {}", elements.row_type(), elements.count())
        }
        Call::Count { by, .. } => format!("count {by}"),
        Call::Sum { by, .. } => format!("sum {}", by.escape_ascii()),
        Call::Expire(expiry) | Call::GetEx(expiry) => {
            format!("expire {:?} {}", expiry.end, expiry.only_sooner)
        }
        other => format!("{other:?}"),
    };
    assert_eq!(found, expected, "{call}");
}

#[test]
fn lifetimes_are_read_as_times() {
    check("set k v", "set v Silent");
    check("set k v nx get", "set v Silent");
    check("set k v ex 10 xx", "set v At(1010000)");
    check("set k v PXAT 5", "set v At(5)");
    check("set k v keepttl", "set v Keep");
    check("set k v NX ex 10 nx EX 20", "set v At(1020000)");
    check("setex k 10 v", "set v At(1010000)");
    check("psetex k 10 v", "set v At(1000010)");
    check("expire k -1", "expire Some(999000) false");
    check("pexpireat k 7 lt", "expire Some(7) true");
    check("persist k", "expire None false");
    check("getex k px 5", "expire Some(1000005) false");
    check("getex k persist", "expire None false");
    check("getex k", "Nothing");
}

#[test]
fn what_redis_refuses_is_left_to_it() {
    for call in [
        "set k v ex 0",
        "set k v ex",
        "set k v px x",
        "set k v soon",
        "set k v nx xx",
        "set k v ex 5 px 5",
        "set k v ex 5 keepttl",
        "set k v keepttl pxat 5",
        "setex k 9223372036854775807 v",
        "expire k ten",
        "incrby k 1.5",
        "decrby k -9223372036854775808",
        "incrbyfloat k inf",
        "incrbyfloat k x",
        "mset a 1 b",
        "hset h a 1 b",
        "zadd z 1 a 2",
        "zadd z one a",
        "getex k ex 5 persist",
    ] {
        check(call, "Malformed");
    }
}

#[test]
fn elements_and_destinations_are_found() {
    check("hset h a 1 b 2", "add 1 Hash 2");
    check("hsetnx h a 1", "add 1 Hash 1");
    check("lpush l a b c", "add 1 List 3");
    check("linsert l before p x", "add 1 List 1");
    check("lset l 0 x", "add 1 List 1");
    check("smove a b x", "add 2 Set 1");
    check("zadd z nx ch 1 a 2 b", "add 1 Zset 2");
    check("zadd z incr 1 a", "Make { key: 1, row_type: Some(Zset) }");
    check("sort l store d", "Make { key: 3, row_type: Some(List) }");
    check("sort l", "Nothing");
    check("bitfield k set u8 0 1", "Make { key: 1, row_type: Some(String) }");
    check("bitfield k get u8 0", "Nothing");
    check("bitop and d a b", "Make { key: 2, row_type: Some(String) }");
    check("rename a b", "Make { key: 2, row_type: None }");
    check("pfadd k a", "Make { key: 1, row_type: Some(String) }");
    check("geoadd z 1 2 a", "Make { key: 1, row_type: Some(Zset) }");
    check("geosearchstore d z x", "Make { key: 1, row_type: Some(Zset) }");
    check("georadius z 1 1 1 m", "Nothing");
    check("georadius z 1 1 1 m store d storedist e", "Make { key: 9, row_type: Some(Zset) }");
    check("migrate h 1 k 0 9", "Carry");
    check("migrate h 1 k 0 9 copy", "Nothing");
    check("incrbyfloat k 1e2", "sum 1e2");
    check("decrby k 5", "count -5");
}

/// A command that writes and is read as [`Call::Nothing`] would escape the book.
#[test]
fn every_command_that_writes_rows_is_read() {
    let plain = ["flushall", "flushdb", "swapdb"];
    let reads_only_here = ["bitfield", "georadius", "georadiusbymember", "getex", "sort"];
    for command in COMMANDS.iter().filter(|command| command.flags.has(Flag::Write)) {
        if plain.contains(&command.name) || command.name.starts_with("function|") {
            continue;
        }
        let args: ArgBuf =
            std::iter::once(command.name).chain(std::iter::repeat_n("1", 5)).collect();
        let is_nothing = matches!(Call::read(command, args.args(), NOW), Call::Nothing);
        assert!(!is_nothing || reads_only_here.contains(&command.name), "{}", command.name);
    }
}
