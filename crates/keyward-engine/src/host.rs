//! What the engine asks of the program around it (dependency injection).
//!
//! Owns the interface through which a command learns or causes what the engine cannot
//! know: settings, addresses, files, memory, the process. Everything a host returns is an
//! input of the engine: a replay must return the same. It is wide, more than fifty methods
//! in the groups below, since Redis's commands reach for that much; each has a default, that
//! of a program that has nothing of the kind, so a host implements what it has.

mod figures;
mod files;
pub(crate) mod remote;
mod running_script;

pub use figures::{Connection, Facts, MemoryReport, Outgoing, Section};
pub use files::{BackgroundSave, Library, LogBatch, LogCommands, LogFile, OpenCommands};
pub use remote::{Exchange, ExchangeFailure, Remote};
pub use running_script::{Activity, RunningScript};

use crate::acl::{UsersRead, UsersReader};
use crate::governed::proposal::Proposal;
use crate::governed::told::Told;
use crate::sessions::shutdown::LastWish;
use crate::snapshot::{Loaded, Snapshot};
use crate::tunables::Tunables;
use keyward_commands::WireError;
use keyward_lua::LogLevel;
use keyward_schema::Schema;
use keyward_store::keyspace::client_id::ClientId;
use std::any::Any;
use std::io::Read;

/// Why `CONFIG SET` changed nothing: the text of the error reply after `ERR `.
pub type ConfigRefusal = String;

/// Why settings of a host that has none cannot be changed.
const NO_SETTINGS: &str = "there are no settings";

/// Which settings are written back to the file they came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// Those that the file has, and those that differ from their defaults.
    Changed,
    /// All.
    Everything,
}

/// The system has no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSecrets;

impl From<NoSecrets> for WireError {
    fn from(NoSecrets: NoSecrets) -> WireError {
        WireError::Err("the system has no randomness")
    }
}

/// The program around the engine.
pub trait Host {
    // Settings.

    /// The names and values of the settings that match one of the glob patterns.
    fn config_get(&mut self, patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        let _ = patterns;
        Vec::new()
    }

    /// Changes settings, all or none; returns those that the engine obeys from now on.
    /// What only some clients may change is refused unless `client` is one of them.
    fn config_set(
        &mut self,
        client: ClientId,
        pairs: &[(&[u8], &[u8])],
    ) -> Result<Tunables, ConfigRefusal> {
        let _ = (client, pairs);
        Err(NO_SETTINGS.to_owned())
    }

    /// Has what these settings name (certificates) read elsewhere, if that takes a while;
    /// whether the client waits for it, until `Engine::prepared`. Then `config_set` is called.
    fn prepare_config(&mut self, client: ClientId, pairs: &[(&[u8], &[u8])]) -> bool {
        let _ = (client, pairs);
        false
    }

    /// Writes the settings back to the file they came from, and the users, a line for each,
    /// unless these have a file of their own.
    fn config_rewrite(&mut self, scope: Rewrite, users: &[Vec<u8>]) -> Result<(), ConfigRefusal> {
        let _ = (scope, users);
        Err(NO_SETTINGS.to_owned())
    }

    /// Whether a setting that this client may change stays as it is while rows are loaded.
    fn is_fixed_while_loading(&self, client: ClientId, name: &[u8]) -> bool {
        let _ = (client, name);
        false
    }

    // Users.

    /// The users of their file (`aclfile`); `None` if there is no such file.
    ///
    /// # Errors
    /// Says why it cannot be read.
    fn read_users(&mut self, reader: UsersReader) -> Option<Result<UsersRead, String>> {
        let _ = reader;
        None
    }

    /// Has the file of users read elsewhere, if there is one; whether the client waits for it,
    /// until `Engine::prepared`. Then `users_read` has what came of it.
    fn read_users_elsewhere(&mut self, client: ClientId, reader: UsersReader) -> bool {
        let _ = (client, reader);
        false
    }

    /// What was read elsewhere for a client, once.
    fn users_read(&mut self, client: ClientId) -> Option<Result<UsersRead, String>> {
        let _ = client;
        None
    }

    /// Writes the file of users anew; `None` if there is no such file, else whether it could
    /// be written. The log has the reason.
    fn write_users(&mut self, text: &[u8]) -> Option<bool> {
        let _ = text;
        None
    }

    /// Fills bytes with such as nobody can guess: passwords are made of them.
    ///
    /// # Errors
    /// If the system has none.
    fn fill_with_secrets(&mut self, bytes: &mut [u8]) -> Result<(), NoSecrets> {
        bytes.fill(0);
        Ok(())
    }

    // What INFO and CLIENT LIST show.

    /// Appends the lines of an INFO section that only the host knows.
    fn info(&mut self, section: Section, facts: &Facts, out: &mut String) {
        let _ = (section, facts, out);
    }

    /// What is known about a client's connection.
    fn connection(&self, client: ClientId) -> Connection {
        let _ = client;
        Connection::default()
    }

    /// Resets the counters the host keeps.
    fn reset_stats(&mut self) {}

    // Clocks.

    /// Nanoseconds by a clock that never goes back: what durations are measured with. A
    /// host that returns the same always has commands that take no time.
    fn monotonic_ns(&mut self) -> u64 {
        0
    }

    /// Microseconds since the epoch, now: what TIME tells, also amid a script or a
    /// transaction, for which the time of everything else stands still. A host that returns
    /// none has TIME stand still too.
    fn time_us(&mut self) -> Option<i64> {
        None
    }

    /// Does nothing for a while, and nothing else meanwhile: DEBUG SLEEP.
    fn sleep_us(&mut self, microseconds: u64) {
        let _ = microseconds;
    }

    /// Moves the clock that the engine is told ahead: DEBUG CLOCK.
    fn advance_clock(&mut self, microseconds: u64) {
        let _ = microseconds;
    }

    // Memory.

    /// Bytes of memory in use, which `maxmemory` limits. Asked before every command
    /// while there is a limit: it must cost next to nothing.
    fn used_memory(&mut self) -> u64 {
        0
    }

    /// Those bytes of it that are on their way elsewhere: `maxmemory` does not count them.
    /// Asked where more is in use than may be.
    fn outgoing_memory(&mut self, outgoing: &Outgoing<'_>) -> u64 {
        let _ = outgoing;
        0
    }

    /// How memory stands, as the allocator and the kernel count it.
    fn memory(&mut self) -> MemoryReport {
        MemoryReport::default()
    }

    /// Gives memory that is free back to the system; whether that worked.
    fn purge_memory(&mut self) -> bool {
        false
    }

    /// The allocator's own statistics, as text.
    fn allocator_statistics(&mut self) -> String {
        String::new()
    }

    /// Frees something large, elsewhere if it can.
    fn discard(&mut self, remains: Box<dyn Any + Send>) {
        drop(remains);
    }

    // The schema.

    /// Takes a text of a schema to read elsewhere (`Proposal::read`); what comes of it goes to
    /// `Engine::schema_read`. A host that cannot gives it back, and the engine reads it at
    /// once. There is one at a time.
    fn read_schema(&mut self, proposal: Proposal) -> Option<Proposal> {
        Some(proposal)
    }

    /// Takes what a primary tells of schemas to read elsewhere (`Told::read`); what comes of it
    /// goes to `Engine::schemas_heard`. A host that cannot gives it back, and the engine reads
    /// it at once. There is one at a time.
    fn read_told(&mut self, told: Told) -> Option<Told> {
        Some(told)
    }

    /// What came of a reload (`Engine::reload`): what else happened by it, or why nothing was
    /// put in force.
    fn reloaded(&mut self, outcome: Result<Vec<String>, String>) {
        let _ = outcome;
    }

    /// The libraries of functions that belong to the schema of a database, as they are
    /// now.
    ///
    /// # Errors
    /// Says what cannot be read, and why.
    fn libraries(&mut self, db: usize) -> Result<Vec<Library>, String> {
        let _ = db;
        Ok(Vec::new())
    }

    /// Another schema governs a database from now on.
    fn governed(&mut self, db: usize, schema: &Schema) {
        let _ = (db, schema);
    }

    // Snapshots.

    /// Whether snapshots may be written where they are kept.
    ///
    /// # Errors
    /// Says who else writes there.
    fn may_save(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Writes a snapshot to where snapshots are kept; whether it could. The log has
    /// the reason.
    fn save(&mut self, snapshot: &Snapshot<'_>) -> bool {
        let _ = snapshot;
        false
    }

    /// Sees to it that a snapshot is written soon, without this client waiting; after
    /// what is being written, if it may wait for that.
    fn save_in_background(&mut self, may_wait: bool) -> BackgroundSave {
        let _ = may_wait;
        BackgroundSave::AlreadyRunning
    }

    /// Somebody who follows waits for a snapshot (`Engine::is_full_sync_due`).
    fn sync_wanted(&mut self) {}

    /// This server follows another one from now on, by its name and port, or none
    /// ([`crate::Engine::primary`]).
    fn primary_changed(&mut self, primary: Option<(&[u8], u16)>) {
        let _ = primary;
    }

    /// Whether a snapshot is being written.
    fn is_saving(&self) -> bool {
        false
    }

    /// Whether snapshots are written without being asked for (`save`).
    fn saves_by_itself(&self) -> bool {
        false
    }

    /// When a snapshot was last written, in seconds since the epoch.
    fn last_save_s(&self) -> i64 {
        0
    }

    /// How many bytes a snapshot may have captured amid a script or a transaction before
    /// they are taken.
    fn captured_bytes_max(&self) -> usize {
        usize::MAX
    }

    /// Takes bytes of the snapshot that is being taken, which come before those of its
    /// next step.
    fn take_captured(&mut self, parts: Vec<Vec<u8>>) {
        let _ = parts;
    }

    /// The snapshot that was written last; `None` if there is none or it cannot be
    /// read, of which the log has the reason.
    fn open_snapshot(&mut self) -> Option<Box<dyn Read>> {
        None
    }

    /// A snapshot was loaded.
    fn loaded(&mut self, loaded: Loaded) {
        let _ = loaded;
    }

    /// Keeps what tells which schemas were applied, until a snapshot with so many changes has it
    /// (`Engine::recall_applied`).
    fn remember_applied(&mut self, text: Vec<u8>, dirty: u64) {
        let _ = (text, dirty);
    }

    /// Whether that is still being written.
    fn is_remembering(&mut self) -> bool {
        false
    }

    // The append-only file.

    /// Where what is logged ends, and up to where it is synced, 0 if nothing is known to be;
    /// `None` if there is no log.
    fn log_ends(&self) -> Option<(u64, u64)> {
        None
    }

    /// Whether there is a log, or one is about to begin.
    fn keeps_log(&self) -> bool {
        self.log_ends().is_some()
    }

    /// The append-only file has rows that it is not to have any more, or lacks some: it is
    /// written anew, and a snapshot before it where any are taken, so that rows which leave it are
    /// in that one.
    fn renew_files(&mut self) {}

    /// Sees to it that the append-only file is written anew; later, if it must wait.
    fn rewrite_log(&mut self, must_wait: bool) -> BackgroundSave {
        let _ = must_wait;
        BackgroundSave::AlreadyRunning
    }

    /// The files of the append-only file in order, after these bytes are logged to it; none
    /// if it is not kept or cannot be read, of which the log has the reason.
    fn open_log(&mut self, logged: Vec<u8>) -> Option<Vec<LogFile>> {
        let _ = logged;
        None
    }

    // Scripts.

    /// A script is running: called every so many instructions. A host that finds it has
    /// run for too long answers other clients from here, and may end it.
    fn script_runs(&mut self, script: &mut dyn RunningScript) {
        let _ = script;
    }

    /// A script writes to the log.
    fn log(&mut self, level: LogLevel, line: &[u8]) {
        let _ = (level, line);
    }

    // The process and other servers.

    /// SHUTDOWN has been asked for, and a snapshot is next if one is to be saved before the
    /// end; whether the process may end. It may not while what it has acknowledged is in no
    /// file that the next one loads. Saving may yet fail, and then the process goes on too.
    fn begin_shutdown(&mut self, wish: LastWish) -> bool {
        let _ = wish;
        true
    }

    /// The process goes on although SHUTDOWN was asked for.
    fn shutdown_failed(&mut self) {}

    /// SHUTDOWN ABORT: the process goes on, also if a signal waits for files to be complete.
    /// Whether it was to end, which the engine knows only of what waits for replicas.
    fn abort_shutdown(&mut self, was_waiting: bool) -> bool {
        was_waiting
    }

    /// Ends the process as soon as the replies so far are written.
    fn shut_down(&mut self) {}

    /// Lets go of a client's connection at once. That it is to be closed is delivered as well.
    fn hang_up(&mut self, client: ClientId) {
        let _ = client;
    }

    /// Whether a client may send DEBUG (`enable-debug-command`).
    fn may_debug(&self, client: ClientId) -> bool {
        let _ = client;
        false
    }

    /// Sends requests to another server and waits for its replies, which are lines, one
    /// for each of `reply_count`.
    fn exchange(&mut self, remote: Remote<'_>, requests: &[u8], reply_count: usize) -> Exchange {
        let _ = (remote, requests, reply_count);
        Exchange { lines: Vec::new(), failure: Some(ExchangeFailure::Connecting) }
    }

    /// As `exchange`, for a client and without waiting: what comes of it goes to
    /// `Engine::exchanged`. A host that cannot gives the requests back, and the engine calls
    /// `exchange`.
    fn exchange_elsewhere(
        &mut self,
        client: ClientId,
        remote: Remote<'_>,
        requests: Vec<u8>,
        reply_count: usize,
    ) -> Option<Vec<u8>> {
        let _ = (client, remote, reply_count);
        Some(requests)
    }
}

/// A host that has nothing: for trials, and for whoever runs an engine by itself.
#[derive(Debug)]
pub struct Nobody;

impl Host for Nobody {}
