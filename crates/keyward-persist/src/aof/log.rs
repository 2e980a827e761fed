//! The end of the append-only file, which grows.
//!
//! Owns what is logged and not yet written, and how far writing and syncing have come,
//! as positions: bytes since the log began, whatever file they are in.
//!
//! A write can be done here and now, or handed to a thread ([`Write`]): while a file is
//! being synced some file systems let whoever writes to it wait. One is under way at a
//! time; what is logged meanwhile waits for the next.
//!
//! Invariants: `synced ≤ written ≤ logged`. A file ends with a whole write: one that
//! fails half-way is taken back. Nothing is written to the next file before all of the
//! last one is synced, so what is on disk after a power cut is a beginning of what was
//! logged.
//! Not here: when to write and to sync, and the threads that do.

use crate::PersistError;
use crate::disk::DiskFile;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

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

/// A write that is to be done, on any thread.
#[derive(Debug)]
pub struct Write {
    file: Arc<dyn DiskFile>,
    /// How long the file is before.
    file_bytes: u64,
    bytes: Vec<u8>,
    /// How it went, once it is over.
    attempt: Mutex<Option<Attempt>>,
    is_over: Condvar,
}

impl Write {
    /// Does it.
    pub fn run(&self) {
        let attempt = Attempt::at(&*self.file, &self.bytes, self.file_bytes);
        *self.attempt.lock().unwrap_or_else(PoisonError::into_inner) = Some(attempt);
        self.is_over.notify_all();
    }

    fn take(&self) -> Option<Attempt> {
        self.attempt.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn wait(&self) -> Attempt {
        let mut attempt = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(attempt) = attempt.take() {
                return attempt;
            }
            attempt = self.is_over.wait(attempt).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// How writing went.
#[derive(Debug)]
struct Attempt {
    /// Bytes that are in the file and stay there.
    written: usize,
    outcome: io::Result<()>,
}

impl Attempt {
    /// Writes all of the bytes to a file that has so many. Of a write that fails half-way
    /// nothing stays, unless it cannot be taken back.
    fn at(file: &dyn DiskFile, bytes: &[u8], file_bytes: u64) -> Attempt {
        let mut done = 0;
        while done < bytes.len() {
            let error = match file.write(&bytes[done..]) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(count) => {
                    done += count;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            if done > 0 && file.truncate(file_bytes).is_ok() {
                done = 0;
            }
            // Else half a command is in the file: the rest must follow it.
            return Attempt { written: done, outcome: Err(error) };
        }
        Attempt { written: done, outcome: Ok(()) }
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
    /// What a thread writes.
    handed: Option<Arc<Write>>,
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
            handed: None,
            logged: 0,
            written: 0,
            synced: 0,
            is_syncing: false,
        }
    }

    /// Counts from this position on: one that nobody had in a log before.
    pub fn counting_from(self, position: u64) -> Log {
        assert_eq!(self.logged, 0, "nothing is logged yet");
        Log { logged: position, written: position, synced: position, ..self }
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
        (self.logged - self.written) as usize
    }

    /// Bytes of memory that they take.
    pub fn buffer_memory(&self) -> usize {
        let buffer = if self.buffer.is_empty() { 0 } else { self.buffer.capacity() };
        buffer + self.handed.as_ref().map_or(0, |write| write.bytes.capacity())
    }

    /// Whether a thread writes.
    pub fn is_writing(&self) -> bool {
        self.handed.is_some()
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

    /// Logs what `fill` appends; returns how many bytes that is.
    pub fn append(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> usize {
        let before = self.buffer.len();
        fill(&mut self.buffer);
        let added = self.buffer.len() - before;
        self.logged += added as u64;
        added
    }

    /// Writes all that is logged, unless a thread writes. What cannot be written stays
    /// logged.
    pub fn write(&mut self) -> Result<(), PersistError> {
        if self.next.is_some() || self.handed.is_some() || self.buffer.is_empty() {
            return Ok(());
        }
        let Attempt { written, outcome } = Attempt::at(&*self.file, &self.buffer, self.file_bytes);
        self.advance(written);
        if outcome.is_ok() {
            self.buffer.clear();
            if self.buffer.capacity() > BUFFER_BYTES_KEPT {
                self.buffer = Vec::new();
            }
        } else if written > 0 {
            self.buffer.drain(..written);
        }
        outcome.map_err(PersistError::when("write", &self.path))
    }

    /// Hands all that is logged to a thread, if there is anything and it may be written.
    pub fn begin_write(&mut self) -> Option<Arc<Write>> {
        if self.next.is_some() || self.handed.is_some() || self.buffer.is_empty() {
            return None;
        }
        let write = Arc::new(Write {
            file: Arc::clone(&self.file),
            file_bytes: self.file_bytes,
            bytes: std::mem::take(&mut self.buffer),
            attempt: Mutex::default(),
            is_over: Condvar::new(),
        });
        self.handed = Some(Arc::clone(&write));
        Some(write)
    }

    /// Takes note of what a thread has written, if that is over. What it could not write
    /// is logged as before.
    pub fn end_write(&mut self) -> Option<Result<(), PersistError>> {
        let attempt = self.handed.as_ref()?.take()?;
        Some(self.settle(attempt))
    }

    /// Waits for what a thread writes.
    pub fn wait_for_write(&mut self) -> Result<(), PersistError> {
        match self.handed.clone() {
            Some(write) => self.settle(write.wait()),
            None => Ok(()),
        }
    }

    fn settle(&mut self, Attempt { written, outcome }: Attempt) -> Result<(), PersistError> {
        let write = self.handed.take();
        self.advance(written);
        if let Some(write) = write.filter(|_| outcome.is_err()) {
            let later = std::mem::take(&mut self.buffer);
            self.buffer = [&write.bytes[written..], &later].concat();
        }
        outcome.map_err(PersistError::when("write", &self.path))
    }

    /// Writes and syncs everything, on this thread.
    pub fn finish(&mut self) -> Result<(), PersistError> {
        self.wait_for_write()?;
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
        assert!(self.handed.is_none(), "what a thread writes goes to the old file");
        self.write()?;
        self.next = Some((file, path.into()));
        Ok(())
    }

    /// Goes on with an empty file although the old one cannot be relied on, since all
    /// that it holds is elsewhere.
    pub fn replace(&mut self, file: Arc<dyn DiskFile>, path: &Path) {
        (self.file, self.path, self.file_bytes) = (file, path.into(), 0);
        self.next = None;
        self.handed = None;
        self.buffer.clear();
        self.written = self.logged;
        self.synced = self.logged;
    }
}
