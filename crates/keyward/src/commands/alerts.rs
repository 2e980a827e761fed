//! `keyward alerts`: what schemas say of alerts, as rules for Prometheus.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;
use keyward_http::RuleTest;
use keyward_schema::Schema;

use super::output::counted;
use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Write the alerts of schemas as rules for Prometheus
///
/// One group for each keyspace. Its server evaluates the same alerts by itself, logs them,
/// and tells them to the address of its setting alert-webhook; where Prometheus does that,
/// these rules are for it. --test proves the rules with promtool: beyond its threshold each
/// alert fires after its time, within it does not, and without traffic neither. Exits with 1
/// if a case fails, with 2 if a file is not sound or there is no promtool.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward alerts shop/keyward.toml > rules.yml\n  \
    keyward alerts --test systems/*/keyward.toml")]
pub(crate) struct Alerts {
    /// The schema files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Try the rules with promtool instead of writing them
    #[arg(long)]
    test: bool,
}

impl Alerts {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let load = |file: &PathBuf| schema_file::load(file, terminal);
        let schemas = self.files.iter().map(load).collect::<anyhow::Result<Vec<_>>>()?;
        let schemas: Vec<&Schema> = schemas.iter().collect();
        if self.test {
            return test(&schemas, terminal);
        }
        terminal.write(&keyward_http::rules(&schemas))?;
        Ok(Answer::Yes)
    }
}

/// Has promtool try the rules.
fn test(schemas: &[&Schema], terminal: &mut Terminal) -> anyhow::Result<Answer> {
    let folder = tempfile::tempdir().context("cannot make a directory for the rules")?;
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).context("cannot write the rules")
    };
    let alerts = keyward_http::rule_tests(schemas, |place| format!("{place}.rules.yml"));
    let mut promtool = Command::new("promtool");
    promtool.args(["test", "rules"]).current_dir(folder.path());
    for (place, RuleTest { rules, tests, .. }) in alerts.iter().enumerate() {
        let name = format!("{place}.tests.yml");
        write(&format!("{place}.rules.yml"), rules)?;
        write(&name, tests)?;
        promtool.arg(name);
    }
    if alerts.is_empty() {
        terminal.write("there are no alerts\n")?;
        return Ok(Answer::Yes);
    }
    let output = promtool.output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("there is no promtool here: it comes with Prometheus")
        }
        output => output.context("cannot run promtool")?,
    };
    if output.status.success() {
        let cases = alerts.iter().map(|alert| alert.cases).sum();
        let (alerts, cases) = (counted(alerts.len(), "alert"), counted(cases, "case"));
        terminal.write(&format!("{alerts}: {cases} passed\n"))?;
        return Ok(Answer::Yes);
    }
    for text in [&output.stdout, &output.stderr] {
        String::from_utf8_lossy(text).lines().try_for_each(|line| terminal.say(line))?;
    }
    Ok(Answer::No)
}
