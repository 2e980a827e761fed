//! What finding the pattern of a key costs, per key.
//!
//! The keys are random and shuffled, some 300,000 of them, so that neither
//! branch prediction nor caches can learn them by heart. Two figures: what keys
//! of each pattern cost among all others, of which the table shows the median,
//! the 90th percentile and the highest over all patterns; and the mean over
//! all keys, by the processor time of passes without a clock between them.
#![allow(clippy::print_stdout)]

mod keys;
mod patterns;

use std::hint::black_box;
use std::time::{Duration, Instant};

use keyward_schema::{Matcher, Pattern};
use rustix::time::{ClockId, clock_gettime};

use keys::Keys;

/// How many keys there are for a table, about.
const KEY_COUNT: usize = 306_000;

/// How many patterns the large table has.
const LARGE_COUNT: usize = 1_000;

fn main() {
    let is_quick = std::env::args().any(|argument| argument == "--quick");
    let (passes, share) = if is_quick { (3, 6) } else { (11, 1) };
    println!("ns a key; by pattern: p50, p90, max; all keys: mean (lowest, middle of the passes)");
    measure("systems", &patterns::of_five_systems(), passes, share);
    measure("systems and library", &patterns::of_systems_and_programs(), passes, share);
    measure("variations", &patterns::variations(LARGE_COUNT), passes, share);
}

fn measure(name: &str, patterns: &[Pattern], passes: usize, share: usize) {
    let start = Instant::now();
    let matcher = Matcher::new(patterns).expect("patterns that can be told apart");
    println!("{name}: {} patterns, compiled in {:.1?}", patterns.len(), start.elapsed());
    let per_pattern = (KEY_COUNT / share / patterns.len()).max(1);
    let hits = Keys::of(patterns, &matcher, per_pattern);
    let misses = Keys::missing(patterns, &matcher, per_pattern);

    let find = |key: &[u8]| {
        black_box(matcher.find(key));
    };
    let find_values = |key: &[u8]| {
        if let Some(found) = matcher.find(key) {
            found.placeholders().for_each(|value| {
                black_box(value);
            });
        }
    };
    report("hit", &hits, passes, find);
    report("hit, values", &hits, passes, find_values);
    report("miss", &misses, passes, find);
}

fn report(name: &str, keys: &Keys, passes: usize, run: impl Fn(&[u8])) {
    let clock = middle(lowest_of_each(keys, passes, |_| {}));
    let mut by_pattern: Vec<Vec<u64>> = Vec::new();
    for (pattern, time) in keys.patterns().zip(lowest_of_each(keys, passes, &run)) {
        by_pattern.resize_with(by_pattern.len().max(pattern + 1), Vec::new);
        by_pattern[pattern].push(time.saturating_sub(clock));
    }
    let mut medians: Vec<u64> =
        by_pattern.into_iter().filter(|times| !times.is_empty()).map(middle).collect();
    medians.sort_unstable();
    let (p50, p90) = (medians[medians.len() / 2], medians[medians.len() * 9 / 10]);
    let max = medians[medians.len() - 1];

    let mut means: Vec<f64> = (0..passes).map(|_| mean(keys, &run)).collect();
    means.sort_unstable_by(f64::total_cmp);
    let (lowest, median) = (means[0], means[passes / 2]);
    println!("  {name:12} p50 {p50:4}  p90 {p90:4}  max {max:4}  mean {lowest:5.1}, {median:5.1}");
}

/// What each key costs, clock included: the lowest of some passes over all of them, since what
/// else runs on the machine adds to some.
fn lowest_of_each(keys: &Keys, passes: usize, run: impl Fn(&[u8])) -> Vec<u64> {
    let mut lowest = vec![u64::MAX; keys.iter().count()];
    for _ in 0..passes {
        for (key, lowest) in keys.iter().zip(&mut lowest) {
            let start = Instant::now();
            run(black_box(key));
            *lowest = (*lowest).min(start.elapsed().as_nanos() as u64);
        }
    }
    lowest
}

fn middle(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times[times.len() / 2]
}

/// What a key costs in a pass over all of them.
fn mean(keys: &Keys, run: impl Fn(&[u8])) -> f64 {
    let start = thread_time();
    for key in keys.iter() {
        run(black_box(key));
    }
    (thread_time() - start).as_nanos() as f64 / keys.iter().count() as f64
}

/// The processor time of this thread: what else runs on the machine does not count.
fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
