//! `keyward plan`: how one schema differs from another, and what that can do to rows.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use keyward_rules::{Difference, DifferenceKind, Effect, compare_for_rows};
use keyward_schema::Schema;
use serde_json::{Value, json};

use super::output::counted;
use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Show how one schema differs from another
///
/// Each difference is `compatible` (rows stay as they are; those that no longer fit are kept,
/// and what is written to them must conform), `rewrites` (rows get another end, at once or by their
/// next use, or derived keys are built) or `destroys` (rows or elements may go: at once, by the
/// next write, for want of memory, or at the next start). Exits with 0 if all are compatible, with
/// 1 if one is not (see --fail-on), with 2 if a file cannot be read or is not sound. What
/// becomes of the rows of a running server it tells by itself:
/// `keyward flatten NEW | redis-cli -x KEYWARD SCHEMA PLAN`. Where several files share a
/// database, all of them are named, those to come behind --to.
#[derive(Args, Debug)]
#[command(override_usage = "keyward plan [OPTIONS] OLD NEW\n       \
    keyward plan [OPTIONS] OLD... --to NEW...")]
#[command(after_help = "Examples:\n  keyward plan old.toml shop/keyward.toml\n  \
    keyward plan old/shop.toml old/jobs.toml --to shop.toml jobs.toml\n  \
    mkdir old && git archive main | tar -x -C old && \
    keyward plan --format github --fail-on destroys old/keyward.toml keyward.toml")]
pub(crate) struct Plan {
    /// The schema in force and the schema to come; with --to, all files in force
    #[arg(value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// All files to come, which share a database
    #[arg(long, value_name = "NEW", num_args = 1..)]
    to: Vec<PathBuf>,
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: PlanFormat,
    /// The least that makes it exit with 1
    #[arg(long, value_enum, default_value = "rewrites", value_name = "WHAT")]
    fail_on: FailOn,
}

/// Whom the output is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlanFormat {
    /// For people
    Human,
    /// For scripts: one JSON object on each line
    Json,
    /// For GitHub: an annotation of the new file for each difference
    Github,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Any difference
    Difference,
    /// One that rewrites or destroys
    Rewrites,
    /// One that destroys
    Destroys,
}

impl Plan {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let (old, new) = match (&self.files[..], &self.to[..]) {
            ([old, new], []) => (std::slice::from_ref(old), std::slice::from_ref(new)),
            (_, []) => bail!("name the schema in force and the one to come, or several and --to"),
            (old, new) => (old, new),
        };
        let old = schema_file::load_together(old, terminal)?;
        let new = schema_file::load_together(new, terminal)?;
        let differences = compare_for_rows(&old, &new);
        for difference in &differences {
            match self.format {
                PlanFormat::Human => {
                    let effect = difference.effect.name();
                    terminal.write(&format!("{effect:<10}  {}\n", difference.in_words()))?;
                }
                PlanFormat::Json => terminal.write_record(&record(difference))?,
                PlanFormat::Github => terminal.write(&annotation(difference, &new))?,
            }
        }
        if self.format == PlanFormat::Human {
            terminal.say(&tally(&differences))?;
        }
        let fails = |difference: &Difference| match self.fail_on {
            FailOn::Difference => true,
            FailOn::Rewrites => difference.effect >= Effect::Rewrites,
            FailOn::Destroys => difference.effect >= Effect::Destroys,
        };
        Ok(if differences.iter().any(fails) { Answer::No } else { Answer::Yes })
    }
}

/// `3 differences: 1 destroys, 2 compatible`.
fn tally(differences: &[Difference]) -> String {
    let count = |effect| differences.iter().filter(|other| other.effect == effect).count();
    let effects = [Effect::Destroys, Effect::Rewrites, Effect::Compatible];
    let counts = effects.map(|effect| (count(effect), effect.name()));
    let told = counts.iter().filter(|(count, _)| *count > 0);
    let told: Vec<String> = told.map(|(count, name)| format!("{count} {name}")).collect();
    let sum = counted(differences.len(), "difference");
    if told.is_empty() { sum } else { format!("{sum}: {}", told.join(", ")) }
}

fn record(difference: &Difference) -> Value {
    let (pattern, effect) = (&difference.pattern, difference.effect.name());
    match &difference.kind {
        DifferenceKind::Added => json!({ "pattern": pattern, "change": "added", "effect": effect }),
        DifferenceKind::Removed { refuses_writers } => json!({
            "pattern": pattern, "change": "removed", "effect": effect,
            "refuses_writers": refuses_writers,
        }),
        DifferenceKind::Changed { about, before, after } => json!({
            "pattern": pattern, "change": "changed", "effect": effect,
            "about": about, "before": before, "after": after,
        }),
    }
}

/// A workflow command of GitHub's, which shows a difference beside the line it is about.
fn annotation(difference: &Difference, new: &Schema) -> String {
    let level = match difference.effect {
        Effect::Compatible => "notice",
        Effect::Rewrites => "warning",
        Effect::Destroys => "error",
    };
    let line = difference.key.map_or(1, |key| new.source.line(new.key(key).at));
    let first = new.parts.first().unwrap_or(new);
    let file =
        difference.key.map_or(&first.source.name, |key| &new.source.locate(new.key(key).at).0.name);
    let message = difference.in_words().replace('%', "%25").replace('\r', "%0D");
    let message = message.replace('\n', "%0A");
    let file = file.replace('%', "%25").replace(':', "%3A").replace(',', "%2C");
    let effect = difference.effect.name();
    format!("::{level} file={file},line={line},title=keyward plan%3A {effect}::{message}\n")
}
