//! `keyward test`: what a schema is to accept and to refuse, tried.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::Args;
use keyward_engine::WriteTrial;
use keyward_schema::{ExampleValue, KeyId, MAX_FILE_BYTES, Source, by_shape, escape, try_cases};
use serde_json::json;

use super::output::{Format, counted};
use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// What cases beside a schema are called.
const CASES_NAME: &str = "cases.toml";

/// Try keys and values on a schema
///
/// CASES is a TOML file, cases.toml beside the schema unless given: for each pattern keys that belong to it, keys that do not and why,
/// values that fit, and values that do not with a part of what the refusal must say. Values are
/// written as a server would take them, under the keys that are listed for the pattern. Exits
/// with 0 if all come out so; with 1 if one does not, or with --complete if a pattern has no
/// cases; with 2 if a file cannot be read or is not sound.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward test shop\n  \
    keyward test shop/keyward.toml shop/cases.toml\n  \
    keyward test --complete --format json shop/keyward.toml shop/cases.toml\n\n\
    A file of cases:\n  \
    [\"user:{id:uint}\"]\n  \
    keys       = [\"user:42\"]\n  \
    not_keys   = { \"user:abc\" = \"an id is a number\" }\n  \
    values     = [{ name = \"Ann\", age = 30 }]\n  \
    not_values = [{ value = { name = \"Ann\", age = -1 }, because = \"age must be\" }]")]
pub(crate) struct TestCases {
    /// The schema file, or a directory with a keyward.toml
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The cases: cases.toml beside the schema unless given
    #[arg(value_name = "CASES")]
    cases: Option<PathBuf>,
    /// Let a pattern without cases fail the test, too
    #[arg(long)]
    complete: bool,
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl TestCases {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let schema = schema_file::load(&self.file, terminal)?;
        let cases = match &self.cases {
            Some(cases) => cases.clone(),
            None => schema_file::find(&self.file)?.with_file_name(CASES_NAME),
        };
        let name = cases.display().to_string();
        let bytes = schema_file::read_bytes(&cases)?;
        let text = String::from_utf8(bytes).with_context(|| format!("cannot read {name}"))?;
        if text.len() > MAX_FILE_BYTES {
            bail!("{name} is larger than {MAX_FILE_BYTES} bytes");
        }
        let source = Source::new(&name, &text);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_us = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let mut trial = WriteTrial::new(schema.clone(), now_us);
        let mut judge = |id: KeyId, key: &[u8], value: &ExampleValue| {
            let is_empty = match value {
                ExampleValue::Text(_) => false,
                ExampleValue::Items(items) => items.is_empty(),
                ExampleValue::Pairs(pairs) => pairs.is_empty(),
            };
            if is_empty {
                // No command writes a row that is empty.
                by_shape(&schema, id, key, value)?;
                return Err("is empty, and no row is".to_owned());
            }
            trial.write(id, key, value).map_err(|line| escape(&line).into_owned())
        };
        let results = match try_cases(&schema, &text, &mut judge) {
            Ok(results) => results,
            Err((at, message)) => {
                let place = source.position(at.start);
                bail!("{name}:{}:{}: {message}", place.line, place.column);
            }
        };
        for failure in &results.failures {
            let line = source.position(failure.at.start).line;
            let (pattern, message) = (&failure.pattern, &failure.message);
            match self.format {
                Format::Human => {
                    terminal.write(&format!("{name}:{line}: {pattern}: {message}\n"))?;
                }
                Format::Json => terminal.write_record(&json!({
                    "file": name, "line": line, "pattern": pattern, "message": message,
                }))?,
            }
        }
        if self.complete {
            for pattern in &results.without_cases {
                match self.format {
                    Format::Human => terminal.write(&format!("{name}: {pattern}: no cases\n"))?,
                    Format::Json => terminal.write_record(&json!({
                        "file": name, "pattern": pattern, "message": "no cases",
                    }))?,
                }
            }
        }
        if self.format == Format::Human {
            let patterns = schema.keys.len() - results.without_cases.len();
            let lacking = results.without_cases.len();
            let failures = match results.failures.len() {
                0 if self.complete && lacking > 0 => {
                    format!(
                        "none failed, but {} no cases (--complete)",
                        match lacking {
                            1 => "1 pattern has".to_owned(),
                            count => format!("{count} patterns have"),
                        }
                    )
                }
                0 => "none failed".to_owned(),
                count => format!("{count} failed"),
            };
            terminal.say(&format!(
                "{} of {patterns} of {}, {failures}",
                counted(results.tried, "case"),
                counted(schema.keys.len(), "pattern"),
            ))?;
        }
        let lacks = self.complete && !results.without_cases.is_empty();
        let fails = lacks || !results.failures.is_empty();
        Ok(if fails { Answer::No } else { Answer::Yes })
    }
}
