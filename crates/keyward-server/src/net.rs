//! Sockets: waiting for them, reading what comes, sending what is said.
//!
//! Owns the selector, the transports, the connections and what they have yet to be sent.
//! Not here: the engine, and when a connection has its turn (`serve`).

pub(crate) mod bell;
pub(crate) mod connection;
pub(crate) mod exchange;
pub(crate) mod listen;
pub(crate) mod outbox;
pub(crate) mod output;
pub(crate) mod peer;
pub(crate) mod selector;
pub(crate) mod tls;
pub(crate) mod transport;
pub(crate) mod visitors;
pub(crate) mod wire;
