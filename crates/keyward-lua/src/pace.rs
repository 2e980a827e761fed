//! How many instructions of a script pass between two looks at the time.
//!
//! An instruction is not always short: Lua 5.1 finds equal strings by a hash of few of
//! their bytes, so that making one of many long strings that are alike compares it with
//! all of them. Where looks come late, they are made more often.

/// Instructions before the first look, and from there to the second, which is the first to
/// know how long they take.
pub(crate) const INSTRUCTIONS_FIRST: i32 = 100;
/// Instructions between two looks, while instructions are short.
pub(crate) const INSTRUCTIONS_MAX: i32 = 100_000;
/// One that copies a text may take a tenth of a second.
const INSTRUCTIONS_MIN: i32 = 1;
/// A look after more than this is late.
const LATE_NS: u64 = 20_000_000;

/// The pace of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    instructions: i32,
    /// When the last look ended.
    looked_ns: Option<u64>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace::START
    }
}

impl Pace {
    /// The pace of a run that begins.
    pub(crate) const START: Pace = Pace { instructions: INSTRUCTIONS_FIRST, looked_ns: None };

    /// A look has begun and ended. Returns after how many instructions the next one is.
    pub(crate) fn looked(&mut self, begun_ns: u64, ended_ns: u64) -> i32 {
        let Some(looked_ns) = self.looked_ns.replace(ended_ns) else {
            return self.instructions;
        };
        let passed_ns = begun_ns.saturating_sub(looked_ns);
        let instructions = if passed_ns > LATE_NS {
            self.instructions / 10
        } else if passed_ns < LATE_NS / 20 {
            self.instructions.saturating_mul(2)
        } else {
            self.instructions
        };
        self.instructions = instructions.clamp(INSTRUCTIONS_MIN, INSTRUCTIONS_MAX);
        self.instructions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_looks_are_made_more_often_and_early_ones_less() {
        let mut pace = Pace::START;
        assert_eq!(pace.looked(0, 0), INSTRUCTIONS_FIRST, "nobody knows yet");
        assert_eq!(pace.looked(0, 0), 2 * INSTRUCTIONS_FIRST);
        for _ in 0..20 {
            pace.looked(0, 5);
        }
        assert_eq!(pace.looked(0, 5), INSTRUCTIONS_MAX);
        assert_eq!(pace.looked(5 + LATE_NS + 1, 2 * LATE_NS), INSTRUCTIONS_MAX / 10);
        assert_eq!(pace.looked(3 * LATE_NS, 3 * LATE_NS), INSTRUCTIONS_MAX / 10, "in time");
        for _ in 0..9 {
            pace.looked(u64::MAX, 0);
        }
        assert_eq!(pace.looked(u64::MAX, 0), INSTRUCTIONS_MIN);
        for _ in 0..20 {
            pace.looked(0, 0);
        }
        assert_eq!(pace.looked(0, 0), INSTRUCTIONS_MAX);
    }
}
