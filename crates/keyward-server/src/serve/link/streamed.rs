//! A snapshot of the primary that is loaded from the connection, beside what there is
//! (`repl-diskless-load`).
//!
//! Owns the source: the bytes of the snapshot and no others, up to its length or its mark. Rows
//! are made on the thread of the attempt, and handed over when all of them are there
//! (`keyward-engine`, `BesideLoad`); a snapshot that breaks off goes with the thread.
//! Not here: the swap (`link`).

use super::attempt::{Attempt, Audience, Beside, LATE_WITH_SNAPSHOT, Problem, Report, Talk};
use super::transfer::{Extent, extent, find};
use crate::serve::pace;
use keyward_engine::{Arrived, BesideError, BesideLoad, LoadError, Transfer};
use std::io::{self, BufReader, Read};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often it is told how far a snapshot is, and a primary that somebody is there.
const REPORT_INTERVAL: Duration = Duration::from_millis(100);
const ALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// Rows loaded between two looks at whether anybody wants it.
const STEP_ROWS: usize = 1000;
/// Bytes that are taken at a time.
const PART_BYTES: usize = 64 * 1024;
/// How long a pause between two looks at whether anybody wants it is at most.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// The bytes of a snapshot, as they come.
struct Incoming<'t, 'a> {
    attempt: &'t Attempt,
    talk: &'t mut Talk<'a>,
    extent: Extent,
    read_bytes: u64,
    is_over: bool,
    reported: Option<Instant>,
    told: Instant,
}

impl Incoming<'_, '_> {
    fn total_bytes(&self) -> Option<u64> {
        match self.extent {
            Extent::Bytes(count) => Some(count),
            Extent::Mark(_) => None,
        }
    }

    /// How many bytes of the buffer are the snapshot's; it is over if its end is among them.
    fn available(&mut self) -> usize {
        match &self.extent {
            Extent::Bytes(count) => {
                let left = usize::try_from(count - self.read_bytes).unwrap_or(usize::MAX);
                self.is_over = left == 0;
                self.talk.buffer.len().min(left)
            }
            Extent::Mark(mark) => match find(&self.talk.buffer, mark) {
                Some(0) => {
                    self.talk.buffer.drain(..mark.len());
                    self.is_over = true;
                    0
                }
                Some(at) => at,
                // The rest may be the beginning of the mark.
                None => self.talk.buffer.len().saturating_sub(mark.len() - 1),
            },
        }
    }

    /// Tells how far it is.
    fn report(&mut self) -> Result<(), Problem> {
        if self.reported.is_none_or(|at| at.elapsed() >= REPORT_INTERVAL) {
            self.reported = Some(Instant::now());
            let (total_bytes, read_bytes) = (self.total_bytes(), self.read_bytes);
            self.attempt.report(Report::Transfer(Transfer { total_bytes, read_bytes }));
        }
        if self.told.elapsed() >= ALIVE_INTERVAL {
            self.told = Instant::now();
            self.talk.say_alive()?;
        }
        Ok(())
    }
}

impl Read for Incoming<'_, '_> {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_over || part.is_empty() {
                return Ok(0);
            }
            let count = self.available().min(part.len());
            if count > 0 {
                part[..count].copy_from_slice(&self.talk.buffer[..count]);
                self.talk.buffer.drain(..count);
                self.read_bytes += count as u64;
                return Ok(count);
            }
            if !self.is_over {
                self.report().map_err(io::Error::other)?;
                self.talk.receive().map_err(io::Error::other)?;
            }
        }
    }
}

impl Attempt {
    /// Loads a snapshot from the connection, beside what there is.
    pub(super) fn load(
        &self,
        talk: &mut Talk<'_>,
        beside: &Beside,
        audience: Audience,
    ) -> Result<Arrived, Problem> {
        talk.late = LATE_WITH_SNAPSHOT;
        let extent = extent(&talk.line()?, "parser")?;
        self.report(Report::Loading(audience));
        tracing::info!("MASTER <-> REPLICA sync: Loading DB in memory");
        let (read_bytes, is_over, reported, told) = (0, false, None, Instant::now());
        let mut incoming =
            Incoming { attempt: self, talk, extent, read_bytes, is_over, reported, told };
        let arrived = self.load_from(&mut incoming, beside)?;
        // Nothing but its end is left.
        match incoming.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => return Err("MASTER's snapshot goes on behind its end".to_owned()),
            Err(error) => return Err(error.to_string()),
        }
        self.check_rows(arrived.loaded().rows > 0)?;
        Ok(arrived)
    }

    fn load_from(
        &self,
        incoming: &mut Incoming<'_, '_>,
        beside: &Beside,
    ) -> Result<Arrived, Problem> {
        let failed = |offset: u64, error: &dyn std::fmt::Display| {
            tracing::warn!("Internal error in RDB reading offset {offset}: {error}");
            "Failed trying to load the MASTER synchronization DB from socket. What is here stays"
                .to_owned()
        };
        let total_bytes = incoming.total_bytes();
        let source = BufReader::with_capacity(PART_BYTES, incoming);
        let mut load =
            BesideLoad::new(source, beside.options.clone()).map_err(|error| failed(0, &error))?;
        if let Some(bytes) = total_bytes {
            load.expect_bytes(bytes);
        }
        let step_rows = if beside.key_delay == 0 { STEP_ROWS } else { 1 };
        let mut rows = 0;
        loop {
            match load.step(step_rows) {
                Ok(true) => {}
                Ok(false) => return Ok(load.end(0)),
                Err(BesideError::Load(LoadError::Unsupported(rows))) if self.skips_unsupported => {
                    tracing::warn!("Left out of the primary's snapshot: {rows}");
                    return Ok(load.end(rows.count()));
                }
                Err(BesideError::Governed) => {
                    beside.goes_by_file.store(true, Ordering::Relaxed);
                    return Err("The primary has schemas: its snapshot is received into a file, \
                                whatever repl-diskless-load says"
                        .to_owned());
                }
                Err(BesideError::Load(error)) => return Err(failed(load.offset(), &error)),
            }
            let done = load.rows() - std::mem::replace(&mut rows, load.rows());
            self.pause(pace::delay(beside.key_delay, done))?;
        }
    }

    /// Waits, unless nobody wants it any more.
    fn pause(&self, time: Duration) -> Result<(), Problem> {
        let until = Instant::now() + time;
        loop {
            if self.is_over.load(Ordering::Relaxed) {
                return Err("the replica is to follow another server".to_owned());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(PAUSE_MAX));
        }
    }
}
