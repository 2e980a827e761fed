//! Whether real bytes fit a shape, where they are not JSON.
//!
//! Owns the text form of each type (a Redis string, a hash field, a list item)
//! and the description of what does not fit. Nothing is allocated for a value
//! that fits.

use std::borrow::Cow;
use std::fmt;

use super::{Extra, Field, Limits, Object, Shape, Type};
use crate::decimal::DecimalText;
use crate::nearest::nearest;
use crate::pattern::Kind;
use crate::source::Span;
use crate::timestamp::is_timestamp;

/// How much of a value an error shows.
const SHOWN_BYTES: usize = 40;

/// Why a value does not fit its shape. One word wide: nearly every value fits, and each
/// part of it answers that.
///
/// Told in two ways: with what was found, and discreetly, without any bytes of a client:
/// neither values nor names that the schema does not have. Who knows that something secret
/// may be among them asks for the latter ([`Misfit::discreet`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    reason: Box<Reason>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Reason {
    told: Account,
    discreet: Account,
    /// Where the schema says what is broken, if that is not where the part is declared.
    at: Option<Span>,
}

/// One way to tell what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Account {
    path: String,
    problem: String,
}

/// A step on the way to a part whose name is not told.
const HIDDEN_STEP: &str = "[…]";

impl Account {
    fn new(problem: impl Into<String>) -> Account {
        Account { path: String::new(), problem: problem.into() }
    }

    fn go_out(&mut self, step: &str) {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
    }
}

impl Misfit {
    /// A problem whose words have nothing of a client.
    pub(crate) fn new(problem: impl Into<String>) -> Misfit {
        let told = Account::new(problem);
        Misfit { reason: Box::new(Reason { discreet: told.clone(), told, at: None }) }
    }

    /// A problem in words that have something of a client, and in such that have not.
    pub(super) fn told_so(told: String, discreet: String) -> Misfit {
        let (told, discreet) = (Account::new(told), Account::new(discreet));
        Misfit { reason: Box::new(Reason { told, discreet, at: None }) }
    }

    /// The same, broken as the schema says there.
    pub(super) fn declared_at(mut self, at: Span) -> Misfit {
        self.reason.at = Some(at);
        self
    }

    /// Where the schema says what is broken, if that is not where the part is declared.
    pub fn at(&self) -> Option<Span> {
        self.reason.at
    }

    /// The way to the part that does not fit, `settings.theme`; empty for the whole.
    pub fn path(&self) -> &str {
        &self.reason.told.path
    }

    /// What is wrong with that part: a clause that follows its name.
    pub fn problem(&self) -> &str {
        &self.reason.told.problem
    }

    /// The same without any bytes of a client.
    #[must_use]
    pub fn discreet(mut self) -> Misfit {
        self.reason.told.clone_from(&self.reason.discreet);
        self
    }

    /// Whether it shows bytes of a client.
    pub fn is_discreet(&self) -> bool {
        self.reason.told == self.reason.discreet
    }

    /// The same, discreet where this is so.
    pub(super) fn discreet_if(self, is_so: bool) -> Misfit {
        if is_so { self.discreet() } else { self }
    }

    /// "must be …, not …"; a secret is not shown.
    pub(crate) fn unfit(shape: &Shape, expected: &str, found: &[u8]) -> Misfit {
        let is_str = shape.ty == Type::Kind(Kind::Str);
        let expected = if is_str && found.is_empty() {
            "text without a colon, of at least one byte"
        } else {
            expected
        };
        Misfit::found(expected, &shown(found)).discreet_if(shape.secret)
    }

    /// "must be …, not …", with what was found as it is to be shown.
    pub(super) fn found(expected: &str, shown: &str) -> Misfit {
        let discreet = Account::new(format!("must be {expected}"));
        let told = Account::new(format!("must be {expected}, not {shown}"));
        Misfit { reason: Box::new(Reason { told, discreet, at: None }) }
    }

    /// The same, one step further out.
    pub(super) fn inside(mut self, step: &str) -> Misfit {
        self.reason.told.go_out(step);
        self.reason.discreet.go_out(step);
        self
    }

    /// The same, one step further out: that to a part whose name a client chose.
    pub(super) fn inside_named(mut self, name: &[u8]) -> Misfit {
        self.reason.told.go_out(shown(name).trim_matches('"'));
        self.reason.discreet.go_out(HIDDEN_STEP);
        self
    }

    /// The same, where what was found stands without quotes in the value.
    pub(super) fn without_quotes(mut self, found: &[u8]) -> Misfit {
        let quoted = shown(found);
        let problem = &mut self.reason.told.problem;
        if let Some(clause) = problem.strip_suffix(&quoted) {
            *problem = format!("{clause}{}", quoted.trim_matches('"'));
        }
        self
    }

    /// There is no such field. In an object that has a secret its name is not shown: it may
    /// be a value in the wrong place.
    pub(super) fn unknown_field(object: &Object, name: &[u8]) -> Misfit {
        let names = object.fields.iter().map(|field| &*field.name);
        let hint = std::str::from_utf8(name).ok().and_then(|name| nearest(name, names));
        let hint = hint.map_or(String::new(), |near| format!("; did you mean {near}?"));
        let told = Account::new(format!("has no field {}{hint}", shown(name)));
        let discreet = Account::new("has no field of that name");
        Misfit { reason: Box::new(Reason { told, discreet, at: None }) }
            .discreet_if(object.has_secret())
    }

    /// What an undeclared field holds does not fit.
    pub(super) fn in_extra_field(self, object: &Object, name: &[u8]) -> Misfit {
        self.inside_named(name).discreet_if(object.has_secret())
    }

    /// A required field is not there.
    pub fn missing_field(name: &str) -> Misfit {
        Misfit::new(format!("lacks the required field {name}"))
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = if self.path().is_empty() { "the value" } else { self.path() };
        write!(f, "{subject} {}", self.problem())
    }
}

impl std::error::Error for Misfit {}

/// Client bytes as an error may show them: escaped, and cut.
pub(crate) fn shown(bytes: &[u8]) -> String {
    if bytes.len() <= SHOWN_BYTES {
        return format!("\"{}\"", bytes.escape_ascii());
    }
    format!("\"{}…\"", bytes[..SHOWN_BYTES].escape_ascii())
}

impl Shape {
    /// Whether a Redis string, hash field or item fits.
    ///
    /// # Errors
    /// Says which part does not, and what it must be.
    pub fn check(&self, value: &[u8]) -> Result<(), Misfit> {
        match &self.ty {
            Type::Json | Type::Array(_) | Type::Map { .. } | Type::Object(_) => {
                self.check_json(value)
            }
            Type::Bool if matches!(value, b"true" | b"false" | b"1" | b"0") => Ok(()),
            Type::Bool => Err(Misfit::unfit(self, "true, false, 1 or 0", value)),
            _ => self.check_scalar(value),
        }
    }

    /// Whether it fits a key whose placeholders have these values.
    ///
    /// # Errors
    /// As [`Shape::check`].
    pub fn check_under(&self, names: &[&[u8]], value: &[u8]) -> Result<(), Misfit> {
        match self.ty.is_json() {
            true => self.check_json_under(names, value),
            false => self.check(value),
        }
    }

    /// Whether the score of a sorted set's member fits.
    ///
    /// # Errors
    /// Says what it must be.
    pub fn check_score(&self, score: f64) -> Result<(), Misfit> {
        let text = || score.to_string();
        let whole = score.fract() == 0.0 && score.abs() < 9.2e18;
        let fits = match &self.ty {
            Type::Kind(Kind::Int) => whole,
            Type::Kind(Kind::Uint) | Type::TimestampMs => whole && score >= 0.0,
            Type::Decimal { scale: Some(scale) } => DecimalText::parse(text().as_bytes())
                .is_some_and(|number| number.scale() <= (*scale).into()),
            _ => !score.is_nan(),
        };
        let found = match fits {
            true => self.check_float(score, || text().into_bytes()),
            false => Err(Misfit::unfit(self, &self.ty.in_words(), text().as_bytes())),
        };
        found.map_err(|misfit| misfit.inside("the score"))
    }

    /// Whether the text of a value that is neither JSON nor a boolean fits.
    pub(super) fn check_scalar(&self, text: &[u8]) -> Result<(), Misfit> {
        let fits = match &self.ty {
            Type::String => true,
            Type::Kind(kind) => kind.accepts(text),
            Type::TimestampMs => Kind::Uint.accepts(text),
            Type::Timestamp => is_timestamp(text),
            Type::Decimal { scale } => DecimalText::parse(text)
                .is_some_and(|number| scale.is_none_or(|scale| number.scale() <= scale.into())),
            Type::Float => match parse_float(text) {
                Some(number) => {
                    self.check_float(number, || text.to_vec())?;
                    true
                }
                None => false,
            },
            Type::Bool | Type::Json | Type::Array(_) | Type::Map { .. } | Type::Object(_) => false,
        };
        if !fits {
            return Err(Misfit::unfit(self, &self.ty.in_words(), text));
        }
        self.check_limits(text)
    }

    /// What the limits say of a text; of a float, what they say beside its size.
    fn check_limits(&self, text: &[u8]) -> Result<(), Misfit> {
        let Limits { min, max, len, prefix } = &self.limits;
        if (min.is_some() || max.is_some()) && !matches!(self.ty, Type::Float) {
            self.check_decimal(text)?;
        }
        if let Some(len) = len.filter(|len| !len.holds(text.len() as u64)) {
            return Err(Misfit::unfit(self, &format!("{len} bytes long"), text));
        }
        if let Some(prefix) =
            prefix.as_deref().filter(|prefix| !text.starts_with(prefix.as_bytes()))
        {
            return Err(Misfit::unfit(self, &format!("text that begins with {prefix:?}"), text));
        }
        Ok(())
    }

    fn check_float(&self, number: f64, text: impl Fn() -> Vec<u8>) -> Result<(), Misfit> {
        match (&self.limits.min, &self.limits.max) {
            (Some(min), _) if number < min.as_f64() => {
                Err(Misfit::unfit(self, &format!("at least {min}"), &text()))
            }
            (_, Some(max)) if number > max.as_f64() => {
                Err(Misfit::unfit(self, &format!("at most {max}"), &text()))
            }
            _ => Ok(()),
        }
    }

    fn check_decimal(&self, text: &[u8]) -> Result<(), Misfit> {
        let Some(number) = DecimalText::parse(text) else { return Ok(()) };
        match (&self.limits.min, &self.limits.max) {
            (Some(min), _) if number < min.as_text() => {
                Err(Misfit::unfit(self, &format!("at least {min}"), text))
            }
            (_, Some(max)) if number > max.as_text() => {
                Err(Misfit::unfit(self, &format!("at most {max}"), text))
            }
            _ => Ok(()),
        }
    }
}

impl Object {
    /// Whether a whole hash fits a key whose placeholders have these values: each of its
    /// fields, none missing, and what must hold between them.
    ///
    /// # Errors
    /// Says which field does not fit, which one is missing, or what does not hold.
    pub fn check_hash<'v>(
        &self,
        names: &[&[u8]],
        pairs: impl Iterator<Item = (&'v [u8], &'v [u8])> + Clone,
    ) -> Result<(), Misfit> {
        for (name, value) in pairs.clone() {
            self.check_hash_field(names, name, value)?;
        }
        let value = |name: &str| pairs.clone().find(|(given, _)| *given == name.as_bytes());
        let value = |name: &str| value(name).map(|(_, value)| Cow::Borrowed(value));
        self.check_whole(names, value, |_| true)?;
        // An entry of a stream may have a field more than once.
        let all = |index: usize| {
            let name = self.fields[index].name.as_bytes();
            pairs.clone().filter(move |(given, _)| *given == name).map(|(_, value)| value)
        };
        let is_repeated = |index: usize| all(index).nth(1).is_some();
        for (index, field) in self.fields.iter().enumerate() {
            let Some(same) = field.same.as_ref().filter(|_| is_repeated(index)) else { continue };
            let is_secret = field.shape.has_secret();
            if let Some(misfit) = all(index).find_map(|it| same.misfit(names, it, is_secret)) {
                return Err(misfit.inside(&field.name));
            }
        }
        let mut repeated = self.checks.iter().filter(|check| check.fields().any(is_repeated));
        repeated.try_for_each(|check| check.judge_each(self, |index| all(index).collect()))
    }

    /// What a hash needs as a whole: that no required field is missing, that fields equal
    /// placeholders where they must, and that checks hold. Of the last two only those that
    /// depend on a field of which `is_new` says so: what was there before is kept until it
    /// is written.
    ///
    /// # Errors
    /// Says which field is missing or differs, or what does not hold.
    pub fn check_whole<'v>(
        &self,
        names: &[&[u8]],
        value: impl Fn(&str) -> Option<Cow<'v, [u8]>>,
        is_new: impl Fn(&str) -> bool,
    ) -> Result<(), Misfit> {
        let missing = |field: &&Field| field.required && value(&field.name).is_none();
        if let Some(field) = self.fields.iter().find(missing) {
            return Err(Misfit::missing_field(&field.name));
        }
        for field in self.fields.iter().filter(|field| field.same.is_some()) {
            if let Some(same) = field.same.as_ref().filter(|_| is_new(&field.name))
                && let Some(value) = value(&field.name)
                && let Some(misfit) = same.misfit(names, &value, field.shape.has_secret())
            {
                return Err(misfit.inside(&field.name));
            }
        }
        let is_new = |index: usize| is_new(&self.fields[index].name);
        let mut concerned = self.checks.iter().filter(|check| check.fields().any(is_new));
        concerned.try_for_each(|check| check.judge(self, |index| value(&self.fields[index].name)))
    }

    /// Whether one field of a hash fits, under a key whose placeholders have these values.
    ///
    /// # Errors
    /// Says that there is no such field, or what it must hold.
    pub fn check_hash_field(
        &self,
        names: &[&[u8]],
        name: &[u8],
        value: &[u8],
    ) -> Result<(), Misfit> {
        let declared = self.fields.iter().find(|field| field.name.as_bytes() == name);
        match (declared, &self.extra) {
            (Some(field), _) => {
                let found = field.shape.check_under(names, value);
                found.map_err(|misfit| misfit.inside(&field.name))
            }
            (None, Extra::Reject) => Err(Misfit::unknown_field(self, name)),
            (None, Extra::Allow) => Ok(()),
            (None, Extra::Typed(shape)) => {
                let found = shape.check_under(names, value);
                found.map_err(|misfit| misfit.in_extra_field(self, name))
            }
        }
    }
}

/// A finite number in any notation that both JSON and Redis's clients use.
fn parse_float(text: &[u8]) -> Option<f64> {
    if let Some(number) = parse_short_float(text) {
        return Some(number);
    }
    let numeric =
        |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    if !text.iter().all(numeric) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A number of so few digits that it and the power of ten it is divided by are exact: so
/// is what comes of it. Most are such, and the general way takes ten times as long.
fn parse_short_float(text: &[u8]) -> Option<f64> {
    const DIGITS_MAX: usize = 15;
    const POWERS: [f64; DIGITS_MAX] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14];
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    // One more for the point.
    if digits.len() > DIGITS_MAX + 1 || !digits.last()?.is_ascii_digit() {
        return None;
    }
    let (mut whole, mut point) = (0_u64, None);
    for (place, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => whole = whole * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() && place > 0 => point = Some(place),
            _ => return None,
        }
    }
    let scale = point.map_or(0, |point| digits.len() - 1 - point);
    if digits.len() - usize::from(point.is_some()) > DIGITS_MAX {
        return None;
    }
    let number = whole as f64 / POWERS[scale];
    Some(if is_negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::super::parse_expr;
    use super::*;
    use crate::decimal::Decimal;
    use crate::shape::Length;

    fn shape(text: &str) -> Shape {
        parse_expr(text, None).expect(text).0
    }

    #[test]
    fn each_type_has_its_text_form() {
        let check = |ty: &str, yes: &[&str], no: &[&str]| {
            for value in yes {
                assert_eq!(shape(ty).check(value.as_bytes()), Ok(()), "{ty}: {value}");
            }
            for value in no {
                assert!(shape(ty).check(value.as_bytes()).is_err(), "{ty}: {value}");
            }
        };
        check("string", &["", "a:b"], &[]);
        check("str", &["a"], &["", "a:b"]);
        check("int", &["-5"], &["5.0", "05", ""]);
        check("float", &["5", "-5.5", "1e5", ".5"], &["", "inf", "nan", "0x10", "1e999", "five"]);
        check("decimal(2)", &["5", "5.25", "-0.1", "1e2", "125e-2"], &["5.255", "1e-03", ""]);
        check("decimal", &["5.255", "1e2", "-1E-05", "1e400"], &["1e401", "+1", "1e999999999"]);
        check("bool", &["true", "false", "1", "0"], &["True", "yes", ""]);
        check("timestamp", &["2025-12-25T10:00:00Z"], &["now", "1766656800"]);
        check("timestamp_ms", &["1766656800000"], &["-1", "1.5"]);
        check("a | b", &["a", "b"], &["c", "A", ""]);
        check("string[]", &["[]", "[\"a\"]"], &["a", "[1]"]);
    }

    #[test]
    fn short_floats_are_what_the_general_way_makes_of_them() {
        // Its own generator: what tests share depends on this crate.
        let mut state = 7_u64;
        let mut random = |end: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % end
        };
        let mut short = 0;
        for _ in 0..200_000 {
            let alphabet: &[u8] = if random(4) == 0 { b"0123456789.-+e" } else { b"0123456789." };
            let text: Vec<u8> =
                (0..random(20)).map(|_| alphabet[random(alphabet.len() as u64) as usize]).collect();
            let general = std::str::from_utf8(&text).ok().and_then(|text| text.parse::<f64>().ok());
            if let Some(number) = parse_short_float(&text) {
                assert_eq!(Some(number.to_bits()), general.map(f64::to_bits), "{text:?}");
                short += 1;
            }
        }
        assert!(short > 10_000);
        for (text, number) in [("-0", -0.0), ("0.1", 0.1), ("999999999999999", 999999999999999.0)] {
            let found = parse_short_float(text.as_bytes());
            assert_eq!(found.map(f64::to_bits), Some(f64::to_bits(number)), "{text}");
        }
        for text in ["", "-", ".", "1.", ".5", "1e5", "1.2.3", "1234567890123456", "+1"] {
            assert_eq!(parse_short_float(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn limits_are_named_in_the_refusal() {
        let check = |shape: &Shape, value: &str, expected: &str| {
            let found = shape.check(value.as_bytes()).map_err(|misfit| misfit.to_string());
            assert_eq!(found, Err(expected.to_owned()));
        };
        let mut money = shape("decimal");
        money.limits.min = Decimal::parse("0");
        check(&money, "-0.01", "the value must be at least 0, not \"-0.01\"");
        check(&money, "-1e-05", "the value must be at least 0, not \"-1e-05\"");
        assert_eq!(money.check(b"0.00"), Ok(()));
        assert_eq!(money.check(b"1e-05"), Ok(()));
        money.limits.max = Decimal::parse("1500");
        check(&money, "1.5001E3", "the value must be at most 1500, not \"1.5001E3\"");
        assert_eq!(money.check(b"1.5E3"), Ok(()));
        check(
            &shape("str"),
            "",
            "the value must be text without a colon, of at least one byte, not \"\"",
        );
        check(&shape("str"), "a:b", "the value must be text without a colon, not \"a:b\"");
        let mut key = shape("str");
        key.limits.prefix = Some("kikuai_".into());
        key.limits.len = Some(Length { min: 8, max: 39 });
        check(&key, "kikuai_", "the value must be 8 to 39 bytes long, not \"kikuai_\"");
        check(
            &key,
            "xikuai_abc",
            "the value must be text that begins with \"kikuai_\", not \"xikuai_abc\"",
        );
        key.secret = true;
        check(&key, "xikuai_abc", "the value must be text that begins with \"kikuai_\"");
        let long = "x".repeat(50);
        check(
            &shape("int"),
            &long,
            &format!("the value must be a whole number, not \"{}…\"", "x".repeat(40)),
        );
        check(&shape("int"), "a\n\u{1}", "the value must be a whole number, not \"a\\n\\x01\"");
    }

    #[test]
    fn scores_are_judged_as_numbers() {
        assert!(shape("timestamp_ms").check_score(1_730_649_600_000.0).is_ok());
        assert!(shape("timestamp_ms").check_score(-1.0).is_err());
        assert!(shape("uint").check_score(1.5).is_err());
        assert!(shape("float").check_score(f64::INFINITY).is_ok());
        assert!(shape("float").check_score(f64::NAN).is_err());
        let mut bounded = shape("float");
        bounded.limits.max = Decimal::parse("1");
        assert!(bounded.check_score(1.0).is_ok());
        assert!(bounded.check_score(1.1).is_err());
    }
}
