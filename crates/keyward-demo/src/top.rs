//! The table of patterns for any server: sorted, filtered, one pattern in detail.
//!
//! Owns what `keyward top` shows and what its keys do, as functions of figures and keys. A
//! pattern stays chosen while rows move around it.
//! Invariants: on a screen no line is wider than it and all of them fit; whatever a pattern
//! holds, no control character is written.
//! Not here: the connection, and the terminal (`commands/top.rs` of the binary).

mod figures;
mod view;

pub use figures::{Pattern, read_info};
use std::time::{Duration, Instant};

/// Points of a pattern's rates that are kept.
const POINTS_MAX: usize = 120;
/// Lines of the figures of one pattern.
const FIGURE_LINES: usize = 14;
/// Lines by which details are scrolled.
const PAGE_LINES: usize = 8;

/// What the table can be sorted by, in the order of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// The pattern itself.
    Pattern,
    /// How many keys it has.
    Keys,
    /// Bytes of its keys and values.
    Memory,
    /// Reads a second.
    Reads,
    /// The share of reads that found their key.
    Found,
    /// Writes a second.
    Writes,
    /// What expired, a second.
    Expired,
    /// What was evicted.
    Evicted,
    /// What was refused.
    Refused,
    /// Rows that do not fit.
    Misfits,
}

impl Column {
    /// All of them.
    pub const ALL: [Column; 10] = [
        Column::Pattern,
        Column::Keys,
        Column::Memory,
        Column::Reads,
        Column::Found,
        Column::Writes,
        Column::Expired,
        Column::Evicted,
        Column::Refused,
        Column::Misfits,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Column::Pattern => "pattern",
            Column::Keys => "keys",
            Column::Memory => "memory",
            Column::Reads => "reads",
            Column::Found => "found",
            Column::Writes => "writes",
            Column::Expired => "expired",
            Column::Evicted => "evicted",
            Column::Refused => "refused",
            Column::Misfits => "misfits",
        }
    }

    /// The next one to the right, or the left.
    fn beside(self, is_right: bool) -> Column {
        let count = Column::ALL.len();
        let at = Column::ALL.iter().position(|column| *column == self).unwrap_or(0);
        Column::ALL[(at + if is_right { 1 } else { count - 1 }) % count]
    }
}

/// A key of the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Text(char),
    /// The arrows.
    Up,
    /// Down.
    Down,
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Backspace.
    Backspace,
}

/// What is wanted after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The table goes on.
    GoOn,
    /// It ends.
    End,
}

/// How often a pattern is used, a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Rates {
    reads: f64,
    writes: f64,
    expired: f64,
}

/// A pattern with its rates.
#[derive(Debug, Clone)]
struct Row {
    pattern: Pattern,
    rates: Rates,
    /// Reads and writes a second, oldest first.
    past: Vec<f64>,
}

/// The table.
#[derive(Debug)]
pub struct Top {
    rows: Vec<Row>,
    at: Option<Instant>,
    sort: Column,
    is_up: bool,
    filter: String,
    /// Whether keys go to the filter.
    is_typing: bool,
    /// The database, keyspace and pattern that are chosen.
    chosen: Option<(usize, String, String)>,
    is_detailed: bool,
    /// Lines of the details that are scrolled past.
    scrolled: usize,
    /// What the schema says of the chosen pattern.
    facts: Vec<(String, Vec<String>)>,
}

impl Top {
    /// A table without figures.
    pub fn new(sort: Column, filter: &str) -> Top {
        Top {
            rows: Vec::new(),
            at: None,
            sort,
            is_up: sort == Column::Pattern,
            filter: filter.to_owned(),
            is_typing: false,
            chosen: None,
            is_detailed: false,
            scrolled: 0,
            facts: Vec::new(),
        }
    }

    /// Takes figures of an instant; rates are since those before.
    pub fn take(&mut self, patterns: Vec<Pattern>, at: Instant) {
        let since = self.at.map(|before| at.saturating_duration_since(before));
        let seconds = since.filter(|it| *it > Duration::ZERO).map(|it| it.as_secs_f64());
        let mut before = std::mem::take(&mut self.rows);
        self.rows =
            patterns.into_iter().map(|pattern| row(pattern, &mut before, seconds)).collect();
        self.at = Some(at);
        if self.chosen.is_none() {
            self.chosen = self.shown().first().map(|row| row.pattern.identity());
        }
    }

    /// The pattern whose details are wanted, if any: its database, keyspace and text.
    pub fn detailed(&self) -> Option<(usize, &str, &str)> {
        let (db, keyspace, pattern) = self.chosen.as_ref().filter(|_| self.is_detailed)?;
        Some((*db, keyspace, pattern))
    }

    /// Shows what the schema says of that pattern.
    pub fn tell(&mut self, facts: Vec<(String, Vec<String>)>) {
        self.facts = facts;
    }

    /// Does what a key is for.
    pub fn press(&mut self, key: Key) -> Wish {
        if self.is_typing {
            match key {
                Key::Text(sign) => self.filter.push(sign),
                Key::Backspace => drop(self.filter.pop()),
                Key::Escape => {
                    self.filter.clear();
                    self.is_typing = false;
                }
                Key::Enter => self.is_typing = false,
                Key::Up | Key::Down => self.step(key == Key::Down),
                Key::Left | Key::Right => {}
            }
            return Wish::GoOn;
        }
        match key {
            Key::Text('q') | Key::Escape if self.is_detailed => self.leave(),
            Key::Text('q') => return Wish::End,
            Key::Escape => self.filter.clear(),
            Key::Text('/') => {
                self.leave();
                self.is_typing = true;
            }
            Key::Up | Key::Text('k') => self.step(false),
            Key::Down | Key::Text('j') => self.step(true),
            Key::Enter => {
                // What the filter hides is not what somebody looks at.
                if self.place(&self.shown()).is_none() {
                    self.chosen = self.shown().first().map(|row| row.pattern.identity());
                }
                self.leave();
                self.is_detailed = self.chosen.is_some();
            }
            Key::Text(' ') if self.is_detailed => {
                let facts: usize = self.facts.iter().map(|(_, lines)| 2 + lines.len()).sum();
                self.scrolled = (self.scrolled + PAGE_LINES).min(FIGURE_LINES + facts);
            }
            Key::Text('b') if self.is_detailed => {
                self.scrolled = self.scrolled.saturating_sub(PAGE_LINES);
            }
            Key::Left | Key::Right => self.sort_by(self.sort.beside(key == Key::Right)),
            Key::Text('r') => self.is_up = !self.is_up,
            Key::Backspace => self.leave(),
            Key::Text(_) => {}
        }
        Wish::GoOn
    }

    fn leave(&mut self) {
        self.is_detailed = false;
        self.scrolled = 0;
        self.facts.clear();
    }

    fn sort_by(&mut self, column: Column) {
        (self.sort, self.is_up) = (column, column == Column::Pattern);
    }

    /// Chooses the next pattern that is shown, or the one before.
    fn step(&mut self, is_down: bool) {
        let shown = self.shown();
        let at = self.place(&shown);
        let next = match (at, is_down) {
            (None, _) => 0,
            (Some(at), true) => (at + 1).min(shown.len().saturating_sub(1)),
            (Some(at), false) => at.saturating_sub(1),
        };
        let chosen = shown.get(next).map(|row| row.pattern.identity());
        if chosen != self.chosen {
            self.facts.clear();
            self.scrolled = 0;
        }
        self.chosen = chosen;
    }

    /// Where the chosen pattern is among those.
    fn place(&self, shown: &[&Row]) -> Option<usize> {
        let chosen = self.chosen.as_ref()?;
        shown.iter().position(|row| row.pattern.is(chosen))
    }

    /// The rows that the filter lets through, sorted.
    fn shown(&self) -> Vec<&Row> {
        let wanted = self.filter.to_lowercase();
        let is_wanted = |row: &&Row| {
            let Pattern { keyspace, pattern, .. } = &row.pattern;
            wanted.is_empty() || format!("{keyspace} {pattern}").to_lowercase().contains(&wanted)
        };
        let mut shown: Vec<&Row> = self.rows.iter().filter(is_wanted).collect();
        shown.sort_by(|left, right| {
            let order = match self.sort {
                Column::Pattern => left.pattern.pattern.cmp(&right.pattern.pattern),
                column => left.figure(column).total_cmp(&right.figure(column)),
            };
            if self.is_up { order } else { order.reverse() }
        });
        shown
    }
}

impl Row {
    /// The number that a column is sorted by.
    fn figure(&self, column: Column) -> f64 {
        let counts = &self.pattern;
        match column {
            Column::Pattern => 0.0,
            Column::Keys => counts.keys as f64,
            Column::Memory => counts.bytes as f64,
            Column::Reads => self.rates.reads,
            Column::Found => counts.found().unwrap_or(-1.0),
            Column::Writes => self.rates.writes,
            Column::Expired => self.rates.expired,
            Column::Evicted => counts.evicted as f64,
            Column::Refused => counts.refused as f64,
            Column::Misfits => counts.misfits as f64,
        }
    }
}

/// A row of these figures, with what was known of the pattern before.
fn row(pattern: Pattern, before: &mut Vec<Row>, seconds: Option<f64>) -> Row {
    let identity = pattern.identity();
    let known = before.iter().position(|row| row.pattern.is(&identity));
    let Some(known) = known.map(|at| before.swap_remove(at)) else {
        return Row { pattern, rates: Rates::default(), past: Vec::new() };
    };
    let rate = |now: u64, then: u64| {
        seconds.map_or(0.0, |seconds| now.saturating_sub(then) as f64 / seconds)
    };
    let then = &known.pattern;
    let rates = Rates {
        reads: rate(pattern.hits + pattern.misses, then.hits + then.misses),
        writes: rate(pattern.writes, then.writes),
        expired: rate(pattern.expired, then.expired),
    };
    let mut past = known.past;
    past.push(rates.reads + rates.writes);
    if past.len() > POINTS_MAX {
        past.remove(0);
    }
    Row { pattern, rates, past }
}

#[cfg(test)]
mod tests;
