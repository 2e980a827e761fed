//! Who may write files of a name.
//!
//! Owns the lock beside them, `NAME.lock`: two servers that write the same files would
//! each destroy what the other has acknowledged. The system takes it back when the process
//! ends, in whatever way (flock), so that a file of that name which is left says nothing.
//! It tells whoever is refused by whom. If somebody removes the file of a lock that is
//! held, the next one would lock another file of that name: the holder can find that out
//! ([`FileLock::is_in_place`]) and take it again.
//! Not here: which names a server needs, and what it does without locks (`keyward-server`).

use crate::PersistError;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is read of who holds a lock at most.
const HOLDER_BYTES_MAX: u64 = 1024;

/// A lock that is held, until this is dropped.
#[derive(Debug)]
pub struct FileLock {
    path: PathBuf,
    /// Its lock is the system's, and goes with it.
    file: File,
    /// Whether its file was made for it.
    is_new: bool,
}

/// Why there is no lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else holds it.
    #[error("{} is in use by another server ({holder})", guarded(path).display())]
    Held {
        /// The file of the lock.
        path: PathBuf,
        /// What that says about itself.
        holder: String,
    },
    /// The system has none to give: it cannot lock there, or the directory is read-only.
    #[error(transparent)]
    None(PersistError),
}

impl From<LockError> for PersistError {
    fn from(error: LockError) -> PersistError {
        match error {
            LockError::None(error) => error,
            LockError::Held { path, holder } => {
                let problem = format!("it is in use by another server ({holder})");
                let problem = io::Error::new(io::ErrorKind::ResourceBusy, problem);
                PersistError { action: "write", file: guarded(&path), problem }
            }
        }
    }
}

/// Where the lock of append-only files is, which lie in `folder` of a directory: beside that
/// folder as it is, wherever a symbolic link of that name leads.
pub fn append_only_place(directory: &Path, folder: &str) -> PathBuf {
    let real = directory.join(folder).canonicalize().ok();
    let parent = real.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    // A directory too may be named in several ways.
    parent.or_else(|| directory.canonicalize().ok()).unwrap_or_else(|| directory.into())
}

/// What a lock is for.
fn guarded(path: &Path) -> PathBuf {
    path.with_extension("")
}

impl FileLock {
    /// The file of the lock for files of this name.
    pub fn path_for(directory: &Path, name: &str) -> PathBuf {
        directory.join(format!("{name}.lock"))
    }

    /// Locks files of a name. Whoever is refused is told what `holder` says.
    pub fn take(directory: &Path, name: &str, holder: &str) -> Result<FileLock, LockError> {
        FileLock::take_at(FileLock::path_for(directory, name), holder)
    }

    fn take_at(path: PathBuf, holder: &str) -> Result<FileLock, LockError> {
        let is_new = !path.exists();
        let (file, is_writable) = open(&path)
            .map_err(|problem| LockError::None(PersistError::when("open", &path)(problem)))?;
        lock(&file, &path)?;
        if is_writable {
            // A full disk has room for the lock, which is what counts.
            let _ = file.set_len(0).and_then(|()| (&file).write_all(holder.as_bytes()));
        }
        Ok(FileLock { path, file, is_new })
    }

    /// Whether the file that is locked is still the one of its name.
    pub fn is_in_place(&self) -> bool {
        let identity = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let named = std::fs::metadata(&self.path).map(identity).ok();
        // Who cannot be asked has not been removed.
        self.file.metadata().map_or(true, |locked| named == Some(identity(locked)))
    }

    /// Takes the lock again, of the file that has its name now.
    pub fn take_again(&mut self, holder: &str) -> Result<(), LockError> {
        *self = FileLock::take_at(self.path.clone(), holder)?;
        Ok(())
    }

    /// Gives the lock back, and removes its file if that was made for it: for who has written
    /// nothing. Whoever opened the file meanwhile finds out that it is not in place.
    pub fn give_back(self) {
        if self.is_new && self.is_in_place() {
            // What is left says nothing.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    /// As [`FileLock::take`], where there may be no server and no lock is to be left:
    /// nothing if there is no file of one.
    pub fn take_if_there(directory: &Path, name: &str) -> Result<Option<FileLock>, LockError> {
        let path = FileLock::path_for(directory, name);
        match File::open(&path) {
            Err(_) => Ok(None),
            Ok(file) => {
                lock(&file, &path)?;
                Ok(Some(FileLock { path, file, is_new: false }))
            }
        }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Opens the file of a lock, and makes it if need be; whether it can be written. One that
/// belongs to somebody else can be locked all the same.
fn open(path: &Path) -> io::Result<(File, bool)> {
    // Not truncated: who holds it is written there.
    let made = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    match made {
        Ok(file) => Ok((file, true)),
        Err(error) => File::open(path).map(|file| (file, false)).map_err(|_| error),
    }
}

fn lock(file: &File, path: &Path) -> Result<(), LockError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let mut holder = Vec::new();
            // Where it cannot be read nobody knows.
            let _ = file.take(HOLDER_BYTES_MAX).read_to_end(&mut holder);
            let holder = String::from_utf8_lossy(&holder).trim().to_owned();
            let holder = if holder.is_empty() { "unknown".to_owned() } else { holder };
            Err(LockError::Held { path: path.into(), holder })
        }
        Err(TryLockError::Error(problem)) => {
            Err(LockError::None(PersistError::when("lock", path)(problem)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_have_one_holder_who_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let take = |name| FileLock::take(directory.path(), name, "PID 7, port 8\n");
        let first = take("dump.rdb").expect("nobody holds it");
        let error = take("dump.rdb").expect_err("it is held");
        let file = directory.path().join("dump.rdb");
        let told = format!("{} is in use by another server (PID 7, port 8)", file.display());
        assert_eq!(error.to_string(), told);
        take("other.rdb").expect("another name is another matter");
        assert!(matches!(
            FileLock::take_if_there(directory.path(), "dump.rdb"),
            Err(LockError::Held { .. })
        ));
        drop(first);
        take("dump.rdb").expect("it was given back");
        let none = FileLock::take_if_there(directory.path(), "third.rdb").expect("nobody holds it");
        assert!(none.is_none() && !directory.path().join("third.rdb.lock").exists());
    }

    #[test]
    fn where_there_can_be_no_lock_that_is_told_apart() {
        let missing = Path::new("/proc/no/such/directory");
        assert!(matches!(FileLock::take(missing, "dump.rdb", ""), Err(LockError::None(_))));
    }
}
