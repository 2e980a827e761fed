//! Loading what was there, while clients are already told to wait.
//!
//! Owns the start: the append-only file if it is kept, else the last snapshot; in steps,
//! between which connections are answered. Then the log goes on where it ended.
//! Where there is no append-only file yet the last snapshot is loaded all the same, and
//! becomes its base: Redis would begin with nothing.
//! Not here: what a file holds (`keyward-engine`).

use crate::clock::Instant;
use crate::files::log_parts::{open, tell_apart};
use crate::files::persistence::Persistence;
use crate::files::progress::Progress;
use crate::process::log;
use crate::serve::core::Core;
use crate::serve::error::ServeError;
use crate::serve::pace::Pace;
use crate::serve::saving::rewriting;
use crate::serve::server::Server;
use crate::settings::table::Id;
use keyward_engine::{
    Coverage, DueRows, Host, LoadError, Loaded, Replay, Settling, SnapshotOptions,
};
use keyward_persist::PersistError;
use keyward_persist::aof::{AofFiles, AofPart, Listing, Log, ReadError, Reader};
use keyward_persist::disk::{Disk, Source};
use keyward_resp::Batch;
use std::io::Write;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Rows loaded between two looks at the connections.
const STEP_ROWS: usize = 1000;
/// How often the log tells how far it is.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// Loading under way.
struct Loading<'a> {
    server: &'a Server,
    disk: &'a dyn Disk,
    loaded: Loaded,
    /// Bytes of the files before this one.
    before: u64,
    reported: Instant,
}

/// Loads what there is, and begins the log. The log of the server tells why it could not.
pub(crate) async fn load(server: &Rc<Server>) -> Result<(), ServeError> {
    load_all(server).await.inspect_err(|error| match error {
        ServeError::Open(PersistError { action: "open", file, problem }) => {
            let file = file.display();
            tracing::warn!("Fatal error: can't open the file {file} for reading: {problem}");
        }
        ServeError::Load {
            problem: LoadError::File(keyward_rdb::Error::Checksum { .. }), ..
        } => {
            tracing::warn!("Fatal error loading the DB, RDB CRC error: {error}. Exiting.");
        }
        // These are told where they are found, and with the file they are in.
        ServeError::AppendOnly(ReadError::Truncated { .. } | ReadError::Damaged { .. })
        | ServeError::Load { problem: LoadError::UnknownCommand(_), .. } => {}
        // The program says it where it was started.
        ServeError::Unaccepted(_) if log::is_shown() => {}
        ServeError::Unaccepted(unaccepted) => {
            unaccepted.to_string().lines().for_each(|line| tracing::warn!("{line}"));
        }
        error => tracing::warn!("Fatal error loading the DB: {error}. Exiting."),
    })
}

async fn load_all(server: &Rc<Server>) -> Result<(), ServeError> {
    let start = Instant::now();
    let (disk, is_logged) = {
        let core = &mut *server.core.borrow_mut();
        core.engine.set_time(core.host.clock.now_us());
        core.engine.begin_loading();
        core.host.loading = Some(Progress::begun());
        let disk = std::sync::Arc::clone(&core.host.persistence.disk);
        (disk, core.host.settings.is_on(Id::AppendOnly))
    };
    let loaded = Loaded::default();
    let mut loading = Loading { server, disk: &*disk, loaded, before: 0, reported: start };
    let mut files = None;
    if is_logged {
        let opened = server.core.borrow().host.open_append_only()?;
        if opened.is_empty() {
            loading.snapshot(Coverage::Whole).await?;
        } else {
            loading.parts(&opened.parts()?).await?;
            loading.beside_log().await?;
        }
        files = Some(opened);
    } else {
        loading.snapshot(Coverage::Whole).await?;
        server.core.borrow().host.tell_unused_log();
    }
    let loaded = loading.loaded;
    let is_amid_ends = server.core.borrow().engine.has_pending_ends();
    let has_log = files.as_ref().is_some_and(|files| !files.is_empty());
    let applied = recall_applied(server, has_log)?;
    let has_joined = !server.core.borrow().engine.appended_elsewhere().is_empty();
    let needs_files = settle(server, &mut files).await? || has_joined;
    let is_rewritten = bring_into_log(server, &mut files).await?;
    let core = &mut *server.core.borrow_mut();
    core.engine.end_loading(&mut core.host, loaded);
    end_recalling(core, applied);
    core.host.loading = None;
    let (seconds, rows) = (start.elapsed().as_secs_f64(), core.engine.row_count());
    match has_log {
        // Commands make and remove rows: only the sum of it means anything.
        true => {
            tracing::info!("DB loaded from append only file: {seconds:.3} seconds, {rows} keys");
        }
        false => tracing::info!(
            "DB loaded from disk: {seconds:.3} seconds, {} keys loaded, {} keys expired",
            loaded.rows,
            loaded.expired,
        ),
    }
    if let Some(files) = files {
        begin_log(core, files)?;
    }
    if needs_files {
        // A schema came: the next start need not be told again to accept it.
        match is_rewritten {
            true => core.host.renew_snapshot(),
            false => core.host.renew_files(),
        }
    }
    if is_amid_ends && !is_rewritten {
        tell_ends(core);
    }
    Ok(())
}

/// The append-only file ended amid large ends: what is left of them goes, or is gone, and the file
/// is rewritten without it. A replica leaves them to its primary.
fn tell_ends(core: &mut Core) {
    let amid = "The append only file ended amid the removal of what goes with other keys";
    if core.engine.primary().is_some() {
        tracing::info!("{amid}; the primary tells the rest, or a promotion does it.");
        return;
    }
    match core.engine.has_pending_ends() {
        true => tracing::info!("{amid}; this goes on, and then the file is rewritten without it."),
        false => tracing::info!("{amid}; this is done, and the file is rewritten without it."),
    }
    core.host.append_only.rewrites.is_wanted = true;
    core.host.files_wanted.give();
}

/// What is to become of the file of what was applied once the start has succeeded.
enum AppliedNote {
    /// There is none, or it is not this server's to use.
    None,
    /// It goes if its text is not in force: another schema came, and the files remember that one.
    Used(Vec<u8>),
    /// Nobody can read it.
    Damaged,
    /// There is an append-only file, which remembers by itself.
    BesideLog(Vec<u8>),
}

/// Tells the engine what was applied since the last snapshot. An append-only file has that
/// itself, but for what was accepted of rows that it leaves to the snapshot, and a replica is told
/// by its primary.
fn recall_applied(server: &Server, has_log: bool) -> Result<AppliedNote, ServeError> {
    let Core { engine, host, .. } = &mut *server.core.borrow_mut();
    if engine.primary().is_some() {
        return Ok(AppliedNote::None);
    }
    let Persistence { applied, disk, .. } = &mut host.persistence;
    let Some(note) = applied.read(&**disk, &host.settings)? else { return Ok(AppliedNote::None) };
    let is_read = match has_log {
        true => engine.recall_accepted(&note.text, note.is_of_snapshot),
        false => engine.recall_applied(&note.text, note.is_of_snapshot),
    };
    if !is_read && has_log {
        tracing::warn!(
            "!!! The file beside the snapshot that has what KEYWARD SCHEMA APPLY was told to do is \
             damaged, and is not used: the append-only file has the schema, and what was accepted \
             of rows that it leaves to the snapshot is asked for again !!!"
        );
        return Ok(AppliedNote::Damaged);
    }
    if !is_read {
        tracing::warn!(
            "!!! The file beside the snapshot that has the schema which KEYWARD SCHEMA APPLY put in \
             force is damaged, and is not used: compare KEYWARD SCHEMA SHOW with what was applied \
             !!!"
        );
        return Ok(AppliedNote::Damaged);
    }
    if !note.is_of_snapshot && (!has_log || engine.has_rows_since_snapshot()) {
        let snapshot = match host.persistence.open(&host.settings)? {
            Some(_) => "beside another snapshot than the one that is loaded",
            None => "beside a snapshot, and there is none any more",
        };
        tracing::warn!(
            "The file that has the schema which KEYWARD SCHEMA APPLY put in force was written \
             {snapshot}: what was accepted then is not taken as accepted of these rows"
        );
    }
    Ok(match has_log {
        true => AppliedNote::BesideLog(note.text),
        false => AppliedNote::Used(note.text),
    })
}

/// The start has succeeded: the file of what was applied is kept, removed or set aside.
fn end_recalling(core: &mut Core, note: AppliedNote) {
    let Core { engine, host, .. } = core;
    let Persistence { applied, disk, .. } = &mut host.persistence;
    let why = match note {
        AppliedNote::None => return,
        AppliedNote::Used(text) if !engine.has_applied(&text) => return applied.forget(&**disk),
        AppliedNote::BesideLog(text) if !engine.has_applied(&text) => {
            "tells of another schema than the append-only file, which is in force"
        }
        AppliedNote::Used(_) | AppliedNote::BesideLog(_) => return,
        AppliedNote::Damaged => "is damaged",
    };
    match applied.set_aside(&**disk) {
        Ok(Some(aside)) => tracing::warn!(
            "The file beside the snapshot that has what KEYWARD SCHEMA APPLY put in force {why}: \
             it is kept as {}",
            aside.display()
        ),
        Ok(None) => {}
        Err(error) => tracing::warn!("What KEYWARD SCHEMA APPLY put in force {why}: {error}"),
    }
}

/// Makes rows under schemas what those say; whether the files are behind by that. Where an
/// append-only file goes on, it has that. It is written before rows change by what was accepted, or
/// by large ends that it ended amid of.
async fn settle(server: &Server, files: &mut Option<AofFiles>) -> Result<bool, ServeError> {
    let (mut settling, is_replica) = {
        let Core { engine, host, .. } = &mut *server.core.borrow_mut();
        // All rows are judged by one time.
        engine.set_time(host.clock.now_us());
        let has_log = files.as_ref().is_some_and(|files| !files.is_empty());
        let settling = engine.begin_settling(has_log);
        let is_replica = engine.primary().is_some();
        if is_replica {
            engine.observe_unremembered(host);
        } else if has_log {
            // What rows lack is in the file, too; it is written once nothing is asked any more.
            engine.go_on_logging();
        }
        (settling, is_replica)
    };
    if is_replica {
        // It is what its primary is: nothing is asked of its rows.
        while server.core.borrow_mut().engine.bring_rows(STEP_ROWS) {
            server.agenda.pause().await;
        }
        return Ok(false);
    }
    let step = |settling: &mut Settling| {
        let Core { engine, host, .. } = &mut *server.core.borrow_mut();
        engine.settle_rows(host, settling, STEP_ROWS)
    };
    let begin_log = |settling: &Settling, files: &mut Option<AofFiles>| {
        let core = &mut *server.core.borrow_mut();
        let is_logged = settling.is_carrying_out() || core.engine.has_pending_ends();
        match files.take_if(|files| is_logged && !files.is_empty()) {
            Some(files) => begin_log(core, files),
            None => Ok(()),
        }
    };
    begin_log(&settling, files)?;
    while step(&mut settling).map_err(ServeError::Unaccepted)? {
        begin_log(&settling, files)?;
        {
            let core = &mut *server.core.borrow_mut();
            core.host.append_only.collect(&mut core.engine);
        }
        server.agenda.pause().await;
    }
    let core = &mut *server.core.borrow_mut();
    core.host.append_only.collect(&mut core.engine);
    Ok(settling.needs_files())
}

/// Where rows are to be in the append-only file that only snapshots have, it is written anew with
/// them before anybody is served: what is acknowledged later is in it. Whether that was done.
async fn bring_into_log(
    server: &Rc<Server>,
    files: &mut Option<AofFiles>,
) -> Result<bool, ServeError> {
    let unlogged = {
        let core = &mut *server.core.borrow_mut();
        let unlogged = core.engine.unlogged();
        // What a replica has its primary says, and may say something else at once.
        if unlogged.is_empty() || core.engine.primary().is_some() {
            return Ok(false);
        }
        if let Some(files) = files.take() {
            begin_log(core, files)?;
        }
        unlogged
    };
    for db in unlogged {
        tracing::warn!(
            "Database {db}: the append-only file does not have its rows, and is to have them from \
             now on: it is written anew before anybody is served"
        );
    }
    match rewriting::rewrite(server).await {
        true => Ok(true),
        false => Err(ServeError::NotLogged),
    }
}

impl Loading<'_> {
    /// Loads what the append-only file that was loaded leaves to snapshots.
    async fn beside_log(&mut self) -> Result<(), ServeError> {
        let is_left = self.server.core.borrow_mut().engine.end_log_files();
        for db in self.server.core.borrow().engine.appended_elsewhere() {
            tracing::warn!(
                "Database {db}: the append-only file does not have its rows, and another server has \
                 appended some: these are served with those that the last snapshot has, if there \
                 is one"
            );
        }
        if is_left {
            return self.snapshot(Coverage::SnapshotsOnly).await;
        }
        self.server.core.borrow_mut().engine.drop_unlogged(false);
        Ok(())
    }

    /// Loads the last snapshot, if there is one.
    async fn snapshot(&mut self, coverage: Coverage) -> Result<(), ServeError> {
        let source = {
            let core = &mut *self.server.core.borrow_mut();
            let source = core.host.persistence.open(&core.host.settings)?;
            if coverage == Coverage::SnapshotsOnly {
                core.engine.drop_unlogged(source.is_some());
                if source.is_none() {
                    tell_missing(core);
                }
            }
            source
        };
        let Some(source) = source else { return Ok(()) };
        self.expect(source.bytes);
        let bytes = source.bytes;
        // A replica leaves it to its primary what ends.
        let due = match self.server.core.borrow().engine.primary() {
            Some(_) => DueRows::Kept,
            None => DueRows::Dropped,
        };
        let loaded = self.rows(source, coverage, due).await;
        loaded.map_err(|problem| {
            let host = &self.server.core.borrow().host;
            ServeError::Load { file: host.persistence.path(&host.settings), problem }
        })?;
        self.before += bytes;
        Ok(())
    }

    fn expect(&self, bytes: u64) {
        if let Some(progress) = &mut self.server.core.borrow_mut().host.loading {
            progress.total_bytes += bytes;
        }
    }

    /// Loads rows; returns how many bytes they were.
    async fn rows(
        &mut self,
        Source { content, bytes }: Source,
        coverage: Coverage,
        due: DueRows,
    ) -> Result<u64, LoadError> {
        let mut loader = self.server.core.borrow().engine.open_snapshot(content, coverage, due)?;
        loader.expect_bytes(bytes);
        let mut pace = Pace::new(Id::KeyLoadDelay);
        loop {
            let has_more = {
                let Core { engine, host, .. } = &mut *self.server.core.borrow_mut();
                engine.set_time(host.clock.now_us());
                engine.load_rows(host, &mut loader, STEP_ROWS)?
            };
            self.report(loader.offset());
            if !has_more {
                break;
            }
            self.server.agenda.pause().await;
            pace.keep(self.server, loader.loaded.rows, || true).await;
        }
        self.loaded.rows += loader.loaded.rows;
        self.loaded.expired += loader.loaded.expired;
        self.loaded.empty += loader.loaded.empty;
        Ok(loader.offset())
    }

    /// Tells how far it is.
    fn report(&mut self, offset: u64) {
        let core = &mut *self.server.core.borrow_mut();
        let Some(progress) = &mut core.host.loading else { return };
        progress.loaded_bytes = self.before + offset;
        if self.reported.elapsed() >= REPORT_INTERVAL {
            self.reported = Instant::now();
            let percent = progress.loaded_bytes * 100 / progress.total_bytes.max(1);
            tracing::info!("Loading: {percent} % of {} bytes", progress.total_bytes);
        }
    }

    /// Loads the parts of the append-only file, in order.
    async fn parts(&mut self, parts: &[AofPart]) -> Result<(), ServeError> {
        self.expect(parts.iter().map(|part| part.bytes).sum());
        for (index, part) in parts.iter().enumerate() {
            let start = Instant::now();
            let is_last = AofPart::may_be_torn(parts, index);
            let source = open(self.disk, &part.path)?;
            let (source, is_snapshot) = tell_apart(source, &part.path)?;
            let mut offset = 0;
            if is_snapshot {
                let loaded = self.rows(source, Coverage::Whole, DueRows::Kept).await;
                let failed = |problem| ServeError::Load { file: part.path.clone(), problem };
                offset = loaded.map_err(failed)?;
            }
            // Older files have commands behind a snapshot.
            if !is_snapshot || offset < part.bytes {
                self.commands(part, offset, is_last).await?;
            }
            self.before += part.bytes;
            let name = part.path.file_name().unwrap_or_default().display();
            let kind = if part.is_base { "base" } else { "incr" };
            let seconds = start.elapsed().as_secs_f64();
            tracing::info!("DB loaded from {kind} file {name}: {seconds:.3} seconds");
        }
        Ok(())
    }

    /// Carries commands out again.
    async fn commands(
        &mut self,
        part: &AofPart,
        offset: u64,
        is_last: bool,
    ) -> Result<(), ServeError> {
        let mut reader = Reader::from(self.disk, &part.path, offset)?;
        let (mut replay, mut batch, mut is_cut) = (Replay::new(), Batch::new(), false);
        loop {
            batch.clear();
            match reader.next(&mut batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err(ReadError::Truncated { sound, .. }) if self.may_cut(is_last) => {
                    self.cut(&part.path, sound)?;
                    is_cut = true;
                    break;
                }
                Err(error) => {
                    tell(&error, &part.path);
                    return Err(ServeError::AppendOnly(error));
                }
            }
            self.annotations(&mut reader).await;
            {
                let Core { engine, host, .. } = &mut *self.server.core.borrow_mut();
                engine.set_time(host.clock.now_us());
                let loaded = engine.load_commands(host, &mut replay, reader.buffer(), &batch);
                loaded.map_err(|problem| {
                    if let LoadError::UnknownCommand(name) = &problem {
                        let path = part.path.display();
                        tracing::warn!(
                            "Unknown command '{name}' reading the append only file {path}"
                        );
                    }
                    ServeError::Load { file: part.path.clone(), problem }
                })?;
            }
            self.report(reader.offset());
            self.server.agenda.pause().await;
        }
        self.annotations(&mut reader).await;
        if is_last && !is_cut {
            // Nothing was changed since.
            self.server.core.borrow_mut().engine.resume_stream(reader.last_annotation());
        }
        if replay.failures > 0 {
            let failures = replay.failures;
            let path = part.path.display();
            tracing::warn!("{failures} commands of {path} failed when they were carried out again");
        }
        Ok(())
    }

    /// Hears what annotations say of schemas, and has rows come to their tables.
    async fn annotations(&self, reader: &mut Reader) {
        let lines = reader.take_annotations();
        if lines.is_empty() {
            return;
        }
        self.server.core.borrow_mut().engine.load_annotations(&lines);
        while self.server.core.borrow_mut().engine.bring_rows(STEP_ROWS) {
            self.server.agenda.pause().await;
        }
    }

    fn may_cut(&self, is_last: bool) -> bool {
        if !is_last {
            tracing::warn!("Fatal error: the truncated file is not the last file");
        }
        is_last && self.server.core.borrow().host.settings.is_on(Id::LoadTruncated)
    }

    fn cut(&self, path: &Path, sound: u64) -> Result<(), PersistError> {
        let name = path.display();
        tracing::warn!("!!! Warning: short read while loading the AOF file {name}!!!");
        tracing::warn!("!!! Truncating the AOF {name} at offset {sound} !!!");
        self.disk.truncate(path, sound).map_err(|problem| PersistError {
            action: "truncate",
            file: path.into(),
            problem,
        })?;
        tracing::warn!("AOF {name} loaded anyway because aof-load-truncated is enabled");
        Ok(())
    }
}

/// Says that there is no snapshot, to which the append-only file leaves rows.
fn tell_missing(core: &Core) {
    let path = core.host.persistence.path(&core.host.settings);
    for db in core.engine.left_to_snapshots() {
        tracing::warn!(
            "Database {db}: the append-only file leaves its rows to the last snapshot, and there is \
             no {}: if one was saved, look at the settings dir and dbfilename",
            path.display()
        );
    }
}

/// Says in Redis's words why a file cannot be loaded.
fn tell(error: &ReadError, path: &Path) {
    let path = path.display();
    match error {
        ReadError::Truncated { .. } => tracing::warn!(
            "Unexpected end of file reading the append only file {path}. You can: 1) Make a \
             backup of your AOF file, then use ./redis-check-aof --fix <filename.manifest>. 2) \
             Alternatively you can set the 'aof-load-truncated' configuration option to yes and \
             restart the server."
        ),
        ReadError::Damaged { .. } => tracing::warn!(
            "Bad file format reading the append only file {path}: make a backup of your AOF \
             file, then use ./redis-check-aof --fix <filename.manifest>"
        ),
        ReadError::Io(_) => {}
    }
}

/// Goes on with the log, or begins it with a base of what there is.
fn begin_log(core: &mut Core, mut files: AofFiles) -> Result<(), PersistError> {
    let (file, path, bytes);
    let is_new = files.is_empty();
    if is_new {
        (file, path) = files.next_increment(Listing::WithBase)?;
        bytes = 0;
        let options = SnapshotOptions {
            coverage: Coverage::AppendOnly,
            sums: core.host.settings.is_on(Id::RdbChecksum),
            used_bytes: core.host.memory.used(),
        };
        let mut base = files.new_base()?;
        core.engine
            .snapshot()
            .write_to(&mut base as &mut dyn Write, options)
            .map_err(|problem| PersistError { action: "write", file: path.clone(), problem })?;
        core.host.append_only.older_bytes = base.finish()?;
        files.adopt_base()?;
    } else {
        let parts = files.parts()?;
        let total: u64 = parts.iter().map(|part| part.bytes).sum();
        (file, path, bytes) = files.continue_last()?;
        let base = parts.iter().find(|part| part.is_base).map_or(0, |base| base.bytes);
        core.host.append_only.older_bytes = total - bytes.min(total);
        core.host.append_only.base_bytes = base;
        files.remove_history()?;
    }
    if core.host.append_only.base_bytes == 0 {
        core.host.append_only.base_bytes = core.host.append_only.older_bytes;
    }
    core.host.append_only.begin(Log::new(file, &path, bytes));
    core.host.append_only.has_base = true;
    core.host.append_only.files = Some(files);
    match is_new {
        true => core.engine.log_changes(true),
        false => core.engine.go_on_logging(),
    }
    Ok(())
}
