//! The end of the server: signals, the last snapshot, letting go of everybody.
//!
//! Not here: SHUTDOWN, which has the engine save (`keyward-engine`).

use crate::net::peer::Peer;
use crate::process::signal_wish::SignalWish;
use crate::process::signals::Signal;
use crate::process::supervisor::Phase;
use crate::serve::core::Core;
use crate::serve::error::ServeError;
use crate::serve::server::Server;
use crate::serve::{commit, round};
use crate::settings::table::Id;
use keyward_engine::{Host as _, LastWish};

/// A signal has come. Called between two rounds.
pub(crate) fn on_signal(server: &Server, signal: Signal) {
    let core = &mut *server.core.borrow_mut();
    let (name, setting) = match signal {
        Signal::Terminate => ("SIGTERM", Id::ShutdownOnSigterm),
        Signal::Interrupt => ("SIGINT", Id::ShutdownOnSigint),
        Signal::HangUp => return core.host.readings.reload_wanted.give(),
    };
    tracing::warn!("Received {name} scheduling shutdown...");
    core.host.last_signal = SignalWish::of(&core.host.settings, setting);
    obey(core);
}

/// Ends the server as the last signal wants it, at once or when replicas have everything.
fn obey(core: &mut Core) {
    core.host.supervisor.tell(Phase::Stopping);
    let waits = !core.host.is_loading() && !core.host.last_signal.is_now;
    if waits && core.engine.await_replicas(&mut core.host) {
        return;
    }
    finish(core);
}

/// Whether the append-only file lacks what it is to have.
fn is_log_due(core: &Core) -> bool {
    core.host.is_first_log_due() || core.engine.awaits_log()
}

/// Ends the server if a signal asked for that, and neither replicas need be waited for any longer
/// nor the append-only file.
pub(crate) fn end_if_ready(core: &mut Core) {
    if core.host.is_stop_due && !is_log_due(core) {
        core.host.is_stop_due = false;
        tracing::warn!("The append-only file is complete: the shutdown that waited for it goes on");
        obey(core);
    }
    if !core.engine.is_ready_to_end() || core.host.must_stop {
        return;
    }
    core.engine.tell_lag(&mut core.host);
    finish(core);
    if !core.host.must_stop {
        core.engine.go_on(&mut core.host);
    }
}

/// Ends the server as a signal wants it, if that loses nothing that must not be lost.
fn finish(core: &mut Core) {
    core.host.must_stop = save_before_the_end(core);
    if !core.host.must_stop {
        core.host.shutdown_failed();
        core.host.is_stop_due = is_log_due(core);
        core.host.supervisor.tell(match core.host.is_stop_due {
            true => {
                tracing::warn!("The server ends when the append-only file is complete");
                Phase::CannotStopYet
            }
            false => Phase::CannotStop,
        });
    }
}

/// The end: what was said is sent, what was logged is safe. Connections stay until
/// nobody listens any more: who sees the end of one may start another server here.
pub(crate) fn end(server: &Server) {
    let core = &mut *server.core.borrow_mut();
    core.host.supervisor.tell(Phase::Stopping);
    if !core.host.is_loading() {
        round::end_round(server, core);
        if let Some(line) = core.engine.last_annotation() {
            core.host.append_only.annotate(line.as_bytes());
        }
        commit::end_log(server, core);
    }
}

/// Listens no longer, then lets go of the connections; why the server could not start,
/// if that is why it ends.
pub(crate) fn leave(server: &Server) -> Result<(), ServeError> {
    let failure = server.failure.take();
    server.core.borrow().host.listeners.close(failure.is_none());
    if failure.is_none() {
        tracing::warn!("Keyward is now ready to exit, bye bye...");
    }
    server.peers.each(Peer::close);
    if matches!(failure, Some(ServeError::Unaccepted(_))) {
        server.core.borrow_mut().host.locks.give_back();
    }
    failure.map_or(Ok(()), Err)
}

/// Writes a last snapshot where one is wanted; whether the process may end. What is not yet
/// loaded is not saved.
fn save_before_the_end(core: &mut Core) -> bool {
    let is_loading = core.host.is_loading();
    let SignalWish { saves, is_forced, .. } = core.host.last_signal;
    let saves = !is_loading && saves.unwrap_or_else(|| core.host.saves_by_itself());
    let wish = LastWish { saves, is_forced };
    if !is_loading {
        core.engine.gather_rows();
        core.engine.finish_ends(&mut core.host);
    }
    if !core.engine.may_end(&mut core.host, wish) {
        return false;
    }
    if !saves {
        return true;
    }
    core.host.supervisor.tell(Phase::Saving);
    let is_saved = core.host.save(&core.engine.last_snapshot());
    if !is_saved {
        tracing::warn!("{}", wish.unsaved_line());
    }
    is_saved || is_forced
}
