//! The end of the server: signals, the last snapshot, letting go of everybody.
//!
//! Not here: SHUTDOWN, which has the engine save (`keyward-engine`).

use crate::net::peer::Peer;
use crate::process::signals::Signal;
use crate::process::supervisor::Phase;
use crate::serve::core::Core;
use crate::serve::error::ServeError;
use crate::serve::server::Server;
use crate::serve::{commit, round};
use keyward_engine::Host as _;

/// A signal has come. Called between two rounds.
pub(crate) fn on_signal(server: &Server, signal: Signal) {
    let core = &mut *server.core.borrow_mut();
    let name = match signal {
        Signal::Terminate => "SIGTERM",
        Signal::Interrupt => "SIGINT",
        Signal::HangUp => return core.host.readings.reload_wanted.give(),
    };
    tracing::warn!("Received {name} scheduling shutdown...");
    // What is not yet loaded is not saved either.
    core.host.supervisor.tell(Phase::Stopping);
    core.host.must_stop = match core.host.is_loading() {
        true => {
            core.host.begin_shutdown(false);
            true
        }
        false if core.engine.await_replicas(&mut core.host) => return,
        false => save_before_the_end(core),
    };
    if !core.host.must_stop {
        core.host.supervisor.tell(Phase::CannotStop);
    }
}

/// Ends the server if a signal asked for that and replicas need not be waited for any longer.
pub(crate) fn end_if_ready(core: &mut Core) {
    if !core.engine.is_ready_to_end() || core.host.must_stop {
        return;
    }
    core.engine.tell_lag(&mut core.host);
    core.host.must_stop = save_before_the_end(core);
    if !core.host.must_stop {
        core.engine.go_on(&mut core.host);
        core.host.supervisor.tell(Phase::CannotStop);
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

/// Writes a last snapshot where snapshots are written at all; whether the process
/// may end.
fn save_before_the_end(core: &mut Core) -> bool {
    core.engine.gather_rows();
    core.engine.finish_ends(&mut core.host);
    let saves = core.host.saves_by_itself();
    core.host.begin_shutdown(saves);
    if saves {
        core.host.supervisor.tell(Phase::Saving);
    }
    let may_end = !saves || core.host.save(&core.engine.last_snapshot());
    if !may_end {
        tracing::warn!("Error trying to save the DB, can't exit.");
    }
    may_end
}
