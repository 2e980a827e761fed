//! Commands about the server itself.

pub(crate) mod command;
pub(crate) mod config;
pub(crate) mod debug;
pub(crate) mod failover;
pub(crate) mod info;
pub(crate) mod memory;
pub(crate) mod monitor;
pub(crate) mod persistence;
pub(crate) mod process;
pub(crate) mod replicaof;
pub(crate) mod replication;
pub(crate) mod role;
pub(crate) mod shutdown;
