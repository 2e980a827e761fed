//! Hours in the life of storage: rows of every kind are written, rewritten, packed,
//! compressed, expire and are evicted, for as long as one likes, beside a plain model.
//!
//! Time is simulated: a round is an hour of it in a second or two. After each command
//! its reply is compared with the model's, at intervals every row is read, and the
//! keyspace must be within its `max_memory`. The model learns from notifications what was
//! evicted, and judges whether it could be; everything else it knows by itself.

mod model;
mod stage;

use crate::Random;
use keyward_testkit::engine::START_MS;
use model::Model;
use stage::Stage;

/// Milliseconds of an hour.
pub const HOUR_MS: i64 = 3_600_000;
/// Commands between two readings of every row.
const COMMANDS_PER_READING: usize = 400;
/// The longest that passes between two commands; most follow sooner.
const PAUSE_MS_MAX: usize = 8_000;

/// Runs an hour.
///
/// # Panics
/// If storage and model disagree.
pub fn round(random: &mut Random) {
    run(random.number(), 1);
}

/// What happened in a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Commands sent.
    pub commands: usize,
    /// Rows that were evicted.
    pub evicted: usize,
    /// Rows whose time was over.
    pub expired: u64,
    /// Writes that were refused for want of memory.
    pub refused: usize,
}

/// Runs so many hours of simulated time.
///
/// # Panics
/// If storage and model disagree.
pub fn run(seed: u64, hours: u64) -> Tally {
    let mut random = Random::new(seed);
    let mut stage = Stage::new(seed);
    let mut model = Model::default();
    let end_ms = START_MS + i64::try_from(hours).unwrap_or(i64::MAX / HOUR_MS) * HOUR_MS;
    let mut tally = Tally::default();
    while stage.now_ms() < end_ms {
        let pause = if random.one_in(3) { PAUSE_MS_MAX } else { 200 };
        stage.pass(random.below(pause) as i64);
        let words = model::command(&mut random, tally.commands);
        let reply = stage.call(&words);
        tally.evicted += learn_evicted(&mut stage, &mut model);
        if reply.starts_with("-OOM") {
            assert!(!model.can_evict(stage.now_ms()), "{words:?} is refused, and rows could go");
            tally.refused += 1;
        } else {
            let expected = model.apply(&words, stage.now_ms());
            assert_eq!(reply, expected, "{words:?}");
        }
        tally.commands += 1;
        if random.one_in(20) || tally.commands.is_multiple_of(COMMANDS_PER_READING) {
            stage.tick();
            tally.evicted += learn_evicted(&mut stage, &mut model);
        }
        if tally.commands.is_multiple_of(COMMANDS_PER_READING) {
            stage.check_rows(&model);
            tally.evicted += learn_evicted(&mut stage, &mut model);
        }
    }
    tally.expired = stage.expired();
    tally
}

/// Has the model let go of what was evicted; returns how many rows that were.
fn learn_evicted(stage: &mut Stage, model: &mut Model) -> usize {
    let evicted = stage.take_evicted();
    evicted.iter().for_each(|key| model.evict(key, stage.now_ms()));
    evicted.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_agrees_with_a_plain_model_for_hours() {
        let tally = run(1, 4);
        // A simulation in which nothing goes finds nothing.
        assert!(tally.commands > 5_000 && tally.expired > 100, "{tally:?}");
        assert!(tally.evicted > 100, "{tally:?}");
    }
}
