//! The end of the append-only file, which grows.
//!
//! Owns what is logged and not yet written, and how far writing and syncing have come,
//! as positions: bytes since the log began, whatever file they are in.
//!
//! Invariants: `synced ≤ written ≤ logged`. A file ends with a whole write: one that
//! fails half-way is taken back. Nothing is written to the next file before all of the
//! last one is synced, so what is on disk after a power cut is a beginning of what was
//! logged.
//! Not here: when to write and to sync, and the thread that does the latter.

use crate::PersistError;
use crate::disk::DiskFile;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A buffer that grew beyond this is given back.
const BUFFER_BYTES_KEPT: usize = 128 * 1024;

/// A sync that is to be done, on any thread.
#[derive(Debug)]
pub struct Sync {
    file: Arc<dyn DiskFile>,
    /// What is safe then.
    position: u64,
}

impl Sync {
    /// Does it.
    pub fn run(&self) -> io::Result<()> {
        self.file.sync()
    }
}

/// The log.
#[derive(Debug)]
pub struct Log {
    file: Arc<dyn DiskFile>,
    path: PathBuf,
    /// How long the file is.
    file_bytes: u64,
    /// The file to go on with, once all of this one is synced.
    next: Option<(Arc<dyn DiskFile>, PathBuf)>,
    buffer: Vec<u8>,
    logged: u64,
    written: u64,
    synced: u64,
    is_syncing: bool,
}

impl Log {
    /// Goes on with a file that has so many bytes.
    pub fn new(file: Arc<dyn DiskFile>, path: &Path, file_bytes: u64) -> Log {
        Log {
            file,
            path: path.into(),
            file_bytes,
            next: None,
            buffer: Vec::new(),
            logged: 0,
            written: 0,
            synced: 0,
            is_syncing: false,
        }
    }

    /// Everything that was logged, as a position.
    #[inline]
    pub fn logged(&self) -> u64 {
        self.logged
    }

    /// Everything that was written.
    #[inline]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Everything that is safe.
    #[inline]
    pub fn synced(&self) -> u64 {
        self.synced
    }

    /// Bytes of the file that is written to.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Bytes that are logged and not written.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Bytes of memory that they take.
    pub fn buffer_memory(&self) -> usize {
        if self.buffer.is_empty() { 0 } else { self.buffer.capacity() }
    }

    /// Bytes of the buffer, whether there is something in it or not.
    pub fn buffer_capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Whether a sync is under way.
    pub fn is_syncing(&self) -> bool {
        self.is_syncing
    }

    /// Whether writing waits for all of the last file to be synced.
    pub fn is_switching(&self) -> bool {
        self.next.is_some()
    }

    /// Logs what `fill` appends; answers how many bytes that is.
    pub fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> usize {
        let before = self.buffer.len();
        fill(&mut self.buffer);
        let added = self.buffer.len() - before;
        self.logged += added as u64;
        added
    }

    /// Writes all that is logged. What cannot be written stays logged.
    pub fn write(&mut self) -> Result<(), PersistError> {
        if self.next.is_some() || self.buffer.is_empty() {
            return Ok(());
        }
        let mut done = 0;
        while done < self.buffer.len() {
            let error = match self.file.write(&self.buffer[done..]) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) => {
                    done += count;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            if done > 0 && self.file.truncate(self.file_bytes).is_err() {
                // Half a command is in the file, and stays: the rest must follow it.
                self.advance(done);
                self.buffer.drain(..done);
            }
            return Err(PersistError::when("write", &self.path)(error));
        }
        self.advance(done);
        self.buffer.clear();
        if self.buffer.capacity() > BUFFER_BYTES_KEPT {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// Writes and syncs everything, on this thread.
    pub fn finish(&mut self) -> Result<(), PersistError> {
        loop {
            self.write()?;
            self.is_syncing = false;
            let Some(sync) = self.begin_sync() else { return Ok(()) };
            let outcome = sync.run();
            self.end_sync(&sync, outcome)?;
        }
    }

    fn advance(&mut self, bytes: usize) {
        self.written += bytes as u64;
        self.file_bytes += bytes as u64;
    }

    /// Begins to sync what is written, if that is not done or under way.
    pub fn begin_sync(&mut self) -> Option<Sync> {
        if self.is_syncing || (self.synced == self.written && self.next.is_none()) {
            return None;
        }
        self.is_syncing = true;
        Some(Sync { file: Arc::clone(&self.file), position: self.written })
    }

    /// The sync is over.
    pub fn end_sync(
        &mut self,
        sync: &Sync,
        outcome: Result<(), io::Error>,
    ) -> Result<(), PersistError> {
        self.is_syncing = false;
        if !Arc::ptr_eq(&sync.file, &self.file) {
            // Of a file that was given up meanwhile: it says nothing about this one.
            return Ok(());
        }
        outcome.map_err(PersistError::when("sync", &self.path))?;
        self.synced = sync.position;
        if self.synced == self.written
            && let Some((file, path)) = self.next.take()
        {
            (self.file, self.path, self.file_bytes) = (file, path, 0);
        }
        Ok(())
    }

    /// Goes on with an empty file; everything logged so far is written to the old one.
    /// If that fails nothing is changed.
    pub fn switch(&mut self, file: Arc<dyn DiskFile>, path: &Path) -> Result<(), PersistError> {
        assert!(self.next.is_none(), "one switch is under way at a time");
        self.write()?;
        self.next = Some((file, path.into()));
        Ok(())
    }

    /// Goes on with an empty file although the old one cannot be relied on, since all
    /// that it holds is elsewhere.
    pub fn replace(&mut self, file: Arc<dyn DiskFile>, path: &Path) {
        (self.file, self.path, self.file_bytes) = (file, path.into(), 0);
        self.next = None;
        self.buffer.clear();
        self.written = self.logged;
        self.synced = self.logged;
    }
}
