//! `client-output-buffer-limit`: how many bytes of replies a client may leave unread.
//!
//! Owns the decision to disconnect it. It is made whenever something is left unread, and with
//! each tick, for the soft limit, which is about time.
//! Not here: the replies (`net/peer.rs`), the limits' form (`settings/value.rs`).

use crate::clock;
use crate::net::peer::Peer;
use crate::serve::core::Core;
use crate::settings::table::Id;
use crate::settings::value::{ClientClass, OutputLimit};
use keyward_engine::{ClientId, Listening};

/// How many bytes of replies a client may leave unread.
pub(crate) fn of(core: &Core, client: ClientId, peer: &Peer) -> OutputLimit {
    let class = match core.engine.listening(client) {
        Listening::No => ClientClass::Normal,
        Listening::ToSnapshot | Listening::ToChanges => ClientClass::Replica,
        Listening::ToChannels => ClientClass::Subscriber,
    };
    peer.class.set(class);
    let mut limit = core.host.settings.output_limit(class);
    if class == ClientClass::Replica {
        // Who goes on where it was may be left as much at once.
        let backlog_bytes = core.host.settings.bytes(Id::BacklogSize);
        limit.hard_bytes = raised(limit.hard_bytes, backlog_bytes);
        limit.soft_bytes = raised(limit.soft_bytes, backlog_bytes);
    }
    limit
}

/// A limit, at least as high as this.
fn raised(limit: u64, least: u64) -> u64 {
    if limit == 0 { 0 } else { limit.max(least) }
}

/// Bytes that a client has yet to read. Those of a snapshot have limits of their own.
fn unread(core: &Core, client: ClientId, peer: &Peer) -> u64 {
    match core.engine.listening(client) {
        Listening::ToSnapshot => core.engine.untaken_bytes(client),
        Listening::ToChanges => peer.unsent_bytes() as u64 + core.engine.untaken_bytes(client),
        Listening::No | Listening::ToChannels => peer.unsent_bytes() as u64,
    }
}

/// Disconnects a client that leaves more replies unread than it may.
pub(crate) fn check(core: &mut Core, client: ClientId, peer: &Peer) {
    let unread = unread(core, client, peer);
    if unread == 0 {
        return peer.over_limit_since_ms.set(None);
    }
    let limit = of(core, client, peer);
    let now_ms = clock::now_us() / 1000;
    let is_over_soft = limit.soft_bytes > 0 && unread > limit.soft_bytes;
    let since = is_over_soft.then(|| peer.over_limit_since_ms.get().unwrap_or(now_ms));
    peer.over_limit_since_ms.set(since);
    let seconds = since.map_or(0, |since| (now_ms - since) / 1000) as u64;
    let is_over_hard = limit.hard_bytes > 0 && unread > limit.hard_bytes;
    if is_over_hard || (is_over_soft && seconds > limit.soft_seconds) {
        tracing::warn!(
            address = peer.addresses.peer,
            "closing: the output buffer limit is reached"
        );
        core.client_memory.forget(client, peer);
        peer.close();
    }
}
