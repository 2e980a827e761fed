//! `keyward explain`: what a command would do under a schema.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::anyhow;
use clap::Args;
use serde_json::json;

use super::output::Format;
use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Tell what a command would do under a schema, and why
///
/// Answers as KEYWARD EXPLAIN does on a server without rows. Exits with 1 if the
/// command would fail, with 2 if there is no such command or no such file.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward explain shop/keyward.toml SET page:home hello\n  \
    keyward explain --format json shop/keyward.toml HSET user:7 plan gold")]
pub(crate) struct Explain {
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// The schema file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The command and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

impl Explain {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let schema = schema_file::load(&self.file, terminal)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_us = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        let words: Vec<&[u8]> = self.command.iter().map(|word| word.as_encoded_bytes()).collect();
        let lines = keyward_engine::explain(schema, now_us, &words).map_err(|problem| {
            let problem = keyward_schema::escape(&problem).into_owned();
            anyhow!("the command cannot be explained: {problem}")
        })?;
        for line in &lines {
            match self.format {
                Format::Human => terminal.write(&format!("{line}\n"))?,
                Format::Json => {
                    let (about, text) = line.split_once(": ").unwrap_or(("", line));
                    terminal.write_record(&json!({ "about": about, "text": text }))?;
                }
            }
        }
        let fails = |line: &String| {
            line.starts_with("Redis: ")
                || line.starts_with("Before: Refused: ")
                || line.starts_with("After: Refused: ")
        };
        Ok(if lines.iter().any(fails) { Answer::No } else { Answer::Yes })
    }
}
