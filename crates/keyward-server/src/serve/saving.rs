//! Files written in the background: snapshots, and the append-only file anew.
//!
//! Owns the task that writes them, one at a time. The engine captures what there was at
//! one instant in steps, between which everybody is served; a thread takes the bytes,
//! compresses them, sums them up, writes and syncs. What is captured and not yet written is
//! bounded: when the disk falls behind the walk waits, and when commands change so much
//! meanwhile that even that is not enough, they do, between those of a script and of a
//! transaction too. Only what a single command changes is captured as a whole.
//! Not here: the thread (`files/snapshot_writer.rs`), how the append-only file goes on
//! meanwhile (`rewriting`), what is written (`keyward-engine`), how it becomes safe
//! (`keyward-persist`).

pub(crate) mod rewriting;

use crate::clock;
use crate::files::data_locks::Guarded;
use crate::files::snapshot_writer::{Saving, Step, Target, Writer};
use crate::serve::agenda;
use crate::serve::commit;
use crate::serve::core::Core;
use crate::serve::pace::Pace;
use crate::serve::sending;
use crate::serve::server::Server;
use crate::settings::table::Id;
use keyward_engine::{Coverage, SnapshotOptions};
use keyward_persist::PersistError;
use keyward_persist::snapshot_file::NewFile;
use keyward_rdb::FileOptions;
use std::rc::Rc;
use std::time::Duration;

/// How long the walk waits when the thread is behind: less than it takes to write what it
/// has, and no shorter, for it gives way whenever somebody wakes up.
const BEHIND_PAUSE: Duration = Duration::from_millis(4);
/// How long a snapshot waits for the end of large ends before those who write do.
const ENDS_PATIENCE: Duration = Duration::from_secs(10);

/// Begins a snapshot of this instant, which goes to `file`; returns the thread's end.
fn begin_snapshot(core: &mut Core, target: Target, file: NewFile) -> Writer {
    let coverage = match target {
        Target::Snapshot => Coverage::Whole,
        Target::AppendOnly => Coverage::AppendOnly,
        Target::Sync => Coverage::Everything,
    };
    let sums = core.host.settings.is_on(Id::RdbChecksum);
    let compresses = core.host.settings.is_on(Id::RdbCompression);
    let used_bytes = core.host.memory.used();
    core.engine.begin_snapshot(SnapshotOptions { coverage, sums, used_bytes });
    let alarm = core.host.alarm.clone();
    let options = FileOptions { compresses, sums };
    let (saving, writer) = Saving::begin(target, file, options, alarm);
    core.host.saving = Some(saving);
    writer
}

/// Walks a snapshot that has begun to its end; returns how long its file is. One that is not
/// wanted any more is given up.
pub(crate) async fn finish_snapshot(
    server: &Server,
    writer: Writer,
    is_wanted: impl Fn() -> bool,
) -> Result<u64, PersistError> {
    let (mut pace, total) = (Pace::new(Id::KeySaveDelay), snapshot_rows(server).1);
    loop {
        if !is_wanted() {
            give_up(server).await;
        }
        let step = {
            let Core { engine, host, .. } = &mut *server.core.borrow_mut();
            host.saving.as_mut().map_or(Step::Over, |saving| saving.step(engine))
        };
        match step {
            Step::More => server.agenda.pause().await,
            Step::Behind => server.agenda.sleep(BEHIND_PAUSE).await,
            Step::Over => {}
        }
        // What is over in a step is slowed down, too.
        let rows = snapshot_rows(server).0.unwrap_or(total);
        pace.keep(server, rows, &is_wanted).await;
        if matches!(step, Step::Over) {
            break;
        }
    }
    if let Some(saving) = &server.core.borrow().host.saving {
        saving.end();
    }
    let written = agenda::received(&writer).await;
    let host = &mut server.core.borrow_mut().host;
    if let Some(saving) = host.saving.take() {
        match saving.target {
            Target::Snapshot => host.persistence.last_peak_bytes = saving.peak_bytes,
            Target::AppendOnly => host.append_only.rewrites.last_peak_bytes = saving.peak_bytes,
            Target::Sync => {}
        }
    }
    written
}

/// How many rows of a snapshot are handed over, unless it is over, and how many it has.
pub(crate) fn snapshot_rows(server: &Server) -> (Option<u64>, u64) {
    let progress = server.core.borrow().engine.snapshot_progress();
    (progress.map(|progress| progress.rows), progress.map_or(0, |progress| progress.rows_total))
}

/// Gives up the snapshot that is written: the thread removes its file, and the walk goes to its
/// end without it.
async fn give_up(server: &Server) {
    {
        let Core { engine, host, .. } = &mut *server.core.borrow_mut();
        engine.abandon_snapshot();
        host.saving = None;
    }
    while !server.core.borrow_mut().engine.step_snapshot(&mut |_| {}) {
        server.agenda.pause().await;
    }
}

/// Writes files in the background whenever that is wanted.
pub(crate) async fn keep_files(server: Rc<Server>) {
    let wanted = Rc::clone(&server.core.borrow().host.files_wanted);
    loop {
        wanted.taken().await;
        match_append_only(&server);
        // First what has rows that may leave the other.
        if server.core.borrow().host.persistence.is_wanted {
            save(&server).await;
        }
        if server.core.borrow().host.append_only.rewrites.is_wanted {
            rewriting::rewrite(&server).await;
        }
        if is_sync_due(&server) {
            no_pending_ends(&server).await;
            sending::synchronize(&server).await;
        }
        let is_sync_due = is_sync_due(&server);
        let host = &server.core.borrow().host;
        let is_file_wanted = host.append_only.rewrites.is_wanted || host.persistence.is_wanted;
        if is_file_wanted || is_sync_due {
            wanted.give();
        }
    }
}

/// Whether those who follow are to get a snapshot now.
fn is_sync_due(server: &Server) -> bool {
    server.core.borrow().engine.is_full_sync_due()
}

/// Waits until a snapshot would have nothing that is gone already: large ends are removed in
/// steps. Where new ones keep coming, those who write wait too. Also until all rows are in the
/// tables of a schema that came into force, which a snapshot would see to in one go.
async fn no_pending_ends(server: &Server) {
    let patience_over_ns = clock::monotonic_ns() + ENDS_PATIENCE.as_nanos() as u64;
    while server.core.borrow().engine.has_pending_ends() {
        if clock::monotonic_ns() > patience_over_ns {
            server.core.borrow_mut().engine.drain_ends(true);
        }
        server.agenda.pause().await;
    }
    server.core.borrow_mut().engine.drain_ends(false);
    while server.core.borrow().engine.is_bringing_rows()
        && clock::monotonic_ns() <= patience_over_ns
    {
        server.agenda.sleep(BEHIND_PAUSE).await;
    }
}

/// BGSAVE.
async fn save(server: &Rc<Server>) {
    no_pending_ends(server).await;
    let begun = {
        let core = &mut *server.core.borrow_mut();
        let dirty = core.engine.dirty();
        core.host.persistence.begin_background(dirty);
        let owned = core.host.own_before_writing(Guarded::Snapshot);
        let file = owned.and_then(|()| core.host.persistence.new_file(&core.host.settings));
        file.map(|file| begin_snapshot(core, Target::Snapshot, file))
    };
    let outcome = match begun {
        Ok(writer) => finish_snapshot(server, writer, || true).await,
        Err(error) => Err(error),
    };
    let core = &mut *server.core.borrow_mut();
    core.engine.snapshot_ended(outcome.is_ok());
    let host = &mut core.host;
    host.persistence.end_background(&host.settings, outcome.map(|_| ()));
    core.refuse_writes_if_needed();
}

/// Makes the append-only file what the settings say: it begins by being written anew,
/// and ends at once.
fn match_append_only(server: &Server) {
    let core = &mut *server.core.borrow_mut();
    let is_wanted = core.host.settings.is_on(Id::AppendOnly);
    let is_on = core.host.append_only.log.is_some();
    if is_wanted && !is_on {
        core.host.append_only.rewrites.is_wanted = true;
    } else if !is_wanted && is_on {
        commit::end_log(server, core);
    }
}

/// Looks after files, `hz` times a second.
pub(crate) fn tick_files(server: &Server, core: &mut Core) {
    let now_s = clock::now_us() / 1_000_000;
    let dirty = core.engine.dirty();
    let host = &mut core.host;
    host.retain_locks(now_s);
    if host.is_loading() {
        return;
    }
    let is_due = host.persistence.is_due(&host.settings, dirty, now_s);
    host.persistence.is_wanted |= is_due && host.saving.is_none();
    let is_rewrite_due = host.append_only.is_rewrite_due(&host.settings);
    // One that failed is tried again.
    let is_awaited = core.engine.awaits_log() && host.append_only.rewrites.may_begin();
    host.append_only.rewrites.is_wanted |= is_rewrite_due || is_awaited;
    let is_sync_due = core.engine.is_full_sync_due();
    if is_sync_due || host.persistence.is_wanted || host.append_only.rewrites.is_wanted {
        host.files_wanted.give();
    }
    if host.append_only.log.as_ref().is_some_and(|log| log.buffered() > 0) {
        commit::write_log(server, core);
    }
    commit::sync_log_if_due(server, core);
    core.refuse_writes_if_needed();
}
