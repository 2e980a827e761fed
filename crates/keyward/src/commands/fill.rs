//! `keyward fill`: a server's rows, loaded from PostgreSQL.

use clap::Args;
use keyward_sync::filling::{self, Present};

use super::output::counted;
use super::sides::{Needed, Sides, tell};
use crate::answer::Answer;
use crate::terminal::Terminal;

/// Load a server's mirrored rows from PostgreSQL
///
/// A cold start: every row of a table that a `mirror` keeps is written to the server as the key it
/// was, under the schema that the server serves. What the server has is left as it is, unless
/// --overwrite says otherwise; so a run that was ended is gone on with by starting it again. Rows
/// that the schema refuses, or that would not come back to the table as they are there, are told,
/// and the command exits with 1; no comparison by `keyward sync` takes them away, and none is made
/// before loading has ended. Archives and items are not loaded. Passwords are taken as `keyward sync` takes them. Exits with 2 if a side cannot be
/// used, a table lacks a column that every row needs, or `keyward sql` has not made the tables of
/// its own.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward fill --postgres postgres://shop@localhost/shop shop/keyward.toml\n  \
    keyward fill --overwrite --postgres postgres://shop@localhost/shop --source 10.0.0.7:6379 shop/")]
pub(crate) struct Fill {
    #[command(flatten)]
    sides: Sides,
    /// Replace rows that the server has
    #[arg(long)]
    overwrite: bool,
}

impl Fill {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let both = self.sides.open(Needed::Mirror, terminal)?;
        let present = if self.overwrite { Present::Overwrite } else { Present::Keep };
        let filled = both.runtime.block_on(async {
            let mut client = both.database.connect().await?;
            let mut source = both.connect()?;
            filling::fill(&mut client, &both.schema, &mut source, present, tell).await
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
