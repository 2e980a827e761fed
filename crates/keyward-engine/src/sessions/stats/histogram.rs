//! Latencies of one command: how many calls took how long.
//!
//! Owns counts in buckets whose width grows with the value: 128 per power of two, so
//! that a value is known to about one percent, as in Redis. The buckets are those of
//! an HDR histogram with two significant digits:
//!
//! ```text
//! value    0 … 255       256 … 511      512 … 1023      …   2^29 … 1 s
//! width    1 ns          2 ns           4 ns                4 ms
//! index    0 … 255       256 … 383      384 … 511           2944 … 3071
//! ```
//!
//! 24 kB per command that has run.

const SUB_BITS: u32 = 7;
const SUB_COUNT: usize = 1 << SUB_BITS;
/// Above this everything counts as this: one second.
const NS_MAX: u64 = 1_000_000_000;
const BUCKETS: usize = 3072;
/// Steps of the distribution: the powers of two from 1,024 ns to a second.
pub(crate) const LEVELS: usize = 21;

/// Counts of durations.
#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    total: u64,
    counts: [u64; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { total: 0, counts: [0; BUCKETS] }
    }
}

/// The bucket of a duration.
#[inline]
fn bucket(ns: u64) -> usize {
    let ns = ns.min(NS_MAX);
    // The octave above which a value's low bits are dropped.
    let shift = (64 - (ns | (2 * SUB_COUNT as u64 - 1)).leading_zeros()) - SUB_BITS - 1;
    SUB_COUNT * shift as usize + (ns >> shift) as usize
}

/// The least and the greatest duration of a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    let shift = (bucket / SUB_COUNT).saturating_sub(1);
    let least = ((bucket - SUB_COUNT * shift) as u64) << shift;
    (least, least + (1 << shift) - 1)
}

impl Histogram {
    /// Counts a duration.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.total += 1;
    }

    /// How many durations were counted.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The duration that this share of all, in millionths of a percent, did not exceed.
    pub(crate) fn at_percentile(&self, micropercent: u32) -> u64 {
        let share = f64::from(micropercent) / 100e6;
        let wanted = ((share * self.total as f64 + 0.5) as u64).max(1);
        let mut count = 0;
        for (bucket, bucket_count) in self.counts.iter().enumerate() {
            count += bucket_count;
            if count >= wanted {
                let (least, greatest) = bounds(bucket);
                return if micropercent == 0 { least } else { greatest };
            }
        }
        0
    }

    /// For each step of the distribution, how many durations did not exceed it.
    pub(crate) fn levels(&self) -> [u64; LEVELS] {
        let (mut next, mut count) = (0, 0);
        std::array::from_fn(|level| {
            let end = bucket(1024 << level);
            count += self.counts[next..=end].iter().sum::<u64>();
            next = end + 1;
            count
        })
    }

    /// For each power of two from 1,024 ns on: its microseconds, and how many durations
    /// did not exceed it. Only where that number grows.
    pub(crate) fn cumulative(&self) -> Vec<(u64, u64)> {
        let mut steps = Vec::new();
        let (mut next, mut count, mut level) = (0, 0, 1024);
        while count < self.total {
            let end = bucket(level);
            let before = count;
            count += self.counts[next..=end].iter().sum::<u64>();
            if count > before {
                steps.push((bounds(end).1 / 1000, count));
            }
            next = end + 1;
            level = (level * 2).min(NS_MAX);
        }
        steps
    }
}

/// The greatest duration that a step of the distribution counts, in microseconds.
pub(crate) fn level_us(level: usize) -> u64 {
    bounds(bucket(1024 << level)).1 / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let (least, greatest) = bounds(index);
            assert_eq!(least, next);
            if greatest <= NS_MAX {
                assert_eq!((bucket(least), bucket(greatest)), (index, index));
            }
            next = greatest + 1;
        }
        assert!(bounds(bucket(u64::MAX)).1 >= NS_MAX);
    }

    #[test]
    fn percentiles_are_known_to_one_percent() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|us| histogram.record(us * 1000));
        let near = |micropercent, expected: f64| {
            let found = histogram.at_percentile(micropercent) as f64;
            assert!((found / expected - 1.0).abs() < 0.01, "{found} is not {expected}");
        };
        near(0, 1e3);
        near(50_000_000, 500e3);
        near(99_900_000, 999e3);
        near(100_000_000, 1000e3);
    }

    #[test]
    fn levels_are_the_steps_of_the_distribution() {
        let mut histogram = Histogram::default();
        [500, 900, 3000, 20_000, 2_000_000_000].iter().for_each(|ns| histogram.record(*ns));
        let levels = histogram.levels();
        for (us, count) in histogram.cumulative() {
            let level = (0..LEVELS).find(|level| level_us(*level) == us).expect("a level");
            assert_eq!(levels[level], count, "{us}");
        }
        assert_eq!(levels[LEVELS - 1], histogram.total());
        assert!(levels.is_sorted());
    }

    #[test]
    fn the_distribution_has_a_step_where_it_grows() {
        let mut histogram = Histogram::default();
        [500, 900, 3000, 20_000, 2_000_000_000].iter().for_each(|ns| histogram.record(*ns));
        let last = bounds(bucket(NS_MAX)).1 / 1000;
        assert_eq!(histogram.cumulative(), [(1, 2), (4, 3), (33, 4), (last, 5)]);
    }
}
