//! What outlives the process: files.
//!
//! Owns how bytes get to disk and back so that they can be relied on: the disk itself
//! ([`disk`]), files that are there whole or not at all ([`snapshot_file`]), the log that
//! grows ([`aof`]), and who may write them ([`file_lock`]).
//! Not here: what the bytes mean (`keyward-rdb`, `keyward-engine`), when files are
//! written (`keyward-server`).

pub mod aof;
pub mod disk;
pub mod file_lock;
pub mod snapshot_file;

use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {problem}", file.display())]
pub struct PersistError {
    /// What was tried.
    pub action: &'static str,
    /// With which file.
    pub file: PathBuf,
    /// What the system said. No source of the error: the text has all of it.
    pub problem: io::Error,
}

impl PersistError {
    /// Says what was tried when the system refused.
    /// The error of something that was done to a file.
    pub fn when(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> PersistError {
        let file: PathBuf = file.into();
        move |problem| PersistError { action, file, problem }
    }
}
