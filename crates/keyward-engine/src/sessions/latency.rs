//! The latency monitor: what took so long that clients noticed, by kind of event.
//!
//! Owns one series of samples per event, one sample per second at most: the worst of
//! that second. Invariant: a series has at most 160 samples; events are few and named
//! in the code.
//! Not here: the threshold (`stats`), latencies per command (`stats::histogram`).

use std::collections::{BTreeMap, VecDeque};

/// Samples per series.
const SAMPLES_MAX: usize = 160;

/// The worst of one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sample {
    /// When, in seconds since the epoch.
    pub(crate) time_s: i64,
    pub(crate) ms: u64,
}

/// The samples of one event.
#[derive(Debug, Default)]
pub(crate) struct Series {
    /// Oldest first.
    pub(crate) samples: VecDeque<Sample>,
    /// The worst ever.
    pub(crate) ms_max: u64,
}

impl Series {
    pub(crate) fn add(&mut self, sample: Sample) {
        self.ms_max = self.ms_max.max(sample.ms);
        match self.samples.back_mut() {
            Some(last) if last.time_s == sample.time_s => last.ms = last.ms.max(sample.ms),
            _ => {
                if self.samples.len() == SAMPLES_MAX {
                    self.samples.pop_front();
                }
                self.samples.push_back(sample);
            }
        }
    }
}

/// All events.
#[derive(Debug, Default)]
pub(crate) struct Latency {
    pub(crate) events: BTreeMap<&'static str, Series>,
}

impl Latency {
    /// Something took this long.
    pub(crate) fn add(&mut self, event: &'static str, time_s: i64, ms: u64) {
        self.events.entry(event).or_default().add(Sample { time_s, ms });
    }

    /// Forgets an event, or all; returns how many.
    pub(crate) fn forget(&mut self, event: Option<&[u8]>) -> usize {
        let before = self.events.len();
        self.events.retain(|name, _| {
            event.is_some_and(|event| !name.as_bytes().eq_ignore_ascii_case(event))
        });
        before - self.events.len()
    }

    pub(crate) fn find(&self, event: &[u8]) -> Option<(&'static str, &Series)> {
        let mut events = self.events.iter();
        events.find(|(name, _)| name.as_bytes() == event).map(|(name, series)| (*name, series))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_one_sample_and_a_series_an_end() {
        let mut latency = Latency::default();
        for (time_s, ms) in [(1, 5), (1, 9), (1, 7), (2, 4)] {
            latency.add("command", time_s, ms);
        }
        let (_, series) = latency.find(b"command").expect("it was added");
        let expected = [Sample { time_s: 1, ms: 9 }, Sample { time_s: 2, ms: 4 }];
        assert_eq!(series.samples, expected);
        (3..1000).for_each(|time_s| latency.add("command", time_s, 1));
        let (_, series) = latency.find(b"command").expect("it was added");
        assert_eq!((series.samples.len(), series.ms_max), (SAMPLES_MAX, 9));
        assert_eq!(latency.forget(Some(b"other")), 0);
        assert_eq!(latency.forget(Some(b"COMMAND")), 1);
    }
}
