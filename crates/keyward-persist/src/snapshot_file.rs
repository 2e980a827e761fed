//! Snapshots as files: whole or not at all.
//!
//! A snapshot is written beside the old one, synced, and only then takes its name;
//! then the directory is synced, so that the name is safe too. Whatever fails, and
//! whenever the power does, there is the old file or the new one.
//!
//! Several may be on their way to one name at a time: each has a file of its own, and one
//! that was begun before another that has the name already does not take it ([`Succession`]).

use crate::PersistError;
use crate::disk::{Disk, DiskFile, Source, write_all};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// After so many bytes the file is synced while it is written, so that the last sync is
/// not one of all. The number is Redis's.
const SYNC_BYTES: u64 = 4 * 1024 * 1024;
/// Files that this process has begun: no two have one temporary name.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// The order of files that are to have one name: the name goes from an older one to a newer
/// one and never back.
#[derive(Debug, Default)]
pub struct Succession {
    begun: u64,
    named: Arc<Mutex<u64>>,
}

impl Succession {
    /// Makes a file the newest of them.
    #[must_use]
    pub fn newest(&mut self, mut file: NewFile) -> NewFile {
        self.begun += 1;
        file.place = Some((Arc::clone(&self.named), self.begun));
        file
    }
}

/// A file on its way. Dropped before it is finished, it leaves nothing behind.
#[derive(Debug)]
pub struct NewFile {
    disk: Arc<dyn Disk>,
    file: Arc<dyn DiskFile>,
    directory: PathBuf,
    temporary: PathBuf,
    target: PathBuf,
    bytes: u64,
    unsynced: u64,
    is_finished: bool,
    /// Which file of those that are to have its name has it, and which one this is.
    place: Option<(Arc<Mutex<u64>>, u64)>,
}

impl NewFile {
    /// Begins a file that will have this name in this directory.
    pub fn begin(
        disk: Arc<dyn Disk>,
        directory: &Path,
        name: &str,
    ) -> Result<NewFile, PersistError> {
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        let temporary = directory.join(format!("temp-{}-{number}-{name}", std::process::id()));
        let file = disk.create(&temporary).map_err(PersistError::when("create", &temporary))?;
        Ok(NewFile {
            disk,
            file,
            directory: directory.into(),
            temporary,
            target: directory.join(name),
            bytes: 0,
            unsynced: 0,
            is_finished: false,
            place: None,
        })
    }

    /// Writes some of it.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), PersistError> {
        write_all(&*self.file, bytes).map_err(PersistError::when("write", &self.temporary))?;
        self.bytes += bytes.len() as u64;
        self.unsynced += bytes.len() as u64;
        if self.unsynced >= SYNC_BYTES {
            self.unsynced = 0;
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), PersistError> {
        self.file.sync().map_err(PersistError::when("sync", &self.temporary))
    }

    /// Says that the rest of it will not come.
    pub fn interrupted(&self) -> PersistError {
        PersistError::when("write", &self.target)(io::ErrorKind::Interrupted.into())
    }

    /// Gives the file its name, all of it being safe; returns how long it is. Where a newer
    /// one has the name this one is removed.
    pub fn finish(mut self) -> Result<u64, PersistError> {
        self.sync()?;
        let place = self.place.take();
        let mut named = place
            .as_ref()
            .map(|(named, number)| (named.lock().unwrap_or_else(PoisonError::into_inner), number));
        if let Some((named, number)) = &mut named {
            if **named > **number {
                return Ok(self.bytes);
            }
            **named = **number;
        }
        let renamed = self.disk.rename(&self.temporary, &self.target);
        renamed.map_err(PersistError::when("rename to", &self.target))?;
        self.is_finished = true;
        let synced = self.disk.sync_directory(&self.directory);
        synced.map_err(PersistError::when("sync", &self.directory))?;
        Ok(self.bytes)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // It may not even be there; the error that is told is the first one.
            let _ = self.disk.remove(&self.temporary);
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        NewFile::write(self, bytes).map(|()| bytes.len()).map_err(|error| error.problem)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a file of this name in this directory; `content` gives its bytes. Returns how
/// long it is.
pub fn save(
    disk: &Arc<dyn Disk>,
    directory: &Path,
    name: &str,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<u64, PersistError> {
    let mut file = NewFile::begin(Arc::clone(disk), directory, name)?;
    content(&mut file).map_err(PersistError::when("write", &file.target))?;
    file.finish()
}

/// Opens a file for reading; `None` if there is none of this name.
pub fn open(disk: &dyn Disk, directory: &Path, name: &str) -> Result<Option<Source>, PersistError> {
    let path = directory.join(name);
    match disk.open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(PersistError::when("open", &path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::OsDisk;
    use std::fs;

    fn write(directory: &Path) -> Result<u64, PersistError> {
        let disk: Arc<dyn Disk> = Arc::new(OsDisk);
        save(&disk, directory, "dump.rdb", |sink| sink.write_all(b"new"))
    }

    #[test]
    fn a_snapshot_replaces_the_old_one_and_leaves_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("dump.rdb"), b"older").unwrap();
        assert_eq!(write(directory.path()).unwrap(), 3);
        assert_eq!(OsDisk.list(directory.path()).unwrap(), ["dump.rdb"]);
        assert_eq!(fs::read(directory.path().join("dump.rdb")).unwrap(), b"new");
        assert!(open(&OsDisk, directory.path(), "dump.rdb").unwrap().is_some());
        assert!(open(&OsDisk, directory.path(), "other.rdb").unwrap().is_none());
    }

    #[test]
    fn a_snapshot_that_was_begun_earlier_does_not_replace_a_newer_one() {
        let directory = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(OsDisk);
        let mut succession = Succession::default();
        let mut begin = || {
            let file = NewFile::begin(Arc::clone(&disk), directory.path(), "dump.rdb").unwrap();
            succession.newest(file)
        };
        let (mut older, mut newer) = (begin(), begin());
        older.write(b"old").unwrap();
        newer.write(b"newer").unwrap();
        older.write(b"er").unwrap();
        assert_eq!(newer.finish().unwrap(), 5);
        assert_eq!(older.finish().unwrap(), 5);
        assert_eq!(fs::read(directory.path().join("dump.rdb")).unwrap(), b"newer");
        assert_eq!(OsDisk.list(directory.path()).unwrap(), ["dump.rdb"]);
        let mut last = begin();
        last.write(b"last").unwrap();
        last.finish().unwrap();
        assert_eq!(fs::read(directory.path().join("dump.rdb")).unwrap(), b"last");
    }

    #[test]
    fn a_snapshot_that_fails_leaves_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        // A directory that is not empty cannot be replaced by a file.
        fs::create_dir_all(directory.path().join("dump.rdb/inner")).unwrap();
        assert_eq!(write(directory.path()).unwrap_err().action, "rename to");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let error = write(&directory.path().join("missing")).unwrap_err();
        assert!(error.to_string().starts_with("cannot create "), "{error}");
    }
}
