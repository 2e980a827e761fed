//! What tests of several crates share: real servers and a client to talk to them.
//!
//! - [`Server`] starts a `redis-server` (the oracle) or any other server that speaks
//!   the protocol, on a free loopback port with a directory of its own, and stops it
//!   when dropped.
//! - [`Postgres`] makes a cluster of its own and serves it.
//! - [`installed_valkey`] is Valkey's server; [`Proxy`] is a link that can be cut and stalled.
//! - [`Client`] is a small blocking client, in RESP2 or RESP3; [`call`] has it send a line.
//! - [`Certificates`] are made for a test, for servers and clients that speak TLS.
//! - [`wait_until`] and its kin wait for what happens elsewhere.
//! - [`processor_time`] is what work takes of the processor.
//! - [`FakeDisk`] is a disk in memory whose power can fail.
//! - [`network`] is a network in memory on which everything goes wrong.
//! - [`markdown`] holds pages of documentation against what is true.
//! - [`Random`] is a seeded generator of numbers.
//! - `engine`, a feature, is an engine by itself with a host that knows next to nothing.
//! - [`wire`] runs scripts of commands on two servers and compares the replies.
//!
//! A test whose server is not on the machine fails and says so; it never passes.

mod certificates;
mod client;
mod disk;
#[cfg(feature = "engine")]
pub mod engine;
pub mod markdown;
pub mod network;
mod postgres;
mod processor_time;
mod proxy;
mod random;
mod server;
mod valkey;
mod waiting;
pub mod wire;

pub use certificates::Certificates;
pub use client::{Client, ClientError, Reply, call};
pub use disk::{FakeDisk, Step};
pub use postgres::Postgres;
pub use processor_time::processor_time;
pub use proxy::Proxy;
pub use random::Random;
pub use server::{Server, StartError, free_port};
pub use valkey::installed_valkey;
pub use waiting::{wait_for, wait_until, within};
