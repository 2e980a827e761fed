//! Clients come and go.
//!
//! Owns accepting connections, turning them away, and letting go of those that are over.
//! Not here: listening (`net/listen.rs`), who has to go (`client_limits`).

use crate::net::connection::Connection;
use crate::net::transport::Stream;
use crate::net::wire::Unwatched;
use crate::serve::busy::watch::Guest;
use crate::serve::core::Core;
use crate::serve::server::Server;
use keyward_engine::ClientId;
use std::rc::Rc;

/// Connections accepted before others have their turn.
const ACCEPTS_MAX: usize = 64;

/// Lets in who is at the door, some at a time.
pub(crate) fn admit_newcomers(server: &Server, now_ns: u64) {
    let listeners = Rc::clone(&server.core.borrow().host.listeners);
    for _ in 0..ACCEPTS_MAX {
        let is_due = now_ns >= listeners.next_ns();
        let Some(socket) = is_due.then(|| listeners.accept()).flatten() else { break };
        accept(server, socket);
    }
}

/// Takes those who came while a script was running.
pub(crate) fn accept_guests(server: &Server, core: &mut Core) {
    for Guest { socket, client, unsent } in core.host.busy.take_guests() {
        serve_client(server, core, socket, client, unsent);
    }
}

/// Takes a new connection, or turns it away with a reason.
fn accept(server: &Server, socket: Stream) {
    let core = &mut *server.core.borrow_mut();
    let is_open = core.engine.needs_no_password();
    if let Some(text) = core.host.judge_newcomer(socket.is_local(), is_open) {
        // The peer may be gone: there is nobody to tell then.
        let _ = socket.send(text);
        return;
    }
    core.engine.set_time(core.host.clock.now_us());
    let client = core.engine.connect();
    serve_client(server, core, socket, client, Vec::new());
}

/// Serves a client of the engine by this socket, which has yet to take `unsent`.
fn serve_client(
    server: &Server,
    core: &mut Core,
    socket: Stream,
    client: ClientId,
    unsent: Vec<u8>,
) {
    socket.configure(&core.host.settings);
    let added = server.wire.add(&server.peers, socket, client, unsent);
    if let Err(Unwatched { connection, error }) = added {
        let_go(server, core, &connection);
        tracing::warn!(%error, "cannot take a connection");
    }
}

/// A connection is no more.
pub(crate) fn let_go(server: &Server, core: &mut Core, connection: &Connection) {
    core.client_memory.forget(connection.client, &connection.peer);
    connection.peer.departed(&core.host.departing_bytes);
    server.peers.remove(connection.client);
    core.engine.disconnect(connection.client);
    if connection.is_primary {
        core.host.link.changed.give();
    }
}

/// Takes the stream of the server that this one follows: it comes by this socket, which has
/// brought some of it already. Whether that can be done.
pub(crate) fn accept_primary(
    server: &Server,
    core: &mut Core,
    socket: Stream,
    received: Vec<u8>,
) -> Option<ClientId> {
    socket.configure(&core.host.settings);
    core.engine.set_time(core.host.clock.now_us());
    let client = core.engine.connect_primary();
    let added = server.wire.add_primary(&server.peers, socket, client, received);
    if let Err(Unwatched { connection, error }) = added {
        let_go(server, core, &connection);
        tracing::warn!(%error, "cannot take the connection to the primary");
        return None;
    }
    Some(client)
}
