//! The table of patterns, drawn in place on a screen and below one another elsewhere.
//!
//! Invariant: on a screen no line wraps and all of them fit, so that the next table
//! covers this one.

use std::io;

use keyward_schema::size_in_words;

use crate::figures::{Counts, PatternFigures, SystemFigures};
use crate::output::{Output, Screen};

/// How wide the table is where nobody says how wide it may be, and at the most.
const COLUMNS_MAX: usize = 100;
/// How narrow the column of patterns may become.
const PATTERN_COLUMNS_MIN: usize = 16;
/// Patterns of each system where there are several.
const PATTERNS_SHOWN: usize = 5;
/// The lines of a screen that are not for patterns: the heads, and where the cursor is.
const OTHER_LINES: usize = 2;

/// What was shown last.
pub(crate) struct Board {
    figures: Vec<SystemFigures>,
    lines: usize,
}

impl Board {
    /// Rates of the first table count from these figures.
    pub(crate) fn new(figures: Vec<SystemFigures>) -> Board {
        Board { figures, lines: 0 }
    }

    pub(crate) fn show(
        &mut self,
        figures: Vec<SystemFigures>,
        output: &mut dyn Output,
    ) -> io::Result<()> {
        let screen = output.screen();
        let table = self.draw(&figures, screen);
        self.figures = figures;
        match screen {
            // Up to where the last table begins, and away with it.
            Some(_) if self.lines > 0 => output.write(&format!("\x1b[{}A\x1b[J", self.lines))?,
            _ => output.write("\n")?,
        }
        self.lines = table.lines().count();
        output.write(&table)?;
        output.flush()
    }

    fn draw(&self, figures: &[SystemFigures], screen: Option<Screen>) -> String {
        let mut all = figures.iter().flat_map(|system| &system.patterns);
        let layout = Layout {
            has_bytes: all.any(|pattern| pattern.counts.bytes > 0),
            columns: screen.map_or(COLUMNS_MAX, |screen| screen.columns.min(COLUMNS_MAX)),
        };
        let shown = patterns_shown(figures.len(), screen);
        let mut table = layout.head();
        for (before, now) in self.figures.iter().zip(figures) {
            let rates = rates(before, now);
            let total = Counts::sum(now.patterns.iter().map(|pattern| &pattern.counts));
            table.push_str(&layout.line(&title(now), &total, rates.iter().sum()));
            for place in busiest(&now.patterns, shown) {
                let PatternFigures { pattern, counts } = &now.patterns[place];
                let name = if pattern.is_empty() { "(no pattern)" } else { pattern };
                table.push_str(&layout.line(&format!("  {name}"), counts, rates[place]));
            }
        }
        table
    }
}

/// How often each pattern was used, a second.
fn rates(before: &SystemFigures, now: &SystemFigures) -> Vec<u64> {
    let seconds = (now.at - before.at).as_secs_f64().max(0.001);
    let pairs = before.patterns.iter().zip(&now.patterns);
    let uses = pairs.map(|(before, now)| now.counts.uses().saturating_sub(before.counts.uses()));
    uses.map(|uses| (uses as f64 / seconds).round() as u64).collect()
}

fn title(system: &SystemFigures) -> String {
    let patterns = system.patterns.iter().filter(|pattern| !pattern.pattern.is_empty()).count();
    format!("{} (database {}, {patterns} patterns)", system.system.name, system.system.db)
}

/// How many patterns of each system there is room for.
fn patterns_shown(systems: usize, screen: Option<Screen>) -> usize {
    match screen {
        None if systems == 1 => usize::MAX,
        None => PATTERNS_SHOWN,
        Some(screen) => screen.rows.saturating_sub(OTHER_LINES + systems) / systems,
    }
}

/// The places of the patterns that are used most, in the order of the schema; keys
/// without a pattern come last.
fn busiest(patterns: &[PatternFigures], count: usize) -> Vec<usize> {
    let is_used = |place: &usize| {
        let counts = &patterns[*place].counts;
        counts.keys + counts.uses() + counts.refused > 0
    };
    let mut places: Vec<usize> = (0..patterns.len()).filter(is_used).collect();
    places.sort_by_key(|place| std::cmp::Reverse(patterns[*place].counts.uses()));
    places.truncate(count);
    places.sort_by_key(|place| (patterns[*place].pattern.is_empty(), *place));
    places
}

/// Which columns there are, and how wide they are together.
struct Layout {
    has_bytes: bool,
    columns: usize,
}

impl Layout {
    fn head(&self) -> String {
        self.cells("", ["keys", "bytes", "hits", "per second", "refused"].map(str::to_owned))
    }

    fn line(&self, name: &str, counts: &Counts, rate: u64) -> String {
        let hit_ratio = (counts.hits * 100).checked_div(counts.hits + counts.misses);
        let cells = [
            grouped(counts.keys),
            size_in_words(counts.bytes),
            hit_ratio.map_or("-".to_owned(), |percent| format!("{percent} %")),
            grouped(rate),
            grouped(counts.refused),
        ];
        self.cells(name, cells)
    }

    fn cells(&self, name: &str, [keys, bytes, hits, rate, refused]: [String; 5]) -> String {
        let bytes = if self.has_bytes { format!("{bytes:>11}") } else { String::new() };
        let figures = format!("{keys:>9}{bytes}{hits:>7}{rate:>12}{refused:>9}");
        let width = self.columns.saturating_sub(figures.len()).max(PATTERN_COLUMNS_MIN);
        let mut line = format!("{:<width$}{figures}", cut(name, width - 1));
        line.truncate(line.char_indices().nth(self.columns).map_or(line.len(), |(end, _)| end));
        line.push('\n');
        line
    }
}

/// The text if it has room, else its beginning.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::system::SYSTEMS;

    fn pattern(pattern: &str, keys: u64, hits: u64, refused: u64) -> PatternFigures {
        let counts = Counts { keys, hits, misses: hits / 3, refused, ..Counts::default() };
        PatternFigures { pattern: pattern.to_owned(), counts }
    }

    fn figures(at: Instant, hits: u64) -> Vec<SystemFigures> {
        let patterns = vec![
            pattern("", 0, 0, 2),
            pattern("user_settings:{chat_id:uint}", 100, 4 * hits, 0),
            pattern("never:{used}", 0, 0, 0),
            pattern("processed_token:{token_address}:{user_id:uint}", 12_345, hits, 1),
        ];
        vec![SystemFigures { system: &SYSTEMS[0], at, patterns }]
    }

    #[test]
    fn the_table_shows_what_is_used_and_how_often_since_the_last_one() {
        let start = Instant::now();
        let board = Board::new(figures(start, 300));
        let table = board.draw(&figures(start + Duration::from_secs(2), 900), None);
        let expected = [
            "keys hits per second refused",
            "calls-bot (database 14, 3 patterns) 12,445 75 % 2,000 3",
            "user_settings:{chat_id:uint} 100 75 % 1,600 0",
            "processed_token:{token_address}:{user_id:uint} 12,345 75 % 400 1",
            "(no pattern) 0 - 0 2",
        ];
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(table.lines().map(words).collect::<Vec<_>>(), expected);
        assert!(table.lines().all(|line| line.chars().count() == COLUMNS_MAX), "{table}");
    }

    #[test]
    fn a_table_fits_its_screen() {
        let now = Instant::now();
        for (columns, rows) in [(200, 50), (80, 24), (60, 4), (40, 3), (20, 2), (1, 1)] {
            let screen = Some(Screen { columns, rows });
            let table = Board::new(figures(now, 300)).draw(&figures(now, 600), screen);
            assert!(table.lines().all(|line| line.chars().count() <= columns), "{table}");
            assert!(table.lines().count() <= rows.max(OTHER_LINES), "{table}");
        }
    }

    #[test]
    fn bytes_have_a_column_where_they_are_known() {
        let now = Instant::now();
        let mut known = figures(now, 300);
        known[0].patterns[1].counts.bytes = 1536;
        let table = Board::new(figures(now, 300)).draw(&known, None);
        assert!(table.contains("1.5 kB"), "{table}");
        assert!(table.lines().all(|line| line.chars().count() == COLUMNS_MAX), "{table}");
    }

    #[test]
    fn digits_are_grouped() {
        let check = |number, text| assert_eq!(grouped(number), text);
        check(0, "0");
        check(999, "999");
        check(1000, "1,000");
        check(1_234_567, "1,234,567");
    }
}
