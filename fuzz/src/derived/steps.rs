//! Random steps: commands of several clients, time, ticks and want of memory.
//!
//! Few keys, few values, short times: so that rows meet. Steps depend on the
//! seed alone, never on replies, so that any part of a list of steps is one too.

mod commands;

use std::fmt;

use crate::Random;
pub(super) use commands::words;
use commands::{any_command, any_key, blocking_command, plain_command};

/// Who does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Two clients of the database under the schema.
    First,
    Second,
    /// A client of a database without one.
    Outsider,
    /// A client that waits.
    Waiter,
}

/// Something that happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A client sends a command.
    Send(Who, Vec<String>),
    /// Milliseconds pass.
    Pass(i64),
    /// The engine is given time for itself.
    Tick,
    /// Somebody looks at all derived keys.
    Look,
    /// Memory is found short so many times, under this `maxmemory-policy`.
    Shortage(&'static str, usize),
    /// So many users come at once.
    Crowd(usize),
    /// The schema is exchanged for one that derives less, and put in force again.
    Reform(Reform),
}

/// What clients do while the schema is exchanged: commands of one, and time.
#[derive(Clone, Debug)]
pub(super) struct Reform {
    /// Under the schema that derives less.
    pub(super) loosely: Vec<Step>,
    /// While the other one is planned, and until it is applied.
    pub(super) planned: Vec<Step>,
    /// While it comes into force, and then.
    pub(super) applied: Vec<Step>,
}

/// More than a tick meets when a schema is planned or applied.
const CROWD_MIN: usize = 1_100;

const POLICIES: &[&str] = &[
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "noeviction",
];

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Send(who, words) => write!(f, "{who:?}: {words:?}"),
            Step::Pass(ms) => write!(f, "{ms} ms pass"),
            Step::Tick => write!(f, "tick"),
            Step::Look => write!(f, "look"),
            Step::Shortage(policy, rows) => write!(f, "{policy}: memory is short {rows} times"),
            Step::Crowd(count) => write!(f, "{count} users come"),
            Step::Reform(Reform { loosely, planned, applied }) => {
                write!(f, "loosely: {loosely:?}; planned: {planned:?}; applied: {applied:?}")
            }
        }
    }
}

/// About so many steps that begin at this time.
pub(super) fn steps(random: &mut Random, count: usize, start_ms: i64) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut now_ms = start_ms;
    while steps.len() < count {
        match random.below(26) {
            0..=3 => {
                let most_ms = if random.one_in(5) { 9_000 } else { 1_200 };
                let ms = random.below(most_ms) as i64;
                now_ms += ms;
                steps.push(Step::Pass(ms));
            }
            4 => steps.push(Step::Tick),
            5 if random.one_in(2) => {
                let policy = *random.pick(POLICIES);
                steps.push(Step::Shortage(policy, 4 + random.below(8)));
            }
            5 if random.one_in(3) => {
                if random.one_in(16) {
                    steps.push(Step::Crowd(CROWD_MIN + random.below(900)));
                }
                let mut meanwhile = || meanwhile(random, &mut now_ms);
                let (loosely, planned) = (meanwhile(), meanwhile());
                steps.push(Step::Reform(Reform { loosely, planned, applied: meanwhile() }));
            }
            6 | 7 => transaction(random, now_ms, &mut steps),
            8 => steps.push(Step::Send(Who::Waiter, blocking_command(random))),
            9 | 10 => steps.push(Step::Send(Who::Outsider, plain_command(random, now_ms))),
            12..=14 => steps.push(Step::Look),
            11 => steps.push(Step::Send(Who::Second, any_command(random, now_ms))),
            _ => steps.push(Step::Send(Who::First, any_command(random, now_ms))),
        }
    }
    steps
}

/// What happens while a schema is exchanged.
fn meanwhile(random: &mut Random, now_ms: &mut i64) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..random.below(6) {
        if random.one_in(5) {
            let ms = random.below(3_000) as i64;
            *now_ms += ms;
            steps.push(Step::Pass(ms));
        } else {
            steps.push(Step::Send(Who::First, any_command(random, *now_ms)));
        }
    }
    steps
}

/// A transaction, with what others do meanwhile.
fn transaction(random: &mut Random, now_ms: i64, steps: &mut Vec<Step>) {
    let send = |command: &str| Step::Send(Who::Second, words(command));
    if random.one_in(3) {
        steps.push(send(&format!("WATCH {}", any_key(random))));
    }
    steps.push(send("MULTI"));
    for _ in 0..1 + random.below(4) {
        steps.push(Step::Send(Who::Second, any_command(random, now_ms)));
        if random.one_in(6) {
            steps.push(Step::Send(Who::First, any_command(random, now_ms)));
        }
        if random.one_in(8) {
            steps.push(Step::Pass(random.below(2_000) as i64));
        }
    }
    steps.push(send(if random.one_in(8) { "DISCARD" } else { "EXEC" }));
}
