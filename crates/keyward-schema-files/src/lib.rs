//! Schema files on disk, and what they include.
//!
//! Owns opening them for all who read schemas from files: the server's start and SIGHUP, the
//! module, the command line.
//! Not here: what is in them (`keyward-schema`, which opens none).

use keyward_schema::{Files, MAX_FILE_BYTES};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The file system, as far as schemas include files of it.
#[derive(Clone, Copy, Debug)]
pub struct SchemaFiles;

impl SchemaFiles {
    /// Reads a schema's own file, and no more of it than is needed to see that it is too
    /// large.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_own(path: &Path) -> io::Result<Vec<u8>> {
        read_up_to(path, MAX_FILE_BYTES)
    }
}

impl Files for SchemaFiles {
    fn identity(&self, path: &Path) -> PathBuf {
        fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
    }

    fn read(&self, path: &Path, bytes_max: usize) -> Result<Vec<u8>, String> {
        // Opening a pipe would wait for somebody to write to it.
        let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is no regular file".to_owned());
        }
        read_up_to(path, bytes_max).map_err(|error| error.to_string())
    }
}

fn read_up_to(path: &Path, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_that_is_too_large_one_byte_more_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("large.toml");
        fs::write(&path, [b' '; 100]).expect("it is written");
        assert_eq!(SchemaFiles.read(&path, 100).expect("it is read").len(), 100);
        assert_eq!(SchemaFiles.read(&path, 10).expect("it is read").len(), 11);
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let refused = SchemaFiles.read(folder.path(), 10);
        assert_eq!(refused, Err("it is no regular file".to_owned()));
        assert!(SchemaFiles.read(&folder.path().join("none"), 10).is_err());
    }
}
