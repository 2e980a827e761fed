//! `keyward explain-code`: the page of a diagnostic.

use clap::Args;
use keyward_schema::{RULES, Rule, nearest_rule, rule};
use serde_json::{Value, json};

use super::output::Format;
use crate::answer::Answer;
use crate::terminal::Terminal;

/// Explain a diagnostic, or list all of them
///
/// Exits with 1 if there is no such code.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward explain-code KW0107\n  keyward explain-code")]
pub(crate) struct ExplainCode {
    /// The code, as `keyward check` prints it; all are listed without one
    code: Option<String>,
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl ExplainCode {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let Some(code) = &self.code else { return self.list(terminal) };
        let Some(rule) = rule(code) else { return unknown(code, terminal) };
        match self.format {
            Format::Human => terminal.write(&rule.page())?,
            Format::Json => terminal.write_record(&page_record(rule))?,
        }
        Ok(Answer::Yes)
    }

    fn list(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        for rule in RULES {
            match self.format {
                Format::Human => {
                    let level = rule.level.name();
                    terminal.write(&format!("{}  {level:7}  {}\n", rule.code, rule.title))?;
                }
                Format::Json => terminal.write_record(&title_record(rule))?,
            }
        }
        Ok(Answer::Yes)
    }
}

fn unknown(code: &str, terminal: &mut Terminal) -> anyhow::Result<Answer> {
    let hint = match nearest_rule(code) {
        Some(near) => format!("did you mean {} ({})?", near.code, near.title),
        None => "`keyward explain-code` lists all".to_owned(),
    };
    terminal.say(&format!("keyward: there is no code {code}; {hint}"))?;
    Ok(Answer::No)
}

fn title_record(rule: &Rule) -> Value {
    json!({ "code": rule.code, "level": rule.level.name(), "title": rule.title })
}

fn page_record(rule: &Rule) -> Value {
    let mut record = title_record(rule);
    for (name, text) in [("why", rule.why), ("wrong", rule.wrong), ("right", rule.right)] {
        record[name] = json!(text.trim());
    }
    record
}
