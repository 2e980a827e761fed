//! Numbers, times, units and patterns as text: each against a slow model, or
//! back to where it came from.

use std::cmp::Ordering;

use keyward_schema::{
    DecimalText, Duration, MAX_PLACEHOLDERS, Pattern, parse_count, parse_size, parse_timestamp,
};
use proptest::prelude::*;

/// A decimal, and the same number in units of 10^-18, which an `i128` holds.
#[derive(Debug)]
struct Written {
    text: String,
    units: i128,
    scale: usize,
}

fn decimal() -> impl Strategy<Value = Written> {
    let parts = (any::<bool>(), "0|[1-9][0-9]{0,8}", "[0-9]{0,10}", -8_i32..=8, 0..3);
    parts.prop_map(|(negative, whole, fraction, exponent, form)| {
        let (power, exponent) = match form {
            0 => (String::new(), 0),
            1 => (format!("e{exponent:03}"), exponent),
            _ => (format!("E{exponent:+}"), exponent),
        };
        let (sign, factor) = if negative { ("-", -1) } else { ("", 1) };
        let point = if fraction.is_empty() { "" } else { "." };
        let digits: i128 = format!("{whole}{fraction}").parse().expect("digits");
        let scale = fraction.len() as i32 - exponent;
        Written {
            text: format!("{sign}{whole}{point}{fraction}{power}"),
            units: factor * digits * 10_i128.pow((18 - scale) as u32),
            scale: scale.max(0) as usize,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decimals_have_the_order_of_numbers(one in decimal(), other in decimal()) {
        let (left, right) = (DecimalText::parse(one.text.as_bytes()), DecimalText::parse(other.text.as_bytes()));
        let (left, right) = (left.expect("a decimal"), right.expect("a decimal"));
        let model = one.units.cmp(&other.units);
        prop_assert_eq!(left.cmp(&right), model);
        prop_assert_eq!(left == right, model == Ordering::Equal);
        prop_assert_eq!(left.scale(), one.scale);
    }

    #[test]
    fn what_is_a_decimal(text in "[-+.0-9eE]{0,9}") {
        let number = text.strip_prefix('-').unwrap_or(&text);
        let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let exponent = exponent.parse::<i64>().is_ok_and(|exponent| exponent.abs() <= 400);
        let model = digits(whole) && digits(fraction) && exponent && (whole == "0" || !whole.starts_with('0'));
        prop_assert_eq!(DecimalText::parse(text.as_bytes()).is_some(), model, "{}", text);
    }

    #[test]
    fn times_are_counted_as_on_a_calendar(
        date in (0_i64..=9999, 0_i64..=13, 0_i64..=32),
        clock in (0_i64..=24, 0_i64..=60, 0_i64..=60),
        fraction in "(\\.[0-9]{1,9})?",
        offset in proptest::option::of((any::<bool>(), 0_i64..=24, 0_i64..=60)),
    ) {
        let ((year, month, day), (hour, minute, second)) = (date, clock);
        let zone = match offset {
            None => "Z".to_owned(),
            Some((west, hours, minutes)) => {
                format!("{}{hours:02}:{minutes:02}", if west { '-' } else { '+' })
            }
        };
        let text = format!(
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}"
        );
        let (west, hours, minutes) = offset.unwrap_or((false, 0, 0));
        let is_time = hour < 24 && minute < 60 && second < 60 && hours < 24 && minutes < 60;
        let shift = (hours * 60 + minutes) * if west { -60_000 } else { 60_000 };
        let fraction_ms: i64 =
            format!("{:0<3.3}", fraction.trim_start_matches('.')).parse().expect("three digits");
        let model = days_since_1970(year, month, day).filter(|_| is_time).map(|days| {
            ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + fraction_ms - shift
        });
        prop_assert_eq!(parse_timestamp(text.as_bytes()), model, "{}", text);
    }

    #[test]
    fn no_bytes_make_the_readers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        // Others hold what these read; here they are not to panic.
        parse_timestamp(&bytes);
        DecimalText::parse(&bytes);
        let text = String::from_utf8_lossy(&bytes);
        parse_count(&text);
        parse_size(&text);
        if let Some(duration) = Duration::parse(&text) {
            prop_assert_eq!(Duration::parse(&duration.to_string()), Some(duration));
        }
        if let Ok(pattern) = Pattern::parse(&text) {
            prop_assert_eq!(pattern.text(), text);
        }
    }

    #[test]
    fn durations_come_back_as_they_were(ms in 1_u64..=1000 * 365 * 86_400_000) {
        let duration = Duration::from_ms(ms);
        prop_assert_eq!(Duration::parse(&duration.to_string()), Some(duration));
    }

    #[test]
    fn counts_and_sizes_are_exact(number in 1_u64..1_000_000, thousandths in 0_u64..1000) {
        let count = |unit: &str| parse_count(&format!("{number}.{thousandths:03}{unit}"));
        prop_assert_eq!(count("k"), Some(number * 1000 + thousandths));
        prop_assert_eq!(count("M"), Some((number * 1000 + thousandths) * 1000));
        prop_assert_eq!(count("") , (thousandths == 0).then_some(number));
        prop_assert_eq!(parse_size(&format!("{number}kb")), Some(number * 1024));
        prop_assert_eq!(parse_size(&number.to_string()), Some(number));
    }

    #[test]
    fn a_filled_pattern_accepts_its_key(text in "([a-c{}]{0,4}|\\{[a-d](:(uint|a\\|b|str|rest))?\\}|:){1,9}") {
        let Ok(pattern) = Pattern::parse(&text) else { return Ok(()) };
        prop_assert!(pattern.placeholders().len() <= MAX_PLACEHOLDERS);
        prop_assert_eq!(pattern.text(), &text);
        let values: Vec<&str> = pattern
            .placeholders()
            .iter()
            .map(|own| *["7", "a", "x"].iter().find(|value| own.kind.accepts(value.as_bytes())).expect("a value"))
            .collect();
        let key = pattern.fill(&values);
        prop_assert!(pattern.accepts(&key), "{} {}", text, String::from_utf8_lossy(&key));
    }
}

/// Counted year by year and month by month.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days_of = |year: i64, month: i64| match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap(year)),
        _ => 0,
    };
    if !(1..=days_of(year, month)).contains(&day) {
        return None;
    }
    let years: i64 = if year >= 1970 {
        (1970..year).map(|year| 365 + i64::from(is_leap(year))).sum()
    } else {
        -(year..1970).map(|year| 365 + i64::from(is_leap(year))).sum::<i64>()
    };
    let months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    Some(years + months + day - 1)
}
