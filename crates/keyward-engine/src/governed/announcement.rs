//! What a schema does to rows, in words and figures for people.
//!
//! Owns the table that a start prints which would change rows, and the line of the log that
//! says what was done. Figures are those of KEYWARD SCHEMA PLAN.
//! Invariant: every line is printable, whatever a schema holds.
//! Not here: finding it out (`keyward_rules::Survey`).

use super::losses;
use keyward_rules::{Findings, Report, RuleBook};
use keyward_schema::{Unknown, escape};
use std::fmt::Write as _;

/// What governed the rows that a table tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// No schema, as far as is known.
    Elsewhere,
    /// Another one.
    Another,
    /// The same, which only observes.
    Observed,
    /// The same, and none since: they were only observed.
    Interrupted,
}

impl Origin {
    /// That of rows which were under this book, if under any, before another one comes.
    pub(crate) fn before_change(before: Option<&RuleBook>) -> Origin {
        before.map_or(Origin::Elsewhere, |_| Origin::Another)
    }
}

/// Lines of "how it differs" that are shown.
const DIFFERENCES_MAX: usize = 20;

/// A figure of a pattern.
type Figure = fn(&Findings) -> u64;

/// The columns of the table.
const COLUMNS: [(&str, Figure); 13] = [
    ("keys", |found| found.rows),
    ("destroyed", |found| found.destroyed),
    ("shortened", |found| found.shortened),
    ("dated", |found| found.dated),
    ("undated", |found| found.redated - found.dated - found.shortened),
    ("built", |found| found.built),
    ("misfits", |found| found.misfits),
    ("conflicts", |found| found.conflicts),
    ("overlong", |found| found.overlong),
    ("evicted", |found| found.evicted),
    ("unkept", |found| found.unkept),
    ("cut_later", |found| found.cut_later),
    ("shortened_later", |found| found.shortened_later),
];

/// A figure in a sentence: of one, and of any other number.
type Counted = (Figure, &'static str, &'static str);

/// The kinds of change, in a sentence.
const CHANGES: [Counted; 9] = [
    (
        |found| found.destroyed,
        "row or entry of a derived key destroyed",
        "rows and entries of derived keys destroyed",
    ),
    (|found| found.shortened, "row shortened", "rows shortened"),
    (|found| found.dated, "row dated", "rows dated"),
    (
        |found| found.redated - found.dated - found.shortened,
        "row given a later end or none",
        "rows given a later end or none",
    ),
    (|found| found.built, "entry of a derived key built", "entries of derived keys built"),
    (
        |found| found.evicted,
        "row or so evicted, since the keyspace takes more than its max_memory",
        "rows or so evicted, since the keyspace takes more than its max_memory",
    ),
    (|found| found.unkept, "row no longer kept in the files", "rows no longer kept in the files"),
    (
        |found| found.cut_later,
        "row with more elements than it may have, of which its next write drops the rest",
        "rows with more elements than they may have, of which their next write drops the rest",
    ),
    (
        |found| found.shortened_later,
        "row that gets a nearer end by its next use",
        "rows that get a nearer end by their next use",
    ),
];

/// What is kept though something is wrong with it.
const KEPT: [Counted; 3] = [
    (|found| found.misfits, "row does not fit", "rows do not fit"),
    (|found| found.conflicts, "row claims what another has", "rows claim what another has"),
    (|found| found.overlong, "row lives longer than it may", "rows live longer than they may"),
];

fn sum(report: &Report, of: Figure) -> u64 {
    report.tables.iter().map(of).sum()
}

/// The figures that are not zero, in words; none if all are.
fn listed(kinds: &[Counted], figure: impl Fn(Figure) -> u64) -> Option<String> {
    let counts = kinds.iter().map(|(of, one, many)| (figure(*of), one, many));
    let told = counts.filter(|(count, ..)| *count > 0);
    let told: Vec<String> = told
        .map(|(count, one, many)| format!("{count} {}", if count == 1 { one } else { many }))
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// What changes, in words; none if nothing does.
pub(crate) fn changes(report: &Report) -> Option<String> {
    listed(&CHANGES, |of| sum(report, of))
}

/// Patterns that a sentence or the log names.
pub(crate) const PATTERNS_MAX: usize = 16;

/// What changes, in words, of each pattern; of so many patterns as can be read.
pub(crate) fn changes_by_pattern(book: &RuleBook, report: &Report) -> Vec<String> {
    let patterns = book.schema().keys.iter().map(|key| escape(key.pattern.text()).into_owned());
    let names = std::iter::once("(no pattern)".to_owned()).chain(patterns);
    let told = names
        .zip(&report.tables)
        .filter_map(|(name, found)| Some(format!("{name}: {}", listed(&CHANGES, |of| of(found))?)));
    let mut told: Vec<String> = told.collect();
    if let Some(more) = told.len().checked_sub(PATTERNS_MAX).filter(|more| *more > 0) {
        told.truncate(PATTERNS_MAX);
        told.push(format!("and {more} more pattern{}", if more == 1 { "" } else { "s" }));
    }
    told
}

/// What is kept though something is wrong with it, and that it is; none if there is nothing.
pub(crate) fn kept(report: &Report) -> Option<String> {
    let kept = if kept_count(report) == 1 { "it is kept" } else { "they are kept" };
    listed(&KEPT, |of| sum(report, of)).map(|told| format!("{told}; {kept}"))
}

/// How many rows are kept though something is wrong with them; one may count twice.
pub(crate) fn kept_count(report: &Report) -> u64 {
    KEPT.iter().map(|(of, ..)| sum(report, *of)).sum()
}

/// What goes with rows whose time was over before a start; none if nothing does.
pub(crate) fn ending(report: &Report) -> Option<String> {
    let count = sum(report, |found| found.ending);
    (count > 0).then(|| match count {
        1 => "1 entry of a derived key or member goes with the key that it came from, whose \
                  time was over before this start"
            .to_owned(),
        _ => format!(
            "{count} entries of derived keys and members go with the keys that they came from, \
                 whose time was over before this start"
        ),
    })
}

/// What is said of keys of a database that match no pattern, `strays` of which did under the
/// schema before; none if there are none.
pub(crate) fn strangers(db: usize, unknown: Unknown, count: u64, strays: u64) -> Option<String> {
    let strays = match strays.min(count) {
        0 => String::new(),
        strays => format!(", {strays} of which matched one of the schema before"),
    };
    (count > 0).then(|| {
        format!(
            "Database {db}: {count} {} no pattern (unknown = \"{}\"){strays}; KEYWARD UNKNOWN \
             groups them by their form",
            if count == 1 { "key matches" } else { "keys match" },
            unknown.name()
        )
    })
}

/// The table of a plan: what it is about, a line for each pattern that something happens to or
/// is wrong with, and one for keys without a pattern.
pub(crate) fn table(
    db: usize,
    origin: Origin,
    book: &RuleBook,
    report: &Report,
    differences: &[String],
) -> String {
    let mut text = format!("Database {db}, {}: ", escape(book.schema().source.names()));
    text += match origin {
        Origin::Elsewhere => "the rows come from elsewhere, or were there before any schema.",
        Origin::Another => "another schema governed these rows.",
        Origin::Observed => "what this schema, which only observes, would do to its rows.",
        Origin::Interrupted => "this schema governed these rows until they were only observed.",
    };
    text.push('\n');
    for line in differences.iter().take(DIFFERENCES_MAX) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}", escape(line));
    }
    if let Some(more) = differences.len().checked_sub(DIFFERENCES_MAX).filter(|more| *more > 0) {
        let s = if more == 1 { "" } else { "s" };
        let _ = writeln!(text, "  and {more} more difference{s}");
    }
    let patterns = book.schema().keys.iter().map(|key| escape(key.pattern.text()).into_owned());
    let names = std::iter::once("(no pattern)".to_owned()).chain(patterns);
    let rows: Vec<(String, [u64; COLUMNS.len()])> = names
        .zip(&report.tables)
        .map(|(name, found)| (name, COLUMNS.map(|(_, of)| of(found))))
        .filter(|(name, figures)| {
            figures[1..].iter().any(|figure| *figure > 0)
                || (name.starts_with('(') && figures[0] > 0)
        })
        .collect();
    // Columns in which nothing stands are left out.
    let shown: Vec<usize> = (0..COLUMNS.len())
        .filter(|column| *column == 0 || rows.iter().any(|(_, figures)| figures[*column] > 0))
        .collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(7);
    let _ = write!(text, "  {:width$}", "pattern");
    text.extend(shown.iter().map(|column| format!("  {:>9}", COLUMNS[*column].0)));
    text.push('\n');
    for (name, figures) in &rows {
        let _ = write!(text, "  {name:width$}");
        text.extend(shown.iter().map(|column| {
            let width = COLUMNS[*column].0.len().max(9);
            format!("  {:>width$}", figures[*column])
        }));
        text.push('\n');
    }
    let excesses = losses::excesses_in_words(book, report).into_iter();
    let told = excesses.chain(losses::unkept_in_words(book, report));
    let told = told.chain(losses::limit_in_words(report));
    text.extend(told.map(|line| format!("  {line}\n")));
    text
}
