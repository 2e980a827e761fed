//! Times as RFC 3339 writes them.
//!
//! Hand-written because shapes check each value on the way in: it reads bytes
//! without copying them, in some 20 ns, and accepts RFC 3339 and nothing else
//! (date-time crates accept more forms, which other clients then refuse).

use crate::exact::{Fraction, Instant};
use crate::pattern::days_in_month;

/// Reads a time and answers milliseconds since 1970. Digits beyond the
/// millisecond are cut off. `None` if it is not of RFC 3339.
pub fn parse_timestamp(text: &[u8]) -> Option<i64> {
    let Moment { date: (year, month, day), second, fraction_ms, offset } = read(text)?;
    let seconds = days_since_1970(year, month, day) * 86_400 + second;
    Some((seconds - offset) * 1000 + fraction_ms)
}

/// Reads a time with all digits of its fraction.
pub(crate) fn parse_instant(text: &[u8]) -> Option<Instant<'_>> {
    /// Where a fraction begins, behind the point.
    const FRACTION_AT: usize = "2025-12-25T10:00:00.".len();
    let Moment { date: (year, month, day), second, fraction_ms: _, offset } = read(text)?;
    let digits = match text.get(FRACTION_AT - 1) {
        Some(b'.') => &text[FRACTION_AT..],
        _ => &[],
    };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let seconds = days_since_1970(year, month, day) * 86_400 + second - offset;
    Some(Instant { seconds, fraction: Fraction::Digits(&digits[..count]) })
}

/// Whether a text is a time.
pub(crate) fn is_timestamp(text: &[u8]) -> bool {
    read(text).is_some()
}

/// A time as it is written.
struct Moment {
    /// Year, month and day.
    date: (i64, i64, i64),
    /// The second of the day.
    second: i64,
    fraction_ms: i64,
    /// Seconds that its zone is ahead.
    offset: i64,
}

#[inline(always)]
fn read(text: &[u8]) -> Option<Moment> {
    let (date, rest) = text.split_at_checked(10)?;
    let [y1, y2, y3, y4, b'-', mo1, mo2, b'-', d1, d2] = *date else { return None };
    let (separator, rest) = rest.split_first()?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let [h1, h2, b':', mi1, mi2, b':', s1, s2] = *clock else { return None };
    if !matches!(separator, b'T' | b't') {
        return None;
    }
    let year = number(y1, y2)? * 100 + number(y3, y4)?;
    let (month, day) = (number(mo1, mo2)?, number(d1, d2)?);
    let (hour, minute, second) = (number(h1, h2)?, number(mi1, mi2)?, number(s1, s2)?);
    let valid = (1..=12).contains(&month)
        && day >= 1
        && (day <= 28 || day <= i64::from(days_in_month(year as u32, month as u8)))
        && hour < 24
        && minute < 60
        && second <= LEAP_SECOND;
    if !valid {
        return None;
    }
    let (fraction_ms, zone) = fraction(rest)?;
    let (date, is_leap) = ((year, month, day), second == LEAP_SECOND);
    let second = hour * 3600 + minute * 60 + second;
    let moment = Moment { date, second, fraction_ms, offset: offset_seconds(zone)? };
    (!is_leap || moment.begins_a_month()).then_some(moment)
}

/// A second that is inserted, which clocks of computers count as the next one.
const LEAP_SECOND: i64 = 60;

impl Moment {
    /// Whether a month of UTC begins with this second: leap seconds are inserted before that.
    #[cold]
    fn begins_a_month(&self) -> bool {
        let (year, month, day) = self.date;
        let seconds = days_since_1970(year, month, day) * 86_400 + self.second - self.offset;
        let (_, _, day) = date_after_1970(seconds.div_euclid(86_400));
        seconds.rem_euclid(86_400) == 0 && day == 1
    }
}

/// Writes a time, given in milliseconds since 1970, to the second:
/// `2025-12-25T10:00:00Z`.
pub fn timestamp_text(ms: i64) -> String {
    let seconds = ms.div_euclid(1000);
    let (year, month, day) = date_after_1970(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", second % 60)
}

#[inline(always)]
fn number(tens: u8, ones: u8) -> Option<i64> {
    let [tens, ones] = [tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0')];
    (tens < 10 && ones < 10).then(|| i64::from(tens) * 10 + i64::from(ones))
}

/// Reads `.123456` if it is there.
#[inline]
fn fraction(text: &[u8]) -> Option<(i64, &[u8])> {
    let Some(digits) = text.strip_prefix(b".") else { return Some((0, text)) };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = digits.split_at(count);
    let ms =
        (0..3).fold(0, |ms, place| ms * 10 + digits.get(place).map_or(0, |d| i64::from(d - b'0')));
    (count > 0).then_some((ms, rest))
}

/// Reads `Z` or `+01:00`.
#[inline]
fn offset_seconds(zone: &[u8]) -> Option<i64> {
    match *zone {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(h1, h2)?, number(m1, m2)?);
            let seconds = hours * 3600 + minutes * 60;
            (hours < 24 && minutes < 60).then_some(if sign == b'-' { -seconds } else { seconds })
        }
        _ => None,
    }
}

/// Days of the Gregorian calendar, counted in years that begin in March so
/// that the leap day is the last one.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day that many days after 1970 began.
fn date_after_1970(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = days.div_euclid(146_097) * 400 + year_of_era;
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_time_is_read_again() {
        let check = |ms, text: &str| assert_eq!(timestamp_text(ms), text);
        check(0, "1970-01-01T00:00:00Z");
        check(-1, "1969-12-31T23:59:59Z");
        check(951_782_400_000, "2000-02-29T00:00:00Z");
        check(951_868_800_000, "2000-03-01T00:00:00Z");
        check(1_766_656_800_999, "2025-12-25T10:00:00Z");
        // Every day of four centuries, each at another time of the day.
        for day in 0..146_097 {
            let ms = day * 86_400_000 + day * 7919 % 86_400 * 1000;
            assert_eq!(parse_timestamp(timestamp_text(ms).as_bytes()), Some(ms));
        }
    }

    #[test]
    fn times_are_ordered_by_all_their_digits_whatever_their_zone() {
        let order = |left: &str, right: &str| {
            let (left, right) = (parse_instant(left.as_bytes()), parse_instant(right.as_bytes()));
            left.expect("a time").cmp(&right.expect("a time"))
        };
        use std::cmp::Ordering::{Equal, Less};
        let check = |left, right, expected| assert_eq!(order(left, right), expected, "{left}");
        check("2025-12-25T10:00:00.1230001Z", "2025-12-25T10:00:00.1230002Z", Less);
        check("2025-12-25T10:00:00Z", "2025-12-25T11:00:00.000+01:00", Equal);
        check("2025-12-25T10:00:00.9Z", "2025-12-25T10:00:01Z", Less);
        check("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.51Z", Less);
        let ms = |ms| Instant::of_ms(ms);
        let written = parse_instant(b"1969-12-31T23:59:59.999Z").expect("a time");
        assert_eq!(ms(-1).cmp(&written), Equal);
        assert_eq!(ms(-2).cmp(&written), Less);
    }

    #[test]
    fn reads_rfc_3339() {
        let check = |text: &str, ms| assert_eq!(parse_timestamp(text.as_bytes()), ms, "{text}");
        check("1970-01-01T00:00:00Z", Some(0));
        check("2025-12-25T10:00:00Z", Some(1_766_656_800_000));
        check("2025-11-03T10:30:00.123Z", Some(1_762_165_800_123));
        check("2025-11-03T10:30:00.1234567+01:30", Some(1_762_160_400_123));
        check("2024-02-29t23:59:59.5z", Some(1_709_251_199_500));
        check("1969-12-31T23:59:59Z", Some(-1000));
        // RFC 3339's own examples of a leap second.
        check("1990-12-31T23:59:60Z", Some(662_688_000_000));
        check("1990-12-31T15:59:60-08:00", Some(662_688_000_000));
        check("2016-12-31T23:59:60.5Z", Some(1_483_228_800_500));
        for bad in [
            "",
            "2025-12-25",
            "2025-12-25 10:00:00Z",
            "2025-12-25T10:00:00",
            "2025-02-29T10:00:00Z",
            "2025-12-25T24:00:00Z",
            "2025-12-25T10:60:00Z",
            "2025-12-25T10:00:60Z",
            "2025-12-25T23:59:60Z",
            "2016-12-31T23:59:60+01:00",
            "2016-12-31T23:59:61Z",
            "2025-12-25T10:00:00.Z",
            "2025-12-25T10:00:00+1:00",
            "2025-12-25T10:00:00+24:00",
            "2025-12-25T10:00:00ZZ",
            "x025-12-25T10:00:00Z",
        ] {
            check(bad, None);
        }
    }
}
