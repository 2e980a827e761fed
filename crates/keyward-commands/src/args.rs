//! Reading arguments in Redis's manner: keywords in any case, numbers with the error
//! texts that clients know. Nothing allocates.
//!
//! Not here: finding keys ([`crate::keys`]), the order in which a command judges its
//! arguments, which is the handler's.

use keyward_resp::{Args, number};

use crate::error::WireError;

/// Whether an argument is this keyword, in any case.
#[inline]
pub fn is(argument: &[u8], keyword: &str) -> bool {
    argument.eq_ignore_ascii_case(keyword.as_bytes())
}

/// An argument up to its first zero byte, as C sees it.
pub fn c_text(argument: &[u8]) -> &[u8] {
    let end = argument.iter().position(|byte| *byte == 0);
    &argument[..end.unwrap_or(argument.len())]
}

/// An integer, or [`WireError::NotInteger`].
#[inline]
pub fn integer(argument: &[u8]) -> Result<i64, WireError> {
    integer_or(argument, WireError::NotInteger)
}

/// An integer, or this error.
#[inline]
pub fn integer_or(argument: &[u8], error: WireError) -> Result<i64, WireError> {
    number::parse_i64(argument).ok_or(error)
}

/// An integer from `min` to `max`, or [`WireError::OutOfBounds`].
pub fn integer_within(argument: &[u8], min: i64, max: i64) -> Result<i64, WireError> {
    let value = integer(argument)?;
    if (min..=max).contains(&value) { Ok(value) } else { Err(WireError::OutOfBounds(min, max)) }
}

/// An integer from zero on, or [`WireError::NotPositive`].
pub fn non_negative(argument: &[u8]) -> Result<u64, WireError> {
    non_negative_or(argument, WireError::NotPositive)
}

/// An integer from zero on, or this error.
pub fn non_negative_or(argument: &[u8], error: WireError) -> Result<u64, WireError> {
    number::parse_i64(argument).and_then(|value| u64::try_from(value).ok()).ok_or(error)
}

/// A double, or [`WireError::NotFloat`].
#[inline]
pub fn float(argument: &[u8]) -> Result<f64, WireError> {
    float_or(argument, WireError::NotFloat)
}

/// A double, or this error.
#[inline]
pub fn float_or(argument: &[u8], error: WireError) -> Result<f64, WireError> {
    number::parse_f64(argument).ok_or(error)
}

/// The timeout of a blocking command: seconds with a fraction, to milliseconds rounded
/// up; 0 waits for ever. Redis 7.0 calls a timeout beyond 64 bits negative.
pub fn timeout_ms(argument: &[u8]) -> Result<u64, WireError> {
    let milliseconds = (float_or(argument, WireError::TimeoutNotFloat)? * 1000.0).ceil();
    if (0.0..i64::MAX as f64).contains(&milliseconds) {
        Ok(milliseconds as u64)
    } else {
        Err(WireError::TimeoutNegative)
    }
}

/// Walks over the options of a command.
///
/// ```
/// use keyward_commands::args::{self, Options};
/// use keyward_resp::ArgBuf;
///
/// let command: ArgBuf = ["set", "k", "v", "px", "100", "nx"].iter().collect();
/// let mut options = Options::new(command.args(), 3);
/// let (mut lifetime_ms, mut only_new) = (None, false);
/// while let Some(word) = options.next() {
///     if args::is(word, "PX") {
///         lifetime_ms = Some(args::integer(options.value()?)?);
///     } else if args::is(word, "NX") {
///         only_new = true;
///     } else {
///         return Err(keyward_commands::WireError::Syntax);
///     }
/// }
/// assert_eq!((lifetime_ms, only_new), (Some(100), true));
/// # Ok::<(), keyward_commands::WireError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options<'a> {
    args: Args<'a>,
    next: usize,
}

impl<'a> Options<'a> {
    /// The options that begin at the argument `first`.
    pub fn new(args: Args<'a>, first: usize) -> Options<'a> {
        Options { args, next: first }
    }

    /// The argument that an option needs, or [`WireError::Syntax`].
    #[inline]
    pub fn value(&mut self) -> Result<&'a [u8], WireError> {
        self.next().ok_or(WireError::Syntax)
    }

    /// How many arguments are left.
    pub fn left(&self) -> usize {
        self.args.len().saturating_sub(self.next)
    }

    /// The index of the argument that comes next.
    pub fn index(&self) -> usize {
        self.next
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let argument = self.args.get(self.next)?;
        self.next += 1;
        Some(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_their_own_texts() {
        assert_eq!(integer(b"x"), Err(WireError::NotInteger));
        assert_eq!(integer_within(b"11", 0, 10), Err(WireError::OutOfBounds(0, 10)));
        assert_eq!(integer_within(b"10", 0, 10), Ok(10));
        assert_eq!(non_negative(b"-1"), Err(WireError::NotPositive));
        assert_eq!(non_negative(b"0"), Ok(0));
    }

    #[test]
    fn timeouts_are_rounded_up_to_milliseconds() {
        assert_eq!(timeout_ms(b"0"), Ok(0));
        assert_eq!(timeout_ms(b"0.0001"), Ok(1));
        assert_eq!(timeout_ms(b"1.5"), Ok(1500));
        assert_eq!(timeout_ms(b"-0.0001"), Ok(0));
        assert_eq!(timeout_ms(b"-1"), Err(WireError::TimeoutNegative));
        assert_eq!(timeout_ms(b"inf"), Err(WireError::TimeoutNegative));
        assert_eq!(timeout_ms(b"1e300"), Err(WireError::TimeoutNegative));
        assert_eq!(timeout_ms(b"abc"), Err(WireError::TimeoutNotFloat));
    }
}
