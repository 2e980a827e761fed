//! The append-only file: every change, as it happened.
//!
//! Owns the files of Redis 7's multi-part form: a directory with a manifest, a base (a
//! snapshot) and increments (commands), their names and the order in which they become
//! safe ([`AofFiles`]); the end that grows ([`Log`]); reading commands back ([`Reader`]).
//!
//! ```text
//! appendonlydir/appendonly.aof.manifest      which files, in which order
//!               appendonly.aof.3.base.rdb    a snapshot
//!               appendonly.aof.7.incr.aof    what happened since, oldest first
//! ```
//! Invariant: whenever the power fails, the manifest names files that are there, and they
//! hold a beginning of what was logged that has everything that was synced.
//! Not here: what is logged and how often it is synced (`keyward-server`).

mod files;
mod log;
mod manifest;
mod reader;

pub use files::{AofFiles, AofPart, Listing, OpenError};
pub use log::{Log, Sync, Write};
pub use manifest::{FileKind, Manifest, ManifestError, NamedFile};
pub use reader::{ReadError, Reader};
