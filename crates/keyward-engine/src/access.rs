//! How recently or how often rows are used: the meaning of the 24 bits each row
//! carries for eviction.
//!
//! Owns both readings of them, as Redis has them. By recency they are the second
//! of the last use; by frequency the minute of the last use and a counter that
//! grows by chance, ever more rarely, and decays with time:
//!
//! ```text
//! recency    | seconds 24            |
//! frequency  | minutes 16 | uses 8   |
//! ```
//!
//! Changing the policy changes the reading, not the bits: until a row is used
//! again they mean something else, as in Redis.
//! Not here: what goes first (`evict`).

use crate::random::Random;

const RECENCY_STEP_MS: i64 = 1000;
const RECENCY_MASK: u32 = 0x00ff_ffff;
const MINUTE_MS: i64 = 60_000;
const USES_BITS: u32 = 8;
/// What the counter of a new row is, so that it is not the first to go.
const USES_AT_FIRST: u8 = 5;

/// How a counter of uses grows and decays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrequencyRates {
    /// `lfu-log-factor`: the greater, the more uses a step takes.
    pub log_factor: u32,
    /// `lfu-decay-time`: minutes without use that take one step away; 0 for never.
    pub decay_minutes: u32,
}

/// The time as rows record it.
#[derive(Debug, Clone)]
pub(crate) struct AccessClock {
    /// The second, by which rows are marked when recency counts.
    second: u32,
    minute: u16,
    /// Set if frequency counts.
    frequency: Option<FrequencyRates>,
}

impl AccessClock {
    /// A clock at time zero, for which recency counts.
    pub(crate) fn new() -> AccessClock {
        AccessClock { second: 0, minute: 0, frequency: None }
    }

    /// Sets the time.
    pub(crate) fn set_now_ms(&mut self, now_ms: i64) {
        self.second = (now_ms / RECENCY_STEP_MS) as u32 & RECENCY_MASK;
        self.minute = (now_ms / MINUTE_MS) as u16;
    }

    /// Decides what counts: frequency at these rates, or recency.
    pub(crate) fn set_frequency(&mut self, frequency: Option<FrequencyRates>) {
        self.frequency = frequency;
    }

    /// The mark of a new row.
    pub(crate) fn first_mark(&self) -> u32 {
        match self.frequency {
            None => self.second,
            Some(_) => self.frequency_mark(USES_AT_FIRST),
        }
    }

    /// The mark of a row after one more use.
    #[inline(always)]
    pub(crate) fn next_mark(&self, mark: u32, random: &mut Random) -> u32 {
        match self.frequency {
            None => self.second,
            Some(rates) => self.next_frequency_mark(mark, rates, random),
        }
    }

    fn next_frequency_mark(&self, mark: u32, rates: FrequencyRates, random: &mut Random) -> u32 {
        let uses = self.uses(mark);
        // One use in `beyond * factor + 1` counts.
        let beyond = u64::from(uses.saturating_sub(USES_AT_FIRST));
        let counts = random.below(beyond * u64::from(rates.log_factor) + 1) == 0;
        self.frequency_mark(uses.saturating_add(u8::from(counts)))
    }

    fn frequency_mark(&self, uses: u8) -> u32 {
        u32::from(self.minute) << USES_BITS | u32::from(uses)
    }

    /// Seconds since the last use of a row with this mark, if recency counts.
    pub(crate) fn idle_seconds(&self, mark: u32) -> Option<u32> {
        self.frequency.is_none().then(|| self.second.wrapping_sub(mark) & RECENCY_MASK)
    }

    /// The counter of uses in this mark, decayed to now, if frequency counts.
    pub(crate) fn frequency(&self, mark: u32) -> Option<u8> {
        self.frequency.is_some().then(|| self.uses(mark))
    }

    /// The mark of a row last used so many seconds ago, if recency counts.
    pub(crate) fn mark_of_idle(&self, seconds: u64) -> Option<u32> {
        let idle = u32::try_from(seconds).unwrap_or(u32::MAX).min(RECENCY_MASK);
        self.frequency.is_none().then(|| self.second.wrapping_sub(idle) & RECENCY_MASK)
    }

    /// The mark of a row with this counter of uses, if frequency counts.
    pub(crate) fn mark_of_frequency(&self, uses: u8) -> Option<u32> {
        self.frequency.is_some().then(|| self.frequency_mark(uses))
    }

    fn uses(&self, mark: u32) -> u8 {
        let idle_minutes = u32::from(self.minute.wrapping_sub((mark >> USES_BITS) as u16));
        let decay_minutes = self.frequency.map_or(0, |rates| rates.decay_minutes);
        let steps = idle_minutes.checked_div(decay_minutes).unwrap_or(0);
        (mark as u8).saturating_sub(u8::try_from(steps).unwrap_or(u8::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: FrequencyRates = FrequencyRates { log_factor: 10, decay_minutes: 1 };

    fn clock(now_ms: i64, frequency: Option<FrequencyRates>) -> AccessClock {
        let mut clock = AccessClock::new();
        clock.set_now_ms(now_ms);
        clock.set_frequency(frequency);
        clock
    }

    #[test]
    fn idle_time_is_counted_in_seconds_past_the_end_of_the_clock() {
        let last = i64::from(RECENCY_MASK) * RECENCY_STEP_MS;
        let mark = clock(last, None).first_mark();
        assert_eq!(clock(last + 3_000, None).idle_seconds(mark), Some(3));
        assert_eq!(clock(last, Some(RATES)).idle_seconds(mark), None);
    }

    #[test]
    fn a_counter_grows_ever_more_slowly() {
        let clock = clock(0, Some(RATES));
        let mut random = Random::from_seed(1);
        let mut marks = [clock.first_mark(); 100];
        let mut mean_after = |uses: usize| {
            for mark in &mut marks {
                (0..uses).for_each(|_| *mark = clock.next_mark(*mark, &mut random));
            }
            marks.iter().filter_map(|mark| clock.frequency(*mark)).map(f64::from).sum::<f64>()
                / marks.len() as f64
        };
        // Redis's documentation gives 10 after a hundred uses and 18 after a thousand.
        let (hundred, thousand) = (mean_after(100), mean_after(900));
        assert!((8.0..=11.0).contains(&hundred), "{hundred}");
        assert!((17.0..=20.0).contains(&thousand), "{thousand}");
    }

    #[test]
    fn a_counter_decays_by_the_minute_and_not_below_zero() {
        let mark = clock(0, Some(RATES)).first_mark();
        for (minutes, expected) in [(0, 5), (1, 4), (4, 1), (60, 0), (30_000, 0)] {
            let clock = clock(minutes * MINUTE_MS, Some(RATES));
            assert_eq!(clock.frequency(mark), Some(expected), "after {minutes} minutes");
        }
        let never = FrequencyRates { decay_minutes: 0, ..RATES };
        assert_eq!(clock(60 * MINUTE_MS, Some(never)).frequency(mark), Some(5));
    }
}
