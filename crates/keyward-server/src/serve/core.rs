//! The engine and what its calls need.
//!
//! Owns the engine, its host and the buffers all connections share. Invariant: everybody
//! borrows it between awaits only, so that the borrow never fails.

use crate::net::outbox;
use crate::net::peer::Peer;
use crate::serve::gathering::Gatherer;
use crate::serve::host::ServerHost;
use crate::serve::maxmemory_clients::ClientMemory;
use crate::serve::publishing::Publishing;
use crate::serve::void_rules::VoidRules;
use keyward_engine::{ClientId, Engine};
use keyward_resp::Batch;

/// The engine and what its calls need.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(crate) host: ServerHost,
    /// What a connection has just read.
    pub(crate) input: Vec<u8>,
    /// What the engine has just replied.
    pub(crate) output: Vec<u8>,
    pub(crate) batch: Batch,
    /// What clients take together.
    pub(crate) client_memory: ClientMemory,
    pub(super) gatherer: Gatherer,
    /// Figures for HTTP, if it is served.
    pub(super) publishing: Option<Publishing>,
    /// Rules of users that grant nothing.
    pub(super) void_rules: VoidRules,
}

impl Core {
    /// Whether there is something to do at leisure.
    pub(super) fn has_leisure_work(&self) -> bool {
        self.engine.has_leisure_work() || self.gatherer.is_wanted(self.host.memory.seen())
    }

    /// Uses a moment in which nothing else is to be done; returns whether there is more.
    pub(crate) fn rest(&mut self) -> bool {
        let Core { engine, host, gatherer, .. } = self;
        // What is packed lies elsewhere: it is gathered when all of it is.
        if engine.has_leisure_work() {
            engine.rest();
        } else if gatherer.is_wanted(host.memory.seen()) {
            gatherer.step(engine, || host.memory.look());
        }
        self.has_leisure_work()
    }

    /// Counts a client's memory, if that is limited.
    pub(crate) fn count_client(&mut self, client: ClientId, peer: &Peer) {
        if self.client_memory.is_on() && !peer.must_close.get() {
            let (bytes, may_go) = self.engine.client_memory(client);
            self.client_memory.count(client, peer, bytes + peer.bytes(), may_go);
        }
    }

    /// Gives memory back after an unusually large reply.
    pub(crate) fn release_large_buffers(&mut self) {
        outbox::release_large(&mut self.output);
    }

    /// Keeps what commands have captured for a snapshot within bounds.
    #[inline]
    pub(crate) fn bound_snapshot(&mut self) {
        if let Some(saving) = &mut self.host.saving {
            saving.bound(&mut self.engine);
        }
    }

    /// Refuses writes while what should outlive the process cannot be written.
    pub(crate) fn refuse_writes_if_needed(&mut self) {
        let refusal = self.host.write_refusal();
        self.engine.refuse_writes(refusal);
    }
}
