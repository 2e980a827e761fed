//! `keyward sql`: the tables of PostgreSQL that a schema's sinks fill.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::bail;
use clap::Args;
use keyward_schema::Schema;
use keyward_sync::database::Database;
use keyward_sync::ddl::{self, Month};
use keyward_sync::inspection::{self, Closeness};
use keyward_sync::migration;

use super::output::counted;
use crate::answer::Answer;
use crate::schema_file;
use crate::terminal::Terminal;

/// Write the tables of PostgreSQL that a schema's sinks fill
///
/// With one file, the statements that make its tables, indexes and partitions; partitioned
/// tables get one for the last month, this one and the next. With two files, the migration
/// from the tables of the first to those of the second: what is no longer wanted is written
/// as a comment, and a change of a type fails where a row would lose something by it, so that
/// nothing is lost by running it.
///
/// With --check, the database is asked what it lacks of the (last) schema and what it has
/// otherwise: tables, columns, primary keys, NOT NULL, CHECKs, indexes and partitions, a line
/// each, and the command exits with 1. Nothing is altered, unless --apply is there too: then the
/// migration is run, if there is one, and what is lacking is added, in one transaction.
/// Passwords come from PGPASSWORD, the file that PGPASSFILE names (~/.pgpass), or a service file
/// of libpq (service=NAME, PGSERVICE).
/// Exits with 2 if a file is not sound or the database cannot be asked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    keyward sql shop/keyward.toml > tables.sql\n  \
    keyward sql old/keyward.toml new/keyward.toml > migration.sql\n  \
    keyward sql --check postgres://shop@localhost/shop shop/keyward.toml\n  \
    keyward sql --check postgres://shop@localhost/shop --apply shop/keyward.toml")]
pub(crate) struct Sql {
    /// The schema file; or the one before, and the one to come
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Compare with the tables of this database
    #[arg(long, value_name = "URL")]
    check: Option<String>,
    /// Add what the database lacks, or run the migration
    #[arg(long, requires = "check")]
    apply: bool,
}

impl Sql {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let mut schemas = Vec::new();
        for file in &self.files {
            schemas.push(schema_file::load(file, terminal)?);
        }
        let wanted = schemas.last().expect("there is a file at least");
        if schemas.iter().all(|schema| ddl::sinks(schema).next().is_none()) {
            bail!("{}: no key has a sink", self.files[0].display());
        }
        let months = months();
        let migration = match &schemas[..] {
            [old, new] => Some(migration::statements(old, new, &months)),
            _ => None,
        };
        match &self.check {
            Some(address) => self.check(address, wanted, migration.as_deref(), &months, terminal),
            None => {
                let statements = migration.unwrap_or_else(|| ddl::statements(wanted, &months));
                terminal.write(&ddl::script(&statements))?;
                Ok(Answer::Yes)
            }
        }
    }

    fn check(
        &self,
        address: &str,
        schema: &Schema,
        migration: Option<&[String]>,
        months: &[Month],
        terminal: &mut Terminal,
    ) -> anyhow::Result<Answer> {
        let database = Database::at(address)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (differences, applied, notes) = runtime.block_on(async {
            let mut client = database.connect().await?;
            let before = inspection::inspect(&client, schema, months, Closeness::All).await?;
            if !self.apply || before.differences.is_empty() {
                return Ok::<_, anyhow::Error>((before.differences, 0, Vec::new()));
            }
            let statements = migration.unwrap_or(&before.additions);
            let applied = inspection::apply(&mut client, schema, months, statements).await?;
            Ok((applied.differences, applied.statements, applied.notes))
        })?;
        if applied > 0 {
            terminal.say(&format!("{} applied", counted(applied, "statement")))?;
        }
        for note in &notes {
            terminal.say(note)?;
        }
        for difference in &differences {
            terminal.write(&format!("{difference}\n"))?;
        }
        Ok(if differences.is_empty() { Answer::Yes } else { Answer::No })
    }
}

/// The last month, this one and the next.
fn months() -> [Month; 3] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let this = Month::of_time(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    [this.plus(-1), this, this.next()]
}
