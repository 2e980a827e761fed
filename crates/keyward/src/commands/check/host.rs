//! `keyward check --host`: what a server that is not ours can keep of a schema.

use std::str::FromStr;

use keyward_rules::host::{Guarantee, HostKind, Promise, guarantees};
use keyward_schema::Schema;
use serde_json::json;

use crate::commands::output::{Format, counted};
use crate::terminal::Terminal;

/// The oldest server that the module can be loaded into.
const OLDEST: (u32, u32) = (7, 2);

/// A server with the module in it, as it is named on the command line: `valkey=9.1`.
#[derive(Clone, Debug)]
pub(super) struct HostName {
    program: &'static str,
    version: Option<(u32, u32)>,
}

impl FromStr for HostName {
    type Err = String;

    fn from_str(text: &str) -> Result<HostName, String> {
        let (name, version) = match text.split_once('=') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        let program = match name {
            "valkey" => "Valkey",
            "redis" => "Redis",
            _ => return Err("a host is valkey or redis, with a version: valkey=9.1".to_owned()),
        };
        let version = version.map(parse_version).transpose()?;
        Ok(HostName { program, version })
    }
}

fn parse_version(text: &str) -> Result<(u32, u32), String> {
    let mut numbers = text.split('.').map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), None) => Ok((major, 0)),
        (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
        _ => Err("a version is two numbers: 9.1".to_owned()),
    }
}

/// How many rules are kept how.
#[derive(Default)]
struct Kept {
    atomic: usize,
    eventual: usize,
    impossible: usize,
}

impl Kept {
    fn count(&mut self, guarantee: Guarantee) {
        *match guarantee {
            Guarantee::Atomic => &mut self.atomic,
            Guarantee::Eventual => &mut self.eventual,
            Guarantee::Impossible => &mut self.impossible,
        } += 1;
    }
}

impl HostName {
    /// Shows what the host keeps of each rule; how many of them forbid the schema there.
    pub(super) fn show(
        &self,
        schemas: &[&Schema],
        is_cluster: bool,
        format: Format,
        terminal: &mut Terminal,
    ) -> anyhow::Result<usize> {
        let mut errors = 0;
        if let Some((major, minor)) = self.version.filter(|version| *version < OLDEST) {
            errors += 1;
            let text = format!(
                "{} {major}.{minor} cannot have the module: keys derived from others could not \
                 follow what expires; it needs {}.{} or later",
                self.program, OLDEST.0, OLDEST.1
            );
            terminal.say(&format!("error: {text}"))?;
        }
        let mut kept = Kept::default();
        for schema in schemas {
            for promise in guarantees(schema, HostKind::Module { is_cluster }) {
                kept.count(promise.guarantee);
                errors += usize::from(promise.is_error);
                match format {
                    Format::Human => terminal.write(&format!("{}\n", promise.line(schema)))?,
                    Format::Json => terminal.write_record(&record(schema, &promise))?,
                }
            }
        }
        if format == Format::Human {
            let Kept { atomic, eventual, impossible } = kept;
            let rules = counted(atomic + eventual + impossible, "rule");
            let host = match self.version {
                Some((major, minor)) => format!("{} {major}.{minor}", self.program),
                None => self.program.to_owned(),
            };
            let place = if is_cluster { "a cluster of " } else { "" };
            let verdict = match errors {
                0 => "the module loads it".to_owned(),
                errors => format!("the module does not load it: {}", counted(errors, "error")),
            };
            terminal.say(&format!(
                "{rules} on {place}{host}: {atomic} atomic, {eventual} eventual, {impossible} \
                 impossible; {verdict}"
            ))?;
        }
        Ok(errors)
    }
}

fn record(schema: &Schema, promise: &Promise) -> serde_json::Value {
    json!({
        "place": schema.source.place(promise.at),
        "key": promise.key.map(|key| schema.key(key).pattern.text()),
        "rule": promise.rule,
        "guarantee": promise.guarantee.name(),
        "is_error": promise.is_error,
        "why": promise.why,
        "help": promise.help,
    })
}
