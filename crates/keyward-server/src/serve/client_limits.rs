//! Clients that have to go: idle ones (`timeout`), and the largest ones where all together
//! take too much (`maxmemory-clients`).
//!
//! Not here: the order of clients by size (`maxmemory_clients`), what they leave unread
//! (`output_limit`).

use crate::serve::core::Core;
use crate::serve::output_limit;
use crate::serve::server::Server;
use crate::settings::table::Id;

/// Disconnects clients that have been idle, or above their soft limit, for too long.
/// Who waits for a key or listens is not idle.
pub(crate) fn check_clients(server: &Server, core: &mut Core, now_ms: i64) {
    let timeout_ms = core.host.settings.int(Id::Timeout) * 1000;
    server.peers.each_client(|client, peer| {
        output_limit::check(core, client, peer);
        core.count_client(client, peer);
        let is_idle = timeout_ms > 0 && now_ms - peer.active_ms.get() > timeout_ms;
        if is_idle && !peer.is_blocked.get() && !core.engine.is_listener(client) {
            tracing::debug!(address = peer.addresses.peer, "closing an idle client");
            peer.close();
        }
    });
}

/// Disconnects the largest clients while all together take more than they may.
pub(crate) fn limit_client_memory(server: &Server, core: &mut Core) {
    let limit = core.host.settings.client_memory_limit();
    if limit.is_some() != core.client_memory.is_on() {
        core.client_memory.switch(limit.is_some());
        server.peers.each_client(|client, peer| {
            peer.counted_bytes.set(0);
            core.count_client(client, peer);
        });
    }
    let Some(limit) = limit else { return };
    while let Some(client) = core.client_memory.largest_if_over(limit)
        && let Some(peer) = server.peers.get(client)
    {
        let bytes = peer.counted_bytes.get();
        tracing::info!(client = client.0, address = peer.addresses.peer, bytes, "Evicting client");
        core.host.stats.evicted += 1;
        core.client_memory.forget(client, &peer);
        peer.depart(&core.host.departing_bytes);
    }
}
