//! `maxmemory-clients`: how much memory clients take together, and who goes first.
//!
//! Owns the sum over all clients and the order by size of those that may be
//! disconnected. A client is counted whenever it was served or was sent something, and
//! all of them with each tick; so a change costs one step in the order, and nothing at
//! all while there is no limit.
//! Invariant: `sum` is the sum of `Peer::counted_bytes`, and `by_size` lists the counted
//! clients that may go, each once, under these bytes.
//! Not here: what a client takes (`Peer::bytes`, `Engine::client_memory`).

use crate::net::peer::Peer;
use keyward_engine::ClientId;
use std::collections::BTreeSet;

/// What all clients take.
#[derive(Debug, Default)]
pub(crate) struct ClientMemory {
    sum: usize,
    by_size: BTreeSet<(usize, ClientId)>,
    /// Whether clients are counted: there is a limit.
    is_on: bool,
}

impl ClientMemory {
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Begins or ends counting. Whoever begins it counts all clients.
    pub(crate) fn switch(&mut self, is_on: bool) {
        *self = ClientMemory { is_on, ..ClientMemory::default() };
    }

    /// Counts a client, whatever it was counted for before.
    pub(crate) fn count(&mut self, client: ClientId, peer: &Peer, bytes: usize, may_go: bool) {
        let counted = peer.counted_bytes.replace(bytes);
        self.sum = self.sum - counted + bytes;
        if counted != bytes {
            self.by_size.remove(&(counted, client));
        }
        if may_go {
            self.by_size.insert((bytes, client));
        } else {
            self.by_size.remove(&(bytes, client));
        }
    }

    /// A client goes, or is about to.
    pub(crate) fn forget(&mut self, client: ClientId, peer: &Peer) {
        let counted = peer.counted_bytes.replace(0);
        if self.is_on {
            self.sum -= counted;
            self.by_size.remove(&(counted, client));
        }
    }

    /// The largest client that may go, if all clients together take this much or more.
    pub(crate) fn largest_if_over(&self, limit_bytes: u64) -> Option<ClientId> {
        let is_over = self.sum as u64 >= limit_bytes;
        self.by_size.last().filter(|_| is_over).map(|(_, client)| *client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::bell::Bell;
    use crate::net::transport::Stream;
    use std::os::unix::net::UnixStream;

    fn peer() -> Peer {
        let (socket, _) = UnixStream::pair().expect("a pair of sockets");
        let socket = Stream::Unix(socket);
        Peer::new(socket.addresses(), socket, Vec::new(), Bell::default(), 0)
    }

    #[test]
    fn the_largest_that_may_go_is_named_until_the_rest_fits() {
        let mut memory = ClientMemory::default();
        memory.switch(true);
        let peers: Vec<Peer> = (0..4).map(|_| peer()).collect();
        for (at, (bytes, may_go)) in
            [(10, true), (30, true), (20, true), (40, false)].into_iter().enumerate()
        {
            memory.count(ClientId(at as u64), &peers[at], bytes, may_go);
        }
        assert_eq!(memory.largest_if_over(101), None);
        assert_eq!(memory.largest_if_over(100), Some(ClientId(1)));
        memory.count(ClientId(1), &peers[1], 5, true);
        assert_eq!(memory.largest_if_over(75), Some(ClientId(2)));
        memory.forget(ClientId(2), &peers[2]);
        assert_eq!(memory.largest_if_over(55), Some(ClientId(0)));
        memory.count(ClientId(0), &peers[0], 10, false);
        memory.forget(ClientId(1), &peers[1]);
        assert_eq!(memory.largest_if_over(1), None, "nobody is left who may go");
    }
}
