//! What outlives the process: files.
//!
//! Owns how a snapshot gets to disk and back. The bytes are `keyward-rdb`'s, what
//! they hold is the engine's; here is when a file counts as written.
//! Not here: when snapshots are taken (`keyward-server`).

pub mod snapshot_file;

use std::path::PathBuf;

/// Why a file could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", file.display())]
pub struct PersistError {
    /// What was tried.
    pub action: &'static str,
    /// With which file.
    pub file: PathBuf,
    /// What the system said.
    pub source: std::io::Error,
}
