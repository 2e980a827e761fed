//! A snapshot loaded beside what a server has, on another thread.
//!
//! Owns an engine without clients that takes the rows as they come, and what is handed over when
//! all of them are there ([`Arrived`]): whole databases, which take the place of the server's in
//! one step ([`Engine::take_in`]). Until then the server has what it had, and a snapshot that
//! breaks off changes nothing.
//!
//! Invariant: keys are hashed as the server hashes them, so that no row is touched on the way.
//! Not here: schemas. Where the server has one, or the snapshot tells of one, rows belong into
//! other tables, and it is loaded by the ordinary way ([`BesideError::Governed`]).

use crate::engine::{Engine, EngineOptions};
use crate::host::{Host, Nobody};
use crate::snapshot::load::load_libraries;
use crate::snapshot::{Coverage, DueRows, LoadError, Loaded, SnapshotLoader};
use crate::tunables::Tunables;
use keyward_store::tables::database::Database;
use keyward_store::values::hasher::KeyHasher;
use std::io::Read;

/// What a thread has to know of the engine that the rows are for.
#[derive(Debug, Clone)]
pub struct BesideOptions {
    databases: usize,
    tunables: Tunables,
    hasher: KeyHasher,
    now_us: i64,
}

/// Why a snapshot could not be loaded beside what there is.
#[derive(Debug, thiserror::Error)]
pub enum BesideError {
    /// It cannot be loaded at all.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Schemas are in force where it comes from.
    #[error("the snapshot tells of schemas")]
    Governed,
}

/// All that a snapshot has.
#[derive(Debug)]
pub struct Arrived {
    databases: Vec<Database>,
    /// The texts of function libraries.
    libraries: Vec<Vec<u8>>,
    /// The database that the stream behind it has selected.
    db: usize,
    loaded: Loaded,
    /// Rows that were left out.
    left_out: u64,
}

impl Arrived {
    /// How many rows came.
    pub fn loaded(&self) -> Loaded {
        self.loaded
    }
}

/// A snapshot being loaded beside what a server has.
pub struct BesideLoad<R> {
    engine: Engine,
    loader: SnapshotLoader<R>,
}

impl<R: Read> BesideLoad<R> {
    /// Begins to load.
    ///
    /// # Errors
    /// If the source is no snapshot.
    pub fn new(source: R, options: BesideOptions) -> Result<BesideLoad<R>, LoadError> {
        let BesideOptions { databases, tunables, hasher, now_us } = options;
        let mut engine = Engine::new(EngineOptions { seed: 0, databases, tunables });
        engine.keys.hash_as(hasher);
        engine.set_time(now_us);
        let loader = engine.open_snapshot(source, Coverage::Everything, DueRows::Kept)?;
        Ok(BesideLoad { engine, loader })
    }

    /// Loads about so many rows; whether there are more.
    ///
    /// # Errors
    /// Says where the snapshot is not what it should be.
    pub fn step(&mut self, rows: usize) -> Result<bool, BesideError> {
        let has_more = self.engine.load_rows(&mut Nobody, &mut self.loader, rows)?;
        match self.loader.tells_schemas {
            true => Err(BesideError::Governed),
            false => Ok(has_more),
        }
    }

    /// Says how long the snapshot is.
    pub fn expect_bytes(&mut self, bytes: u64) {
        self.loader.expect_bytes(bytes);
    }

    /// How many bytes have been read.
    pub fn offset(&self) -> u64 {
        self.loader.offset()
    }

    /// How many rows have come.
    pub fn rows(&self) -> u64 {
        self.loader.loaded.rows
    }

    /// All of it is there, but for so many rows that were left out.
    pub fn end(mut self, left_out: u64) -> Arrived {
        Arrived {
            libraries: self.engine.shared.scripts.sources().map(<[u8]>::to_vec).collect(),
            databases: self.engine.keys.take_databases(),
            db: self.loader.stream_db(),
            loaded: self.loader.loaded,
            left_out,
        }
    }
}

impl Engine {
    /// What a snapshot of the primary can be loaded by beside what there is; `None` if schemas
    /// are in force here.
    pub fn beside_options(&self) -> Option<BesideOptions> {
        let awaits_schemas = self.shared.arrival.as_ref().is_some_and(|it| it.has_schemas());
        (!self.keys.has_schemas() && !awaits_schemas).then(|| BesideOptions {
            databases: self.keys.database_count(),
            tunables: self.shared.tunables.clone(),
            hasher: self.keys.hasher(),
            now_us: self.shared.now_us,
        })
    }

    /// Whether clients are told to wait while a snapshot is loaded beside what there is, because
    /// that is of another history.
    pub fn load_behind_closed_doors(&mut self, is_closed: bool) {
        self.shared.is_loading = is_closed;
    }

    /// Puts a snapshot of the primary, of this place in its history, in the place of everything.
    ///
    /// # Errors
    /// If the place is none, or a library cannot be loaded: then there is nothing.
    pub fn take_in(
        &mut self,
        host: &mut dyn Host,
        arrived: Arrived,
        place: (&[u8], u64),
    ) -> Result<(), String> {
        self.begin_copy(host);
        let Arrived { databases, libraries, db, loaded, left_out } = arrived;
        for (number, database) in databases.into_iter().enumerate() {
            self.keys.replace_database(number, database);
        }
        // It may have been changed meanwhile.
        self.keys.set_policy(self.shared.tunables.memory.policy);
        let outcome = self.trusted(host, |ctx| load_libraries(ctx, &libraries));
        let outcome = outcome.and_then(|()| self.end_copy(host, place, db, loaded));
        match outcome {
            Ok(()) => self.note_left_out(left_out),
            Err(_) => self.abandon_copy(),
        }
        self.keys.effects.clear();
        outcome
    }
}
