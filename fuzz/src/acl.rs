//! Rules of ACL: any words get an answer, and what is told of a user makes that user again.
//!
//! Inputs are rules of every kind, some of them damaged. Promises: a rule that is refused
//! changes nothing; the line of a user, given to a new one, makes one of the same line, who
//! may do the same.

use crate::Random;
use keyward_engine::ClientId;
use keyward_testkit::engine::TestEngine;

const RULES: &[&str] = &[
    "on",
    "off",
    "nopass",
    "resetpass",
    "reset",
    "allkeys",
    "resetkeys",
    "allchannels",
    "resetchannels",
    "allcommands",
    "nocommands",
    "clearselectors",
    "skip-sanitize-payload",
    "sanitize-payload",
    "~*",
    "~a*",
    "~a",
    "%R~b",
    "%W~b",
    "%RW~c:*",
    "%r~",
    "%~x",
    "=a:{id}",
    "%R=a:{id:int}",
    "=a:{",
    "&*",
    "&c",
    "&c:*",
    "+@all",
    "-@all",
    "+@read",
    "-@dangerous",
    "+@nosuch",
    "+get",
    "-get",
    "+client|id",
    "-client",
    "+config|get",
    "+select|1",
    "+SELECT|2",
    "+select|",
    "+config|get|x",
    "-select|1",
    "+psync",
    ">p",
    "<p",
    ">",
    "#x",
    "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    "!2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    "(+get ~a)",
    "(",
    ")",
    "(+set",
    "%W~b)",
    "(on)",
    "( +@write -@slow &x )",
    "(\"~a\")",
    "(\"",
    "",
];

const CALLS: &[&[&str]] = &[
    &["GET", "a"],
    &["GET", "b"],
    &["SET", "b", "1"],
    &["SET", "c:1", "1", "GET"],
    &["COPY", "a", "b", "DB", "1"],
    &["MOVE", "a", "1"],
    &["SELECT", "1"],
    &["SELECT", "2"],
    &["PUBLISH", "c", "m"],
    &["PSUBSCRIBE", "c:*"],
    &["CLIENT", "ID"],
    &["CONFIG", "GET", "x"],
    &["EVAL", "return 1", "1", "a"],
    &["SORT", "a", "STORE", "b"],
];

/// Gives one user random rules, some at a time, and makes another one of what is told of it.
pub fn round(random: &mut Random) {
    let mut test = TestEngine::new(random.number());
    let admin = test.engine.connect();
    test.call(admin, "ACL SETUSER a");
    for _ in 0..1 + random.below(6) {
        let before = line(&mut test, admin, "a");
        let rules: Vec<Vec<u8>> = (0..random.below(6)).map(|_| rule(random)).collect();
        let words: Vec<&[u8]> = rules.iter().map(Vec::as_slice).collect();
        let reply = ask(&mut test, admin, &call("SETUSER", "a", &words));
        let after = line(&mut test, admin, "a");
        assert!(reply == b"+OK\r\n" || after == before, "a refusal changed {before:?}");
    }
    let first = line(&mut test, admin, "a");
    let rules: Vec<&[u8]> = first.split(|byte| *byte == b' ').collect();
    let again = call("SETUSER", "b", &rules);
    assert_eq!(ask(&mut test, admin, &again), b"+OK\r\n", "{}", first.escape_ascii());
    assert_eq!(line(&mut test, admin, "b"), first, "another line");
    for tried in CALLS {
        let tried: Vec<&[u8]> = tried.iter().map(|word| word.as_bytes()).collect();
        let both = ["a", "b"].map(|user| ask(&mut test, admin, &call("DRYRUN", user, &tried)));
        assert_eq!(both[0], both[1], "{tried:?} with {}", first.escape_ascii());
    }
    assert!(ask(&mut test, admin, &call("GETUSER", "a", &[])).starts_with(b"*12\r\n"));
}

fn rule(random: &mut Random) -> Vec<u8> {
    let mut rule = random.pick(RULES).as_bytes().to_vec();
    if random.one_in(8) && !rule.is_empty() {
        let at = random.below(rule.len());
        match random.below(3) {
            0 => rule[at] = random.number() as u8,
            1 => rule.truncate(at),
            _ => rule.insert(at, *random.pick(b" |~%()\0\xff")),
        }
    }
    rule
}

/// The words of a call of ACL about a user.
fn call<'a>(subcommand: &'a str, user: &'a str, rest: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let start = ["ACL", subcommand, user].map(str::as_bytes);
    [&start[..], rest].concat()
}

fn ask(test: &mut TestEngine, client: ClientId, words: &[&[u8]]) -> Vec<u8> {
    test.ask(client, words).1
}

/// What ACL LIST says of a user, without the name.
fn line(test: &mut TestEngine, admin: ClientId, user: &str) -> Vec<u8> {
    let list = ask(test, admin, &["ACL", "LIST"].map(str::as_bytes));
    let start = format!("user {user} ").into_bytes();
    let at = list.windows(start.len()).position(|window| window == start);
    let at = at.expect("the user is listed") + start.len();
    let rest = &list[at..];
    let end = rest.windows(2).position(|window| window == b"\r\n").expect("lines end");
    rest[..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_a_user_makes_that_user_again() {
        (0..2_000).for_each(|seed| round(&mut Random::new(seed)));
    }
}
