//! What each figure of an alert is measured by.
//!
//! Owns the one definition of every figure: a sum of samples, or the quotient of two, now or
//! as their growth over a time. PromQL and the evaluation by the server both follow from it.

use crate::board::Reading;
use crate::exporter::INFO_FAMILIES;
use crate::families::{Id, PatternFigure, REFUSED, WARNED};
use crate::info::Info;
use crate::metrics::{TableRow, tables};
use keyward_schema::{AlertFigure, AlertUnit, DeclaredAlert, Duration};
use std::fmt::Write as _;

/// Samples that are summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A figure of the pattern, or of all patterns of the keyspace.
    Pattern(PatternFigure),
    /// What was refused of it, for whatever reason.
    Refused,
    /// What was warned of.
    Warned,
    /// Bytes of the keyspace.
    KeyspaceMemory,
    /// Keys of the keyspace.
    KeyspaceKeys,
    /// What the keyspace may take.
    MemoryLimit,
    /// How many keys are expected of the pattern.
    Expected,
    /// A field of INFO, by that name and the family's.
    Server(&'static str),
    /// The lag of replicas.
    ReplicaLag,
    /// What came into the slow log.
    SlowCommands,
}

/// What a figure is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Measure {
    pub(crate) of: Source,
    pub(crate) per: Option<Source>,
    /// Whether it is the growth over a time.
    pub(crate) grows: bool,
}

impl Measure {
    /// What an alert measures.
    pub(crate) fn of(declared: &DeclaredAlert<'_>) -> Measure {
        let is_share = declared.alert.threshold.unit == AlertUnit::Share;
        let now = |of: Source| Measure { of, per: None, grows: false };
        let growth = |of: Source| Measure { of, per: None, grows: true };
        let pattern = Source::Pattern;
        match declared.alert.figure {
            AlertFigure::HitRatio => Measure {
                of: pattern(PatternFigure::Hits),
                per: Some(pattern(PatternFigure::Reads)),
                grows: true,
            },
            AlertFigure::Memory => Measure {
                per: is_share.then_some(Source::MemoryLimit),
                ..now(match declared.pattern {
                    Some(_) => pattern(PatternFigure::Bytes),
                    None => Source::KeyspaceMemory,
                })
            },
            AlertFigure::Keys => Measure {
                per: is_share.then_some(Source::Expected),
                ..now(match declared.pattern {
                    Some(_) => pattern(PatternFigure::Keys),
                    None => Source::KeyspaceKeys,
                })
            },
            AlertFigure::Misfits => now(pattern(PatternFigure::Misfits)),
            AlertFigure::Refused => growth(Source::Refused),
            AlertFigure::Warned => growth(Source::Warned),
            AlertFigure::Evicted => growth(pattern(PatternFigure::Evicted)),
            AlertFigure::Expired => growth(pattern(PatternFigure::Expired)),
            AlertFigure::Clients => now(Source::Server("connected_clients")),
            AlertFigure::SlowCommands => growth(Source::SlowCommands),
            AlertFigure::ReplicaLag => now(Source::ReplicaLag),
            AlertFigure::Lag => now(pattern(PatternFigure::LagMs)),
            AlertFigure::Waiting => now(pattern(PatternFigure::Waiting)),
            AlertFigure::DeadLetters => growth(pattern(PatternFigure::DeadLetters)),
        }
    }

    /// The condition in PromQL.
    pub(crate) fn promql(&self, declared: &DeclaredAlert<'_>) -> String {
        let window = self.grows.then_some(declared.alert.over);
        let mut text = self.of.promql(declared, window);
        if let Some(per) = self.per {
            let _ = write!(text, " / {}", per.promql(declared, window));
        }
        let threshold = &declared.alert.threshold;
        let mut condition = format!("{text} {} {}", threshold.comparison.sign(), threshold.value);
        if self.of.is_of_server() {
            // Of the servers that serve the keyspace, not of every one that is scraped.
            let (family, keyspace) = (Id::SchemaInfo.family().name, &declared.keyspace.name);
            let keyspace = quoted(keyspace);
            let _ = write!(condition, " and on (job, instance) {family}{{keyspace={keyspace}}}");
        }
        condition
    }

    /// The numbers that it is made of, now; `None` where there is nothing to measure.
    pub(crate) fn read(
        &self,
        declared: &DeclaredAlert<'_>,
        db: usize,
        reading: &Reading,
    ) -> Option<(f64, f64)> {
        let of = self.of.read(declared, db, reading)?;
        let per = self.per.map_or(Some(1.0), |per| per.read(declared, db, reading))?;
        Some((of, per))
    }
}

impl Source {
    /// The family that it is sampled from.
    pub(crate) fn family(self) -> &'static str {
        let of_info = |field: &str| INFO_FAMILIES.iter().find(|family| family.field == field);
        match self {
            Source::Pattern(figure) => figure.family().name,
            Source::Refused => REFUSED.name,
            Source::Warned => WARNED.name,
            Source::KeyspaceMemory => Id::KeyspaceBytes.family().name,
            Source::KeyspaceKeys => Id::KeyspaceKeys.family().name,
            Source::MemoryLimit => Id::KeyspaceBytesMax.family().name,
            Source::Expected => PatternFigure::Expected.family().name,
            Source::Server(field) => of_info(field).map_or("", |family| family.name),
            Source::ReplicaLag => Id::ReplicationLag.family().name,
            Source::SlowCommands => Id::SlowCommands.family().name,
        }
    }

    /// Whether it is a figure of the whole server, which has no labels of its own.
    pub(crate) fn is_of_server(self) -> bool {
        matches!(self, Source::Server(_) | Source::ReplicaLag | Source::SlowCommands)
    }

    /// The labels by which samples are chosen, with their values.
    pub(crate) fn labels(self, declared: &DeclaredAlert<'_>) -> Vec<(&'static str, String)> {
        let keyspace = ("keyspace", declared.keyspace.name.to_string());
        match (self, declared.pattern) {
            (source, _) if source.is_of_server() => Vec::new(),
            (Source::MemoryLimit, _) | (_, None) => vec![keyspace],
            (_, Some(pattern)) => vec![keyspace, ("pattern", pattern.to_owned())],
        }
    }

    fn promql(self, declared: &DeclaredAlert<'_>, window: Option<Duration>) -> String {
        let labels = self.labels(declared);
        let matchers: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
        let matchers = match &matchers[..] {
            [] => String::new(),
            matchers => format!("{{{}}}", matchers.join(", ")),
        };
        let kept: Vec<&str> = labels.iter().map(|(name, _)| *name).collect();
        let kept = match &kept[..] {
            [] => "job, instance".to_owned(),
            kept => format!("job, instance, db, {}", kept.join(", ")),
        };
        let family = self.family();
        match window {
            None => format!("sum by ({kept}) ({family}{matchers})"),
            Some(window) => {
                let seconds = window.as_ms().div_ceil(1000);
                format!("sum by ({kept}) (increase({family}{matchers}[{seconds}s]))")
            }
        }
    }

    /// Its number now.
    fn read(self, declared: &DeclaredAlert<'_>, db: usize, reading: &Reading) -> Option<f64> {
        let info = |field: &str| Info::read(&reading.text).number(field);
        match self {
            Source::Pattern(figure) => {
                Some(sum(declared, db, reading, |row| row.figure(figure)) / figure.unit())
            }
            Source::Refused => {
                Some(sum(declared, db, reading, |row| row.by_reason().0.iter().sum()))
            }
            Source::Warned => {
                Some(sum(declared, db, reading, |row| row.by_reason().1.iter().sum()))
            }
            Source::KeyspaceMemory => Some(whole(declared, db, reading, PatternFigure::Bytes)),
            Source::KeyspaceKeys => Some(whole(declared, db, reading, PatternFigure::Keys)),
            Source::MemoryLimit => declared.keyspace.max_memory.map(|bytes| bytes as f64),
            Source::Expected => {
                let rows = tables(reading);
                let row = rows.iter().find(|row| row.is_of(db, declared));
                row.and_then(|row| row.expected).map(|count| count as f64)
            }
            Source::Server(field) => info(field),
            Source::ReplicaLag => crate::metrics::replication_lag(&Info::read(&reading.text)),
            Source::SlowCommands => info("slow_commands"),
        }
    }
}

/// The sum over the tables that an alert is about.
fn sum(
    declared: &DeclaredAlert<'_>,
    db: usize,
    reading: &Reading,
    word: impl Fn(&TableRow<'_>) -> u64,
) -> f64 {
    let rows = tables(reading);
    let own = rows.iter().filter(|row| row.is_of(db, declared));
    own.map(word).sum::<u64>() as f64
}

/// The sum over the declared keys of a keyspace.
fn whole(declared: &DeclaredAlert<'_>, db: usize, reading: &Reading, figure: PatternFigure) -> f64 {
    let rows = tables(reading);
    let own = rows.iter().filter(|row| row.place.is_some() && row.is_of(db, declared));
    own.map(|row| row.figure(figure)).sum::<u64>() as f64
}

/// A text as PromQL has it.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The figures that alerts may be about, for the documentation.
pub fn figures_markdown() -> String {
    let units = |units: &[AlertUnit]| match units {
        [] => "–".to_owned(),
        units => {
            let word = |unit: &AlertUnit| match unit {
                AlertUnit::Share => "`%`",
                AlertUnit::Count => "count",
                AlertUnit::Bytes => "bytes",
                AlertUnit::Time => "time",
            };
            units.iter().map(word).collect::<Vec<_>>().join(", ")
        }
    };
    let mut text = String::from(
        "| figure | of a keyspace | of a key | over a time | what it is |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for figure in AlertFigure::ALL {
        let window = if figure.has_window() { "yes" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {window} | {} |",
            figure.name(),
            units(figure.of_keyspace()),
            units(figure.of_key()),
            figure.doc(),
        );
    }
    text
}
