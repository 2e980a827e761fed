//! The same inputs give the same outputs and the same state.

use crate::harness::{START_MS, TestEngine, request};
use keyward_engine::{ClientId, MemoryLimit, Policy, Random, Tunables};

/// One thing that happens to an engine.
#[derive(Debug, Clone)]
enum Input {
    Time(i64),
    Tick,
    Rest,
    /// Memory is above the limit for so many questions.
    Pressure(usize),
    Connect,
    Disconnect(ClientId),
    Batch(ClientId, Vec<u8>),
}

/// A recorded history: clients come and go, commands in batches of different
/// lengths, time that sometimes leaps.
fn history(seed: u64, length: usize) -> Vec<Input> {
    const COMMANDS: [&str; 24] = [
        "SET k:% v%",
        "SET k:% % EX 1",
        "GET k:%",
        "INCR n:%",
        "APPEND k:% x",
        "DEL k:%",
        "EXPIRE k:% 1",
        "MSET k:% a k:% b",
        "RANDOMKEY",
        "SCAN 0 COUNT 5",
        "RPUSH l:% a b",
        "LPOP l:%",
        "RENAME k:% k:%",
        "COPY k:% k:% REPLACE",
        "MULTI",
        "EXEC",
        "WATCH k:%",
        "SELECT 1",
        "SELECT 0",
        "BLPOP l:% 1",
        "BLMOVE l:% l:% LEFT RIGHT 1",
        "PERSIST k:%",
        "INCRBYFLOAT f:% 0.1",
        "SWAPDB 0 1",
    ];
    let mut random = Random::from_seed(seed);
    let mut inputs = vec![Input::Connect; 4];
    let mut clients: Vec<u64> = (1..=4).collect();
    let mut now_ms = START_MS;
    while inputs.len() < length {
        let client = ClientId(clients[random.below(clients.len() as u64) as usize]);
        let input = match random.below(40) {
            0 => Input::Tick,
            7 | 8 => Input::Rest,
            6 => Input::Pressure(random.below(4) as usize),
            1..=4 => {
                now_ms += random.below(700) as i64;
                Input::Time(now_ms)
            }
            5 => {
                clients.retain(|id| *id != client.0);
                clients.push(clients.iter().max().map_or(5, |last| last.max(&client.0) + 1));
                inputs.push(Input::Disconnect(client));
                Input::Connect
            }
            _ => {
                let mut bytes = Vec::new();
                for _ in 0..=random.below(20) {
                    let command = COMMANDS[random.below(COMMANDS.len() as u64) as usize];
                    let parts: Vec<&str> = command.split('%').collect();
                    let mut words = parts[0].to_owned();
                    for part in &parts[1..] {
                        words += &random.below(50).to_string();
                        words += part;
                    }
                    bytes.extend(request(&words));
                }
                Input::Batch(client, bytes)
            }
        };
        inputs.push(input);
    }
    inputs
}

/// Two of four tables are packed.
const SCHEMA: &str = "[keyspace]\nname = \"history\"\nunknown = \"allow\"\n\
    [key.\"k:{id:uint}\"]\ntype = \"string\"\n\
    [key.\"n:{id:uint}\"]\ntype = \"int\"\n\
    [key.\"l:{id:uint}\"]\ntype = \"list\"\n";

/// Everything an engine put out, and what it holds in the end.
fn play(inputs: &[Input]) -> (Vec<String>, String) {
    play_on(TestEngine::new(99), inputs)
}

fn play_on(mut test: TestEngine, inputs: &[Input]) -> (Vec<String>, String) {
    let policy = Policy::by_name("allkeys-lfu");
    let memory = MemoryLimit { bytes_max: 1, policy, ..MemoryLimit::default() };
    test.engine.set_tunables(Tunables { memory, ..Tunables::default() });
    let mut outputs = Vec::new();
    for input in inputs {
        let output = match input {
            Input::Time(now_ms) => {
                test.set_time(*now_ms);
                String::new()
            }
            Input::Pressure(count) => {
                test.host.used_memory = std::iter::repeat_n(1 << 40, *count).collect();
                String::new()
            }
            Input::Tick => format!("{:?}", test.tick()),
            Input::Rest => format!("{:?}", test.engine.rest()),
            Input::Connect => format!("{:?}", test.engine.connect()),
            Input::Disconnect(client) => {
                test.engine.disconnect(*client);
                String::new()
            }
            Input::Batch(client, bytes) => format!("{:?}", test.send(*client, bytes)),
        };
        outputs.push(format!("{output} {:?} {:?}", test.deliveries(), test.effects()));
    }
    (outputs, test.state())
}

#[test]
fn a_recorded_history_replays_bit_for_bit() {
    for seed in 0..5 {
        let inputs = history(seed, 2_000);
        let governed = || play_on(TestEngine::governed(99, SCHEMA), &inputs);
        for [first, second] in [[play(&inputs), play(&inputs)], [governed(), governed()]] {
            assert!(first.1.lines().count() > 20, "the history must leave something behind");
            let difference = first.0.iter().zip(&second.0).position(|(a, b)| a != b);
            assert_eq!(difference, None, "seed {seed}: outputs differ at this input");
            assert_eq!(first.1, second.1, "seed {seed}: the states differ");
        }
    }
}

#[test]
fn another_history_gives_another_state() {
    assert_ne!(play(&history(1, 500)).1, play(&history(2, 500)).1);
}
