//! Clients: what is remembered of each, what they share, and what they are told.
//!
//! `session` is one client; `transaction`, `pubsub`, `tracking`, `monitor`, `replicas` and
//! `pause` what it may ask for; `courier` brings messages to others, `stream` makes bytes of
//! effects (`log_cover` has which databases the append-only file is about), of which `replication` and its `backlog` make what replicas follow; `primary` is the server
//! that this one follows, `synced` how far its stream is in the append-only file. `stats`, `slowlog` and `latency` are what is measured.
//! Not here: sockets and buffers (`keyward-server`), the commands (`commands`).

pub(crate) mod backlog;
pub(crate) mod courier;
pub(crate) mod failover;
pub(crate) mod failures;
pub(crate) mod latency;
pub(crate) mod log_cover;
pub(crate) mod monitor;
pub(crate) mod pause;
pub(crate) mod primary;
pub(crate) mod pubsub;
pub(crate) mod refusals;
pub(crate) mod replicas;
pub(crate) mod replication;
pub(crate) mod session;
pub(crate) mod shutdown;
pub(crate) mod slowlog;
pub(crate) mod stats;
pub(crate) mod stream;
pub(crate) mod synced;
pub(crate) mod tracking;
pub(crate) mod transaction;
