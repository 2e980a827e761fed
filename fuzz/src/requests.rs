//! RESP requests: any bytes from a client, through the parser into the engine.
//!
//! Inputs are requests of every command there is, inline ones too, with words changed,
//! doubled and left out, then bytes changed, cut and moved. Promises: no panic; however
//! the bytes are cut, the parser finds the same commands and ends with the same error;
//! an engine that gets them byte by byte gives the same replies as one that gets them at
//! once; and what is taken of the heap is bounded, whatever lengths are announced.
//! Not here: what the replies should be (`differ`, `tests/wire`), sockets.

mod input;

pub use input::{generate, mutate};

use crate::{Random, heap};
use keyward_engine::{Engine, EngineOptions, Nobody, Progress, Tunables};
use keyward_resp::{Args, Batch, Parsed, ProtocolError, RequestLimits, RequestParser};

/// The longest input; longer ones are cut.
pub const INPUT_BYTES_MAX: usize = 2048;
/// Inputs up to this length are also parsed in two pieces, cut at every byte.
const CUT_BYTES_MAX: usize = 256;
/// `proto-max-bulk-len` of the engine: so long a value may become by one command.
const TEXT_BYTES_MAX: u64 = 16 << 10;
/// The most an input may take of the heap: an engine takes about one megabyte, and an MGET
/// of nothing but one long value replies with 2000 times its own length.
const HEAP_BYTES_MAX: usize = 32 << 20;
/// What the engine is told the time is, in microseconds.
const NOW_US: i64 = 1_700_000_000_000_000;
/// Draws with repetition reply with as many members as they are asked for, as Redis does.
const DRAWS: [&[u8]; 3] = [b"hrandfield", b"srandmember", b"zrandmember"];
/// The most members that are drawn.
const DRAWN_MAX: i64 = 100;

type Commands = Vec<Vec<Vec<u8>>>;

/// Makes one random input and judges it.
pub fn round(random: &mut Random) {
    let mut input = generate(random);
    for _ in 0..random.below(6) {
        input = mutate(&input, &[], random);
    }
    judge(&input);
}

/// Holds the parser and the engine to their promises.
///
/// # Panics
/// If one is broken.
pub fn judge(input: &[u8]) {
    let input = &input[..input.len().min(INPUT_BYTES_MAX)];
    let (_, taken) = heap::most_taken(|| judge_cuts(input));
    assert!(taken <= HEAP_BYTES_MAX, "{taken} bytes of the heap for {}", input.escape_ascii());
    let (_, taken) = heap::most_taken(|| judge_replies(input));
    assert!(taken <= HEAP_BYTES_MAX, "{taken} bytes of the heap for {}", input.escape_ascii());
}

fn judge_cuts(input: &[u8]) {
    for authenticated in [true, false] {
        let limits = RequestLimits { authenticated, ..RequestLimits::default() };
        let whole = parse([input], &limits);
        assert_eq!(parse(input.chunks(1), &limits), whole, "by bytes: {}", input.escape_ascii());
        if input.len() <= CUT_BYTES_MAX {
            for cut in 0..input.len() {
                let pieces = [&input[..cut], &input[cut..]];
                assert_eq!(parse(pieces, &limits), whole, "at {cut}: {}", input.escape_ascii());
            }
        }
    }
}

/// The commands in these pieces, and the error they end with.
fn parse<'a>(
    pieces: impl IntoIterator<Item = &'a [u8]>,
    limits: &RequestLimits,
) -> (Commands, Option<ProtocolError>) {
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let (mut buffer, mut commands) = (Vec::new(), Commands::new());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let parsed = parser.parse(&mut buffer, limits, &mut batch);
            for command in batch.commands(&buffer) {
                commands.push(command.iter().map(<[u8]>::to_vec).collect());
            }
            batch.clear();
            match parsed {
                Ok(Parsed::BatchFull) => {}
                Ok(Parsed::NeedsInput) => break,
                Err(error) => return (commands, Some(error)),
            }
        }
        parser.consume(&mut buffer);
    }
    (commands, None)
}

fn judge_replies(input: &[u8]) {
    let at_once = replies([input]);
    let by_bytes = replies(input.chunks(1));
    assert!(
        at_once == by_bytes,
        "replies to {}\nat once:  {}\nby bytes: {}",
        input.escape_ascii(),
        at_once.escape_ascii(),
        by_bytes.escape_ascii()
    );
}

/// What a new engine replies to these pieces, as a connection of the server feeds it.
fn replies<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let tunables = Tunables { text_bytes_max: TEXT_BYTES_MAX, ..Tunables::default() };
    let mut engine = Engine::new(EngineOptions { seed: 1, databases: 2, tunables });
    engine.set_time(NOW_US);
    let client = engine.connect();
    let (mut parser, mut found, mut batch) = (RequestParser::new(), Batch::new(), Batch::new());
    let (mut buffer, mut out) = (Vec::new(), Vec::new());
    let limits = RequestLimits { bulk_bytes_max: TEXT_BYTES_MAX, ..RequestLimits::default() };
    'pieces: for piece in pieces {
        buffer.extend_from_slice(piece);
        loop {
            let parsed = parser.parse(&mut buffer, &limits, &mut found);
            for command in found.commands(&buffer).filter(|command| is_judged(*command)) {
                batch.push(&ranges(&buffer, command));
            }
            let progress = engine.execute(&mut Nobody, client, &buffer, &batch, &mut out);
            batch.clear();
            found.clear();
            match parsed {
                _ if progress != Progress::Done => break 'pieces,
                Err(_) => break 'pieces,
                Ok(Parsed::BatchFull) => {}
                Ok(Parsed::NeedsInput) => break,
            }
        }
        parser.consume(&mut buffer);
    }
    engine.set_time(NOW_US + 1_000_000);
    while engine.tick(&mut Nobody) {}
    while engine.rest() {}
    engine.disconnect(client);
    out
}

/// Where the words of a command lie in its buffer.
fn ranges(buffer: &[u8], command: Args<'_>) -> Vec<keyward_resp::ArgRange> {
    let begin = buffer.as_ptr().addr();
    let range = |word: &[u8]| keyward_resp::ArgRange {
        start: word.as_ptr().addr() - begin,
        len: word.len(),
    };
    command.iter().map(range).collect()
}

/// Whether a command is one to be judged: Redis, too, takes a bounded time and bounded memory
/// for it, which is not so for scripts that are not ours, and for the replies of a draw; and
/// its reply depends on nothing but commands, which is not so for what Lua has allocated:
/// when it collects garbage depends on where its objects lie (keys of its tables that are
/// addresses).
fn is_judged(command: Args<'_>) -> bool {
    let Some(name) = command.get(0).map(<[u8]>::to_ascii_lowercase) else { return true };
    let second = command.get(1).unwrap_or_default();
    if name.starts_with(b"eval") {
        return input::SCRIPTS.iter().any(|script| script.as_bytes() == second);
    }
    if name == b"memory" && second.eq_ignore_ascii_case(b"stats") {
        return false;
    }
    if name == b"function" || name == b"script" {
        return !second.eq_ignore_ascii_case(b"load") && !second.eq_ignore_ascii_case(b"restore");
    }
    if DRAWS.contains(&name.as_slice()) {
        let count = command.get(2).and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        return count.is_none_or(|count: i64| count.unsigned_abs() <= DRAWN_MAX as u64);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_hundred_inputs_keep_every_promise() {
        (0..300).for_each(|seed| round(&mut Random::new(seed)));
    }

    /// A generator whose requests are all refused finds nothing.
    #[test]
    fn most_requests_are_whole_and_many_are_carried_out() {
        let (mut whole, mut errors, mut lines) = (0, 0, 0);
        for seed in 0..100 {
            let input = generate(&mut Random::new(seed));
            whole += usize::from(parse([input.as_slice()], &RequestLimits::default()).1.is_none());
            let out = replies([input.as_slice()]);
            lines += out.split(|byte| *byte == b'\n').count();
            errors += out.windows(5).filter(|part| part == b"\n-ERR").count();
        }
        assert!(whole > 80 && errors > 100 && lines > 3 * errors, "{whole} {errors} {lines}");
    }

    #[test]
    fn announced_lengths_take_no_memory() {
        for text in ["*1000000\r\n", "*1\r\n$500000000\r\n", "*2147483647\r\n$4\r\nPING\r\n"] {
            let (_, taken) =
                heap::most_taken(|| parse([text.as_bytes()], &RequestLimits::default()));
            assert!(taken < 10_000, "{text:?} takes {taken} bytes");
        }
    }
}
