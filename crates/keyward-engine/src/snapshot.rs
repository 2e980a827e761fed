//! What the engine holds, as Redis's files (RDB) and payloads (DUMP) hold it.
//!
//! Owns the whole of an engine written (`save`) and read (`load`). Sinks and sources are
//! the host's: nothing here knows of files.
//!
//! A [`Snapshot`] borrows the engine, so it is of one instant: nothing else runs
//! while it is written. One of the same instant can also be taken in steps while commands
//! run (`capture` of the store). Rows are written one by one and independent of each other.
//! Not here: the form of a value and values made of what is read (`capture::content`,
//! `capture::build`), the commands (`generic::dump`, `server::persistence`).

pub(crate) mod load;
mod loaded;
mod save;

pub use load::{DueRows, LoadError, SnapshotLoader, Unsupported};
pub use loaded::Loaded;
pub use save::{Coverage, Snapshot, SnapshotOptions};
pub(crate) use save::{Head, begin};
