//! Units against a naive judge: the same unit runs on a copy of the rows whose schema only warns,
//! and all rows are looked at when it is over. It is undone exactly if something is wrong there.

use crate::harness::{START_MS, TestEngine};
use crate::large_ends_model::{Pair, SCHEMA, ask, contradictions, loaded_under};

/// Units of one seed.
const UNITS: usize = 20;

/// What became of units.
#[derive(Debug, Default)]
struct Tally {
    stood: u64,
    undone: u64,
    /// Units that began or met large ends.
    pending: u64,
}

/// A command that is never refused at once.
fn command(pair: &mut Pair) -> String {
    match pair.below(10) {
        // Likely to be wrong by itself.
        0 => format!("SET badge:{} code{}", pair.below(4), pair.below(3)),
        1 => format!("SET item:{} x", ["a:1", "b:1", "c:1"][pair.below(3) as usize]),
        2..=4 => pair.set_command(),
        5..=7 => loop {
            let command = pair.companion_command();
            if !command.starts_with("PERSIST") {
                break command;
            }
        },
        _ => pair.nested_command(),
    }
}

/// The commands of a unit as one script, or each by itself.
fn calls(commands: &[String], is_script: bool) -> Vec<String> {
    if !is_script {
        return commands.to_vec();
    }
    let call = |command: &String| {
        let words: Vec<String> = command.split(' ').map(|word| format!("'{word}'")).collect();
        format!("redis.pcall({})", words.join(","))
    };
    let calls: Vec<String> = commands.iter().map(call).collect();
    vec![format!("EVAL {} 0", calls.join(";"))]
}

fn run(seed: u64, tally: &mut Tally) {
    let warns = SCHEMA.replace("name = \"ends\"", "name = \"ends\"\nmode = \"warn\"");
    let mut pair = Pair::new(seed);
    pair.fill();
    let mut now_ms = START_MS;
    for round in 0..UNITS {
        for _ in 0..pair.below(12) {
            let command = pair.command();
            pair.both(0, &command);
        }
        now_ms += pair.below(3_000) as i64;
        pair.lazy.set_time(now_ms);
        pair.set_eager_time(now_ms);
        let count = 1 + pair.below(6);
        let commands: Vec<String> = (0..count).map(|_| command(&mut pair)).collect();
        let calls = calls(&commands, pair.below(3) == 0);
        pair.both(0, "EXISTS user:1");
        pair.lazy.engine.take_log(&mut pair.log);
        let mut copy = loaded_under(&warns, &pair.log, usize::MAX, now_ms);
        let told =
            |wrong: &[String]| format!("seed {seed}, round {round}: {commands:#?}\n{wrong:#?}");
        let wrong = judge(&mut copy, &calls);
        let before = pair.digest();
        pair.both(1, "MULTI");
        for call in &calls {
            pair.both(1, call);
        }
        let reply = pair.both(1, "EXEC");
        tally.pending += u64::from(pair.lazy.engine.has_pending_ends());
        let is_undone = reply.iter().any(|line| line.starts_with("-EXECABORT"));
        assert_eq!(is_undone, !wrong.is_empty(), "{}", told(&wrong));
        if is_undone {
            tally.undone += 1;
            assert_eq!(pair.digest(), before, "{}", told(&wrong));
        } else {
            tally.stood += 1;
            let client = pair.clients[0];
            let wrong = contradictions(&mut pair.lazy, client);
            assert!(wrong.is_empty(), "{}", told(&wrong));
        }
    }
}

/// All that is wrong once a copy has run a unit.
fn judge(copy: &mut TestEngine, calls: &[String]) -> Vec<String> {
    let client = copy.engine.connect();
    ask(copy, client, "MULTI");
    for call in calls {
        ask(copy, client, call);
    }
    ask(copy, client, "EXEC");
    contradictions(copy, client)
}

#[test]
fn a_unit_is_undone_exactly_if_all_rows_together_are_wrong_at_its_end() {
    let seeds = option_env!("KEYWARD_ENDS_SEEDS").and_then(|text| text.parse().ok()).unwrap_or(4);
    let mut tally = Tally::default();
    for seed in 1..=seeds {
        run(seed, &mut tally);
    }
    let Tally { stood, undone, pending } = tally;
    assert!(stood > 5 * seeds && undone > 5 * seeds && pending > seeds, "{tally:?}");
}
