//! The append-only file written anew, and begun.
//!
//! The next increment is made first, on a thread, and the last one synced; then, between
//! two commands, the log goes on in it and the snapshot of that instant begins, which
//! becomes the base; then the manifest names both. Replies to writes wait while the rest of
//! the last increment is synced, which is what was written since.

use super::{BEHIND_PAUSE, begin_snapshot, finish_snapshot, no_pending_ends};
use crate::clock::Instant;
use crate::files::append_only::{Policy, Problem};
use crate::files::data_locks::Guarded;
use crate::files::snapshot_writer::{Target, Writer};
use crate::serve::agenda::on_thread;
use crate::serve::commit;
use crate::serve::server::Server;
use crate::settings::table::Id;
use keyward_persist::PersistError;
use keyward_persist::aof::{AofFiles, Listing, Log, OpenError};
use keyward_persist::disk::DiskFile;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Syncs before the log changes to another file at most, and until one is as quick as this.
const SYNCS_AHEAD_MAX: usize = 3;
const QUICK_SYNC: Duration = Duration::from_millis(20);

/// Why the append-only file could not be written anew.
#[derive(Debug, thiserror::Error)]
enum RewriteError {
    #[error(transparent)]
    Io(#[from] PersistError),
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// BGREWRITEAOF, and the beginning of an append-only file; whether it is written.
pub(crate) async fn rewrite(server: &Rc<Server>) -> bool {
    let is_first = {
        let host = &mut server.core.borrow_mut().host;
        host.append_only.rewrites.is_wanted = false;
        host.append_only.rewrites.started = Some(Instant::now());
        host.append_only.rewrites.count += 1;
        tracing::info!("Background append only file rewriting started");
        let is_first = host.append_only.log.is_none() && host.settings.is_on(Id::AppendOnly);
        if is_first {
            tracing::info!(
                "appendonly is on: the append-only file is written for the first time; what \
                 changes is safe in it when that has ended (aof_rewrite_in_progress)"
            );
        }
        is_first
    };
    let outcome = try_rewrite(server).await;
    let core = &mut *server.core.borrow_mut();
    match &outcome {
        Ok(()) => tracing::info!("Background AOF rewrite finished successfully"),
        Err(error) => tracing::warn!("Background AOF rewrite terminated with error: {error}"),
    }
    if is_first && outcome.is_ok() && core.host.append_only.log.is_some() {
        tracing::info!("the append-only file is complete: from now on it holds every change");
    }
    core.host.append_only.rewrites.ended(outcome.is_ok());
    core.refuse_writes_if_needed();
    outcome.is_ok()
}

async fn try_rewrite(server: &Rc<Server>) -> Result<(), RewriteError> {
    let (mut files, listing) = {
        let host = &mut server.core.borrow_mut().host;
        host.own_before_writing(Guarded::AppendOnly)?;
        let files = match host.append_only.files.take() {
            Some(files) => files,
            None => host.open_append_only()?,
        };
        let listing = match &host.append_only.log {
            Some(_) => Some(Listing::AtOnce),
            None if host.settings.is_on(Id::AppendOnly) => Some(Listing::WithBase),
            None => None,
        };
        (files, listing)
    };
    let alarm = || server.core.borrow().host.alarm.clone();
    // The next increment: making it safe takes a while.
    let next;
    (files, next) = on_thread(alarm(), move || {
        if listing.is_none() {
            files.without_increment();
        }
        let next = listing.map(|listing| files.next_increment(listing)).transpose();
        (files, next)
    })
    .await;
    sync_ahead(server).await;
    no_pending_ends(server).await;
    while is_amid_work(server) {
        server.agenda.sleep(BEHIND_PAUSE).await;
        no_pending_ends(server).await;
    }
    let begun = next.and_then(|next| begin_rewrite(server, &files, next));
    let is_new = listing == Some(Listing::WithBase);
    let base = match begun {
        Ok(writer) => finish_snapshot(server, writer, || true).await,
        Err(error) => Err(error),
    };
    let adopted;
    (files, adopted) = on_thread(alarm(), move || {
        let adopted = base.and_then(|bytes| files.adopt_base().map(|()| bytes));
        (files, adopted)
    })
    .await;
    let core = &mut *server.core.borrow_mut();
    let append_only = &mut core.host.append_only;
    append_only.files = Some(files);
    for db in core.engine.base_ended(adopted.is_ok()) {
        tracing::info!(
            "Database {db}: the append-only file has its rows now, and every change from now on"
        );
    }
    match adopted {
        Ok(bytes) => {
            append_only.has_base = append_only.log.is_some();
            append_only.older_bytes = bytes;
            append_only.base_bytes = append_only.bytes();
            append_only.problem = None;
            Ok(())
        }
        Err(error) => {
            if is_new && append_only.log.is_some() {
                // What is logged has no base to follow, and would be of no use.
                append_only.end();
                append_only.rewrites.is_wanted = true;
                core.engine.log_changes(false);
                commit::write_log(server, core);
            }
            Err(error.into())
        }
    }
}

/// Syncs what is written, again while that takes long: what is then left is what replies
/// have to wait for when the log changes to another file.
async fn sync_ahead(server: &Rc<Server>) {
    if Policy::of(&server.core.borrow().host.settings) == Policy::Always {
        // One sync follows another anyway.
        return;
    }
    for _ in 0..SYNCS_AHEAD_MAX {
        while is_amid_work(server) {
            server.agenda.sleep(BEHIND_PAUSE).await;
        }
        let began = Instant::now();
        if !commit::sync_ahead(server, &mut server.core.borrow_mut()) {
            return;
        }
        while server.core.borrow().host.append_only.is_syncing() {
            server.agenda.sleep(BEHIND_PAUSE).await;
        }
        if began.elapsed() < QUICK_SYNC {
            return;
        }
    }
}

fn is_amid_work(server: &Rc<Server>) -> bool {
    let host = &server.core.borrow().host;
    host.append_only.is_amid_work(Policy::of(&host.settings))
}

/// The instant between two commands: the log goes on in another file, and a snapshot
/// begins.
fn begin_rewrite(
    server: &Rc<Server>,
    files: &AofFiles,
    next: Option<(Arc<dyn DiskFile>, PathBuf)>,
) -> Result<Writer, PersistError> {
    let core = &mut *server.core.borrow_mut();
    core.engine.set_time(core.host.clock.now_us());
    commit::collect_log(server, core);
    commit::write_log(server, core);
    let file = files.new_base()?;
    let append_only = &mut core.host.append_only;
    match (&mut append_only.log, next) {
        (Some(log), Some((file, path))) => {
            let file_bytes = log.file_bytes();
            // What cannot be written yet stays logged: given up, it would be in no file at all
            // where the base comes to nothing too, and writes would go on behind the gap.
            if matches!(append_only.problem, Some(Problem::Sync(_))) {
                log.replace(file, &path);
            } else {
                log.switch(file, &path)?;
            }
            append_only.older_bytes += file_bytes;
            core.engine.begin_log_file();
        }
        (None, Some((file, path))) => {
            append_only.begin(Log::new(file, &path, 0));
            core.engine.log_changes(true);
        }
        (_, None) => {}
    }
    let writer = begin_snapshot(core, Target::AppendOnly, file);
    commit::write_log(server, core);
    commit::sync_log_if_due(server, core);
    Ok(writer)
}
