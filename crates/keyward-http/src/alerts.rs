//! Alerts that schemas declare.
//!
//! Owns what each figure is measured by (`measure`), the one definition from which both the
//! rules for Prometheus (`rules`) and the evaluation by the server itself (`evaluation`) come;
//! `watch` is the thread that evaluates, and `webhook` tells others.

mod evaluation;
mod log;
mod measure;
mod rule_tests;
mod rules;
mod watch;
mod webhook;

pub use log::AlertLog;
pub use measure::figures_markdown;
pub use rule_tests::{RuleTest, rule_tests};
pub use rules::rules;
pub use watch::Watch;
pub use webhook::{Destination, DestinationError};

use keyward_schema::DeclaredAlert;

/// What an alert is called: `KeywardHitRatio`.
pub(crate) fn name(declared: &DeclaredAlert<'_>) -> String {
    let words = declared.alert.figure.name().split('_');
    let capitalised = words.map(|word| {
        let (first, rest) = word.split_at(1.min(word.len()));
        format!("{}{rest}", first.to_ascii_uppercase())
    });
    format!("Keyward{}", capitalised.collect::<String>())
}

/// What it is about, and what is wrong, in a sentence.
pub(crate) fn summary(declared: &DeclaredAlert<'_>) -> String {
    let DeclaredAlert { keyspace, pattern, alert } = declared;
    let of = match pattern {
        Some(pattern) => format!("{pattern} of {}", keyspace.name),
        None => keyspace.name.to_string(),
    };
    let over = match alert.figure.has_window() {
        true => format!(" over {}", alert.over.in_words()),
        false => String::new(),
    };
    format!("{of}: {} {}{over}", alert.figure.name(), alert.threshold)
}

/// What somebody should know of it.
pub(crate) fn description(declared: &DeclaredAlert<'_>) -> String {
    let doc = declared.alert.figure.doc();
    declared.alert.say.as_ref().map_or_else(|| doc.to_owned(), ToString::to_string)
}
