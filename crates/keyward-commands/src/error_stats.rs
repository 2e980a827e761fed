//! How often each error code was answered.

use std::collections::BTreeMap;

/// Codes that are counted one by one. Scripts may invent codes without end.
const CODES_MAX: usize = 128;
/// A longer code is none.
const CODE_BYTES_MAX: usize = 30;

/// Counts of error replies.
#[derive(Debug, Clone, Default)]
pub struct ErrorStats {
    total: u64,
    by_code: BTreeMap<Box<[u8]>, u64>,
}

impl ErrorStats {
    /// An error was answered: its line, or at least its code.
    pub fn count(&mut self, line: &[u8]) {
        let code = line.split(|byte| *byte == b' ').next().unwrap_or_default();
        let code = if code.len() > CODE_BYTES_MAX { b"ERR" } else { code };
        self.add(code, 1);
    }

    /// Adds what was counted elsewhere.
    pub fn merge(&mut self, other: ErrorStats) {
        self.total += other.total - other.by_code.values().sum::<u64>();
        for (code, count) in other.by_code {
            self.add(&code, count);
        }
    }

    fn add(&mut self, code: &[u8], count: u64) {
        self.total += count;
        if let Some(counted) = self.by_code.get_mut(code) {
            *counted += count;
        } else if self.by_code.len() < CODES_MAX {
            self.by_code.insert(code.into(), count);
        }
    }

    /// All error replies.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Codes and how often each was answered.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.by_code.iter().map(|(code, count)| (&**code, *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invented_codes_are_bounded_and_still_counted() {
        let mut errors = ErrorStats::default();
        for number in 0..1000 {
            errors.count(format!("CODE{number} text").as_bytes());
        }
        errors.count("X".repeat(100).as_bytes());
        let mut other = ErrorStats::default();
        other.count(b"CODE1 text");
        other.merge(errors);
        assert_eq!(other.total(), 1002);
        assert_eq!(other.iter().count(), CODES_MAX);
        assert_eq!(other.iter().find(|(code, _)| code == b"CODE1"), Some((&b"CODE1"[..], 2)));
    }
}
