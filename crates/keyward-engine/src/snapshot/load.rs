//! The whole of an engine, read.

use super::build::Builder;
use crate::context::Ctx;
use crate::keyspace::Keyspace;
use crate::rebuild;
pub(crate) use crate::script::OnConflict;
use crate::script::function;
use keyward_rdb::{Entry, FileReader, RowHead};
use std::io::Read;

/// What loading came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Rows that are there now.
    pub rows: u64,
    /// Rows whose time was over.
    pub expired: u64,
    /// Rows with an empty collection, of which there are none.
    pub empty: u64,
}

/// Why a snapshot could not be loaded. What came before is there.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not what it should be.
    #[error("the snapshot {0}")]
    File(#[from] keyward_rdb::Error),
    /// A key is there already, or twice in the file.
    #[error("the snapshot has the key {0:?}, which is there already, before byte {1}")]
    KeyTwice(String, u64),
    /// There are not as many databases.
    #[error("the snapshot has a database {0}, but there are {1}")]
    NoSuchDatabase(u64, usize),
    /// A function library cannot be loaded.
    #[error("the snapshot has a library that cannot be loaded: {0}")]
    Library(String),
}

/// Loads a snapshot into the databases, and makes rows under a schema what it says.
/// Nobody is told, nothing is logged.
pub(crate) fn load(
    ctx: &mut Ctx<'_>,
    source: &mut dyn Read,
    on_conflict: OnConflict,
) -> Result<Loaded, LoadError> {
    let selected = ctx.keys.selected();
    let outcome = load_entries(ctx, source, on_conflict);
    rebuild::after_load(ctx.keys, ctx.shared, ctx.session, ctx.host);
    ctx.keys.select(selected);
    if let Ok(loaded) = &outcome {
        ctx.host.loaded(*loaded);
    }
    outcome
}

fn load_entries(
    ctx: &mut Ctx<'_>,
    source: &mut dyn Read,
    on_conflict: OnConflict,
) -> Result<Loaded, LoadError> {
    let mut builder = Builder::new(&ctx.shared.tunables, ctx.keys.hasher());
    let mut file = FileReader::new(source, ctx.shared.switches.sum)?;
    let mut loaded = Loaded::default();
    ctx.keys.select(0);
    loop {
        let before = file.offset();
        let Some(entry) = file.next(&mut builder)? else { return Ok(loaded) };
        match entry {
            Entry::Row(head) => {
                let value = builder.take().expect("a row was read, so its value was built");
                if head.deadline_ms.is_some_and(|at| at < ctx.keys.now_ms()) {
                    loaded.expired += 1;
                    continue;
                }
                let key = ctx.keys.key(head.key);
                let is_there = !ctx.keys.load(key, value, head.deadline_ms, on_conflict);
                if is_there {
                    return Err(LoadError::KeyTwice(shown(head), before));
                }
                if let Some(usage) = head.usage {
                    ctx.keys.set_usage(key, usage);
                }
                loaded.rows += 1;
            }
            Entry::EmptyRow => {
                builder.take();
                loaded.empty += 1;
            }
            Entry::Database(number) => select(ctx.keys, number)?,
            Entry::Library(source) => {
                function::load_again(ctx, source, on_conflict).map_err(LoadError::Library)?;
            }
            Entry::Fact(..) | Entry::Sizes(_) => {}
        }
    }
}

fn shown(head: RowHead<'_>) -> String {
    head.key.escape_ascii().to_string()
}

fn select(keys: &mut Keyspace, number: u64) -> Result<(), LoadError> {
    let count = keys.database_count();
    let db = usize::try_from(number).ok().filter(|db| *db < count);
    keys.select(db.ok_or(LoadError::NoSuchDatabase(number, count))?);
    Ok(())
}
