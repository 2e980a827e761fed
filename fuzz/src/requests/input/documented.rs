//! Arguments as COMMAND DOCS has them, with words that fit their kind and name: a command
//! whose arguments are any words is mostly refused before it has done anything.
//!
//! Not here: what must agree between arguments, but for a number of keys and the keys.

use super::{key, word};
use crate::Random;
use keyward_commands::argument::{Argument, ArgumentKind};

/// The most often that an argument is repeated.
const REPEATED_MAX: usize = 3;

/// Words of arguments that are no numbers, by the argument's name: few of each, so that
/// commands meet what others have made.
const NAMED: &[(&[&str], &[&str])] = &[
    (
        &["id", "start", "end", "stop", "last-id", "max_deleted_entry_id", "threshold"],
        &["1-1", "2-0", "2", "0", "3-7", "5-*", "-", "+", "(1-1", "$", "0-1"],
    ),
    (&["group", "groupname"], &["g", "h"]),
    (&["consumer", "consumername"], &["ann", "bob"]),
    (&["min-idle-time"], &["0", "1", "1000"]),
    (&["username"], &["default", "ann", "bob"]),
    (
        &["rule"],
        &["on", "off", "nopass", "allkeys", "~a*", "%R~b", "&c", "+@all", "-@write", "+get", ">x"],
    ),
    (&["categoryname", "category"], &["read", "write", "stream", "geo", "hyperloglog"]),
    (&["member", "member1", "member2", "element", "field", "pivot"], &["x", "yy", "1", "(a"]),
    (&["channel", "shardchannel"], &["c", "d"]),
    (&["command", "command-name"], &["get", "xadd", "geoadd", "client|id"]),
    (&["min", "max"], &["-", "+", "(a", "[b", "-inf", "+inf", "1", "(2"]),
    (&["cursor"], &["0", "1", "17"]),
    (&["encoding"], &["u8", "i64", "i5"]),
    (&["password"], &["x", "yy"]),
];

const INTEGERS: &[&str] = &["0", "1", "2", "3", "10", "-1", "-2", "100", "65536"];
const DOUBLES: &[&str] = &["0", "1", "2.5", "13.361389", "-80.5", "38.115556", "1000", "3e2"];
const TIMES: &[&str] = &["1700000001", "1700000100000", "1900000000", "1"];

/// Appends arguments of a command; those that may be left out now and then.
pub(super) fn push_arguments(
    words: &mut Vec<Vec<u8>>,
    arguments: &[Argument],
    random: &mut Random,
) {
    let mut is_counted = false;
    for argument in arguments {
        if argument.optional && !random.one_in(3) {
            continue;
        }
        // One key follows its number.
        let repeats_max = if argument.multiple && !is_counted { REPEATED_MAX } else { 1 };
        push_repeated(words, argument, 1 + random.below(repeats_max), random);
        is_counted = argument.name == "numkeys";
    }
}

fn push_repeated(
    words: &mut Vec<Vec<u8>>,
    argument: &Argument,
    repeats: usize,
    random: &mut Random,
) {
    for repeat in 0..repeats {
        if let Some(token) = argument.token.filter(|_| repeat == 0 || argument.multiple_token) {
            words.push(token.into());
        }
        push_one(words, argument, random);
    }
}

fn push_one(words: &mut Vec<Vec<u8>>, argument: &Argument, random: &mut Random) {
    let pick = |pool: &[&str], random: &mut Random| random.pick(pool).as_bytes().to_vec();
    match argument.kind {
        ArgumentKind::Key => words.push(key(random)),
        // Its token is all there is of it.
        ArgumentKind::PureToken => {}
        ArgumentKind::OneOf if !argument.arguments.is_empty() => {
            let one = random.pick(argument.arguments);
            push_repeated(words, one, 1, random);
        }
        ArgumentKind::Block => push_arguments(words, argument.arguments, random),
        _ if random.one_in(16) => words.push(word(random)),
        ArgumentKind::Integer if argument.name == "numkeys" => words.push(b"1".to_vec()),
        ArgumentKind::Integer => words.push(pick(INTEGERS, random)),
        ArgumentKind::Double => words.push(pick(DOUBLES, random)),
        ArgumentKind::UnixTime => words.push(pick(TIMES, random)),
        ArgumentKind::Pattern => words.push(pick(&["*", "a*", "[a-c]?"], random)),
        ArgumentKind::String | ArgumentKind::OneOf => {
            let pool = NAMED.iter().find(|(names, _)| names.contains(&argument.name));
            words.push(match pool {
                Some((_, pool)) => pick(pool, random),
                None => word(random),
            });
        }
    }
}
