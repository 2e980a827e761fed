//! What finding the pattern of a key costs, per key.
//!
//! The keys are random and shuffled, some 300,000 of them, so that neither
//! branch prediction nor caches can learn them by heart.

mod keys;
mod patterns;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use keyward_schema::{Matcher, Pattern};
use rustix::time::{ClockId, clock_gettime};

use keys::Keys;

/// How many keys there are for a benchmark, about.
const KEY_COUNT: usize = 306_000;

/// How many patterns the large table has.
const LARGE_COUNT: usize = 1_000;

fn matcher(criterion: &mut Criterion) {
    measure(criterion, &patterns::of_five_systems());
    measure(criterion, &patterns::of_systems_and_programs());
    measure(criterion, &patterns::variations(LARGE_COUNT));
}

fn measure(criterion: &mut Criterion, patterns: &[Pattern]) {
    let matcher = Matcher::new(patterns).expect("patterns that can be told apart");
    let per_pattern = KEY_COUNT / patterns.len();
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
    let count = patterns.len();
    measure_each(criterion, &format!("matcher/{count} patterns/hit"), &hits, find);
    measure_each(criterion, &format!("matcher/{count} patterns/miss"), &misses, find);
    measure_each(criterion, &format!("matcher/{count} patterns/hit, values"), &hits, find_values);
}

fn measure_each(criterion: &mut Criterion, name: &str, keys: &Keys, run: impl Fn(&[u8])) {
    criterion.bench_function(name, |bencher| {
        // Each batch goes on where the last one stopped.
        let mut keys = keys.iter().cycle();
        bencher.iter_custom(|count| {
            let start = thread_time();
            for key in keys.by_ref().take(count as usize) {
                run(black_box(key));
            }
            thread_time() - start
        });
    });
}

/// The processor time of this thread: what else runs on the machine does not count.
fn thread_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

criterion_group!(benches, matcher);
criterion_main!(benches);
