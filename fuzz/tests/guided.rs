//! The guided fuzzer in the build that has its counters (`cargo xtask sanitize`): whether
//! the guide guides, and requests under it.

use keyward_fuzz::Random;
use keyward_fuzz::guided::{Guided, Subject};
use std::panic::catch_unwind;
use std::process::Command;

/// Inputs in a run of requests.
const INPUTS: &str = "1000";
/// Inputs that a planted fault must be found in.
const PLANTED_INPUTS: u64 = 100_000;
/// What they have to be.
const PLANTED: &[u8; 3] = b"*7k";

#[test]
fn requests_keep_every_promise_and_coverage_grows() {
    let first = run("32");
    let last = run(INPUTS);
    assert!(last > first + first / 10, "{first} edges by chance, {last} by the guide");
}

/// Runs so many inputs; returns how many edges they reach.
fn run(inputs: &str) -> usize {
    let output = Command::new(env!("CARGO_BIN_EXE_keyward-fuzz"))
        .args(["requests", "--guided", "--seconds", "600", "--seed", "1", "--rounds", inputs])
        .output()
        .expect("the fuzzer runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    let line = text.lines().rfind(|line| line.ends_with("edges")).expect("a line with edges");
    let edges = line.split(", ").last().and_then(|part| part.split(' ').next());
    edges.and_then(|count| count.parse().ok()).expect("a number of edges")
}

/// A fault behind bytes each of which is looked at only if the one before it is right:
/// sixteen million inputs for chance, some thousand for who is shown each step.
fn planted(input: &[u8]) {
    let mut right = 0;
    if input.first() == Some(&PLANTED[0]) {
        right = 1;
        if input.get(1) == Some(&PLANTED[1]) {
            right = 2;
            if input.get(2) == Some(&PLANTED[2]) {
                right = 3;
            }
        }
    }
    assert!(right < PLANTED.len(), "found");
}

fn any_bytes(random: &mut Random) -> Vec<u8> {
    PLANTED.iter().map(|_| random.number() as u8).collect()
}

fn one_byte(input: &[u8], _: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = input.to_vec();
    let at = random.below(input.len());
    input[at] = random.number() as u8;
    input
}

#[test]
fn a_guide_finds_a_planted_fault_that_chance_does_not() {
    let by_guide = catch_unwind(|| {
        let subject = Subject { generate: any_bytes, mutate: one_byte, judge: planted };
        let mut guided = Guided::new(subject, 1);
        (0..PLANTED_INPUTS).for_each(|_| guided.step().expect("there are no files"));
    });
    let by_chance = catch_unwind(|| {
        let mut random = Random::new(1);
        (0..PLANTED_INPUTS).for_each(|_| planted(&any_bytes(&mut random)));
    });
    assert!(by_guide.is_err(), "the guide has not found it");
    assert!(by_chance.is_ok(), "chance has found it too");
}
