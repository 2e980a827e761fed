//! Derived keys in the real engine: after every command each equals its
//! recomputation from the sources.
//!
//! An engine under a schema with every way to derive a key is driven by random
//! commands, transactions, scripts, functions, waits, passing time, want of memory
//! and changes of the schema. After each step all rows are read and judged twice over by code that
//! knows the schema's words and not the rule book: as they are stored, where
//! derived keys agree with whatever source rows are stored, due or not; and now
//! and then as a client sees them, where due rows are gone. A fault is told with
//! the shortest list of steps that has one.

mod recompute;
mod rows;
mod sound;
mod steps;
mod world;

use crate::Random;
use keyward_testkit::engine::START_MS;
use steps::{Step, steps};
use world::{Stage, Tally};

/// How many steps a round has.
const STEPS: usize = 400;

/// Runs random steps.
///
/// # Panics
/// If derived keys and their sources disagree.
pub fn round(random: &mut Random) {
    let seed = random.number();
    let steps = steps(random, STEPS, START_MS);
    if let Err(fault) = run(seed, &steps) {
        let least = shrink(seed, steps[..=fault.step].to_vec());
        let told: Vec<String> = least.iter().map(ToString::to_string).collect();
        let fault = run(seed, &least).map_or_else(|fault| fault.told, |_| fault.told);
        panic!("{fault}\nafter:\n  {}", told.join("\n  "));
    }
}

/// What is wrong, and after which step.
struct Fault {
    step: usize,
    told: String,
}

fn run(seed: u64, steps: &[Step]) -> Result<Tally, Fault> {
    let mut stage = Stage::new(seed);
    for (step, action) in steps.iter().enumerate() {
        stage.act(action);
        let told = match action {
            Step::Look => stage.visible_fault(),
            _ => None,
        };
        if let Some(told) = told.or_else(|| stage.stored_fault()) {
            return Err(Fault { step, told });
        }
    }
    Ok(stage.tally)
}

/// Leaves steps out as long as there is still a fault: halves, quarters, single ones.
fn shrink(seed: u64, mut steps: Vec<Step>) -> Vec<Step> {
    let mut width = steps.len() / 2;
    while width > 0 {
        let mut start = 0;
        while start < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(start..steps.len().min(start + width));
            match run(seed, &fewer) {
                Err(fault) => steps = fewer[..=fault.step].to_vec(),
                Ok(_) => start += width,
            }
        }
        width /= 2;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::steps::{Reform, Who, words};
    use super::*;

    #[test]
    fn derived_keys_equal_their_recomputation_after_every_command() {
        (0..20).for_each(|seed| round(&mut Random::new(seed)));
    }

    #[test]
    fn a_schema_for_a_crowd_takes_several_ticks() {
        let ends = || words("HSET user:1000 status closed");
        let meanwhile = || vec![Step::Send(Who::First, ends()), Step::Pass(3_000)];
        let (loosely, planned, applied) = (meanwhile(), meanwhile(), meanwhile());
        let reform = Step::Reform(Reform { loosely, planned, applied });
        let Ok(tally) = run(1, &[Step::Crowd(1_500), reform, Step::Look]) else {
            panic!("a fault")
        };
        assert!(tally.waits > 10 && tally.commands > 1_500, "{tally:?}");
        assert_eq!((tally.refused, tally.failed), (0, 0), "{tally:?}");
    }

    /// A model whose commands are all refused finds nothing.
    #[test]
    fn steps_change_rows_and_let_them_go() {
        let mut sum = Tally::default();
        for seed in 0..6 {
            let steps = steps(&mut Random::new(seed), STEPS, START_MS);
            let Ok(tally) = run(seed, &steps) else { panic!("seed {seed}") };
            sum.commands += tally.commands;
            sum.refused += tally.refused;
            sum.failed += tally.failed;
            sum.evicted += tally.evicted;
            sum.expired += tally.expired;
            sum.reforms += tally.reforms;
        }
        assert!(sum.refused > sum.commands / 20 && sum.refused < sum.commands / 2, "{sum:?}");
        assert!(sum.failed < sum.commands / 3, "{sum:?}");
        assert!(sum.evicted > 20 && sum.expired > 100, "{sum:?}");
        assert!(sum.reforms > 4, "{sum:?}");
    }
}
