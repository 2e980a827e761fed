//! Durations, sizes and counts as people write them.
//!
//! Owns the three notations: `1h30m`, `4kb`, `2.5M`, and their way back into
//! words. Invariant: what parses is at least one and fits its integer.

use std::fmt;

/// The longest lifetime, a thousand years: far enough from overflow that the
/// present plus any lifetime still is a time in milliseconds.
const MAX_DURATION_MS: u64 = 1000 * 365 * DAY;

const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const WEEK: u64 = 7 * DAY;
const YEAR: u64 = 365 * DAY;

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(u64);

impl Duration {
    /// From milliseconds.
    pub const fn from_ms(ms: u64) -> Duration {
        Duration(ms)
    }

    /// In milliseconds.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Reads `500ms`, `30s`, `5m`, `1h30m`, `14d`, `2w`, `1y` (365 days).
    pub fn parse(text: &str) -> Option<Duration> {
        let mut total: u64 = 0;
        let mut rest = text.trim();
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: u64 = rest[..digits].parse().ok()?;
            rest = &rest[digits..];
            let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            let unit = match &rest[..letters] {
                "ms" => 1,
                "s" => SECOND,
                "m" | "min" => MINUTE,
                "h" => HOUR,
                "d" => DAY,
                "w" => WEEK,
                "y" => YEAR,
                _ => return None,
            };
            total = total.checked_add(number.checked_mul(unit)?)?;
            rest = rest[letters..].trim_start();
        }
        (1..=MAX_DURATION_MS).contains(&total).then_some(Duration(total))
    }

    /// In words: `5 minutes`, `1 hour 30 minutes`.
    pub fn in_words(self) -> String {
        let units: [(u64, &str); 6] = [
            (YEAR, "year"),
            (DAY, "day"),
            (HOUR, "hour"),
            (MINUTE, "minute"),
            (SECOND, "second"),
            (1, "millisecond"),
        ];
        self.split(&units, |count, unit| {
            format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
        })
        .join(" ")
    }

    fn split(self, units: &[(u64, &str)], write: impl Fn(u64, &str) -> String) -> Vec<String> {
        let mut rest = self.0;
        let mut parts = Vec::new();
        for &(unit_ms, unit) in units {
            let count = rest / unit_ms;
            if count > 0 {
                parts.push(write(count, unit));
                rest %= unit_ms;
            }
        }
        parts
    }
}

/// The notation of the schema: `1h30m`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s"), (1, "ms")];
        f.write_str(&self.split(&units, |count, unit| format!("{count}{unit}")).concat())
    }
}

/// Reads `512`, `4kb`, `1gb` with redis.conf's meaning: `k` is 1000, `kb` 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = text[..digits].parse().ok()?;
    let unit: u64 = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit).filter(|&bytes| bytes > 0)
}

/// Writes a number of bytes as people say it: `1.5 MB` (a megabyte being 1024²).
pub fn size_in_words(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..=1023 => return format!("{bytes} bytes"),
        1024..=0xF_FFFF => (1_u64 << 10, "kB"),
        0x10_0000..=0x3FFF_FFFF => (1 << 20, "MB"),
        _ => (1 << 30, "GB"),
    };
    format!("{} {name}", one_decimal(bytes as f64 / unit as f64))
}

/// Reads `100`, `25k`, `2.5M`, `1G`: decimal multiples of a whole number.
pub fn parse_count(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text
        .bytes()
        .take_while(|byte| byte.is_ascii_digit() || *byte == b'.' || *byte == b'_')
        .count();
    let (number, unit) = text.split_at(split);
    let unit: u64 = match unit.trim() {
        "" => 1,
        "k" | "K" => 1_000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => return None,
    };
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if fraction.len() > 9 || number.ends_with('.') {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let scale = 10_u64.pow(fraction.len() as u32);
    let part =
        if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()?.checked_mul(unit)? };
    if part % scale != 0 {
        return None;
    }
    whole.checked_add(part / scale).filter(|&count| count > 0)
}

/// Writes a count shortly: `2.5M`.
pub fn count_in_words(count: u64) -> String {
    match count {
        0..=9_999 => count.to_string(),
        10_000..=999_999 => format!("{}k", one_decimal(count as f64 / 1e3)),
        1_000_000..=999_999_999 => format!("{}M", one_decimal(count as f64 / 1e6)),
        _ => format!("{}G", one_decimal(count as f64 / 1e9)),
    }
}

fn one_decimal(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_and_write() {
        let check = |text, ms, short: &str, words: &str| {
            let duration = Duration::parse(text).expect(text);
            assert_eq!(duration.as_ms(), ms, "{text}");
            assert_eq!(duration.to_string(), short);
            assert_eq!(duration.in_words(), words);
        };
        check("5m", 300_000, "5m", "5 minutes");
        check("1h30m", 5_400_000, "1h30m", "1 hour 30 minutes");
        check("500ms", 500, "500ms", "500 milliseconds");
        check("2w", 14 * DAY, "14d", "14 days");
        check("1y", 365 * DAY, "365d", "1 year");
        check("90min", 5_400_000, "1h30m", "1 hour 30 minutes");
        for bad in
            ["", "5", "m", "5 x", "0s", "-5m", "1.5h", "9999y", "99999999999999999999s", "5mm"]
        {
            assert_eq!(Duration::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_have_the_meaning_of_redis_conf() {
        let check = |text, bytes| assert_eq!(parse_size(text), bytes, "{text}");
        check("512", Some(512));
        check("4kb", Some(4096));
        check("1k", Some(1000));
        check("4GB", Some(4 << 30));
        for bad in ["", "kb", "0", "4 tb", "-1", "99999999999gb"] {
            check(bad, None);
        }
        assert_eq!(size_in_words(1536), "1.5 kB");
        assert_eq!(size_in_words(270 << 20), "270 MB");
    }

    #[test]
    fn counts_are_exact() {
        let check = |text, count| assert_eq!(parse_count(text), count, "{text}");
        check("100", Some(100));
        check("2.5M", Some(2_500_000));
        check("25k", Some(25_000));
        check("1_000", Some(1000));
        for bad in ["", "M", "0", "2.5", "1.0001k", "1.", ".5M", "1.2.3M", "99999999999999G"] {
            check(bad, None);
        }
        assert_eq!(count_in_words(2_500_000), "2.5M");
        assert_eq!(count_in_words(9_999), "9999");
    }
}
