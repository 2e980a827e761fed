//! What KEYWARD SCHEMA APPLY put in force, beside the snapshot.
//!
//! A snapshot remembers the schemas of its instant. What is applied later is kept in a file of its
//! own, `<dbfilename>.schemas`, whatever else is kept, until a snapshot has it.
//!
//! ```text
//! beside <bytes of the snapshot> <CRC-64 of its beginning>\n     or: beside nothing
//! <what the engine has to say>
//! ```
//!
//! Owns that file. It is written by a thread, as a whole or not at all. Its first line names the
//! snapshot that lay there: what was accepted of other rows says nothing of those that a start
//! finds there instead.
//! Not here: what its text means (`keyward-engine`), who waits for it (KEYWARD SCHEMA APPLY).

use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_persist::PersistError;
use keyward_persist::disk::Disk;
use keyward_persist::snapshot_file::{NewFile, open};
use keyward_rdb::crc64;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A longer file is none of ours.
const BYTES_MAX: u64 = 64 << 20;
/// What a snapshot is known by besides its length: its beginning says when it was made, and what
/// memory was in use.
const HEAD_BYTES: u64 = 4096;
/// What a snapshot ends with.
const SUM_BYTES: u64 = 8;
/// What such a file is called that is not used and not removed.
const ASIDE: &str = "aside";
/// Names that are tried.
const ASIDE_MAX: usize = 100;

/// What such a file says.
#[derive(Debug)]
pub(crate) struct Note {
    /// What the engine had to say.
    pub(crate) text: Vec<u8>,
    /// Whether the snapshot that lay beside it is the one that does now.
    pub(crate) is_of_snapshot: bool,
}

/// What is known of the file.
#[derive(Debug, Default)]
pub(crate) struct AppliedFile {
    writing: Option<JoinHandle<Result<(), PersistError>>>,
    kept: Option<Kept>,
}

/// The file there is.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    /// How many changes a snapshot must have that has the same.
    dirty: u64,
    /// What the engine had to say, if this process wrote it.
    text: Option<Arc<[u8]>>,
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
        let (directory, name) = place(settings);
        let path = directory.join(name);
        self.kept = Some(Kept { path, dirty, text: Some(text.into()) });
        self.write_kept(disk, settings);
    }

    /// Has what is kept written beside the snapshot there is now.
    fn write_kept(&mut self, disk: &Arc<dyn Disk>, settings: &Settings) {
        let text = self.kept.as_ref().and_then(|kept| kept.text.clone());
        let Some(text) = text else { return };
        let before = self.writing.take();
        let (directory, name) = place(settings);
        let disk = Arc::clone(disk);
        let snapshot = settings.text(Id::DbFilename);
        let write = move || {
            // One follows another only when that is written; whether it was does not matter any
            // more.
            let _ = before.map(JoinHandle::join);
            let identity = identity(&*disk, &directory, &snapshot)?;
            let mut file = NewFile::begin(disk, &directory, &name)?;
            file.write(identity.as_bytes())?;
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
    ) -> Result<Option<Note>, PersistError> {
        let (directory, name) = place(settings);
        let path = directory.join(&name);
        let Some(source) = open(disk, &directory, &name)? else { return Ok(None) };
        let mut text = Vec::new();
        let read = source.content.take(BYTES_MAX).read_to_end(&mut text);
        read.map_err(PersistError::when("read", &path))?;
        self.kept = Some(Kept { path, dirty: 0, text: None });
        let identity = identity(disk, &directory, &settings.text(Id::DbFilename))?;
        let is_of_snapshot = text.starts_with(identity.as_bytes());
        let first = text.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        text.drain(..first);
        Ok(Some(Note { text, is_of_snapshot }))
    }

    /// Nobody uses the file, and it may be all there is of what was applied: it gets another name.
    /// Returns that.
    pub(crate) fn set_aside(&mut self, disk: &dyn Disk) -> Result<Option<PathBuf>, PersistError> {
        let Some(Kept { path, .. }) = self.kept.take() else { return Ok(None) };
        let name = |number: usize| match number {
            0 => path.with_added_extension(ASIDE),
            number => path.with_added_extension(format!("{ASIDE}{number}")),
        };
        let is_free = |path: &PathBuf| disk.open(path).is_err();
        let Some(aside) = (0..ASIDE_MAX).map(name).find(is_free) else { return Ok(None) };
        disk.rename(&path, &aside).map_err(PersistError::when("rename to", &aside))?;
        Ok(Some(aside))
    }

    /// A snapshot with so many changes took the place of the one before. If it has the same the
    /// file goes; else it began before the schema came, and the file is written beside it anew.
    pub(crate) fn is_saved(&mut self, disk: &Arc<dyn Disk>, settings: &Settings, dirty: u64) {
        let Some(kept) = &self.kept else { return };
        match kept.dirty <= dirty {
            true if self.is_writing() => {}
            true => self.forget(&**disk),
            false => self.write_kept(disk, settings),
        }
    }

    /// Nobody needs the file any more.
    pub(crate) fn forget(&mut self, disk: &dyn Disk) {
        if let Some(Kept { path, .. }) = self.kept.take() {
            // It may not have come to be, and says nothing new.
            let _ = disk.remove(&path);
        }
    }
}

/// The line that names the snapshot there is.
fn identity(disk: &dyn Disk, directory: &Path, name: &str) -> Result<String, PersistError> {
    let Some(snapshot) = open(disk, directory, name)? else {
        return Ok("beside nothing\n".to_owned());
    };
    let mut head = Vec::new();
    // With the sum that a snapshot ends with, the sum of all of it is none.
    let head_bytes = HEAD_BYTES.min(snapshot.bytes.saturating_sub(SUM_BYTES));
    let read = snapshot.content.take(head_bytes).read_to_end(&mut head);
    read.map_err(PersistError::when("read", &directory.join(name)))?;
    Ok(format!("beside {} {:016x}\n", snapshot.bytes, crc64::update(0, &head)))
}

/// Where the file is.
fn place(settings: &Settings) -> (PathBuf, String) {
    (settings.text(Id::Dir).into(), format!("{}.schemas", settings.text(Id::DbFilename)))
}
