//! The texts of a schema, its file's and those it includes, and places in them.
//!
//! Owns the mapping from offsets to files, lines and columns. All texts of a
//! schema share one space of offsets, as if they stood one behind the other (a
//! source map), so that a `Span` alone says in which file it lies.
//! Invariant: a `Span` never leaves the text it was made for, and the texts of a
//! schema together are never longer than `MAX_FILE_BYTES` and one byte for each,
//! so 32 bits are enough for an offset.

use std::ops::Range;

/// The largest schema that is read, with all that it includes. A thousand
/// patterns take about 300 kB.
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

    /// The same place in a text that begins `base` bytes further on.
    pub(crate) fn moved(self, base: u32) -> Span {
        Span { start: self.start.saturating_add(base), end: self.end.saturating_add(base) }
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

/// A schema file: its name as the user gave it, and its text; and the files
/// that it includes.
#[derive(Clone, Debug)]
pub struct Source {
    /// What diagnostics and refusals call the file.
    pub name: String,
    /// What is in it.
    pub text: String,
    line_starts: Vec<u32>,
    /// What it includes, by the offset at which each begins.
    included: Vec<(u32, Source)>,
    /// One text that means the same without includes, if there are any.
    flat: Option<Box<str>>,
    /// The names of all files, if several share a database.
    names: Option<Box<str>>,
}

impl Source {
    /// Takes a name and a text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at as u32 + 1))
            .collect();
        Source {
            name: name.into(),
            text,
            line_starts,
            included: Vec::new(),
            flat: None,
            names: None,
        }
    }

    /// The same with what it includes, in the order of [`Source::base_after`].
    pub(crate) fn including(mut self, files: impl IntoIterator<Item = Source>) -> Source {
        let mut base = Source::base_after(0, &self);
        for file in files {
            let next = Source::base_after(base, &file);
            self.included.push((base, file));
            base = next;
        }
        self
    }

    /// The sources of schemas that share a database, as one; and where each begins.
    pub(crate) fn joined(sources: Vec<Source>) -> (Source, Vec<u32>) {
        let flat: Vec<&str> = sources.iter().map(Source::whole_text).collect();
        let flat = flat.join("\n");
        let names: Vec<&str> = sources.iter().map(|source| &*source.name).collect();
        let names = names.join(", ");
        let mut sources = sources.into_iter();
        let mut all = sources.next().expect("there is one at least");
        let mut bases = vec![0];
        for mut source in sources {
            let last = all.included.last().map_or((0, &all), |(base, file)| (*base, file));
            let base = Source::base_after(last.0, last.1);
            bases.push(base);
            source.flat = None;
            let included = std::mem::take(&mut source.included);
            all.included.push((base, source));
            all.included.extend(included.into_iter().map(|(own, file)| (own + base, file)));
        }
        all.flat = Some(flat.into());
        all.names = Some(names.into());
        (all, bases)
    }

    /// Where the text behind one begins that begins at `base`. The byte between
    /// them keeps the end of the one apart from the start of the other.
    pub(crate) fn base_after(base: u32, file: &Source) -> u32 {
        base.saturating_add(file.text.len() as u32).saturating_add(1)
    }

    /// Sets the text that means the same without includes.
    pub(crate) fn set_flat(&mut self, flat: String) {
        self.flat = Some(flat.into());
    }

    /// What it is called as a whole: its file, or all that share a database.
    pub fn names(&self) -> &str {
        self.names.as_deref().unwrap_or(&self.name)
    }

    /// One text that says all of it: the file's own, or if it includes others,
    /// theirs too, with a note of where each key comes from.
    pub fn whole_text(&self) -> &str {
        self.flat.as_deref().unwrap_or(&self.text)
    }

    /// Whether all texts are the same.
    pub fn has_same_texts(&self, other: &Source) -> bool {
        let included = |source: &Source| source.included.len();
        self.text == other.text
            && included(self) == included(other)
            && self
                .included
                .iter()
                .zip(&other.included)
                .all(|((_, own), (_, other))| own.text == other.text && own.name == other.name)
    }

    /// The files that it includes, in the order in which they are read.
    pub fn included(&self) -> impl Iterator<Item = &Source> {
        self.included.iter().map(|(_, file)| file)
    }

    /// The file in which a span lies, and where it lies there.
    pub fn locate(&self, span: Span) -> (&Source, Span) {
        match self.included.partition_point(|(base, _)| *base <= span.start) {
            0 => (self, span),
            behind => {
                let (base, file) = &self.included[behind - 1];
                (file, Span { start: span.start - base, end: span.end.saturating_sub(*base) })
            }
        }
    }

    /// Where an offset lies in its file.
    pub fn position(&self, offset: u32) -> Position {
        let (file, Span { start: offset, .. }) = self.locate(Span { start: offset, end: offset });
        let line = file.line_starts.partition_point(|&start| start <= offset);
        let line_start = file.line_starts[line - 1] as usize;
        let end = (offset as usize).min(file.text.len());
        let before = file.text.get(line_start..end).unwrap_or_default();
        Position { line: line as u32, column: before.chars().count() as u32 + 1 }
    }

    /// The line a span begins on, counted from one in its file.
    pub fn line(&self, span: Span) -> u32 {
        self.position(span.start).line
    }

    /// The name of the file that a span lies in.
    pub fn file(&self, span: Span) -> &str {
        &self.locate(span).0.name
    }

    /// The file and the line a span begins on: `shop/keyward.toml:7`.
    pub fn place(&self, span: Span) -> String {
        format!("{}:{}", self.locate(span).0.name, self.line(span))
    }

    /// The text a span covers.
    pub fn slice(&self, span: Span) -> &str {
        let (file, span) = self.locate(span);
        file.text.get(span.range()).unwrap_or_default()
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

    #[test]
    fn an_offset_says_in_which_file_it_lies() {
        let source =
            Source::new("a", "1\n2").including([Source::new("b", ""), Source::new("c", "x\ny\nz")]);
        let place = |start| source.place(Span { start, end: start + 1 });
        let places: Vec<String> = [0, 2, 3, 4, 5, 7, 10].map(place).into();
        assert_eq!(places, ["a:1", "a:2", "a:2", "b:1", "c:1", "c:2", "c:3"]);
        assert_eq!(source.slice(Span { start: 7, end: 8 }), "y");
    }
}
