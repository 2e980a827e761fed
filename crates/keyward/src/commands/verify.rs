//! `keyward verify`: a server's rows, held against those in PostgreSQL.

use clap::Args;
use keyward_sync::verification;

use super::output::counted;
use super::sides::{Needed, Sides};
use crate::answer::Answer;
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
    #[command(flatten)]
    sides: Sides,
}

impl Verify {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let both = self.sides.open(Needed::Mirror, terminal)?;
        let found = both.runtime.block_on(async {
            let mut source = both.connect()?;
            verification::verify(&both.database, &both.schema, &mut source).await
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
