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
//! Each table has its reading (`Table::reading`). Changing the policy changes the
//! reading, not the bits: until a row is used again they mean something else, as in
//! Redis.
//! Not here: what goes first (`keyspace::victim`).

use crate::values::random::Random;

const RECENCY_STEP_MS: i64 = 1000;
const RECENCY_MASK: u32 = 0x00ff_ffff;
const MINUTE_MS: i64 = 60_000;
const USES_BITS: u32 = 8;
/// What the counter of a new row is, so that it is not the first to go.
const USES_AT_FIRST: u8 = 5;

/// A row whose counter of uses is beyond this is used often: about a dozen times a minute.
const USES_OFTEN: u8 = USES_AT_FIRST + 1;

/// What the marks of a table's rows say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// When a row was used last.
    Recency,
    /// How often it is used.
    Frequency,
}

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
pub struct AccessClock {
    /// The second, by which rows are marked when recency counts.
    second: u32,
    minute: u16,
    rates: FrequencyRates,
    /// A row that was not used for so long is idle.
    idle_seconds: u32,
    /// Marks stay as they are: nothing counts as a use.
    is_held: bool,
}

impl AccessClock {
    /// A clock at time zero.
    pub(crate) fn new(rates: FrequencyRates) -> AccessClock {
        AccessClock { second: 0, minute: 0, rates, idle_seconds: 0, is_held: false }
    }

    /// Sets the time.
    pub(crate) fn set_now_ms(&mut self, now_ms: i64) {
        self.second = (now_ms / RECENCY_STEP_MS) as u32 & RECENCY_MASK;
        self.minute = (now_ms / MINUTE_MS) as u16;
    }

    /// Decides how counters of uses grow and decay.
    pub fn set_rates(&mut self, rates: FrequencyRates) {
        self.rates = rates;
    }

    /// Decides after how long without use a row is idle; zero if all are.
    pub fn set_idle_seconds(&mut self, seconds: u32) {
        self.idle_seconds = seconds;
    }

    /// Decides whether marks stay as they are; returns whether they did.
    pub(crate) fn hold(&mut self, is_held: bool) -> bool {
        std::mem::replace(&mut self.is_held, is_held)
    }

    /// The mark of a new row.
    pub(crate) fn first_mark(&self, reading: Reading) -> u32 {
        match reading {
            Reading::Recency => self.second,
            Reading::Frequency => self.mark_of_frequency(USES_AT_FIRST),
        }
    }

    /// The mark of a row after one more use.
    #[inline(always)]
    pub(crate) fn next_mark(&self, reading: Reading, mark: u32, random: &mut Random) -> u32 {
        match reading {
            _ if self.is_held => mark,
            Reading::Recency => self.second,
            Reading::Frequency => self.next_frequency_mark(mark, random),
        }
    }

    fn next_frequency_mark(&self, mark: u32, random: &mut Random) -> u32 {
        let uses = self.frequency(mark);
        // One use in `beyond * factor + 1` counts.
        let beyond = u64::from(uses.saturating_sub(USES_AT_FIRST));
        let counts = random.below(beyond * u64::from(self.rates.log_factor) + 1) == 0;
        self.mark_of_frequency(uses.saturating_add(u8::from(counts)))
    }

    /// Seconds since the last use of a row with this mark of recency.
    pub fn idle_seconds(&self, mark: u32) -> u32 {
        self.second.wrapping_sub(mark) & RECENCY_MASK
    }

    /// Whether a row with this mark has not been used for some seconds; where uses are
    /// counted, since the last minute began.
    pub(crate) fn is_idle(&self, reading: Reading, mark: u32) -> bool {
        match reading {
            Reading::Recency => self.idle_seconds(mark) >= self.idle_seconds,
            Reading::Frequency => self.idle_seconds == 0 || self.minute_of(mark) != self.minute,
        }
    }

    /// Whether one more use of a row with this mark is one of many: the last was within
    /// this second; where uses are counted, a dozen were lately.
    #[inline(always)]
    pub(crate) fn is_in_demand(&self, reading: Reading, mark: u32) -> bool {
        let is_it = match reading {
            Reading::Recency => mark == self.second,
            Reading::Frequency => self.minute_of(mark) == self.minute && mark as u8 > USES_OFTEN,
        };
        is_it && self.idle_seconds > 0
    }

    /// The minute of a mark of frequency.
    fn minute_of(&self, mark: u32) -> u16 {
        (mark >> USES_BITS) as u16
    }

    /// The counter of uses in this mark of frequency, decayed to now.
    pub fn frequency(&self, mark: u32) -> u8 {
        let idle_minutes = u32::from(self.minute.wrapping_sub(self.minute_of(mark)));
        let steps = idle_minutes.checked_div(self.rates.decay_minutes).unwrap_or(0);
        (mark as u8).saturating_sub(u8::try_from(steps).unwrap_or(u8::MAX))
    }

    /// How soon a row with this mark goes: the higher, the sooner.
    pub(crate) fn score(&self, reading: Reading, mark: u32) -> u32 {
        match reading {
            Reading::Recency => self.idle_seconds(mark),
            Reading::Frequency => u32::from(u8::MAX - self.frequency(mark)),
        }
    }

    /// The mark of recency of a row last used so many seconds ago.
    pub(crate) fn mark_of_idle(&self, seconds: u64) -> u32 {
        let idle = u32::try_from(seconds).unwrap_or(u32::MAX).min(RECENCY_MASK);
        self.second.wrapping_sub(idle) & RECENCY_MASK
    }

    /// The mark of frequency of a row with this counter of uses.
    pub(crate) fn mark_of_frequency(&self, uses: u8) -> u32 {
        u32::from(self.minute) << USES_BITS | u32::from(uses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: FrequencyRates = FrequencyRates { log_factor: 10, decay_minutes: 1 };

    fn clock(now_ms: i64, rates: FrequencyRates) -> AccessClock {
        let mut clock = AccessClock::new(rates);
        clock.set_now_ms(now_ms);
        clock
    }

    #[test]
    fn idle_time_is_counted_in_seconds_past_the_end_of_the_clock() {
        let last = i64::from(RECENCY_MASK) * RECENCY_STEP_MS;
        let mark = clock(last, RATES).first_mark(Reading::Recency);
        assert_eq!(clock(last + 3_000, RATES).idle_seconds(mark), 3);
    }

    #[test]
    fn a_counter_grows_ever_more_slowly() {
        let clock = clock(0, RATES);
        let mut random = Random::from_seed(1);
        let mut marks = [clock.first_mark(Reading::Frequency); 100];
        let mut mean_after = |uses: usize| {
            for mark in &mut marks {
                for _ in 0..uses {
                    *mark = clock.next_mark(Reading::Frequency, *mark, &mut random);
                }
            }
            let uses = marks.iter().map(|mark| f64::from(clock.frequency(*mark)));
            uses.sum::<f64>() / marks.len() as f64
        };
        // Redis's documentation gives 10 after a hundred uses and 18 after a thousand.
        let (hundred, thousand) = (mean_after(100), mean_after(900));
        assert!((8.0..=11.0).contains(&hundred), "{hundred}");
        assert!((17.0..=20.0).contains(&thousand), "{thousand}");
    }

    #[test]
    fn a_counter_decays_by_the_minute_and_not_below_zero() {
        let mark = clock(0, RATES).first_mark(Reading::Frequency);
        for (minutes, expected) in [(0, 5), (1, 4), (4, 1), (60, 0), (30_000, 0)] {
            let clock = clock(minutes * MINUTE_MS, RATES);
            assert_eq!(clock.frequency(mark), expected, "after {minutes} minutes");
        }
        let never = FrequencyRates { decay_minutes: 0, ..RATES };
        assert_eq!(clock(60 * MINUTE_MS, never).frequency(mark), 5);
    }
}
