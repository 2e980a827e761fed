//! The process: going to the background, its id, its signals, its memory, its log.
//!
//! Owns what the server asks of the system besides sockets and files of data.

pub(crate) mod daemon;
pub(crate) mod descriptors;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod pid_file;
pub(crate) mod signal_wish;
pub(crate) mod signals;
pub(crate) mod supervisor;
