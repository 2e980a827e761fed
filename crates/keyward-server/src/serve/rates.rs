//! How much is going on right now: the instantaneous figures of INFO.
//!
//! Owns the last samples, taken with the ticks. A figure is the mean over them, as in
//! Redis.

use crate::clock::Instant;

/// Samples that are kept; at ten ticks a second, of the last 1.6 seconds.
const SAMPLES: usize = 16;
/// Less time than this between two samples says nothing.
const SPAN_S_MIN: f64 = 0.1;

/// What is counted since the server began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) commands: u64,
    pub(crate) input_bytes: u64,
    pub(crate) output_bytes: u64,
}

/// The means of what was counted per second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PerSecond {
    pub(crate) commands: f64,
    pub(crate) input_bytes: f64,
    pub(crate) output_bytes: f64,
}

/// The last samples.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    last: Option<(Instant, Totals)>,
    samples: [PerSecond; SAMPLES],
    next: usize,
}

impl Rates {
    /// Takes a sample if enough time has passed.
    pub(crate) fn sample(&mut self, now: Instant, totals: Totals) {
        let Some((then, before)) = self.last else {
            self.last = Some((now, totals));
            return;
        };
        let seconds = (now - then).as_secs_f64();
        if seconds < SPAN_S_MIN {
            return;
        }
        // Counters begin anew when they are reset.
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        self.samples[self.next] = PerSecond {
            commands: rate(totals.commands, before.commands),
            input_bytes: rate(totals.input_bytes, before.input_bytes),
            output_bytes: rate(totals.output_bytes, before.output_bytes),
        };
        self.next = (self.next + 1) % SAMPLES;
        self.last = Some((now, totals));
    }

    /// The means.
    pub(crate) fn mean(&self) -> PerSecond {
        let mean = |part: fn(&PerSecond) -> f64| {
            self.samples.iter().map(part).sum::<f64>() / SAMPLES as f64
        };
        PerSecond {
            commands: mean(|sample| sample.commands),
            input_bytes: mean(|sample| sample.input_bytes),
            output_bytes: mean(|sample| sample.output_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_steady_load_is_told_as_it_is() {
        let mut rates = Rates::default();
        let begin = Instant::now();
        for step in 0..=SAMPLES as u64 {
            let totals = Totals { commands: step * 100, input_bytes: step * 10, output_bytes: 0 };
            rates.sample(begin + Duration::from_millis(step * 100), totals);
        }
        let mean = rates.mean();
        assert!((mean.commands - 1000.0).abs() < 1e-6, "{mean:?}");
        assert!((mean.input_bytes - 100.0).abs() < 1e-6, "{mean:?}");
    }
}
