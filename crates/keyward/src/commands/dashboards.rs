//! `keyward dashboards`: what schemas have to show, as a dashboard for Grafana.

use std::path::PathBuf;

use clap::Args;
use keyward_schema::Schema;

use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Write a dashboard of schemas for Grafana
///
/// A row for the server, and one for each group of patterns: memory, keys, what is found of
/// what is read, reads, writes, refusals. Import the file, and choose the Prometheus that
/// scrapes the server (`keyward serve --http`). Exits with 2 if a file is not sound.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward dashboards shop/keyward.toml > shop.json")]
pub(crate) struct Dashboards {
    /// The schema files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Dashboards {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let load = |file: &PathBuf| schema_file::load(file, terminal);
        let schemas = self.files.iter().map(load).collect::<anyhow::Result<Vec<_>>>()?;
        let schemas: Vec<&Schema> = schemas.iter().collect();
        terminal.write(&keyward_http::grafana(&schemas))?;
        Ok(Answer::Yes)
    }
}
