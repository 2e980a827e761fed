//! What the output of several commands has in common.

use clap::ValueEnum;

/// Whom the output is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Human,
    /// For scripts: one JSON object on each line.
    Json,
}

/// `1 error`, `2 errors`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
