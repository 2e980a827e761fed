//! What the host needs to make the engine outlive its process: snapshots, the log of
//! changes, loading.
//!
//! Owns nothing: the engine's interface for persistence. Bytes go out and come in here;
//! files are the host's.

use crate::engine::Engine;
use crate::engine::context::{Ctx, Mode, Stage};
use crate::engine::shared::Shared;
use crate::governed::arrival::{Arrival, Expected, Unaccepted};
use crate::governed::libraries::Restoration;
use crate::governed::memory::Applied;
use crate::governed::settlement::{Settlement, Stand};
use crate::host::{Host, Library};
use crate::sessions::session::Session;
use crate::sessions::stream::{AppendLog, is_foreign_select};
use crate::snapshot::load::load;
use crate::snapshot::{
    self, Coverage, DueRows, LoadError, Loaded, Snapshot, SnapshotLoader, SnapshotOptions,
};
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError};
use keyward_resp::{Args, Batch};
use keyward_schema::Persist;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::loading::Rules;
use keyward_store::keyspace::{OnConflict, SnapshotProgress};
use keyward_store::tables::database::Database;
use keyward_store::tables::reclaim::Freeing;
use std::io::Read;

/// Commands of the append-only file being carried out again.
#[derive(Debug)]
pub struct Replay {
    session: Session,
    out: Vec<u8>,
    /// How many of them failed, which none should.
    pub failures: u64,
}

impl Replay {
    /// Before the first command.
    pub fn new() -> Replay {
        Replay { session: Session::new(ClientId(0), 0, true), out: Vec::new(), failures: 0 }
    }
}

impl Default for Replay {
    fn default() -> Replay {
        Replay::new()
    }
}

/// Whether no server logs a command: it is about files, settings or the process, or sends keys
/// elsewhere, of which the log has the end.
fn is_never_logged(command: &Command) -> bool {
    let is_about_server = command.flags.has(Flag::Admin) && !command.flags.has(Flag::Write);
    is_about_server || command.id == CommandId::Migrate
}

/// How far the rows that were loaded are what their schemas say.
#[derive(Debug)]
pub struct Settling(Settlement);

impl Settling {
    /// Whether the files are behind, because a schema that came has changed rows, or says of
    /// others that they outlive a restart.
    pub fn needs_files(&self) -> bool {
        self.0.needs_files
    }

    /// Whether what changes rows from now on was accepted: a log that goes on is to have it.
    pub fn is_carrying_out(&self) -> bool {
        self.0.is_carrying_out()
    }
}

impl Engine {
    /// Says why writes are refused, if they are: what should outlive the process cannot
    /// be written.
    pub fn refuse_writes(&mut self, refusal: Option<WireError>) {
        self.shared.write_refusal = refusal;
    }

    /// Says which schemas are to govern the rows that are loaded next. What the files remember
    /// decides what is put in force when (`settle_rows`).
    pub fn expect_schemas(&mut self, expected: Expected) {
        self.shared.arrival = Some(Box::new(Arrival::new(expected)));
    }

    /// Begins or ends the log of changes for the append-only file. It begins a file, which
    /// remembers the schemas in force.
    pub fn log_changes(&mut self, is_on: bool) {
        let schemas = self.shared.memory(&self.keys).text();
        self.log_to(is_on, schemas);
        self.shared.log_cover.begin(&self.keys, is_on);
    }

    /// Goes on with the log of changes in a file that was loaded, unless it does so already, and
    /// remembers the schemas that it told of. Until loading is over it remembers no others.
    pub fn go_on_logging(&mut self) {
        if self.shared.log.is_on {
            return;
        }
        let schemas = match &self.shared.arrival {
            // What was remembered is not what governs the rows behind it.
            Some(arrival) if arrival.is_continued => String::new(),
            Some(arrival) => arrival.text.clone(),
            None => std::mem::take(&mut self.shared.schemas_loaded),
        };
        self.log_to(true, schemas);
    }

    fn log_to(&mut self, is_on: bool, schemas: String) {
        self.shared.feed_effects(&mut self.keys);
        self.shared.log = AppendLog::new(is_on, schemas);
        self.shared.listen(&mut self.keys);
    }

    /// Takes the log of changes since the last call.
    #[inline]
    pub fn take_log(&mut self, out: &mut Vec<u8>) {
        self.shared.feed_effects(&mut self.keys);
        self.shared.log.take(out);
    }

    /// What is logged from now on goes to another file.
    pub fn begin_log_file(&mut self) {
        self.shared.log.selected = None;
    }

    /// Everything there is at this instant, ready to be written.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::new(&self.keys, self.shared.snapshot_head(&self.keys))
    }

    /// As [`Engine::snapshot`], the last before the end: a start from it goes on with the stream
    /// of changes, if it brings everything back.
    pub fn last_snapshot(&mut self) -> Snapshot<'_> {
        self.shared.feed_effects(&mut self.keys);
        Snapshot::new(&self.keys, self.shared.last_snapshot_head(&self.keys))
    }

    /// Loads a snapshot, before clients come. What was loaded before an error is there.
    pub fn load(
        &mut self,
        host: &mut dyn Host,
        source: &mut dyn Read,
    ) -> Result<Loaded, LoadError> {
        self.trusted(host, |ctx| load(ctx, source, OnConflict::Refuse))
    }

    /// Loads libraries of functions together, in place of what there is of each: all or
    /// none.
    ///
    /// # Errors
    /// Says which file cannot be loaded, why, and the way out.
    pub fn load_libraries(
        &mut self,
        host: &mut dyn Host,
        libraries: &[Library],
    ) -> Result<(), String> {
        if libraries.is_empty() {
            return Ok(());
        }
        let restoration = Restoration::of(&self.shared, libraries);
        let words = [b"FUNCTION", &b"RESTORE"[..], &restoration.payload, restoration.policy];
        let reply = self.call_trusted(host, &words);
        match reply.as_slice() {
            [b'-', problem @ ..] => Err(restoration.problem(&self.shared, host, problem)),
            _ => {
                restoration.tell(host);
                Ok(())
            }
        }
    }

    /// Does something as no client could.
    pub(crate) fn trusted<T>(
        &mut self,
        host: &mut dyn Host,
        work: impl FnOnce(&mut Ctx<'_>) -> T,
    ) -> T {
        let mut session = Session::new(ClientId(0), self.keys.now_ms(), true);
        let Engine { keys, shared, .. } = self;
        let mut out = Vec::new();
        let stage = Stage { keys, db: session.db, session: &mut session, shared, host };
        let command = &keyward_commands::COMMANDS[CommandId::FunctionLoad as usize];
        work(&mut Ctx::new(stage, Mode::Queued, command, Args::new(&[], &[]), &mut out))
    }

    /// Begins to load in steps. Until the end clients are told to wait.
    pub fn begin_loading(&mut self) {
        self.shared.is_loading = true;
    }

    /// All of an append-only file is loaded, which told which databases it has; whether there is
    /// one that it leaves to snapshots, or may.
    pub fn end_log_files(&mut self) -> bool {
        self.shared.log_cover.end_hearing(&self.keys);
        let is_left = |db: &usize| self.shared.log_cover.place(*db) == Persist::Rdb;
        let left_to_snapshots = (0..self.keys.database_count()).filter(is_left).collect();
        self.keys.left_to_snapshots = left_to_snapshots;
        // Where there are fewer databases now than there were, the snapshot tells whether that
        // would lose rows.
        self.shared.log_cover.leaves_to_snapshots() || self.shared.log_cover.has_doubt()
    }

    /// The databases that the append-only file which was loaded leaves to snapshots.
    pub fn left_to_snapshots(&self) -> &[usize] {
        &self.keys.left_to_snapshots
    }

    /// The databases that the append-only file which was loaded does not have, and another server
    /// has appended rows of.
    pub fn appended_elsewhere(&self) -> Vec<usize> {
        let databases = 0..self.keys.database_count();
        databases.filter(|db| self.shared.log_cover.is_foreign(*db)).collect()
    }

    /// Empties databases that the append-only file does not have: what it tells of them follows
    /// nothing, unless another server appended it. Of those that it leaves to snapshots that stays
    /// unless there is one.
    pub fn drop_unlogged(&mut self, has_snapshot: bool) {
        for db in 0..self.keys.database_count() {
            let is_dropped = match self.shared.log_cover.place(db) {
                _ if self.shared.log_cover.is_foreign(db) => false,
                Persist::Aof => false,
                Persist::Rdb => has_snapshot,
                Persist::None => true,
            };
            if is_dropped && !self.keys.database_at(db).is_empty() {
                self.keys.flush(db, Freeing::AtOnce);
            }
        }
    }

    /// Begins to load a snapshot in steps.
    pub fn open_snapshot<R: Read>(
        &self,
        source: R,
        coverage: Coverage,
        due: DueRows,
    ) -> Result<SnapshotLoader<R>, LoadError> {
        let what = (coverage, due);
        SnapshotLoader::new(&self.keys, &self.shared, source, what, OnConflict::Refuse)
    }

    /// Loads about so many rows of a snapshot; whether there are more.
    pub fn load_rows<R: Read>(
        &mut self,
        host: &mut dyn Host,
        loader: &mut SnapshotLoader<R>,
        rows: usize,
    ) -> Result<bool, LoadError> {
        self.trusted(host, |ctx| loader.step(ctx, rows))
    }

    /// Carries commands of the append-only file out again.
    pub fn load_commands(
        &mut self,
        host: &mut dyn Host,
        replay: &mut Replay,
        buffer: &[u8],
        batch: &Batch,
    ) -> Result<(), LoadError> {
        let present = self.keys.leave_present(Rules::Rest);
        let outcome = self.replay(host, replay, buffer, batch);
        self.keys.enter_present(present);
        outcome
    }

    fn replay(
        &mut self,
        host: &mut dyn Host,
        replay: &mut Replay,
        buffer: &[u8],
        batch: &Batch,
    ) -> Result<(), LoadError> {
        let Replay { session, out, failures } = replay;
        let mut prepared = std::mem::take(&mut self.prepared);
        let mut next = 0;
        while next < batch.len() {
            let window =
                prepared.window((&self.keys, &self.shared.names), session.db, buffer, batch, next);
            for index in window.clone() {
                let args = batch.command(index, buffer);
                let version = self.keys.schema_version();
                let (command, known) =
                    prepared.command(index - window.start, (session.db, version));
                if is_foreign_select(args.at(0)) {
                    self.note_continued();
                }
                if self.shared.log_cover.is_silent()
                    && let Some(command) = command
                {
                    let call = (command, args);
                    self.shared.log_cover.hear_command(&self.keys, session.db, call);
                }
                // Nothing of a file that is loaded writes files.
                if command.is_some_and(is_never_logged) {
                    *failures += 1;
                    continue;
                }
                self.accept(host, session, command, args, known, out);
                if out.starts_with(b"-ERR unknown command") {
                    let name = args.at(0).escape_ascii().to_string();
                    return Err(LoadError::UnknownCommand(name));
                }
                *failures += u64::from(out.first() == Some(&b'-'));
                out.clear();
            }
            next = window.end;
        }
        self.prepared = prepared;
        Ok(())
    }

    /// Another server goes on with the append-only file that is loaded.
    #[cold]
    fn note_continued(&mut self) {
        self.shared.note_continued();
        for db in self.shared.log_cover.hear_foreign(&self.keys) {
            if db < self.keys.database_count() && !self.keys.database_at(db).is_empty() {
                self.keys.flush(db, Freeing::AtOnce);
            }
        }
    }

    /// All is loaded: rows under a schema are to be made what it says, and counters begin.
    /// `has_log` tells whether an append-only file has them, and goes on.
    pub fn begin_settling(&mut self, has_log: bool) -> Settling {
        self.shared.stats.reset();
        self.keys.is_logged = has_log;
        self.keys.end_loading();
        Settling(Settlement::default())
    }

    /// Makes about so many loaded rows what their schemas say; whether there are more.
    ///
    /// # Errors
    /// If that would change rows that another schema governed, or none, and nobody has accepted
    /// it. The engine is not to be used any more then.
    pub fn settle_rows(
        &mut self,
        host: &mut dyn Host,
        settling: &mut Settling,
        rows: usize,
    ) -> Result<bool, Box<Unaccepted>> {
        self.trusted(host, |ctx| {
            let Ctx { keys, shared, session, host, .. } = ctx;
            let mut stand = Stand { keys, shared, session, host: *host };
            settling.0.step(&mut stand, rows).map(|is_over| !is_over)
        })
    }

    /// Takes annotations of the append-only file, whole lines; others than those about schemas
    /// say nothing.
    pub fn load_annotations(&mut self, lines: &[u8]) {
        self.shared.recall_annotations(&self.keys, lines);
    }

    /// Brings about so many rows to the tables of schemas that annotations told of; whether
    /// there are more.
    pub fn bring_rows(&mut self, rows: usize) -> bool {
        !self.shared.bring_recalled(&mut self.keys, rows)
    }

    /// Takes what was kept (`Host::remember_applied`) of schemas that were applied since a
    /// snapshot; whether it can be read. Unless that is the snapshot which was loaded, what was
    /// accepted then is asked again. Before [`Engine::begin_settling`].
    pub fn recall_applied(&mut self, text: &[u8], is_of_loaded: bool) -> bool {
        self.shared.recall_applied(text, is_of_loaded)
    }

    /// As [`Engine::recall_applied`], beside an append-only file, which remembers by itself what was
    /// applied: what was accepted then of rows that it leaves to the snapshot which was loaded.
    pub fn recall_accepted(&mut self, text: &[u8], is_of_loaded: bool) -> bool {
        self.shared.recall_accepted(text, is_of_loaded)
    }

    /// Whether the append-only file leaves rows to the snapshot which was loaded that were under
    /// another schema then.
    pub fn has_rows_since_snapshot(&self) -> bool {
        self.shared.has_rows_since_snapshot()
    }

    /// Whether the schemas that such a text tells of are in force.
    pub fn has_applied(&self, text: &[u8]) -> bool {
        let now = self.shared.memory(&self.keys);
        let is_in_force = |applied: &Applied| {
            applied.memory.in_force.keys().all(|db| applied.memory.means_the_same(&now, *db))
        };
        Applied::read(text).is_ok_and(|applied| is_in_force(&applied))
    }

    /// A replica has loaded its files: where those remember no schema, its own ones are to observe
    /// the rows (`bring_rows`) until its primary tells of others.
    pub fn observe_unremembered(&mut self, host: &mut dyn Host) {
        self.shared.observe_unremembered(&self.keys, host);
    }

    /// How many rows there are, in all databases.
    pub fn row_count(&self) -> usize {
        self.keys.databases().map(Database::len).sum()
    }

    /// Loading is over.
    pub fn end_loading(&mut self, host: &mut dyn Host, loaded: Loaded) {
        host.loaded(loaded);
        // A replica's own schemas wait until it leads.
        let arrival = match &mut self.shared.primary {
            Some(_) => None,
            None => self.shared.arrival.take(),
        };
        self.shared.schemas_loaded = arrival.map_or(String::new(), |arrival| arrival.text);
        self.shared.is_loading = false;
        self.keys.left_to_snapshots.clear();
        self.shared.log_cover.end_loading();
        self.shared.histories.clear();
        self.shared.begins_histories = true;
    }

    /// Brings all rows to their tables that are on the way there because a schema comes
    /// into force, so that [`Engine::snapshot`] has them.
    pub fn gather_rows(&mut self) {
        self.keys.bring_rows(usize::MAX);
    }

    /// Begins a snapshot of this instant that is taken in steps while commands run. There
    /// must be no other.
    pub fn begin_snapshot(&mut self, options: SnapshotOptions) {
        match options.coverage {
            Coverage::AppendOnly if self.shared.log.is_on => {
                self.shared.log_cover.capture_base(&self.keys);
            }
            Coverage::Whole => self.shared.log_cover.capture_snapshot(),
            _ => {}
        }
        let head = self.shared.snapshot_head(&self.keys);
        snapshot::begin(&mut self.keys, head, options);
    }

    /// A snapshot that was taken in steps is written, or could not be.
    pub fn snapshot_ended(&mut self, is_written: bool) {
        self.shared.snapshot_ended(is_written);
    }

    /// The base of the append-only file that was taken in steps is what that begins with from now
    /// on, or could not be written; the databases that only snapshots had until now.
    pub fn base_ended(&mut self, is_written: bool) -> Vec<usize> {
        let mut arrived = Vec::new();
        let Shared { log, log_cover, .. } = &mut self.shared;
        log.annotate(|lines| {
            arrived = log_cover.end_base(is_written, lines);
            // What came from two files may be to leave it again.
            log_cover.follow(&self.keys, lines);
        });
        arrived
    }

    /// Whether rows are to be in the append-only file that only snapshots have, or nothing: it
    /// is to be written anew.
    pub fn awaits_log(&self) -> bool {
        self.shared.log_cover.awaits()
    }

    /// The databases that a start is to bring into the append-only file before anybody is served:
    /// by what is in force now they belong there, and the file that was loaded does not have them,
    /// or their rows come from two files.
    pub fn unlogged(&self) -> Vec<usize> {
        let wanted = self.shared.log_cover.left_out(&self.keys, true);
        // There may be fewer databases than there were.
        let is_wanted = |db: &usize| {
            *db < self.keys.database_count()
                && (self.keys.database_at(*db).persist() == Persist::Aof
                    || self.shared.log_cover.is_joined(*db))
        };
        wanted.into_keys().filter(is_wanted).collect()
    }

    /// Goes on with the snapshot for a fraction of a millisecond; whether it is over.
    /// `receive` takes the bytes of the file in order: its beginning, then parts, which
    /// are [not compressed](keyward_rdb::Compressor); its [end](keyward_rdb::Ending) is
    /// for the host to add.
    pub fn step_snapshot(&mut self, receive: &mut dyn FnMut(Vec<u8>)) -> bool {
        self.keys.step_snapshot(receive)
    }

    /// Nobody wants the snapshot any more. Its steps go on until it is over, and give
    /// nothing.
    pub fn abandon_snapshot(&mut self) {
        self.keys.abandon_snapshot();
    }

    /// How far the snapshot is, if one is being taken.
    pub fn snapshot_progress(&self) -> Option<SnapshotProgress> {
        self.keys.snapshot_progress()
    }

    /// Bytes that the snapshot has captured since its last step.
    pub fn captured_bytes(&self) -> usize {
        self.keys.captured_bytes()
    }
}
