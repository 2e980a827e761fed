//! Alerts, evaluated by the server itself.
//!
//! Owns the state of each alert: what its figure was lately, since when its condition holds,
//! and whether somebody was told. Evaluated as Prometheus evaluates a rule: a condition that
//! holds is pending, and fires once it has held for its time; one that does not is over.
//!
//! Invariants: nothing fires without something to measure (no traffic, no alert). What is kept
//! of the past is bounded: [`SAMPLES_MAX`] samples for each alert, whatever its window.

use super::measure::Measure;
use super::{description, name, summary};
use crate::board::Reading;
use keyward_schema::{AlertFigure, Severity};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

/// Samples that are kept of an alert's figure.
const SAMPLES_MAX: usize = 61;

/// What an alert is about: database, keyspace, pattern, figure.
type Subject = (usize, String, Option<String>, AlertFigure);

/// An alert that fires, or that did.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) name: String,
    pub(crate) severity: Severity,
    pub(crate) db: usize,
    pub(crate) keyspace: String,
    pub(crate) pattern: Option<String>,
    pub(crate) summary: String,
    pub(crate) description: String,
    /// The figure when it was told.
    pub(crate) value: f64,
    /// Since when its condition holds.
    pub(crate) since: SystemTime,
    /// When it was over, if it is.
    pub(crate) until: Option<SystemTime>,
}

#[derive(Debug, Default)]
struct State {
    /// The numbers that the figure is made of, oldest first.
    samples: VecDeque<(Duration, (f64, f64))>,
    /// Since when the condition holds.
    pending: Option<(Duration, SystemTime)>,
    told: Option<Told>,
}

/// The states of all alerts.
#[derive(Debug, Default)]
pub(crate) struct Evaluation {
    states: BTreeMap<Subject, State>,
}

impl Evaluation {
    /// How many alerts there are.
    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }

    /// Takes in figures of now, and returns what somebody is to be told: alerts that fire from
    /// now on, and those that are over. `now` never goes back.
    pub(crate) fn step(&mut self, reading: &Reading, now: Duration, at: SystemTime) -> Vec<Told> {
        let mut news = Vec::new();
        let mut states = BTreeMap::new();
        for (db, book) in &reading.layout.books {
            for declared in book.schema().alerts() {
                let subject = (
                    *db,
                    declared.keyspace.name.to_string(),
                    declared.pattern.map(str::to_owned),
                    declared.alert.figure,
                );
                let mut state = self.states.remove(&subject).unwrap_or_default();
                let measure = Measure::of(&declared);
                let read = measure.read(&declared, *db, reading);
                let figure = state.figure(measure, read, now, to_std(declared.alert.over));
                let threshold = declared.alert.threshold;
                let is_beyond =
                    figure.filter(|figure| threshold.comparison.holds(*figure, threshold.value));
                match is_beyond {
                    Some(value) => {
                        let (since, since_at) = *state.pending.get_or_insert((now, at));
                        let is_ripe = now - since >= to_std(declared.alert.hold);
                        if is_ripe && state.told.is_none() {
                            let told = Told {
                                name: name(&declared),
                                severity: declared.alert.severity,
                                db: *db,
                                keyspace: subject.1.clone(),
                                pattern: subject.2.clone(),
                                summary: summary(&declared),
                                description: description(&declared),
                                value,
                                since: since_at,
                                until: None,
                            };
                            news.push(told.clone());
                            state.told = Some(told);
                        }
                    }
                    None => {
                        state.pending = None;
                        news.extend(state.told.take().map(|told| Told { until: Some(at), ..told }));
                    }
                }
                states.insert(subject, state);
            }
        }
        // What no schema declares any more is over.
        for (_, state) in std::mem::replace(&mut self.states, states) {
            news.extend(state.told.map(|told| Told { until: Some(at), ..told }));
        }
        news
    }
}

fn to_std(duration: keyward_schema::Duration) -> Duration {
    Duration::from_millis(duration.as_ms())
}

impl State {
    /// The figure now, if there is one.
    fn figure(
        &mut self,
        measure: Measure,
        read: Option<(f64, f64)>,
        now: Duration,
        over: Duration,
    ) -> Option<f64> {
        let Some(read) = read else {
            self.samples.clear();
            return None;
        };
        if !measure.grows {
            return Some(read.0 / read.1).filter(|figure| figure.is_finite());
        }
        // Counters begin anew when they are reset.
        if self.samples.back().is_some_and(|(_, last)| read.0 < last.0 || read.1 < last.1) {
            self.samples.clear();
            self.samples.push_back((now, (0.0, if measure.per.is_some() { 0.0 } else { 1.0 })));
        }
        let step = over / (SAMPLES_MAX as u32 - 1);
        if self.samples.back().is_none_or(|(last, _)| now - *last >= step) {
            self.samples.push_back((now, read));
        }
        // One that is older than the window is kept: growth is since then.
        while self.samples.len() > 1 && self.samples.get(1).is_some_and(|(at, _)| now - *at >= over)
        {
            self.samples.pop_front();
        }
        let (_, before) = self.samples.front()?;
        let growth = (read.0 - before.0, read.1 - before.1);
        match measure.per {
            None => Some(growth.0),
            Some(_) => Some(growth.0 / growth.1).filter(|figure| figure.is_finite()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::{Board, Publisher};
    use crate::families::PatternFigure;
    use keyward_rules::{Reason, RuleBook};
    use std::sync::Arc;

    const SCHEMA: &str = r#"
[keyspace]
name = "shop"
max_memory = "1mb"
alert.memory = { when = "> 80%", for = "10s" }

[key."page:{name}"]
type = "string"
ttl = "5m"
alert.hit_ratio = { when = "< 70%", for = "10s", over = "60s", severity = "critical" }
alert.refused = { when = "> 5", for = "10s", over = "60s" }
"#;

    struct Stage {
        board: Arc<Board>,
        publisher: Publisher,
        evaluation: Evaluation,
        seconds: u64,
    }

    impl Stage {
        fn new(schema: &str) -> Stage {
            let (board, mut publisher) = Board::new();
            let checked = keyward_schema::check("shop.toml", schema.as_bytes());
            let schema = checked.schema.unwrap_or_else(|| panic!("{:?}", checked.diagnostics));
            publisher.govern(1, vec![(3, Arc::new(RuleBook::new(schema)))]);
            Stage { board, publisher, evaluation: Evaluation::default(), seconds: 0 }
        }

        /// Ten seconds later these are the figures of the only pattern.
        fn pass(&mut self, bytes: u64, hits: u64, reads: u64, refused: u64) -> Vec<String> {
            self.seconds += 10;
            self.publisher.publish(|writer| {
                let mut words = [0; PatternFigure::COUNT];
                writer.words(&words);
                writer.words(&[0; 2 * Reason::COUNT]);
                words[PatternFigure::Bytes as usize] = bytes;
                words[PatternFigure::Hits as usize] = hits;
                words[PatternFigure::Reads as usize] = reads;
                writer.words(&words);
                let mut reasons = [0; 2 * Reason::COUNT];
                reasons[Reason::Value as usize] = refused;
                writer.words(&reasons);
            });
            let reading = self.board.last().expect("it was published");
            let now = Duration::from_secs(self.seconds);
            let at = SystemTime::UNIX_EPOCH + now;
            let news = self.evaluation.step(&reading, now, at);
            let shown = |told: &Told| {
                let state = if told.until.is_some() { "over" } else { "fires" };
                format!("{} {state} at {}", told.name, told.value)
            };
            news.iter().map(shown).collect()
        }
    }

    #[test]
    fn an_alert_fires_after_its_time_once_and_is_over_once() {
        let mut stage = Stage::new(SCHEMA);
        assert!(stage.pass(900_000, 0, 0, 0).is_empty(), "not for so long");
        let news = stage.pass(900_000, 0, 0, 0);
        assert_eq!(news, [format!("KeywardMemory fires at {}", 900_000.0 / 1_048_576.0)]);
        assert!(stage.pass(900_000, 0, 0, 0).is_empty(), "it was told");
        assert_eq!(stage.pass(10, 0, 0, 0).len(), 1, "it is over");
        assert!(stage.pass(10, 0, 0, 0).is_empty());
    }

    #[test]
    fn ratios_are_over_a_window_and_no_traffic_never_fires() {
        let mut stage = Stage::new(SCHEMA);
        for _ in 0..20 {
            assert!(stage.pass(0, 100, 1000, 0).is_empty(), "nobody reads");
        }
        assert!(stage.pass(0, 110, 1100, 0).is_empty(), "not for so long");
        assert_eq!(stage.pass(0, 120, 1200, 0), ["KeywardHitRatio fires at 0.1"]);
        // As many are found again; the window forgets.
        let news: Vec<String> = (1..10)
            .flat_map(|step| stage.pass(0, 120 + step * 1000, 1200 + step * 1000, 0))
            .collect();
        assert_eq!(news, ["KeywardHitRatio over at 0.1"]);
    }

    #[test]
    fn events_are_counted_over_the_window_and_survive_a_reset_of_counters() {
        let mut stage = Stage::new(SCHEMA);
        assert!(stage.pass(0, 0, 0, 100).is_empty(), "what was before is not counted");
        assert!(stage.pass(0, 0, 0, 106).is_empty(), "not for so long");
        assert_eq!(stage.pass(0, 0, 0, 106), ["KeywardRefused fires at 6"]);
        let news: Vec<String> = (0..8).flat_map(|_| stage.pass(0, 0, 0, 106)).collect();
        assert_eq!(news, ["KeywardRefused over at 6"]);
        assert!(stage.pass(0, 0, 0, 7).is_empty(), "counted from zero");
        assert_eq!(stage.pass(0, 0, 0, 7), ["KeywardRefused fires at 7"]);
    }

    #[test]
    fn what_is_no_longer_declared_is_over() {
        let mut stage = Stage::new(SCHEMA);
        stage.pass(900_000, 0, 0, 0);
        assert_eq!(stage.pass(900_000, 0, 0, 0).len(), 1);
        assert_eq!(stage.evaluation.len(), 3);
        let other =
            Stage::new("[keyspace]\nname = \"shop\"\n[key.a]\ntype = \"string\"\nttl = \"1h\"\n");
        stage.board = other.board;
        stage.publisher = other.publisher;
        assert_eq!(stage.pass(900_000, 0, 0, 0).len(), 1);
        assert_eq!(stage.evaluation.len(), 0);
    }

    #[test]
    fn the_past_is_bounded_whatever_the_window() {
        let mut stage = Stage::new(SCHEMA);
        (0..1000).for_each(|step| drop(stage.pass(0, step, step, step)));
        for state in stage.evaluation.states.values() {
            assert!(state.samples.len() <= SAMPLES_MAX + 1, "{}", state.samples.len());
        }
    }

    const STORED: &str = r#"
[keyspace]
name = "shop"
alert.lag = { when = "> 30s", for = "10s" }
alert.waiting = { when = "> 1000", for = "10s" }
alert.dead_letters = { when = "> 0", for = "10s", over = "60s" }

[key."user:{id:uint}"]
type = "hash"
fields = { name = "string" }
sink = { mirror = "users" }
"#;

    #[test]
    fn what_waits_to_be_stored_is_of_the_changefeed_and_in_seconds() {
        let mut stage = Stage::new(STORED);
        let mut pass = |lag_ms: u64, waiting: u64, dead_letters: u64| {
            stage.seconds += 10;
            stage.publisher.publish(|writer| {
                let mut row = |figures: &[(PatternFigure, u64)]| {
                    let mut words = [0; PatternFigure::COUNT];
                    figures.iter().for_each(|(figure, value)| words[*figure as usize] = *value);
                    writer.words(&words);
                    writer.words(&[0; 2 * Reason::COUNT]);
                };
                row(&[]);
                row(&[(PatternFigure::DeadLetters, dead_letters)]);
                row(&[(PatternFigure::LagMs, lag_ms), (PatternFigure::Waiting, waiting)]);
            });
            let reading = stage.board.last().expect("it was published");
            let now = Duration::from_secs(stage.seconds);
            let news = stage.evaluation.step(&reading, now, SystemTime::UNIX_EPOCH + now);
            let shown: Vec<String> =
                news.iter().map(|told| format!("{} {}", told.name, told.value)).collect();
            shown
        };
        assert!(pass(29_999, 1_000, 7).is_empty());
        assert!(pass(29_999, 1_000, 7).is_empty(), "nothing is beyond its threshold");
        assert!(pass(30_500, 1_001, 9).is_empty(), "not for so long");
        let fired = ["KeywardLag 30.5", "KeywardWaiting 1001", "KeywardDeadLetters 2"];
        assert_eq!(pass(30_500, 1_001, 9), fired);
        assert_eq!(pass(0, 0, 9).len(), 2, "what is stored is over");
    }
}
