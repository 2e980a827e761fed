//! When snapshots are taken, and what became of them.
//!
//! Owns the save points, the wish for a snapshot, and the figures of INFO. SAVE writes one
//! in one go between two commands, and everybody waits for it; all others are written in
//! the background (`serve/saving.rs`).
//! Not here: how a file is written (`keyward-persist`).

use crate::clock::{self, Instant};
use crate::files::applied::AppliedFile;
use crate::files::info_lines::{Lines, OrNone};
use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_engine::{Coverage, Loaded, Snapshot, SnapshotOptions};
use keyward_persist::disk::{Disk, OsDisk, Source};
use keyward_persist::snapshot_file::{NewFile, Succession};
use keyward_persist::{PersistError, snapshot_file};
use std::path::PathBuf;
use std::sync::Arc;

/// Seconds until a snapshot that failed is tried again.
const RETRY_SECONDS: i64 = 5;

/// What is known about snapshots.
#[derive(Debug)]
pub(crate) struct Persistence {
    pub(crate) disk: Arc<dyn Disk>,
    /// When the last one was written, in seconds since the epoch.
    pub(crate) last_save_s: i64,
    /// Changes up to then.
    dirty_at_save: u64,
    /// A snapshot is to be written.
    pub(crate) is_wanted: bool,
    /// One is being written since then, with so many changes in it.
    pub(crate) background: Option<(Instant, u64)>,
    /// When a background one was last tried, and whether it was written.
    last_try_s: i64,
    pub(crate) is_last_ok: bool,
    /// How long it took.
    last_seconds: Option<u64>,
    saves: u64,
    /// The most memory that it took besides that of the rows.
    pub(crate) last_peak_bytes: usize,
    /// What was loaded last.
    loaded: Loaded,
    /// What was applied since the last one.
    pub(crate) applied: AppliedFile,
    /// SAVE writes beside a snapshot that is under way, and is the newer one.
    succession: Succession,
}

impl Persistence {
    pub(crate) fn new(now_s: i64) -> Persistence {
        Persistence {
            disk: Arc::new(OsDisk),
            last_save_s: now_s,
            dirty_at_save: 0,
            is_wanted: false,
            background: None,
            last_try_s: 0,
            is_last_ok: true,
            last_seconds: None,
            saves: 0,
            last_peak_bytes: 0,
            loaded: Loaded::default(),
            applied: AppliedFile::default(),
            succession: Succession::default(),
        }
    }

    /// Whether a save point is reached.
    pub(crate) fn is_due(&self, settings: &Settings, dirty: u64, now_s: i64) -> bool {
        let changes = dirty.saturating_sub(self.dirty_at_save);
        let may_try = self.is_last_ok || now_s - self.last_try_s > RETRY_SECONDS;
        let is_reached = |point: &(u64, u64)| {
            changes >= point.1
                && now_s - self.last_save_s > i64::try_from(point.0).unwrap_or(i64::MAX)
        };
        may_try && settings.save_points().iter().any(is_reached)
    }

    /// Writes a snapshot, as SAVE does.
    pub(crate) fn save(
        &mut self,
        settings: &Settings,
        snapshot: &Snapshot<'_>,
        used_bytes: u64,
    ) -> Result<(), PersistError> {
        let sums = settings.is_on(Id::RdbChecksum);
        let options = SnapshotOptions { coverage: Coverage::Whole, sums, used_bytes };
        self.saves += 1;
        let mut file = self.new_file(settings)?;
        let written = snapshot.write_to(&mut file, options);
        written.map_err(PersistError::when("write", &self.path(settings)))?;
        file.finish()?;
        self.last_save_s = clock::now_us() / 1_000_000;
        self.dirty_at_save = snapshot.dirty();
        self.applied.is_saved(&self.disk, settings, snapshot.dirty());
        self.is_last_ok = true;
        tracing::info!("DB saved on disk");
        Ok(())
    }

    /// Begins the file that a snapshot goes to.
    pub(crate) fn new_file(&mut self, settings: &Settings) -> Result<NewFile, PersistError> {
        let (directory, name) = place(settings);
        let file = NewFile::begin(Arc::clone(&self.disk), &directory, &name)?;
        Ok(self.succession.newest(file))
    }

    /// Begins the file that a snapshot for those who follow goes to.
    pub(crate) fn new_sync_file(&self, settings: &Settings) -> Result<NewFile, PersistError> {
        NewFile::begin(Arc::clone(&self.disk), &place(settings).0, &sync_name())
    }

    /// Opens that file, which has no name from then on.
    pub(crate) fn take_sync_file(&self, settings: &Settings) -> Result<Source, PersistError> {
        let path = place(settings).0.join(sync_name());
        let opened = self.disk.open(&path).map_err(PersistError::when("open", &path));
        let removed = self.disk.remove(&path).map_err(PersistError::when("remove", &path));
        removed.and(opened)
    }

    /// A snapshot of this instant begins, with so many changes in it.
    pub(crate) fn begin_background(&mut self, dirty: u64) {
        self.is_wanted = false;
        self.saves += 1;
        self.background = Some((Instant::now(), dirty));
        self.last_try_s = clock::now_us() / 1_000_000;
        tracing::info!("Background saving started");
    }

    /// It is written, or could not be.
    pub(crate) fn end_background(
        &mut self,
        settings: &Settings,
        outcome: Result<(), PersistError>,
    ) {
        let Some((start, dirty)) = self.background.take() else { return };
        self.last_seconds = Some(start.elapsed().as_secs());
        self.is_last_ok = outcome.is_ok();
        match outcome {
            Ok(()) => {
                self.last_save_s = clock::now_us() / 1_000_000;
                // SAVE may have been beside it.
                self.dirty_at_save = self.dirty_at_save.max(dirty);
                self.applied.is_saved(&self.disk, settings, dirty);
                tracing::info!("Background saving terminated with success");
            }
            Err(error) => tracing::warn!(%error, "Background saving error"),
        }
    }

    /// Opens the snapshot there is, if any.
    pub(crate) fn open(&self, settings: &Settings) -> Result<Option<Source>, PersistError> {
        let (directory, name) = place(settings);
        snapshot_file::open(&*self.disk, &directory, &name)
    }

    /// The path of the snapshot.
    pub(crate) fn path(&self, settings: &Settings) -> PathBuf {
        let (directory, name) = place(settings);
        directory.join(name)
    }

    /// Remembers what was loaded.
    pub(crate) fn loaded(&mut self, loaded: Loaded) {
        self.loaded = loaded;
        self.dirty_at_save = 0;
        if loaded.empty > 0 {
            tracing::warn!("{} keys with empty collections are left out", loaded.empty);
        }
    }

    /// The lines of INFO about snapshots.
    /// `syncing` is since when a snapshot is made for those who follow.
    pub(crate) fn info(&self, dirty: u64, syncing: Option<Instant>, out: &mut Lines<'_>) {
        let status = if self.is_last_ok { "ok" } else { "err" };
        let seconds = OrNone(self.last_seconds);
        let is_running = self.is_wanted || self.background.is_some() || syncing.is_some();
        let current = self.background.map(|(start, _)| start).or(syncing);
        let current = current.map(|start| start.elapsed().as_secs());
        let changes = dirty.saturating_sub(self.dirty_at_save);
        out.line("rdb_changes_since_last_save", changes);
        out.line("rdb_bgsave_in_progress", u8::from(is_running));
        out.line("rdb_last_save_time", self.last_save_s);
        out.line("rdb_last_bgsave_status", status);
        out.line("rdb_last_bgsave_time_sec", seconds);
        out.line("rdb_current_bgsave_time_sec", OrNone(current));
        out.line("rdb_saves", self.saves);
        out.line("rdb_last_cow_size", self.last_peak_bytes);
        out.line("rdb_last_load_keys_expired", self.loaded.expired);
        out.line("rdb_last_load_keys_loaded", self.loaded.rows);
    }
}

/// What the file of a snapshot for those who follow is called.
fn sync_name() -> String {
    format!("sync-{}.rdb", std::process::id())
}

/// Where snapshots are.
fn place(settings: &Settings) -> (PathBuf, String) {
    (settings.text(Id::Dir).into(), settings.text(Id::DbFilename))
}
