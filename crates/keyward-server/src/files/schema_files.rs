//! Schema files on disk, and what they include.
//!
//! Owns opening them for all who read schemas from files: the start, SIGHUP, the
//! command line. Not here: what is in them (`keyward-schema`).

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
