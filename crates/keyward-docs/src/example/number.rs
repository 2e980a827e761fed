//! Example numbers: the nearest thing to a plain one that keeps its limits.
//!
//! Bounds are decimal texts of any size, so the few numbers that could fit are
//! cut and joined as text. That suffices: if some multiple of the last place
//! lies between two bounds, then so does zero, or the upper bound cut down, or
//! the lower bound cut towards zero.

/// Numbers with at most `scale` digits behind the point that may fit the
/// limits, plain ones first.
use keyward_schema::Limits;

pub(super) fn candidates(limits: &Limits, scale: usize) -> Vec<String> {
    const PLAIN: [&str; 6] = ["42", "12.50", "7", "1", "0.5", "0"];
    let bound = |bound: &Option<keyward_schema::Decimal>| bound.as_ref().map(ToString::to_string);
    let (min, max) = (bound(&limits.min), bound(&limits.max));
    let mut found: Vec<String> = PLAIN.iter().map(|number| cut(number, scale)).collect();
    found.extend(min.iter().chain(&max).map(|bound| cut(bound, scale)));
    // Beyond a bound that is no multiple of the last place itself.
    found.extend(min.iter().map(|bound| power_beyond(bound)));
    found.extend(max.iter().map(|bound| format!("-{}", power_beyond(bound))));
    found
}

/// A decimal number with the digits beyond the scale cut off.
fn cut(number: &str, scale: usize) -> String {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = &fraction[..fraction.len().min(scale)];
    let is_zero = |digits: &str| digits.bytes().all(|digit| matches!(digit, b'0' | b'-'));
    match (whole, fraction) {
        (whole, fraction) if is_zero(whole) && is_zero(fraction) => "0".to_owned(),
        (whole, "") => whole.to_owned(),
        (whole, fraction) => format!("{whole}.{fraction}"),
    }
}

/// A power of ten that is greater than the number, whatever its sign.
fn power_beyond(number: &str) -> String {
    let digits = number.trim_start_matches('-');
    let whole = digits.split_once('.').map_or(digits, |(whole, _)| whole);
    format!("1{}", "0".repeat(whole.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_beyond_the_scale_go() {
        let check = |number, scale, cut_number: &str| assert_eq!(cut(number, scale), cut_number);
        check("12.50", 2, "12.50");
        check("12.50", 1, "12.5");
        check("12.50", 0, "12");
        check("-0.4", 0, "0");
        check("-3.99", 0, "-3");
        check("0.015", 2, "0.01");
    }

    #[test]
    fn a_power_lies_beyond_any_number() {
        assert_eq!(power_beyond("999.5"), "1000");
        assert_eq!(power_beyond("-7"), "10");
    }
}
