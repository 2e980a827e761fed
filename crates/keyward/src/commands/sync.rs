//! `keyward sync`: a server's changes, stored in PostgreSQL.

use clap::Args;
use keyward_sync::following::Following;
use keyward_sync::mending::Guard;

use super::output::counted;
use super::sides::{Needed, Opened, Sides, tell};
use crate::answer::Answer;
use crate::terminal::Terminal;

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
/// altered or taken away only with --accept. Where changes are off the server and not stored here,
/// it ends with 2 and says how many, unless all sinks are mirrors or --accept is there.
///
/// Passwords come from PGPASSWORD, the file that PGPASSFILE names (~/.pgpass) or a service file of
/// libpq (service=NAME, PGSERVICE), and from REDISCLI_AUTH or the URL of the server.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward sync --postgres postgres://shop@localhost/shop shop/keyward.toml\n  \
    keyward sync --postgres 'host=/run/postgresql dbname=shop' --source 10.0.0.7:6379 shop/\n  \
    keyward sync --once --postgres postgres://shop@localhost/shop shop/keyward.toml")]
pub(crate) struct Sync {
    #[command(flatten)]
    sides: Sides,
    /// End when nothing is left to store, or something is wrong: nothing is tried again
    #[arg(long)]
    once: bool,
    /// Store only what N replicas of the server have
    #[arg(long, value_name = "N", default_value_t = 0)]
    replicas: usize,
    /// Let a comparison change more than a hundredth of a table, and pass over missing changes
    #[arg(long)]
    accept: bool,
    /// Send dead letters again first: items that the database refused
    #[arg(long)]
    resend: bool,
}

impl Sync {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let both = self.sides.open(Needed::Sink, terminal)?;
        let Opened { schema, database, dial, greeting, runtime } = both;
        let following = Following {
            schema,
            database,
            dial,
            greeting,
            is_once: self.once,
            guard: if self.accept { Guard::Down } else { Guard::Up },
            replicas: self.replicas,
            tell: Box::new(tell),
            resends: self.resend,
            has_failed: false,
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
