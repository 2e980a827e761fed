//! The text of a schema file and places in it.
//!
//! Owns the mapping from byte offsets to lines and columns.
//! Invariant: a `Span` never leaves the text it was made for, and a text is
//! never longer than `MAX_FILE_BYTES`, so 32 bits are enough for an offset.

use std::ops::Range;

/// The largest schema file that is read. A thousand patterns take about 300 kB.
pub const MAX_FILE_BYTES: usize = 8 * 1024 * 1024;

/// A range of bytes in a schema file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The part of this span that `range` names, counted from its start.
    ///
    /// `None` where it does not lie inside, as when the text was written with
    /// TOML escapes and is longer in the file than in memory.
    pub(crate) fn within(self, range: Range<usize>) -> Option<Span> {
        let start = self.start.checked_add(u32::try_from(range.start).ok()?)?;
        let end = self.start.checked_add(u32::try_from(range.end).ok()?)?;
        (end <= self.end).then_some(Span { start, end })
    }

    /// As a range of indices.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Span {
        let clip = |offset: usize| u32::try_from(offset).unwrap_or(u32::MAX);
        Span { start: clip(range.start), end: clip(range.end) }
    }
}

/// A line and a column, both counted from one; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A schema file: its name as the user gave it, and its text.
#[derive(Clone, Debug)]
pub struct Source {
    /// What diagnostics and refusals call the file.
    pub name: String,
    /// What is in it.
    pub text: String,
    line_starts: Vec<u32>,
}

impl Source {
    /// Takes a name and a text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at as u32 + 1))
            .collect();
        Source { name: name.into(), text, line_starts }
    }

    /// Where an offset lies.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let line_start = self.line_starts[line - 1] as usize;
        let end = (offset as usize).min(self.text.len());
        let before = self.text.get(line_start..end).unwrap_or_default();
        Position { line: line as u32, column: before.chars().count() as u32 + 1 }
    }

    /// The line a span begins on, counted from one.
    pub fn line(&self, span: Span) -> u32 {
        self.position(span.start).line
    }

    /// The text a span covers.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = Source::new("x", "ab\nü c\n");
        let at = |offset| {
            let Position { line, column } = source.position(offset);
            (line, column)
        };
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(2), (1, 3));
        assert_eq!(at(3), (2, 1));
        assert_eq!(at(5), (2, 2));
        assert_eq!(at(6), (2, 3));
        assert_eq!(at(99), (3, 1));
    }
}
