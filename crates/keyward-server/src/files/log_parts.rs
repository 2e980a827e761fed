//! The parts of the append-only file, opened to be loaded.
//!
//! Owns telling apart what a part holds, rows or commands, and the passage from all of them
//! to what the engine takes when DEBUG LOADAOF reads them again. Everybody waits meanwhile;
//! the start of a server goes in steps (`serve/loading.rs`).

use crate::files::append_only::AppendOnly;
use keyward_engine::{LogBatch, LogCommands, LogFile};
use keyward_persist::PersistError;
use keyward_persist::aof::{AofPart, Reader};
use keyward_persist::disk::{Disk, Source};
use keyward_resp::Batch;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// What snapshots begin with, of Redis and of Valkey.
const SNAPSHOT_MARKS: [&[u8]; 2] = [b"REDIS", b"VALKE"];
const MARK_BYTES: usize = 5;

/// Opens a file to be read.
pub(crate) fn open(disk: &dyn Disk, path: &Path) -> Result<Source, PersistError> {
    let opened = disk.open(path);
    opened.map_err(|problem| PersistError { action: "open", file: path.into(), problem })
}

/// Looks at what a file begins with; whether it is a snapshot.
pub(crate) fn tell_apart(source: Source, path: &Path) -> Result<(Source, bool), PersistError> {
    let Source { mut content, bytes } = source;
    let mut mark = Vec::with_capacity(MARK_BYTES);
    let read = content.by_ref().take(MARK_BYTES as u64).read_to_end(&mut mark);
    read.map_err(|problem| PersistError { action: "read", file: path.into(), problem })?;
    let is_snapshot = SNAPSHOT_MARKS.contains(&mark.as_slice());
    let content = Box::new(io::Cursor::new(mark).chain(content));
    Ok((Source { content, bytes }, is_snapshot))
}

/// Writes bytes to the log if one is kept, and opens all of its files.
pub(crate) fn open_log(
    append_only: &mut AppendOnly,
    disk: &Arc<dyn Disk>,
    logged: &[u8],
) -> Result<Vec<LogFile>, String> {
    let mut is_written = true;
    if let Some(log) = &mut append_only.log {
        log.wait_for_write().map_err(|error| error.to_string())?;
        log.append(|buffer| buffer.extend_from_slice(logged));
        log.write().map_err(|error| error.to_string())?;
        is_written = log.buffered() == 0;
    }
    let files = append_only.files.as_ref().filter(|_| is_written);
    let files = files.ok_or("it is being written anew")?;
    let parts = files.parts().map_err(|error| error.to_string())?;
    parts.into_iter().map(|part| open_part(Arc::clone(disk), part)).collect()
}

fn open_part(disk: Arc<dyn Disk>, part: AofPart) -> Result<LogFile, String> {
    let source = open(&*disk, &part.path).map_err(|error| error.to_string())?;
    let told = tell_apart(source, &part.path).map_err(|error| error.to_string())?;
    let rows = match told {
        (source, true) => Some(source.content as Box<dyn Read>),
        (_, false) => None,
    };
    let bytes = part.bytes;
    let commands = Box::new(move |offset| {
        let reader = Reader::from(&*disk, &part.path, offset).map_err(|error| error.to_string())?;
        Ok(Box::new(Commands { reader, batch: Batch::new() }) as Box<dyn LogCommands>)
    });
    Ok(LogFile { bytes, rows, commands })
}

struct Commands {
    reader: Reader,
    batch: Batch,
}

impl LogCommands for Commands {
    fn next(&mut self) -> Result<Option<LogBatch<'_>>, String> {
        self.batch.clear();
        let has_more = self.reader.next(&mut self.batch).map_err(|error| error.to_string())?;
        let annotations = self.reader.take_annotations();
        let (buffer, batch) = (self.reader.buffer(), &self.batch);
        Ok((has_more || !annotations.is_empty()).then_some(LogBatch { annotations, buffer, batch }))
    }
}
