//! The append-only file: when it is written and synced, and what waits for that.
//!
//! Owns the log, its files and its figures. What commands changed is collected after each
//! batch of one client and written once for all clients that were ready (`serve/commit.rs`);
//! replies are held back until then, whatever `appendfsync` says: what the system was
//! given outlives the process. With `always` they are held until it is synced, and while
//! one sync is under way the changes of others gather for the next. With `everysec` a sync
//! is begun every second; while it lasts a thread writes, since the file system may let
//! whoever writes wait for it. Redis acknowledges such writes before they are written.
//!
//! While the log changes to another file nothing is written until all of the last one is
//! synced (`keyward-persist`), and replies are held that long.
//!
//! After a failure writes are refused until the log is whole again: what cannot be
//! written is tried again, and after a sync that failed, of which nobody knows what it
//! left, everything is written anew. Whoever waits for what could not be written is never
//! answered.
//! Not here: the form of the log (`keyward-engine`), that of the files
//! (`keyward-persist`), writing it anew (`serve/saving.rs`).

use crate::clock::Instant;
use crate::files::info_lines::{Lines, OrNone};
use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_commands::WireError;
use keyward_engine::Engine;
use keyward_persist::PersistError;
use keyward_persist::aof::{AofFiles, Log, Sync, Write};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// A sync that takes longer is told of and counted. The number is Redis's.
const SYNC_TIME_MAX: Duration = Duration::from_secs(2);
/// How often a sync is begun with `everysec`.
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// After so many failures in a row writing anew waits, for a minute and then for longer.
const FAILURES_MAX: u32 = 3;
const PAUSE_MINUTES_MAX: u64 = 60;

/// `appendfsync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Always,
    EverySecond,
    Never,
}

impl Policy {
    pub(crate) fn of(settings: &Settings) -> Policy {
        match settings.choice(Id::AppendFsync) {
            "always" => Policy::Always,
            "everysec" => Policy::EverySecond,
            _ => Policy::Never,
        }
    }
}

/// Why the log is not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It cannot be written at the moment.
    Write(String),
    /// A sync has failed.
    Sync(String),
}

/// What is known about writing the file anew.
#[derive(Debug)]
pub(crate) struct Rewrites {
    pub(crate) is_wanted: bool,
    pub(crate) started: Option<Instant>,
    pub(crate) last_seconds: Option<u64>,
    pub(crate) is_last_ok: bool,
    pub(crate) count: u64,
    /// How often it has failed in a row.
    pub(crate) failures: u32,
    /// The most memory that the last one took besides that of the rows.
    pub(crate) last_peak_bytes: usize,
    not_before: Option<Instant>,
}

impl Rewrites {
    /// It is over.
    pub(crate) fn ended(&mut self, is_ok: bool) {
        self.last_seconds = self.started.take().map(|started| started.elapsed().as_secs());
        self.is_last_ok = is_ok;
        self.failures = if is_ok { 0 } else { self.failures + 1 };
        self.not_before = self.failures.checked_sub(FAILURES_MAX).map(|doublings| {
            let minutes = PAUSE_MINUTES_MAX.min(1 << doublings.min(6));
            tracing::warn!(
                "Background AOF rewrite has repeatedly failed and triggered the limit, will \
                 retry in {minutes} minutes"
            );
            Instant::now() + Duration::from_secs(minutes * 60)
        });
    }

    /// Whether it may begin by itself.
    pub(crate) fn may_begin(&self) -> bool {
        !self.is_wanted
            && self.started.is_none()
            && self.not_before.is_none_or(|time| Instant::now() >= time)
    }
}

/// The append-only file, on or off.
#[derive(Debug)]
pub(crate) struct AppendOnly {
    pub(crate) log: Option<Log>,
    /// Whether the log follows a base, so that what is in it will be loaded. Until then
    /// changes are in no file: the first base is being written.
    pub(crate) has_base: bool,
    /// It was turned off, and ends with the round.
    pub(crate) must_end: bool,
    /// `None` while a thread works with them.
    pub(crate) files: Option<AofFiles>,
    /// Replies up to this position of the log may go.
    released: u64,
    /// Where what the last batch changed ends; zero if it changed nothing.
    batch_end: u64,
    /// Where the last log ended: no position is used twice.
    ended_at: u64,
    pub(crate) problem: Option<Problem>,
    /// There is a new one, and those who wait are still to be given up.
    has_failed: bool,
    /// Bytes of the files before the one that grows.
    pub(crate) older_bytes: u64,
    /// Bytes after it was last written anew.
    pub(crate) base_bytes: u64,
    delayed_syncs: u64,
    /// That the sync under way takes long was told.
    is_delay_told: bool,
    /// When a sync was last begun.
    synced_at: Instant,
    pub(crate) rewrites: Rewrites,
}

impl AppendOnly {
    /// One that is off.
    pub(crate) fn new() -> AppendOnly {
        AppendOnly {
            log: None,
            has_base: false,
            must_end: false,
            files: None,
            released: u64::MAX,
            batch_end: 0,
            ended_at: 0,
            problem: None,
            has_failed: false,
            older_bytes: 0,
            base_bytes: 0,
            delayed_syncs: 0,
            is_delay_told: false,
            synced_at: Instant::now(),
            rewrites: Rewrites {
                is_wanted: false,
                started: None,
                last_seconds: None,
                is_last_ok: true,
                count: 0,
                failures: 0,
                last_peak_bytes: 0,
                not_before: None,
            },
        }
    }

    /// Begins to log to a file.
    pub(crate) fn begin(&mut self, log: Log) {
        // Nothing that a file has is at 0, which is told where nothing is known to be synced.
        let log = log.counting_from(self.ended_at.max(1));
        self.released = log.logged();
        self.problem = None;
        self.synced_at = Instant::now();
        self.log = Some(log);
    }

    /// No longer logs.
    pub(crate) fn end(&mut self) {
        if let Some(mut log) = self.log.take() {
            // Its file may be made anew under the same name.
            if let Err(error) = log.wait_for_write() {
                tracing::warn!("Error writing to the AOF file: {error}");
            }
            self.ended_at = log.logged();
        }
        self.batch_end = 0;
        self.has_base = false;
        self.must_end = false;
        self.problem = None;
        self.released = u64::MAX;
    }

    /// Up to which position of the log replies may go.
    pub(crate) fn released(&self) -> u64 {
        self.released
    }

    /// The position that replies have to wait for, if they have to and everybody does.
    #[inline]
    pub(crate) fn held_until(&self) -> Option<u64> {
        let logged = self.log.as_ref()?.logged();
        (logged > self.released).then_some(logged)
    }

    /// Whether something logged is not in the file yet.
    #[inline]
    pub(crate) fn has_unwritten(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.buffered() > 0)
    }

    /// Bytes of memory for what is logged and not in the file yet.
    pub(crate) fn buffer_memory(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.buffer_memory() as u64)
    }

    /// Bytes of its buffer, empty or not.
    pub(crate) fn buffer_capacity(&self) -> usize {
        self.log.as_ref().map_or(0, Log::buffer_capacity)
    }

    /// Whether a sync is under way.
    #[inline]
    pub(crate) fn is_syncing(&self) -> bool {
        self.log.as_ref().is_some_and(Log::is_syncing)
    }

    /// Whether something logged is not safe yet.
    pub(crate) fn has_unsynced(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.logged() > log.synced())
    }

    /// Whether the log cannot go on in another file yet.
    pub(crate) fn is_amid_work(&self, policy: Policy) -> bool {
        // With `always` there is hardly a moment without a sync.
        let is_waiting = |log: &Log| log.is_syncing() && policy != Policy::Always;
        let log = self.log.as_ref();
        log.is_some_and(|log| log.is_switching() || log.is_writing() || is_waiting(log))
    }

    /// Whether a thread writes.
    pub(crate) fn is_writing(&self) -> bool {
        self.log.as_ref().is_some_and(Log::is_writing)
    }

    /// Where what the last batch changed ends; zero if it changed nothing.
    #[inline]
    pub(crate) fn batch_end(&self) -> u64 {
        self.batch_end
    }

    /// Logs what commands have changed; whether there is anything to write.
    #[inline]
    pub(crate) fn collect(&mut self, engine: &mut Engine) -> bool {
        let Some(log) = &mut self.log else { return false };
        let has_changed = log.append(|buffer| engine.take_log(buffer)) > 0;
        self.batch_end = if has_changed { log.logged() } else { 0 };
        has_changed
    }

    /// Adds an annotation, if there is a log.
    pub(crate) fn annotate(&mut self, line: &[u8]) {
        if let Some(log) = &mut self.log {
            log.append(|buffer| buffer.extend_from_slice(line));
        }
    }

    /// Writes what is logged, or returns what a thread is to write.
    pub(crate) fn write(&mut self, policy: Policy) -> Option<Arc<Write>> {
        self.end_write(policy);
        let log = self.log.as_mut()?;
        if policy == Policy::Always || !log.is_syncing() {
            self.write_now(policy);
            return None;
        }
        let write = log.begin_write()?;
        if self.synced_at.elapsed() >= SYNC_TIME_MAX && !self.is_delay_told {
            self.is_delay_told = true;
            self.delayed_syncs += 1;
            tracing::info!(
                "Asynchronous AOF fsync is taking too long (disk is busy?). Writing the AOF \
                 buffer without waiting for fsync to complete, this may slow down Keyward."
            );
        }
        Some(write)
    }

    /// Writes what is logged on this thread, whatever it has to wait for.
    pub(crate) fn write_now(&mut self, policy: Policy) {
        self.end_write(policy);
        if let Some(log) = &mut self.log {
            let outcome = log.write();
            self.note_write(outcome, policy);
        }
    }

    /// Takes note of what a thread has written, if that is over.
    fn end_write(&mut self, policy: Policy) {
        if let Some(outcome) = self.log.as_mut().and_then(Log::end_write) {
            self.note_write(outcome, policy);
        }
    }

    fn note_write(&mut self, outcome: Result<(), PersistError>, policy: Policy) {
        match outcome {
            Err(error) => {
                let was_failing = matches!(self.problem, Some(Problem::Write(_)));
                self.has_failed |= !was_failing;
                self.note(error, Problem::Write);
            }
            // While the log changes to another file, or a thread writes, nothing was tried.
            Ok(()) if self.has_unwritten() => {}
            Ok(()) if matches!(self.problem, Some(Problem::Write(_))) => {
                tracing::warn!("AOF write error looks solved, Keyward can write again.");
                self.problem = None;
            }
            Ok(()) => {}
        }
        self.release(policy);
    }

    fn note(&mut self, error: PersistError, problem: fn(String) -> Problem) {
        if self.problem.is_none() {
            tracing::warn!("Error writing to the AOF file: {error}");
        }
        // A sync that failed is not mended by a write that succeeds later.
        if !matches!(self.problem, Some(Problem::Sync(_))) {
            self.problem = Some(problem(system_text(&error.problem)));
        }
    }

    /// Whether there was a failure since this was last asked, so that those who wait will
    /// never be answered.
    pub(crate) fn take_failure(&mut self) -> bool {
        std::mem::take(&mut self.has_failed)
    }

    /// Whether those who wait will never be answered, and have not been told.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    fn release(&mut self, policy: Policy) {
        if let Some(log) = &self.log {
            let reached = match (policy, &self.problem) {
                // Writes are refused, and nobody else has to wait for what is not whole.
                (_, Some(Problem::Write(_))) | (Policy::Always, Some(_)) => log.logged(),
                (Policy::Always, None) => log.synced(),
                (Policy::EverySecond | Policy::Never, _) => log.written(),
            };
            self.released = self.released.max(reached);
        }
    }

    /// Begins a sync, if it is time for one.
    pub(crate) fn begin_due_sync(&mut self, policy: Policy, may_sync: bool) -> Option<Sync> {
        let log = self.log.as_mut()?;
        let is_due = match policy {
            Policy::EverySecond => may_sync && self.synced_at.elapsed() >= SYNC_INTERVAL,
            Policy::Always => true,
            Policy::Never => false,
        };
        // Nothing is written to the next file until all of the last one is synced.
        let is_due = (is_due || log.is_switching()) && self.problem.is_none();
        if !is_due {
            return None;
        }
        self.begin_sync()
    }

    /// Begins a sync of what is written, unless there is none or one is under way.
    pub(crate) fn begin_sync(&mut self) -> Option<Sync> {
        let sync = self.log.as_mut()?.begin_sync()?;
        self.synced_at = Instant::now();
        self.is_delay_told = false;
        Some(sync)
    }

    /// A sync is over.
    pub(crate) fn end_sync(&mut self, sync: &Sync, outcome: io::Result<()>, policy: Policy) {
        let Some(log) = &mut self.log else { return };
        if let Err(error) = log.end_sync(sync, outcome) {
            // Who waits for a write only is answered when that is done.
            self.has_failed |= policy == Policy::Always && self.problem.is_none();
            self.note(error, Problem::Sync);
        }
        self.release(policy);
    }

    /// Bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.older_bytes + self.log.as_ref().map_or(0, Log::file_bytes)
    }

    /// Whether the file is to be written anew by itself: it has grown, or a sync failed.
    pub(crate) fn is_rewrite_due(&self, settings: &Settings) -> bool {
        let percentage = settings.int(Id::RewritePercentage) as u64;
        let bytes = self.bytes();
        let has_grown = percentage > 0
            && bytes > settings.bytes(Id::RewriteMinSize)
            && (bytes * 100 / self.base_bytes.max(1)).saturating_sub(100) >= percentage;
        let is_broken = matches!(self.problem, Some(Problem::Sync(_)));
        self.log.is_some() && (has_grown || is_broken) && self.rewrites.may_begin()
    }

    /// Why writes are refused, if they are.
    pub(crate) fn refusal(&self) -> Option<WireError> {
        let (Problem::Write(text) | Problem::Sync(text)) = self.problem.as_ref()?;
        Some(WireError::line(&[b"MISCONF Errors writing to the AOF file: ", text.as_bytes()]))
    }

    /// The lines of INFO. A rewrite begins when jobs are next polled, unless it
    /// `has_to_wait`: for who asks it is in progress as soon as it was demanded.
    pub(crate) fn info(&self, is_enabled: bool, has_to_wait: bool, out: &mut Lines<'_>) {
        let seconds = OrNone;
        let status = |is_ok: bool| if is_ok { "ok" } else { "err" };
        let rewrites = &self.rewrites;
        let current = rewrites.started.map(|started| started.elapsed().as_secs());
        let is_running = rewrites.started.is_some() || (rewrites.is_wanted && !has_to_wait);
        let scheduled = u8::from(rewrites.is_wanted && has_to_wait);
        out.line("aof_enabled", u8::from(is_enabled));
        out.line("aof_rewrite_in_progress", u8::from(is_running));
        out.line("aof_rewrite_scheduled", scheduled);
        out.line("aof_last_rewrite_time_sec", seconds(rewrites.last_seconds));
        out.line("aof_current_rewrite_time_sec", seconds(current));
        out.line("aof_last_bgrewrite_status", status(rewrites.is_last_ok));
        out.line("aof_rewrites", rewrites.count);
        out.line("aof_rewrites_consecutive_failures", rewrites.failures);
        out.line("aof_last_write_status", status(self.problem.is_none()));
        out.line("aof_last_cow_size", rewrites.last_peak_bytes);
        out.line("module_fork_in_progress", "0");
        out.line("module_fork_last_cow_size", "0");
        if is_enabled {
            let log = self.log.as_ref();
            out.line("aof_current_size", self.bytes());
            out.line("aof_base_size", self.base_bytes);
            out.line("aof_pending_rewrite", scheduled);
            out.line("aof_buffer_length", log.map_or(0, Log::buffered));
            out.line("aof_pending_bio_fsync", u8::from(self.is_syncing()));
            out.line("aof_delayed_fsync", self.delayed_syncs);
        }
    }
}

/// What the system says, in its words alone.
fn system_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
