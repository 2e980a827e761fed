//! Strings that are nearly HyperLogLogs, and places and searches that are nearly sound.
//!
//! Promises: no panic, whatever bytes a string has and whatever numbers a search is given; a
//! string that was refused as corrupt is as it was; merging strings counts what counting
//! them together counts; what a search stores is what it replies with; and the log carried
//! out elsewhere gives the same rows.
//! Not here: what the replies should be (`differ`, `tests/wire`).

use crate::Random;
use keyward_engine::ClientId;
use keyward_testkit::engine::TestEngine;

/// Commands of a round.
const COMMANDS: usize = 60;

/// Runs random commands on random strings and places.
///
/// # Panics
/// If a promise is broken.
pub fn round(random: &mut Random) {
    let mut test = TestEngine::new(1);
    let client = test.engine.connect();
    let mut log: Vec<Vec<Vec<u8>>> = Vec::new();
    for _ in 0..COMMANDS {
        let command = if random.one_in(2) { sketch(random) } else { place(random) };
        let before = value(&mut test, client, &command);
        let (_, reply) = test.ask(client, &command);
        assert!(!reply.is_empty(), "{}", shown(&command));
        if reply.starts_with(b"-") {
            let after = value(&mut test, client, &command);
            assert_eq!(before, after, "{} was refused", shown(&command));
        }
        let effects = test.effects();
        log.extend(effects.iter().map(|e| e.command.args().iter().map(<[u8]>::to_vec).collect()));
    }
    check_union(&mut test, client);
    check_stored(&mut test, client, random);
    check_replay(&mut test, client, &log);
}

type Command = Vec<Vec<u8>>;

fn words(text: &str) -> Command {
    text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

fn shown(command: &Command) -> String {
    let words = command.iter().map(|word| word.escape_ascii().to_string());
    words.collect::<Vec<_>>().join(" ")
}

/// The row that a command names first.
fn value(test: &mut TestEngine, client: ClientId, command: &Command) -> Vec<u8> {
    let key = command.get(1).cloned().unwrap_or_default();
    test.ask(client, &[b"DUMP".to_vec(), key]).1
}

fn key(random: &mut Random) -> String {
    format!("h{}", random.below(4))
}

fn sketch(random: &mut Random) -> Command {
    let (own, other) = (key(random), key(random));
    match random.below(8) {
        0 | 1 => {
            let elements: Vec<String> =
                (0..random.below(40)).map(|_| random.below(1 << 20).to_string()).collect();
            let mut command = words(&format!("PFADD {own}"));
            command.extend(elements.into_iter().map(String::into_bytes));
            command
        }
        2 => words(&format!("PFCOUNT {own}")),
        3 => words(&format!("PFMERGE {own} {other}")),
        4 => {
            let sub = *random.pick(&["DECODE", "ENCODING", "TODENSE", "GETREG", "NOTHING"]);
            let mut command = words(&format!("PFDEBUG {sub}"));
            command.push(own.into_bytes());
            command
        }
        5 => vec![b"SET".to_vec(), own.into_bytes(), nearly(random)],
        6 => {
            let mut command = words(&format!("SETRANGE {own} {}", random.below(40)));
            command.push((0..1 + random.below(3)).map(|_| random.below(256) as u8).collect());
            command
        }
        _ => words(&format!("PFCOUNT {own} {other}")),
    }
}

/// Bytes that look like a HyperLogLog.
fn nearly(random: &mut Random) -> Vec<u8> {
    let mut text = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80".to_vec();
    text[4] = random.below(3) as u8;
    let bytes = match text[4] {
        0 => 12288 + random.below(3) - 1,
        _ => random.below(80),
    };
    text.extend((0..bytes).map(|_| random.below(256) as u8));
    text.extend(*random.pick(&[&b""[..], b"\x7f\xff", b"\x7f", b"\x7f\xf0\x83\x83\x83"]));
    text
}

fn number(random: &mut Random) -> String {
    const ODD: [&str; 14] = [
        "0",
        "-0",
        "180",
        "-180",
        "85.05112878",
        "-85.05112878",
        "inf",
        "-inf",
        "nan",
        "1e300",
        "1e-300",
        "x",
        "",
        "20037726.37",
    ];
    match random.below(5) {
        0 => (*random.pick(&ODD)).to_owned(),
        _ => format!("{}.{}", random.below(170) as i64 - 85, random.below(1000)),
    }
}

fn place(random: &mut Random) -> Command {
    let member = format!("m{}", random.below(6));
    let key = format!("g{}", random.below(2));
    let (a, b, c) = (number(random), number(random), number(random));
    let unit = *random.pick(&["m", "km", "ft", "mi", "x"]);
    let order = *random.pick(&["ASC", "DESC", "WITHDIST", "WITHHASH", "WITHCOORD"]);
    words(&match random.below(9) {
        0 | 1 => format!("GEOADD {key} {a} {b} {member}"),
        2 => format!("ZADD {key} {a} {member}"),
        3 => format!("GEODIST {key} {member} m0 {unit}"),
        4 => format!("GEOHASH {key} {member}"),
        5 => format!("GEOSEARCH {key} FROMLONLAT {a} {b} BYRADIUS {c} {unit} {order}"),
        6 => format!("GEOSEARCH {key} FROMMEMBER {member} BYBOX {a} {b} {unit} COUNT 3 {order}"),
        7 => format!("GEORADIUS {key} {a} {b} {c} {unit} COUNT 2 STOREDIST g2"),
        _ => format!("GEOSEARCHSTORE g3 {key} FROMMEMBER {member} BYRADIUS {c} {unit}"),
    })
}

/// Merging counts what counting together counts.
fn check_union(test: &mut TestEngine, client: ClientId) {
    let together = test.call(client, "PFCOUNT h0 h1 h2 h3");
    if together.starts_with(':') {
        test.call(client, "DEL union");
        assert_eq!(test.call(client, "PFMERGE union h0 h1 h2 h3"), "+OK\r\n");
        assert_eq!(test.call(client, "PFCOUNT union"), together);
    }
}

/// As many members are stored as are replied with.
fn check_stored(test: &mut TestEngine, client: ClientId, random: &mut Random) {
    let shape = format!("FROMLONLAT 1 1 BYRADIUS {} km", random.below(20_000));
    let found = test.call(client, &format!("GEOSEARCH g0 {shape}"));
    let stored = test.call(client, &format!("GEOSEARCHSTORE g9 g0 {shape}"));
    let count = |reply: &str| reply[1..].split("\r\n").next().map(str::to_owned);
    if found.starts_with('*') {
        assert_eq!(count(&found), count(&stored), "{shape}");
    }
}

/// The log gives the same rows elsewhere.
fn check_replay(test: &mut TestEngine, client: ClientId, log: &[Command]) {
    let mut copy = TestEngine::new(2);
    let reader = copy.engine.connect();
    for command in log {
        copy.ask(reader, command);
    }
    for key in ["h0", "h1", "h2", "h3", "g0", "g1", "g2", "g3"] {
        let dump =
            |test: &mut TestEngine, client| test.call(client, &format!("DEBUG DIGEST-VALUE {key}"));
        assert_eq!(dump(test, client), dump(&mut copy, reader), "{key}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_rounds() {
        (0..40).for_each(|seed| round(&mut Random::new(seed)));
    }
}
