//! `keyward verify`: a server's rows, held against those in PostgreSQL.

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use keyward_schema::SinkKind;
use keyward_sync::database::Database;
use keyward_sync::ddl;
use keyward_sync::source::Source;
use keyward_sync::verification;

use super::counted;
use super::login::Login;
use super::sync::Server;
use crate::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Compare a server's mirrored rows with those in PostgreSQL
///
/// Row by row, at one moment: `keyward sync` waits meanwhile, and a row that changes while it
/// is compared counts as being on its way. A line for each difference, 100 at most, and the
/// command exits with 1. Archives and items are not compared: the server no longer has them.
/// Passwords are taken as `keyward sync` takes them. Exits with 2 if a side cannot be asked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward verify --postgres postgres://shop@localhost/shop shop/keyward.toml\n  \
    keyward verify --postgres 'host=/run/postgresql dbname=shop' --source 10.0.0.7:6379 shop/")]
pub(crate) struct Verify {
    /// The database, as psql takes it
    #[arg(long, value_name = "URL")]
    postgres: String,
    /// HOST:PORT of the server, or a URL as of `keyward backup`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6379")]
    source: String,
    #[command(flatten)]
    login: Login,
    /// The schema that the server serves
    #[arg(value_name = "SCHEMA")]
    schema: PathBuf,
}

impl Verify {
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
        let found = runtime.block_on(async {
            let mut source = Source::connect(&dial, &greeting)?;
            verification::verify(&database, &schema, &mut source).await
        })?;
        for difference in &found.differences {
            terminal.write(&format!("{difference}\n"))?;
        }
        let [compared, pending, count] = [found.compared, found.pending, found.count]
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        terminal.say(&format!(
            "{} compared, {}, {} on their way",
            counted(compared, "row"),
            counted(count, "difference"),
            counted(pending, "key")
        ))?;
        Ok(if count == 0 { Answer::Yes } else { Answer::No })
    }
}
