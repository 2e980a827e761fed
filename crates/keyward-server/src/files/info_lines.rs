//! The lines of INFO: names and values, appended to a text without allocating.

use std::fmt::{self, Display, Write as _};
use std::path::Path;

/// Where lines go.
#[derive(Debug)]
pub(crate) struct Lines<'t>(pub(crate) &'t mut String);

impl Lines<'_> {
    /// Appends a line.
    pub(crate) fn line(&mut self, name: &str, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{name}:{value}\r\n");
    }
}

/// A number with two decimals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fixed(pub(crate) f64);

impl Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2}", self.0)
    }
}

/// A number with six decimals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Micro(pub(crate) f64);

impl Display for Micro {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

/// A number, or -1 where there is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OrNone(pub(crate) Option<u64>);

impl Display for OrNone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => number.fmt(f),
            None => f.write_str("-1"),
        }
    }
}

/// A path, or nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'p>(pub(crate) Option<&'p Path>);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |path| path.display().fmt(f))
    }
}

/// An amount of memory as Redis shows it: `1.50M`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Human(pub(crate) u64);

impl Display for Human {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
        match UNITS.into_iter().find(|(size, _)| self.0 >= *size) {
            Some((size, letter)) => write!(f, "{:.2}{letter}", self.0 as f64 / size as f64),
            None => write!(f, "{}B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Human;

    #[test]
    fn memory_is_shown_as_redis_shows_it() {
        for (bytes, expected) in [(0, "0B"), (1023, "1023B"), (1536, "1.50K"), (1 << 30, "1.00G")] {
            assert_eq!(Human(bytes).to_string(), expected);
        }
    }
}
