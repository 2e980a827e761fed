//! What `sync`, `verify` and `fill` have in common: a server, a database and the schema of both.
//!
//! Owns their options, and the way to the two sides.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use keyward_backup::Address;
use keyward_schema::{Schema, SinkKind};
use keyward_sync::database::Database;
use keyward_sync::ddl;
use keyward_sync::source::{Dial, Link, Source, SourceError};
use tokio::runtime::Runtime;

use super::login::{Login, login_words};
use crate::schema_file;
use crate::terminal::Terminal;

/// How long a server may be silent: longer than it is asked to wait for changes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where the two sides are.
#[derive(Args, Debug)]
pub(super) struct Sides {
    /// The database, as psql takes it
    #[arg(long, value_name = "URL")]
    postgres: String,
    /// Where the server is: HOST[:PORT], redis://[[user:]password@]host[:port] (rediss:// is by
    /// TLS) or the path of a Unix socket; 127.0.0.1:6379 if nothing is said
    #[arg(long, value_name = "ADDRESS")]
    source: Option<String>,
    #[command(flatten)]
    login: Login,
    /// The schema that the server serves
    #[arg(value_name = "SCHEMA")]
    schema: PathBuf,
}

/// What a schema must have for a command to have something to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Needed {
    /// A sink of any kind.
    Sink,
    /// Rows that are mirrored.
    Mirror,
}

impl Needed {
    /// What is said where it is missing.
    fn lack(self) -> &'static str {
        match self {
            Needed::Sink => {
                "no key has a sink; what waits of a schema that had one is stored with the schema before"
            }
            Needed::Mirror => "no key is mirrored",
        }
    }
}

/// Both sides, before anything was asked of them.
pub(super) struct Opened {
    pub(super) schema: Schema,
    pub(super) database: Database,
    pub(super) dial: Dial,
    /// What a server is told first.
    pub(super) greeting: Vec<Vec<Vec<u8>>>,
    pub(super) runtime: Runtime,
}

impl Sides {
    /// Reads the schema and where the sides are.
    pub(super) fn open(&self, needed: Needed, terminal: &mut Terminal) -> anyhow::Result<Opened> {
        let schema = schema_file::load(&self.schema, terminal)?;
        let is_needed = |kind: SinkKind| match needed {
            Needed::Sink => true,
            Needed::Mirror => kind == SinkKind::Mirror,
        };
        if !ddl::sinks(&schema).any(|(_, sink)| is_needed(sink.kind)) {
            bail!("{}: {}", self.schema.display(), needed.lack());
        }
        let address = self.login.address(self.source.as_deref()).context("--source")?;
        let greeting =
            login_words(&address).map(|words| words.into_iter().map(String::into_bytes).collect());
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start")?;
        Ok(Opened {
            database: Database::at(&self.postgres)?,
            dial: Box::new(move || dial(&address)),
            greeting: greeting.into_iter().collect(),
            runtime,
            schema,
        })
    }
}

impl Opened {
    /// Comes to the server.
    pub(super) fn connect(&self) -> Result<Source, SourceError> {
        Source::connect(&self.dial, &self.greeting)
    }
}

/// Tells whoever runs the command. There is nobody to tell that a message was not taken.
pub(super) fn tell(line: &str) {
    let _ = Terminal::standard().say(&format!("keyward: {line}"));
}

fn dial(address: &Address) -> io::Result<Box<dyn Link>> {
    let line = address.connect()?;
    line.send_at_once()?;
    line.set_patience(PATIENCE, PATIENCE)?;
    Ok(Box::new(line))
}
