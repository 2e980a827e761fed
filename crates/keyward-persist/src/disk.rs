//! The disk, as everything here writes to it.
//!
//! Owns the few operations durability is made of, so that tests can run the same code
//! over a disk whose power fails (`keyward-testkit`). What they promise is what POSIX
//! does and no more: a write is safe once its file is synced, a name (made, renamed,
//! removed) once its directory is.

mod os;

pub use os::OsDisk;

use std::fmt::Debug;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Somewhere files are kept.
pub trait Disk: Debug + Send + Sync {
    /// Makes an empty file of this name, in place of any that is there.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for writing at its end, made if it is not there.
    fn append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file for reading; an error of kind `NotFound` if it is not there.
    fn open(&self, path: &Path) -> io::Result<Source>;

    /// Gives a file another name, taking that of any other.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Cuts a file off after so many bytes, and syncs it.
    fn truncate(&self, path: &Path, bytes: u64) -> io::Result<()>;

    /// The names of the files in a directory, in order; none if it is not there.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// Makes a directory unless it is there, and the name of it safe.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes the names of a directory safe.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;
}

/// A file open for writing. One thread may write while another syncs.
pub trait DiskFile: Debug + Send + Sync {
    /// Writes some of these bytes at the end; returns how many.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Makes everything written before the call safe.
    fn sync(&self) -> io::Result<()>;

    /// Cuts the file off after so many bytes.
    fn truncate(&self, bytes: u64) -> io::Result<()>;
}

/// A file open for reading.
pub struct Source {
    /// Its content.
    pub content: Box<dyn Read + Send>,
    /// How long it is.
    pub bytes: u64,
}

/// Writes all of these bytes.
pub fn write_all(file: &dyn DiskFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
