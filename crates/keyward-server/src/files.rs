//! Files that outlive the process: snapshots, the append-only file, schemas and their
//! functions.
//!
//! Owns what is known of each, and when it is to be written.
//! Not here: the jobs that load and save, in turn with the commands (`serve`); the bytes of
//! the files (`keyward-persist`, `keyward-rdb`).

pub(crate) mod append_only;
pub(crate) mod applied;
pub(crate) mod data_locks;
pub(crate) mod info_lines;
pub(crate) mod keeping;
pub(crate) mod log_parts;
pub(crate) mod persistence;
pub(crate) mod progress;
pub(crate) mod schemas;
pub(crate) mod snapshot_writer;
pub(crate) mod syncer;
pub(crate) mod turns;
pub(crate) mod users;
pub(crate) mod written_sync;
