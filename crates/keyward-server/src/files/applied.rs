//! What KEYWARD SCHEMA APPLY put in force, beside the snapshot.
//!
//! A snapshot remembers the schemas of its instant. What is applied later is kept in a file of its
//! own, `<dbfilename>.schemas`, whatever else is kept, until a snapshot has it.
//! Owns that file. It is written by a thread, as a whole or not at all.
//! Not here: what its text means (`keyward-engine`), who waits for it (KEYWARD SCHEMA APPLY).

use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_persist::PersistError;
use keyward_persist::disk::Disk;
use keyward_persist::snapshot_file::{NewFile, open};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// A longer file is none of ours.
const BYTES_MAX: u64 = 64 << 20;

/// What is known of the file.
#[derive(Debug, Default)]
pub(crate) struct AppliedFile {
    writing: Option<JoinHandle<Result<(), PersistError>>>,
    /// Where it is, and how many changes a snapshot must have that has the same.
    kept: Option<(PathBuf, u64)>,
}

impl AppliedFile {
    /// Has a text written in place of the one before.
    pub(crate) fn write(
        &mut self,
        disk: &Arc<dyn Disk>,
        settings: &Settings,
        text: Vec<u8>,
        dirty: u64,
    ) {
        // One follows another only when that is written.
        self.join();
        let (directory, name) = place(settings);
        self.kept = Some((directory.join(&name), dirty));
        let disk = Arc::clone(disk);
        let write = move || {
            let mut file = NewFile::begin(disk, &directory, &name)?;
            file.write(&text)?;
            file.finish().map(|_| ())
        };
        match std::thread::Builder::new().spawn(write) {
            Ok(writing) => self.writing = Some(writing),
            Err(error) => tracing::warn!("What was applied is not kept: {error}"),
        }
    }

    /// Whether it is still being written.
    pub(crate) fn is_writing(&mut self) -> bool {
        if self.writing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join();
        }
        self.writing.is_some()
    }

    fn join(&mut self) {
        let outcome = self.writing.take().map(JoinHandle::join);
        if let Some(Ok(Err(error))) = outcome {
            tracing::warn!(
                "What KEYWARD SCHEMA APPLY put in force is remembered by the next snapshot or the \
                 append-only file only: {error}"
            );
        }
    }

    /// What the file there is says, if there is one.
    pub(crate) fn read(
        &mut self,
        disk: &dyn Disk,
        settings: &Settings,
    ) -> Result<Option<Vec<u8>>, PersistError> {
        let (directory, name) = place(settings);
        let path = directory.join(&name);
        let Some(source) = open(disk, &directory, &name)? else { return Ok(None) };
        let mut text = Vec::new();
        let read = source.content.take(BYTES_MAX).read_to_end(&mut text);
        read.map_err(PersistError::when("read", &path))?;
        self.kept = Some((path, 0));
        Ok(Some(text))
    }

    /// A snapshot with so many changes is written.
    pub(crate) fn is_saved(&mut self, disk: &dyn Disk, dirty: u64) {
        if self.kept.as_ref().is_some_and(|(_, needed)| *needed <= dirty) && !self.is_writing() {
            self.forget(disk);
        }
    }

    /// Nobody needs the file any more.
    pub(crate) fn forget(&mut self, disk: &dyn Disk) {
        if let Some((path, _)) = self.kept.take() {
            // It may not have come to be, and says nothing new.
            let _ = disk.remove(&path);
        }
    }
}

/// Where the file is.
fn place(settings: &Settings) -> (PathBuf, String) {
    (settings.text(Id::Dir).into(), format!("{}.schemas", settings.text(Id::DbFilename)))
}
