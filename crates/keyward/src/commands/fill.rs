//! `keyward fill`: a server's rows, loaded from PostgreSQL.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use keyward_schema::SinkKind;
use keyward_sync::database::Database;
use keyward_sync::ddl;
use keyward_sync::filling::{self, Present};
use keyward_sync::source::Source;

use super::counted;
use super::login::Login;
use super::sync::Server;
use crate::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Load a server's mirrored rows from PostgreSQL
///
/// A cold start: every row of a table that a `mirror` keeps is written to the server as the key it
/// was, under the schema that the server serves. What the server has is left as it is, unless
/// --overwrite says otherwise; so a run that was ended is gone on with by starting it again. Rows
/// that the schema refuses are told, and the command exits with 1; archives and items are not
/// loaded. Passwords are taken as `keyward sync` takes them. Exits with 2 if a side cannot be
/// used, or a table lacks a column that every row needs.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward fill --postgres postgres://shop@localhost/shop shop/keyward.toml\n  \
    keyward fill --overwrite --postgres postgres://shop@localhost/shop --source 10.0.0.7:6379 shop/")]
pub(crate) struct Fill {
    /// The database, as psql takes it
    #[arg(long, value_name = "URL")]
    postgres: String,
    /// HOST:PORT of the server, or a URL as of `keyward backup`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6379")]
    source: String,
    #[command(flatten)]
    login: Login,
    /// Replace rows that the server has
    #[arg(long)]
    overwrite: bool,
    /// The schema that the server serves
    #[arg(value_name = "SCHEMA")]
    schema: PathBuf,
}

impl Fill {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let schema = schema_file::load(&self.schema, terminal)?;
        if !ddl::sinks(&schema).any(|(_, sink)| sink.kind == SinkKind::Mirror) {
            bail!("{}: no key is mirrored", self.schema.display());
        }
        let Server { dial, greeting } = Server::at(&self.source, &self.login)?;
        let database = Database::at(&self.postgres)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start")?;
        let present = if self.overwrite { Present::Overwrite } else { Present::Keep };
        let filled = runtime.block_on(async {
            let mut client = database.connect().await?;
            let mut source = Source::connect(&dial, &greeting)?;
            let tell = |line: &str| {
                // There is nobody to tell that a message was not taken.
                let _ = Terminal::standard().say(&format!("keyward: {line}"));
            };
            filling::fill(&mut client, &schema, &mut source, present, tell).await
        })?;
        for refusal in &filled.refusals {
            terminal.write(&format!("{refusal}\n"))?;
        }
        let [loaded, kept, refused] = [filled.loaded, filled.kept, filled.refused]
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        terminal.say(&format!(
            "{} loaded, {kept} were there and kept, {refused} refused",
            counted(loaded, "row")
        ))?;
        Ok(if refused == 0 { Answer::Yes } else { Answer::No })
    }
}
