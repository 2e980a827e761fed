//! The stream of changes on its way to those who follow.
//!
//! Owns the pace: each is left a bounded part of the stream with its connection, and the rest
//! stays in the engine's backlog, once for all of them. What a client has yet to be sent of it
//! counts in its output limit (`output_limit`).
//!
//! Cost: a copy of the stream and a call of the system per replica and round, however many
//! clients have changed something in it.
//! Not here: the stream (`keyward-engine`), snapshots (`sending`).

use crate::serve::core::Core;
use crate::serve::server::Server;

/// Bytes of the stream that are left with a connection.
const AHEAD_BYTES_MAX: usize = 256 * 1024;

/// Leaves the stream with the connections of those who follow, as far as they have taken what
/// they were left before: at the end of a round.
#[inline]
pub(crate) fn feed(server: &Server, core: &mut Core) {
    if core.engine.has_followers() {
        feed_all(server, core);
    }
}

#[cold]
fn feed_all(server: &Server, core: &mut Core) {
    if !core.host.ending_syncs.is_empty() {
        end_syncs(server, core);
    }
    let mut clients = std::mem::take(&mut core.host.unfed);
    core.engine.unfed(&mut clients);
    for client in clients.drain(..) {
        let Some(peer) = server.peers.get(client) else { continue };
        let room = AHEAD_BYTES_MAX.saturating_sub(peer.unsent_bytes());
        if room == 0 || peer.must_close.get() {
            continue;
        }
        // The round may have changed something that is not in the log yet.
        let until = core.host.append_only.held_until().unwrap_or(0);
        let Core { engine, host, .. } = &mut *core;
        let posted = host.outbox.post_with(client, &peer, until, |bytes| {
            engine.take_stream(client, room, bytes);
        });
        host.stats.replica_output_bytes += posted as u64;
    }
    core.host.unfed = clients;
}

/// Those are online who have taken all of their snapshot.
fn end_syncs(server: &Server, core: &mut Core) {
    let mut ending = std::mem::take(&mut core.host.ending_syncs);
    ending.retain(|client| {
        let Some(peer) = server.peers.get(*client) else { return false };
        let is_over = peer.unsent_bytes() == 0;
        if is_over {
            core.engine.end_full_sync(&mut core.host, *client);
        }
        !is_over
    });
    core.host.ending_syncs = ending;
}
