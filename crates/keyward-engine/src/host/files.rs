//! Files as the engine sees them: libraries of functions, snapshots, the append-only file.
//!
//! Not here: where they lie and how they are written, which only the host knows.

use keyward_resp::Batch;
use std::io::Read;

/// One of the files that the append-only file has.
pub struct LogFile {
    /// How long it is.
    pub bytes: u64,
    /// Its content, if it begins with a snapshot.
    pub rows: Option<Box<dyn Read>>,
    /// The commands from an offset on.
    pub commands: Box<OpenCommands>,
}

/// Opens the commands of a file from an offset on.
pub type OpenCommands = dyn FnOnce(u64) -> Result<Box<dyn LogCommands>, String>;

/// Commands of the append-only file.
pub trait LogCommands {
    /// The next of them.
    fn next(&mut self) -> Result<Option<LogBatch<'_>>, String>;
}

/// Some commands of the append-only file.
#[derive(Debug)]
pub struct LogBatch<'a> {
    /// The annotations that stand before all of them, as whole lines.
    pub annotations: Vec<u8>,
    /// The bytes that the commands are made of.
    pub buffer: &'a [u8],
    /// The commands; there may be none.
    pub batch: &'a Batch,
}

/// A library of functions that stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    /// What messages call the file.
    pub name: String,
    /// Its code.
    pub code: Vec<u8>,
}

/// What became of a wish for a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundSave {
    /// It will be written.
    Begun,
    /// It will be written after what is being written.
    Scheduled,
    /// One is being written.
    AlreadyRunning,
}
