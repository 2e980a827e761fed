//! The end of a round: the log is written, then everything that was said is sent.
//!
//! Owns posting replies and messages, and the order in which a round ends.
//! Invariant: nothing is sent that tells of a change before the log has it, as far as
//! `appendfsync` demands.
//! Not here: the letters themselves (`net/outbox.rs`), syncing the log (`commit`), what comes
//! before (`event_loop`).

use crate::files::append_only::Policy;
use crate::net::outbox::Outbox;
use crate::net::peer::Peer;
use crate::serve::core::Core;
use crate::serve::server::Server;
use crate::serve::waiters::Hold;
use crate::serve::{client_limits, commit, output_limit, replicas};
use keyward_engine::ClientId;
use std::rc::Rc;

/// Posts all of `bytes` to a client, and empties them.
#[inline]
pub(crate) fn post_all(
    server: &Server,
    core: &mut Core,
    client: ClientId,
    peer: &Rc<Peer>,
    bytes: &mut Vec<u8>,
) {
    let until = core.host.append_only.batch_end();
    core.host.outbox.post_all(client, peer, bytes, until);
    if core.host.outbox.is_full() {
        end_round(server, core);
    }
}

/// Posts something to a client.
pub(crate) fn post(
    server: &Server,
    core: &mut Core,
    client: ClientId,
    peer: &Rc<Peer>,
    bytes: &[u8],
) {
    let until = core.host.append_only.batch_end();
    core.host.outbox.post(client, peer, bytes, until);
    if core.host.outbox.is_full() {
        end_round(server, core);
    }
}

/// Ends a round: has the log written, and sends what waited for that or waits for more. Those who
/// follow are sent what the whole round has changed, by one letter each.
pub(crate) fn end_round(server: &Server, core: &mut Core) {
    replicas::feed(server, core);
    if core.host.append_only.must_end {
        commit::end_log(server, core);
    }
    let policy = Policy::of(&core.host.settings);
    if policy != Policy::Always && core.host.append_only.has_unwritten() {
        commit::write_log(server, core);
    }
    if commit::is_to_sync_at_once(server, core) {
        commit::sync_at_once(server, core);
    }
    if !core.host.outbox.is_empty() {
        send_letters(server, core);
    }
    // Afterwards: if it fails, those are known who will never be answered.
    if policy == Policy::Always && core.host.append_only.has_unsynced() {
        commit::commit(server, core);
    }
}

fn send_letters(server: &Server, core: &mut Core) {
    // Nothing is posted meanwhile.
    let mut outbox = std::mem::replace(&mut core.host.outbox, Outbox::placeholder());
    let hold = Hold::of(&core.host.append_only, &core.host.settings);
    outbox.send(
        |peer, until| server.waiters.must_wait(hold, peer, until),
        |client, peer| {
            output_limit::check(core, client, peer);
            core.count_client(client, peer);
        },
    );
    core.host.outbox = outbox;
    client_limits::limit_client_memory(server, core);
}
