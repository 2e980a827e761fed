//! Months of the calendar.

use std::fmt;

/// A month of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    /// Months since January of the year 0.
    index: i32,
}

impl Month {
    /// Reads `2025-12`, and the month of `2025-12-31`.
    pub fn parse(text: &str) -> Option<Month> {
        let (year, month) = (text.get(..4)?, text.get(5..7)?);
        let is_written_so = text.as_bytes()[4] == b'-'
            && matches!(text.as_bytes().get(7), None | Some(b'-'))
            && [year, month].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let month: i32 = month.parse().ok().filter(|month| (1..=12).contains(month))?;
        is_written_so.then_some(Month { index: year.parse::<i32>().ok()? * 12 + month - 1 })
    }

    /// The month of a time in milliseconds since 1970.
    pub fn of_time(ms: i64) -> Month {
        let text = keyward_schema::timestamp_text(ms);
        Month::parse(text.get(..7).unwrap_or_default()).unwrap_or(Month { index: 1970 * 12 })
    }

    /// The one after it.
    pub fn next(self) -> Month {
        self.plus(1)
    }

    /// The one so many months later.
    pub fn plus(self, months: i32) -> Month {
        Month { index: self.index.saturating_add(months) }
    }

    /// Its first day, `2025-12-01`.
    pub fn first_day(self) -> String {
        format!("{self}-01")
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.index.div_euclid(12), self.index.rem_euclid(12) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_follow_each_other() {
        let month = Month::parse("2025-12").expect("a month");
        assert_eq!(month.next().to_string(), "2026-01");
        assert_eq!(month.plus(-12).first_day(), "2024-12-01");
        assert_eq!(Month::parse("2025-12-31"), Some(month));
        assert_eq!(Month::of_time(1_764_862_200_000), month);
        for none in ["2025-13", "2025-00", "2025", "2025/12", "2025-1x", "-123-01", "2025-12x"] {
            assert_eq!(Month::parse(none), None, "{none}");
        }
    }
}
