//! Replies wait for the log.
//!
//! Owns at which points of a round the log is written and synced. At the end of a round
//! (`round`) the log is written once for every client of the round; with `appendfsync
//! always` the replies stay with their peers then, until a sync that serves all of them
//! (group commit).
//!
//! With `everysec` and `no` replies stay only where the log cannot be written at once: a
//! sync is under way, and a thread writes beside it; or the log changes to another file.
//! Then only those wait who have changed something, everybody else is served.
//! Not here: who waits, and whether a sync is waited for (`waiters`); the file and its
//! syncs (`files::append_only`).

use crate::clock::Instant;
use crate::files::append_only::Policy;
use crate::files::syncer::Done;
use crate::net::peer::Peer;
use crate::serve::core::Core;
use crate::serve::server::Server;
use crate::settings::table::Id;
use std::rc::Rc;

/// Logs what commands have changed.
#[inline]
pub(crate) fn collect_log(server: &Server, core: &mut Core) {
    if core.host.append_only.collect(&mut core.engine) {
        server.waiters.released.set(core.host.append_only.released());
    }
}

/// Writes the log.
pub(crate) fn write_log(server: &Server, core: &mut Core) {
    let policy = Policy::of(&core.host.settings);
    let was_whole = core.host.append_only.problem.is_none();
    if let Some(write) = core.host.append_only.write(policy) {
        server.waiters.syncer.order_write(write);
    }
    give_up_if_failed(server, core);
    if core.host.append_only.problem.is_none() != was_whole {
        // At once: what follows could not be made safe.
        core.refuse_writes_if_needed();
    }
    server.waiters.release(core.host.append_only.released());
}

/// After a failure those who wait will never be answered.
fn give_up_if_failed(server: &Server, core: &mut Core) {
    if core.host.append_only.take_failure() {
        server.waiters.held.borrow_mut().drain(..).for_each(|(_, peer)| peer.close());
        core.host.outbox.refuse();
    }
}

/// Has a client wait that was served by what another has just changed.
pub(crate) fn wait_with_others(server: &Server, core: &Core, peer: &Rc<Peer>) {
    if Policy::of(&core.host.settings) != Policy::Always {
        server.waiters.hold(core.host.append_only.held_until(), peer);
    }
}

/// Whether the log is synced while everybody waits, and has to be.
pub(crate) fn is_to_sync_at_once(server: &Server, core: &Core) -> bool {
    core.host.append_only.has_unsynced()
        && !core.host.append_only.is_syncing()
        && Policy::of(&core.host.settings) == Policy::Always
        && server.waiters.waits(Instant::now)
}

/// Writes the log and syncs it.
pub(crate) fn sync_at_once(server: &Server, core: &mut Core) {
    server.waiters.gathering.set(None);
    write_log(server, core);
    while let Some(sync) = core.host.append_only.begin_due_sync(Policy::Always, true) {
        let done = Done::by_waiting(sync);
        server.waiters.note(done.took, Instant::now());
        settle(server, core, done);
        write_log(server, core);
    }
}

/// Writes the log and begins to sync it, unless that has to wait.
pub(crate) fn commit(server: &Server, core: &mut Core) {
    let is_syncing = core.host.append_only.is_syncing();
    if is_syncing || server.waiters.gathering_time().is_some() {
        return;
    }
    server.waiters.gathering.set(None);
    write_log(server, core);
    if let Some(sync) = core.host.append_only.begin_due_sync(Policy::Always, true) {
        server.waiters.syncer.order(sync);
    }
}

/// Begins a sync, if it is time for one.
pub(crate) fn sync_log_if_due(server: &Server, core: &mut Core) {
    let settings = &core.host.settings;
    let may_sync = !(settings.is_on(Id::NoFsyncOnRewrite) && core.host.saving.is_some());
    let policy = Policy::of(settings);
    if let Some(sync) = core.host.append_only.begin_due_sync(policy, may_sync) {
        server.waiters.syncer.order(sync);
    }
}

/// Begins a sync of all that is written, so that little is left to be synced when the
/// log changes to another file; whether one is under way.
pub(crate) fn sync_ahead(server: &Server, core: &mut Core) -> bool {
    if core.host.append_only.problem.is_some() {
        return false;
    }
    if let Some(sync) = core.host.append_only.begin_sync() {
        server.waiters.syncer.order(sync);
    }
    core.host.append_only.is_syncing()
}

/// Takes note of syncs and writes that are over. The selector tells once of several:
/// there are two syncs when a log ended amid one and another log has begun.
pub(crate) fn note_syncs(server: &Server, core: &mut Core) {
    while let Some(done) = server.waiters.syncer.take() {
        end_sync(server, core, done);
    }
    if core.host.append_only.is_writing() {
        match Policy::of(&core.host.settings) {
            Policy::Always => commit(server, core),
            Policy::EverySecond | Policy::Never => write_log(server, core),
        }
    }
}

/// A sync is over: the next begins, and those go who have waited for this one.
fn end_sync(server: &Server, core: &mut Core, done: Done) {
    let took = done.took;
    settle(server, core, done);
    if Policy::of(&core.host.settings) != Policy::Always {
        // What could not be written before, in the next file too.
        return write_log(server, core);
    }
    let released = core.host.append_only.released();
    if !server.waiters.gather(took) {
        commit(server, core);
    }
    server.waiters.release(released);
}

/// Takes note of how a sync went.
fn settle(server: &Server, core: &mut Core, done: Done) {
    let policy = Policy::of(&core.host.settings);
    core.host.append_only.end_sync(&done.sync, done.outcome, policy);
    give_up_if_failed(server, core);
    core.refuse_writes_if_needed();
}

/// Writes and syncs all of the log, and ends it.
pub(crate) fn end_log(server: &Server, core: &mut Core) {
    collect_log(server, core);
    if let Some(log) = &mut core.host.append_only.log {
        if let Err(error) = log.finish() {
            tracing::warn!("Fail to fsync the AOF file: {error}");
        }
        core.host.append_only.end();
        core.engine.log_changes(false);
    }
    write_log(server, core);
}
