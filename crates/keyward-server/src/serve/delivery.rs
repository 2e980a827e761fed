//! What the engine has for other clients than the one it was just called for.
//!
//! Owns handing it out after each batch of commands and each tick.

use crate::serve::core::Core;
use crate::serve::server::Server;
use crate::serve::{commit, round};
use keyward_engine::Delivery;

/// Hands out what the engine has for other clients, and sees to it that the
/// next wait ends in time.
pub(crate) fn deliver(server: &Server, core: &mut Core) {
    for delivery in core.engine.take_deliveries() {
        let (Delivery::Output(client, _) | Delivery::Unblocked(client) | Delivery::Close(client)) =
            delivery;
        let Some(peer) = server.peers.get(client) else { continue };
        match delivery {
            Delivery::Output(_, bytes) => {
                round::post(server, core, client, &peer, &bytes);
                continue;
            }
            Delivery::Unblocked(_) => {
                commit::wait_with_others(server, core, &peer);
                peer.must_resume.set(true);
            }
            Delivery::Close(_) => peer.must_close.set(true),
        }
        core.count_client(client, &peer);
        peer.wake();
    }
    let next = core.engine.next_deadline();
    if let Some(next) = next.filter(|next| *next < server.planned_tick_ms.get()) {
        server.set_tick(core, next);
    }
}
