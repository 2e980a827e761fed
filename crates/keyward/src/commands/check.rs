//! `keyward check`: all problems of all files.

mod host;

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use keyward_docs::render::{self, Style};
use keyward_schema::{Checked, Level, MAX_DIAGNOSTICS, Schema, check_together};

use host::HostName;

use super::output::{Format, counted};
use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Check schema files and show all problems
///
/// Each file is checked by itself, then all of them together as if one server
/// were to serve them. Exits with 0 if there is no error, warnings or not; with 1
/// if there is one, or a warning and --deny-warnings; with 2 if a file cannot be read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward check shop/keyward.toml\n  \
    keyward check --format json --deny-warnings systems/*/keyward.toml\n  \
    keyward check --host valkey=9.1 shop/keyward.toml\n\n\
    `keyward explain-code KW0107` tells what a code means.")]
pub(crate) struct Check {
    /// The schema files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Whom the output is for
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Let warnings fail the check, too
    #[arg(long)]
    deny_warnings: bool,
    /// Also say of each rule whether the module keeps it there: valkey or redis, with a version
    #[arg(long, value_name = "HOST[=VERSION]")]
    host: Option<HostName>,
    /// The host is a node of a cluster
    #[arg(long, requires = "host")]
    cluster: bool,
}

/// How many findings people are shown.
const SHOWN_MAX: usize = 100;

/// How many findings there are.
#[derive(Default)]
struct Tally {
    errors: usize,
    warnings: usize,
    /// The names of the files that they stand in.
    files: BTreeSet<String>,
}

impl Check {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let mut checked = Vec::new();
        let mut unreadable = Vec::new();
        for path in &self.files {
            match schema_file::read(path) {
                Ok(file) => checked.push(file),
                Err(error) => unreadable.push(error),
            }
        }
        check_together(&mut checked);
        let mut tally = Tally::default();
        for file in &checked {
            self.show(file, &mut tally, terminal)?;
        }
        if self.format == Format::Human && !checked.is_empty() {
            let hidden = (tally.errors + tally.warnings).saturating_sub(SHOWN_MAX);
            if hidden > 0 {
                terminal.say(&format!("and {hidden} more, which --format json shows"))?;
            }
            terminal.say(&tally.in_words(checked.len()))?;
        }
        let mut fails_there = false;
        if let Some(host) = self.host.as_ref().filter(|_| tally.errors == 0) {
            let schemas: Vec<&Schema> =
                checked.iter().filter_map(|file| file.schema.as_ref()).collect();
            fails_there = host.show(&schemas, self.cluster, self.format, terminal)? > 0;
        }
        if let Some(last) = unreadable.pop() {
            for error in unreadable {
                terminal.say(&format!("keyward: {error:#}"))?;
            }
            return Err(last);
        }
        let fails = tally.errors > 0 || fails_there || (self.deny_warnings && tally.warnings > 0);
        Ok(if fails { Answer::No } else { Answer::Yes })
    }

    fn show(
        &self,
        file: &Checked,
        tally: &mut Tally,
        terminal: &mut Terminal,
    ) -> anyhow::Result<()> {
        for found in &file.diagnostics {
            match self.format {
                Format::Human if tally.errors + tally.warnings >= SHOWN_MAX => {}
                Format::Human => {
                    terminal.write_picture(&render::human(&file.source, found, Style::Coloured))?;
                }
                Format::Json => terminal.write_record(&render::json(&file.source, found))?,
            }
            match found.rule.level {
                Level::Error => tally.errors += 1,
                Level::Warning => tally.warnings += 1,
            }
            let place = file.source.place(found.primary.span);
            tally.files.insert(place.rsplit_once(':').map_or(&*place, |(name, _)| name).to_owned());
        }
        if file.diagnostics.len() >= MAX_DIAGNOSTICS {
            let name = &file.source.name;
            terminal.say(&format!("{name}: only {MAX_DIAGNOSTICS} problems are shown"))?;
        }
        Ok(())
    }
}

impl Tally {
    /// `2 errors, 1 warning in 3 files`: the files that they stand in, of which some may be
    /// included; where nothing was found, those that were checked.
    fn in_words(&self, checked: usize) -> String {
        let mut parts = Vec::new();
        if self.errors > 0 {
            parts.push(counted(self.errors, "error"));
        }
        if self.warnings > 0 {
            parts.push(counted(self.warnings, "warning"));
        }
        let found = if parts.is_empty() { "no problems".to_owned() } else { parts.join(", ") };
        let files = if self.files.is_empty() { checked } else { self.files.len() };
        format!("{found} in {}", counted(files, "file"))
    }
}
