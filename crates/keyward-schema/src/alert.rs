//! Alerts: figures of a keyspace or a key that somebody is told of.
//!
//! Owns what there is to watch, one row a figure, and what a schema says of it. Not here: where
//! alerts are sent (the server's settings), how figures are asked (`keyward_http`).

use crate::schema::{Keyspace, Schema};
use crate::settings::choice;
use crate::source::Span;
use crate::units::{Duration, count_in_words, parse_count, parse_size, size_in_words};
use std::fmt;

/// How long a condition must hold before somebody is told, unless the schema says.
pub const DEFAULT_FOR: Duration = Duration::from_ms(60_000);
/// The time over which ratios and counts of events are, unless the schema says.
pub const DEFAULT_OVER: Duration = Duration::from_ms(300_000);
/// The shortest such time: Prometheus scrapes no more often than every few seconds, and growth
/// needs two samples.
pub(crate) const MIN_OVER: Duration = Duration::from_ms(60_000);
/// The longest such time.
pub(crate) const MAX_OVER: Duration = Duration::from_ms(3_600_000);

choice! {
    /// How much an alert matters.
    pub enum Severity {
        /// Worth knowing.
        Info = "info",
        /// To be looked at.
        Warning = "warning",
        /// To be looked at now.
        Critical = "critical",
    }
}

/// What a threshold is a number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertUnit {
    /// `70%`, kept as 0.7.
    Share,
    /// `1000`, `25k`.
    Count,
    /// `1gb`.
    Bytes,
    /// `1s`, kept in seconds.
    Time,
}

impl AlertUnit {
    /// An example of it.
    fn example(self) -> &'static str {
        match self {
            AlertUnit::Share => "70%",
            AlertUnit::Count => "1000",
            AlertUnit::Bytes => "1gb",
            AlertUnit::Time => "1s",
        }
    }
}

macro_rules! alert_figures {
    ($( $id:ident, $name:literal, keyspace: [$($of_keyspace:ident),*], key: [$($of_key:ident),*],
        $window:literal, $doc:literal; )+) => {
        /// What can be watched.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum AlertFigure { $( #[doc = $doc] $id, )+ }

        impl AlertFigure {
            /// All of them.
            pub const ALL: &'static [AlertFigure] = &[ $( AlertFigure::$id, )+ ];

            /// The word that the schema uses.
            pub fn name(self) -> &'static str {
                match self { $( AlertFigure::$id => $name, )+ }
            }

            /// What a word of the schema means.
            pub fn named(word: &str) -> Option<AlertFigure> {
                match word { $( $name => Some(AlertFigure::$id), )+ _ => None }
            }

            /// What it is.
            pub fn doc(self) -> &'static str {
                match self { $( AlertFigure::$id => $doc, )+ }
            }

            /// What it is compared with where it stands in a keyspace; nothing if it does not.
            pub fn of_keyspace(self) -> &'static [AlertUnit] {
                match self { $( AlertFigure::$id => &[$(AlertUnit::$of_keyspace),*], )+ }
            }

            /// The same in a key.
            pub fn of_key(self) -> &'static [AlertUnit] {
                match self { $( AlertFigure::$id => &[$(AlertUnit::$of_key),*], )+ }
            }

            /// Whether it is counted over a time.
            pub fn has_window(self) -> bool {
                match self { $( AlertFigure::$id => $window, )+ }
            }
        }
    };
}

alert_figures! {
    HitRatio, "hit_ratio", keyspace: [Share], key: [Share], true, "The share of reads that found their key.";
    Memory, "memory", keyspace: [Share, Bytes], key: [Bytes], false, "Bytes that are taken; of a keyspace also as a share of `max_memory`.";
    Keys, "keys", keyspace: [Count], key: [Count, Share], false, "How many keys there are; of a key also as a share of `expect`.";
    Misfits, "misfits", keyspace: [Count], key: [Count], false, "Keys that do not fit the schema and are kept.";
    Refused, "refused", keyspace: [Count], key: [Count], true, "Commands that were refused because they break the schema.";
    Warned, "warned", keyspace: [Count], key: [Count], true, "Commands that break the schema and were let pass with a warning.";
    Evicted, "evicted", keyspace: [Count], key: [Count], true, "Keys that went because memory was needed.";
    Expired, "expired", keyspace: [Count], key: [Count], true, "Keys whose time was over.";
    Clients, "clients", keyspace: [Count], key: [], false, "Clients that are connected to the server.";
    SlowCommands, "slow_commands", keyspace: [Count], key: [], true, "Commands that came into the server's slow log.";
    ReplicaLag, "replica_lag", keyspace: [Time], key: [], false, "The greatest lag of the server's replicas; on a replica, how far it is behind its primary, or since when there is no link.";
    Lag, "lag", keyspace: [Time], key: [], false, "How long the first change has waited to be stored in PostgreSQL; of a keyspace with sinks.";
    Waiting, "waiting", keyspace: [Count], key: [], false, "How many changes wait to be stored in PostgreSQL.";
    DeadLetters, "dead_letters", keyspace: [Count], key: [Count], true, "Items and rows that PostgreSQL refused, as `keyward sync` reports them; of a key with a sink.";
}

impl AlertFigure {
    /// Whether it is about rows on their way to PostgreSQL.
    pub(crate) fn is_of_sinks(self) -> bool {
        matches!(self, AlertFigure::Lag | AlertFigure::Waiting | AlertFigure::DeadLetters)
    }
}

/// Which way a figure must lie for somebody to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertComparison {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl AlertComparison {
    /// Its sign, in a schema and in PromQL.
    pub fn sign(self) -> &'static str {
        match self {
            AlertComparison::Below => "<",
            AlertComparison::AtMost => "<=",
            AlertComparison::Above => ">",
            AlertComparison::AtLeast => ">=",
        }
    }

    /// Whether it holds between a figure and a threshold.
    pub fn holds(self, figure: f64, threshold: f64) -> bool {
        match self {
            AlertComparison::Below => figure < threshold,
            AlertComparison::AtMost => figure <= threshold,
            AlertComparison::Above => figure > threshold,
            AlertComparison::AtLeast => figure >= threshold,
        }
    }
}

/// When somebody is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Threshold {
    /// Which way.
    pub comparison: AlertComparison,
    /// Of what, in the unit's base: 0.7 for `70%`, bytes, seconds.
    pub value: f64,
    /// What it is a number of.
    pub unit: AlertUnit,
}

impl Threshold {
    /// Reads `< 70%` as one of these units.
    ///
    /// # Errors
    /// What should stand there.
    pub fn parse(text: &str, units: &[AlertUnit]) -> Result<Threshold, String> {
        let expected = || {
            let examples: Vec<String> =
                units.iter().map(|unit| format!("\"> {}\"", unit.example())).collect();
            format!("a comparison such as {}", examples.join(" or "))
        };
        let text = text.trim();
        let (comparison, number) = [
            ("<=", AlertComparison::AtMost),
            (">=", AlertComparison::AtLeast),
            ("<", AlertComparison::Below),
            (">", AlertComparison::Above),
        ]
        .into_iter()
        .find_map(|(sign, comparison)| Some((comparison, text.strip_prefix(sign)?.trim())))
        .ok_or_else(expected)?;
        let read = |unit: &AlertUnit| {
            let value = match unit {
                AlertUnit::Share => {
                    let percent: f64 = number.strip_suffix('%')?.trim_end().parse().ok()?;
                    // No plain number of a sensible size: `inf`, `nan`, `-5`.
                    (0.0..=1e6).contains(&percent).then_some(percent / 100.0)?
                }
                AlertUnit::Count if number == "0" => 0.0,
                AlertUnit::Count => parse_count(number)? as f64,
                AlertUnit::Bytes => parse_size(number).filter(|_| has_unit(number))? as f64,
                AlertUnit::Time => Duration::parse(number)?.as_ms() as f64 / 1000.0,
            };
            Some(Threshold { comparison, value, unit: *unit })
        };
        units.iter().find_map(read).ok_or_else(expected)
    }
}

/// Whether a number has a unit behind it.
fn has_unit(number: &str) -> bool {
    number.ends_with(|sign: char| sign.is_ascii_alphabetic())
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = self.comparison.sign();
        match self.unit {
            AlertUnit::Share => {
                // Rounded to where a person would write it.
                let percent = (self.value * 100.0 * 1e6).round() / 1e6;
                write!(f, "{sign} {percent}%")
            }
            AlertUnit::Count => write!(f, "{sign} {}", count_in_words(self.value as u64)),
            AlertUnit::Bytes => write!(f, "{sign} {}", size_in_words(self.value as u64)),
            AlertUnit::Time => {
                let time = Duration::from_ms((self.value * 1000.0) as u64);
                write!(f, "{sign} {}", time.in_words())
            }
        }
    }
}

/// An alert of a keyspace or a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// What is watched.
    pub figure: AlertFigure,
    /// When somebody is told.
    pub threshold: Threshold,
    /// How long that must hold before.
    pub hold: Duration,
    /// Over which time it is counted, if it is.
    pub over: Duration,
    /// How much it matters.
    pub severity: Severity,
    /// What to do, or why it matters.
    pub say: Option<Box<str>>,
    /// Where it stands in the file.
    pub at: Span,
}

impl Alert {
    /// What it says, in words.
    pub fn in_words(&self) -> String {
        let over = match self.figure.has_window() {
            true => format!(" over {}", self.over.in_words()),
            false => String::new(),
        };
        let say = self.say.as_ref().map_or(String::new(), |say| {
            // Who puts it into a sentence ends that.
            format!(": {}", say.trim_end_matches('.'))
        });
        format!(
            "{} if {} {}{over}, for {}{say}",
            self.severity.name(),
            self.figure.name(),
            self.threshold,
            self.hold.in_words(),
        )
    }
}

/// An alert, and what it is about.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredAlert<'s> {
    /// The keyspace.
    pub keyspace: &'s Keyspace,
    /// The pattern, if it is about one.
    pub pattern: Option<&'s str>,
    /// What is said of it.
    pub alert: &'s Alert,
}

impl Schema {
    /// Every alert: of each keyspace, then of its keys.
    pub fn alerts(&self) -> impl Iterator<Item = DeclaredAlert<'_>> {
        let of_keyspaces = self.keyspaces().flat_map(|keyspace| {
            let alerts = keyspace.alerts.iter();
            alerts.map(move |alert| DeclaredAlert { keyspace, pattern: None, alert })
        });
        let of_keys = self.ids().flat_map(|id| {
            let (keyspace, key) = (self.keyspace_of(id), self.key(id));
            let pattern = Some(key.pattern.text());
            key.alerts.iter().map(move |alert| DeclaredAlert { keyspace, pattern, alert })
        });
        of_keyspaces.chain(of_keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read_and_told() {
        use AlertUnit::{Bytes, Count, Share, Time};
        let check = |text: &str, units: &[AlertUnit], value: f64, told: &str| {
            let threshold =
                Threshold::parse(text, units).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!((threshold.value - value).abs() < 1e-9, "{threshold:?}");
            assert_eq!(threshold.to_string(), told);
        };
        check("< 70%", &[Share], 0.7, "< 70%");
        check(">99.9 %", &[Share], 0.999, "> 99.9%");
        check("> 1000", &[Count], 1000.0, "> 1000");
        check(">= 25k", &[Count, Share], 25_000.0, ">= 25k");
        check("> 120%", &[Count, Share], 1.2, "> 120%");
        check("> 0", &[Count], 0.0, "> 0");
        check("> 1gb", &[Share, Bytes], 1073741824.0, "> 1 GB");
        check("<= 1s", &[Time], 1.0, "<= 1 second");
        for text in ["70%", "= 70%", "< 70", "< x%", "< -1%", "< nan%", "< inf%", "", "<"] {
            assert!(Threshold::parse(text, &[Share]).is_err(), "{text}");
        }
        assert!(Threshold::parse("> 5", &[Bytes]).is_err(), "bytes need a unit");
        let why = Threshold::parse("x", &[Share, Bytes]).expect_err("no comparison");
        assert_eq!(why, "a comparison such as \"> 70%\" or \"> 1gb\"");
    }
}
