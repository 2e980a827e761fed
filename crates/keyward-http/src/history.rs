//! The last hour of every pattern.
//!
//! Owns samples, one every [`EVERY`], in bounded memory: [`BYTES_MAX`] for all patterns
//! together, which shortens the time where there are thousands. Other schemas begin anew.

use crate::board::{Board, Reading};
use crate::families::PatternFigure;
use crate::metrics::tables;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

/// How often a sample is taken.
pub(crate) const EVERY: Duration = Duration::from_secs(15);
/// The same until there is something to sample.
const EVERY_AT_START: Duration = Duration::from_secs(1);
/// Samples of an hour.
const SAMPLES_MAX: usize = 240;
/// Bytes of all samples.
const BYTES_MAX: usize = 5 << 20;

/// A pattern at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) keys: f32,
    pub(crate) bytes: f32,
    /// A second, since the sample before.
    pub(crate) reads: f32,
    pub(crate) writes: f32,
    pub(crate) misses: f32,
}

/// All patterns at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) keys: f64,
    pub(crate) bytes: f64,
    pub(crate) reads: f64,
    pub(crate) writes: f64,
    pub(crate) misses: f64,
}

impl Sum {
    fn and(self, point: &Point) -> Sum {
        Sum {
            keys: self.keys + f64::from(point.keys),
            bytes: self.bytes + f64::from(point.bytes),
            reads: self.reads + f64::from(point.reads),
            writes: self.writes + f64::from(point.writes),
            misses: self.misses + f64::from(point.misses),
        }
    }
}

#[derive(Debug, Default)]
struct Samples {
    generation: u64,
    /// Oldest first; each has a point for every table.
    rows: VecDeque<Box<[Point]>>,
    /// What was counted at the last one, and when: reads, writes, misses.
    last: Vec<[u64; 3]>,
    last_ns: u64,
}

/// The samples.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Samples>);

impl History {
    /// Takes samples for as long as somebody has the history.
    pub(crate) fn keep(
        self: &Arc<History>,
        board: Arc<Board>,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<()> {
        let history: Weak<History> = Arc::downgrade(self);
        let keep = move || {
            while let Some(history) = history.upgrade() {
                let reading = board.read(&wake);
                reading.iter().for_each(|reading| history.add(reading));
                // There are no tables before rows are loaded.
                let has_tables = reading.is_some_and(|reading| !tables(&reading).is_empty());
                drop(history);
                std::thread::sleep(if has_tables { EVERY } else { EVERY_AT_START });
            }
        };
        std::thread::Builder::new().name("history".to_owned()).spawn(keep)?;
        Ok(())
    }

    /// Adds a sample.
    pub(crate) fn add(&self, reading: &Reading) {
        let tables = tables(reading);
        if tables.is_empty() {
            return;
        }
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.generation != reading.generation() || samples.last.len() != tables.len() {
            *samples = Samples { generation: reading.generation(), ..Samples::default() };
        }
        let seconds = reading.at_ns.saturating_sub(samples.last_ns) as f32 / 1e9;
        let rate = |now: u64, before: u64| match samples.rows.is_empty() || seconds <= 0.0 {
            true => 0.0,
            false => now.saturating_sub(before) as f32 / seconds,
        };
        let point = |(at, row): (usize, &crate::metrics::TableRow<'_>)| {
            let [reads, writes, misses] = samples.last.get(at).copied().unwrap_or_default();
            Point {
                keys: row.figure(PatternFigure::Keys) as f32,
                bytes: row.figure(PatternFigure::Bytes) as f32,
                reads: rate(row.figure(PatternFigure::Reads), reads),
                writes: rate(row.figure(PatternFigure::Writes), writes),
                misses: rate(row.figure(PatternFigure::Misses), misses),
            }
        };
        let points: Box<[Point]> = tables.iter().enumerate().map(point).collect();
        let counted = |row: &crate::metrics::TableRow<'_>| {
            [PatternFigure::Reads, PatternFigure::Writes, PatternFigure::Misses]
                .map(|figure| row.figure(figure))
        };
        samples.last = tables.iter().map(counted).collect();
        samples.last_ns = reading.at_ns;
        let row_bytes = size_of::<Point>() * tables.len();
        let most = SAMPLES_MAX.min(BYTES_MAX / row_bytes).max(2);
        samples.rows.push_back(points);
        while samples.rows.len() > most {
            samples.rows.pop_front();
        }
    }

    /// The points of a table of these schemas, oldest first. Under others the same number is
    /// another pattern's.
    pub(crate) fn of(&self, generation: u64, table: usize) -> Vec<Point> {
        let points = |row: &[Point]| row.get(table).copied();
        self.rows(generation, points).into_iter().flatten().collect()
    }

    /// The sums over all tables of these schemas, oldest first.
    pub(crate) fn of_all(&self, generation: u64) -> Vec<Sum> {
        self.rows(generation, |row| row.iter().fold(Sum::default(), Sum::and))
    }

    fn rows<T>(&self, generation: u64, of: impl Fn(&[Point]) -> T) -> Vec<T> {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = samples.generation == generation;
        samples.rows.iter().filter(|_| is_it).map(|row| of(row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keyward_rules::{Reason, RuleBook};

    #[test]
    fn rates_are_since_the_sample_before_and_memory_is_bounded() {
        let (board, mut publisher) = Board::new();
        let text = "[keyspace]\nname = \"shop\"\n[key.a]\ntype = \"string\"\nttl = \"1h\"\n";
        let schema = keyward_schema::check("a.toml", text.as_bytes()).schema.expect("a schema");
        publisher.govern(1, vec![(0, Arc::new(RuleBook::new(schema)))]);
        let history = History::default();
        for step in 0..1000_u64 {
            publisher.publish(|writer| {
                for _ in 0..2 {
                    let mut words = [0; PatternFigure::COUNT];
                    words[PatternFigure::Keys as usize] = step;
                    words[PatternFigure::Reads as usize] = step * 10;
                    words[PatternFigure::Misses as usize] = step * 4;
                    writer.words(&words);
                    writer.words(&[0; 2 * Reason::COUNT]);
                }
            });
            let mut reading = board.last().expect("it was published");
            reading.at_ns = (step + 1) * 2_000_000_000;
            history.add(&reading);
        }
        let points = history.of(1, 1);
        assert_eq!(points.len(), SAMPLES_MAX);
        let last = points.last().expect("there are some");
        assert_eq!((last.keys, last.reads, last.writes, last.misses), (999.0, 5.0, 0.0, 2.0));
        assert!(history.of(1, 2).is_empty());
        // Keys of the pattern, and those without one.
        let all = history.of_all(1);
        let last = all.last().expect("there are some");
        assert_eq!((all.len(), last.keys, last.misses), (SAMPLES_MAX, 1998.0, 4.0));
        // Under other schemas it is not known yet what that number will be.
        assert!(history.of(2, 1).is_empty() && history.of_all(2).is_empty());
    }
}
