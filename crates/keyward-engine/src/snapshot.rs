//! What the engine holds, as Redis's files and payloads hold it.
//!
//! Owns the passage between rows and `keyward-rdb`: which form a value is written
//! in (`content`), and values made of what is read (`build`). Sinks and sources
//! are others': nothing here knows of files.
//! Not here: the commands (`generic::dump`).

pub(crate) mod build;
pub(crate) mod content;
