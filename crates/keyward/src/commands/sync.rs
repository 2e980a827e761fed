//! `keyward sync`: a server's changes, stored in PostgreSQL.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use keyward_backup::Address;
use keyward_sync::database::Database;
use keyward_sync::ddl;
use keyward_sync::following::Following;
use keyward_sync::mending::Guard;
use keyward_sync::source::{Dial, Link};
use keyward_sync::store::dead_letters;

use super::counted;
use super::login::Login;
use crate::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// How long a server may be silent: longer than it is asked to wait for changes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Store a server's changes in PostgreSQL, each exactly once
///
/// Reads the changes of rows that have a sink from a Keyward server, stores them in the tables
/// that `keyward sql` writes, and removes them from the server once they are stored. The place
/// up to which they are is kept in the same transaction as the rows, so that nothing is lost or
/// stored twice, whichever side ends when. Goes on until it is stopped; where a side cannot be
/// reached it tries again, after pauses that grow. Ends with 2 where something is wrong that
/// does not pass: the tables are not those of the schema, or the server refuses.
///
/// Where changes were not told (a mirror is new, or a server lost its last changes), mirrored
/// rows are compared with the server's. A table is filled so; more than a hundredth of it is
/// altered or taken away only with --accept.
///
/// Passwords come from PGPASSWORD or the file that PGPASSFILE names (~/.pgpass), and from
/// REDISCLI_AUTH or the URL of the server.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward sync --postgres postgres://shop@localhost/shop shop/keyward.toml\n  \
    keyward sync --postgres 'host=/run/postgresql dbname=shop' --source 10.0.0.7:6379 shop/\n  \
    keyward sync --once --postgres postgres://shop@localhost/shop shop/keyward.toml")]
pub(crate) struct Sync {
    /// The database, as psql takes it
    #[arg(long, value_name = "URL")]
    postgres: String,
    /// HOST:PORT of the server, or a URL as of `keyward backup`
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6379")]
    source: String,
    #[command(flatten)]
    login: Login,
    /// End when nothing is left to store
    #[arg(long)]
    once: bool,
    /// Store only what N replicas of the server have
    #[arg(long, value_name = "N", default_value_t = 0)]
    replicas: usize,
    /// Let a comparison of mirrored rows change more than a hundredth of a table
    #[arg(long)]
    accept: bool,
    /// Send dead letters again first: items that the database refused
    #[arg(long)]
    resend: bool,
    /// The schema that the server serves
    #[arg(value_name = "SCHEMA")]
    schema: PathBuf,
}

impl Sync {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let schema = schema_file::load(&self.schema, terminal)?;
        if ddl::sinks(&schema).next().is_none() {
            bail!("{}: no key has a sink", self.schema.display());
        }
        let Server { dial, greeting } = Server::at(&self.source, &self.login)?;
        let database = Database::at(&self.postgres)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start")?;
        if self.resend {
            let resent = runtime.block_on(async {
                let mut client = database.connect().await?;
                dead_letters::resend(&mut client, &schema).await
            })?;
            terminal.say(&format!(
                "{} sent again and stored, {} refused once more",
                counted(resent.stored, "dead letter"),
                resent.refused
            ))?;
        }
        let following = Following {
            schema,
            database,
            dial,
            greeting,
            is_once: self.once,
            guard: if self.accept { Guard::Down } else { Guard::Up },
            replicas: self.replicas,
            tell: Box::new(|line| {
                // There is nobody to tell that a message was not taken.
                let _ = Terminal::standard().say(&format!("keyward: {line}"));
            }),
        };
        let totals = runtime.block_on(following.run())?;
        let entries = counted(usize::try_from(totals.entries).unwrap_or(usize::MAX), "change");
        let rows = counted(usize::try_from(totals.rows).unwrap_or(usize::MAX), "row");
        let refused = match totals.dead_letters {
            0 => String::new(),
            count => format!(", {} refused", counted(usize::try_from(count)?, "item")),
        };
        terminal.say(&format!("{entries} stored as {rows}{refused}"))?;
        Ok(Answer::Yes)
    }
}

/// How one comes to a server.
pub(super) struct Server {
    pub(super) dial: Dial,
    pub(super) greeting: Vec<Vec<Vec<u8>>>,
}

impl Server {
    /// Reads HOST:PORT, or a URL.
    pub(super) fn at(text: &str, login: &Login) -> anyhow::Result<Server> {
        let address = login.address(text).context("--source")?;
        let login = login.words(Some(&address))?;
        let login = login.map(|words| words.into_iter().map(String::into_bytes).collect());
        let dial = Box::new(move || dial(&address));
        Ok(Server { dial, greeting: login.into_iter().collect() })
    }
}

fn dial(address: &Address) -> io::Result<Box<dyn Link>> {
    let line = address.connect()?;
    line.socket().set_nodelay(true)?;
    line.socket().set_read_timeout(Some(PATIENCE))?;
    line.socket().set_write_timeout(Some(PATIENCE))?;
    Ok(Box::new(line))
}
