//! `keyward plan`: how one schema differs from another.

use std::path::PathBuf;

use clap::Args;
use keyward_rules::{Difference, DifferenceKind, compare};
use serde_json::{Value, json};

use super::{Format, counted};
use crate::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Show how one schema differs from another
///
/// Exits with 0 if they say the same, with 1 if they differ, with 2 if a file
/// cannot be read or is not sound. What becomes of the rows of a running server
/// it tells by itself: `keyward flatten NEW | redis-cli -x KEYWARD SCHEMA PLAN`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward plan old.toml shop/keyward.toml\n  \
    keyward plan --format json old.toml new.toml")]
pub(crate) struct Plan {
    /// The schema in force
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The schema to come
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Plan {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let old = schema_file::load(&self.old, terminal)?;
        let new = schema_file::load(&self.new, terminal)?;
        let differences = compare(&old, &new);
        for difference in &differences {
            match self.format {
                Format::Human => terminal.write(&format!("{}\n", difference.in_words()))?,
                Format::Json => terminal.write_record(&record(difference))?,
            }
        }
        if self.format == Format::Human {
            terminal.say(&counted(differences.len(), "difference"))?;
        }
        Ok(if differences.is_empty() { Answer::Yes } else { Answer::No })
    }
}

fn record(difference: &Difference) -> Value {
    let pattern = &difference.pattern;
    match &difference.kind {
        DifferenceKind::Added => json!({ "pattern": pattern, "change": "added" }),
        DifferenceKind::Removed => json!({ "pattern": pattern, "change": "removed" }),
        DifferenceKind::Changed { about, before, after } => json!({
            "pattern": pattern, "change": "changed",
            "about": about, "before": before, "after": after,
        }),
    }
}
