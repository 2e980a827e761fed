//! Numbers: what is accepted and how it is printed.

use super::*;
use proptest::prelude::*;

fn printed(value: f64) -> String {
    let mut out = Vec::new();
    push_f64(&mut out, value);
    String::from_utf8(out).unwrap()
}

fn human(value: f64) -> String {
    let mut out = Vec::new();
    push_human_f64(&mut out, value);
    String::from_utf8(out).unwrap()
}

#[test]
fn only_canonical_integers_are_accepted() {
    for (text, value) in [
        ("0", 0),
        ("-1", -1),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        assert_eq!(parse_i64(text.as_bytes()), Some(value), "{text}");
    }
    for text in [
        "",
        "-",
        "+1",
        "01",
        "-0",
        "00",
        " 1",
        "1 ",
        "1.0",
        "0x1",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999",
    ] {
        assert_eq!(parse_i64(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn doubles_are_read_as_strtod_does() {
    for (text, value) in [
        ("3", 3.0),
        ("+3.5", 3.5),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("007", 7.0),
        ("inf", f64::INFINITY),
        ("+INF", f64::INFINITY),
        ("-Infinity", f64::NEG_INFINITY),
        ("0x1p3", 8.0),
        ("0X1.8", 1.5),
        ("-0x.8p1", -1.0),
        ("0x0p99999999999999999999", 0.0),
        ("0x1p-1074", 5e-324),
        ("0x1.00000000000008p0", 1.0),
        ("0x1.000000000000080001p0", 1.0000000000000002),
        ("0x123456789abcdef01", 2.0988295479420645e19),
        ("4.9e-324", 5e-324),
        ("0e99999", 0.0),
    ] {
        assert_eq!(parse_f64(text.as_bytes()), Some(value), "{text}");
    }
    for text in [
        "",
        ".",
        "-",
        "+",
        "e5",
        "1e",
        "1e+",
        "nan",
        "-nan",
        "NaN",
        " 1",
        "1 ",
        "1\0",
        "infi",
        "0x",
        "0x.",
        "0x1p",
        "0x1p+",
        "0xg",
        "1e999",
        "-1e999",
        "1e-999",
        "0x1p-1075",
        "0x1p99999999999999999999",
        "0x1p1024",
        "--1",
        "+-1",
        "1_000",
        "1,5",
    ] {
        assert_eq!(parse_f64(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn doubles_are_printed_with_17_significant_digits() {
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "-0"),
        (3.0, "3"),
        (0.1, "0.10000000000000001"),
        (-2.5, "-2.5"),
        (1e15, "1000000000000000"),
        (1e16, "10000000000000000"),
        (1e17, "1e+17"),
        (123456789012345680.0, "1.2345678901234568e+17"),
        (0.0001, "0.0001"),
        (0.00001, "1.0000000000000001e-05"),
        (1e300, "1.0000000000000001e+300"),
        (5e-324, "4.9406564584124654e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::INFINITY, "inf"),
        (f64::NEG_INFINITY, "-inf"),
    ] {
        assert_eq!(printed(value), text);
    }
}

#[test]
fn human_doubles_have_no_exponent_and_no_trailing_zeros() {
    for (value, text) in [
        (0.0, "0"),
        (-0.0, "0"),
        (10.0, "10"),
        (0.5, "0.5"),
        (1e20, "100000000000000000000"),
        (-1e-30, "0"),
        (0.1, "0.10000000000000001"),
        (f64::INFINITY, "inf"),
    ] {
        assert_eq!(human(value), text);
    }
    assert_eq!(human(f64::MAX).len(), 309);
}

proptest! {
    #[test]
    fn printed_integers_are_read_back(value: i64) {
        let mut out = Vec::new();
        push_i64(&mut out, value);
        prop_assert_eq!(parse_i64(&out), Some(value));
    }

    #[test]
    fn an_accepted_integer_is_canonical(text in "-?[0-9]{0,21}") {
        if let Some(value) = parse_i64(text.as_bytes()) {
            prop_assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn printed_doubles_are_read_back(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(!value.is_nan());
        prop_assert_eq!(parse_f64(printed(value).as_bytes()), Some(value));
    }

    #[test]
    fn hexadecimal_floats_are_exact(mantissa in 1u64.., power in -1150i32..1000) {
        // Scaling by a power of two in two exact steps rounds once, at the end,
        // whenever the first step leaves a normal number.
        let text = format!("0x{mantissa:x}p{power}");
        let expected = match power {
            -1021.. => mantissa as f64 * 2f64.powi(power),
            _ => return Ok(()),
        };
        let expected = (expected.is_finite() && expected != 0.0).then_some(expected);
        prop_assert_eq!(parse_f64(text.as_bytes()), expected);
    }

    #[test]
    fn what_is_read_of_any_bytes_prints_as_itself(
        text in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40),
            "[-+0-9.e]{0,9}|[-+]?0x[0-9a-fp.]{0,9}|[-+]?inf".prop_map(String::into_bytes),
        ],
    ) {
        if let Some(value) = parse_i64(&text) {
            prop_assert_eq!(value.to_string().into_bytes(), text.clone());
        }
        if let Some(value) = parse_f64(&text) {
            prop_assert_eq!(parse_f64(printed(value).as_bytes()), Some(value));
        }
    }
}
