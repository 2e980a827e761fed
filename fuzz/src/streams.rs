//! Streams that come as damaged payloads, and what is done to them then.
//!
//! A stream that commands made is dumped, some bytes of it are changed, and it is restored
//! without a look at its checksum. Promises: a payload is refused or is a stream on which
//! every command can be run; what it dumps to is restored to the same stream.

use crate::Random;
use keyward_engine::ClientId;
use keyward_testkit::engine::TestEngine;

/// Makes, damages and uses one stream.
pub fn round(random: &mut Random) {
    let mut test = TestEngine::new(random.below(1000) as u64);
    let client = test.engine.connect();
    test.call(client, "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1");
    for _ in 0..random.below(60) {
        run(&mut test, client, random);
    }
    let Some(mut payload) = dump(&mut test, client) else { return };
    for _ in 0..random.below(4) {
        let at = random.below(payload.len());
        payload[at] = match random.below(4) {
            0 => payload[at].wrapping_add(1),
            1 => payload[at].wrapping_sub(1),
            2 => 0xff,
            _ => random.below(256) as u8,
        };
    }
    let (_, reply) = test.ask(client, &[&b"RESTORE"[..], b"s", b"0", &payload, b"REPLACE"]);
    if reply != b"+OK\r\n" {
        assert!(reply.starts_with(b"-"), "{}", reply.escape_ascii());
        return;
    }
    for _ in 0..20 {
        run(&mut test, client, random);
    }
    for command in ["XRANGE s - +", "XREVRANGE s + -", "XINFO STREAM s FULL COUNT 0"] {
        test.call_bytes(client, command);
    }
    if let Some(payload) = dump(&mut test, client) {
        let (_, reply) = test.ask(client, &[&b"RESTORE"[..], b"copy", b"0", &payload, b"REPLACE"]);
        assert_eq!(reply, b"+OK\r\n", "what was dumped is restored");
        let [one, two] =
            ["s", "copy"].map(|key| test.call_bytes(client, &format!("XRANGE {key} - +")));
        assert_eq!(one, two, "a copy is the same");
    }
}

fn dump(test: &mut TestEngine, client: ClientId) -> Option<Vec<u8>> {
    let (_, reply) = test.ask(client, &["DUMP", "s"]);
    let start = reply.iter().position(|byte| *byte == b'\n')? + 1;
    let end = reply.len().checked_sub(2)?;
    reply.get(start..end).map(<[u8]>::to_vec)
}

/// Runs a random command on the stream, whatever it answers.
fn run(test: &mut TestEngine, client: ClientId, random: &mut Random) {
    let (number, other) = (random.below(30), random.below(30));
    let consumer = random.below(3);
    let long = "x".repeat(random.below(5) * 40);
    let command = match random.below(16) {
        0..5 => format!("XADD s {}-* f {number} g v{long}", 1 + number / 6),
        5 => format!("XADD s MAXLEN ~ 10 9-* other {number}"),
        6 => format!("XDEL s {}-{} {}-{}", number / 6, number % 6, other / 6, other % 6),
        7 => format!("XTRIM s MAXLEN {number}"),
        8 => format!("XTRIM s MINID {}-{}", number / 6, number % 6),
        9 => "XGROUP CREATE s g 0 MKSTREAM".to_owned(),
        10 | 11 => format!("XREADGROUP GROUP g c{consumer} COUNT 3 STREAMS s >"),
        12 => format!("XACK s g {}-{}", number / 6, number % 6),
        13 => format!("XAUTOCLAIM s g c{consumer} 0 -"),
        14 => format!("XRANGE s {}-{} {}", number / 6, number % 6, other / 6),
        _ => format!("XGROUP DELCONSUMER s g c{consumer}"),
    };
    test.call_bytes(client, &command);
}

/// Commands whose replies may be any bytes.
trait CallBytes {
    fn call_bytes(&mut self, client: ClientId, command: &str) -> Vec<u8>;
}

impl CallBytes for TestEngine {
    fn call_bytes(&mut self, client: ClientId, command: &str) -> Vec<u8> {
        let words: Vec<&str> = command.split(' ').collect();
        self.ask(client, &words).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_streams_are_refused_or_used() {
        for seed in 0..300 {
            round(&mut Random::new(seed));
        }
    }
}
