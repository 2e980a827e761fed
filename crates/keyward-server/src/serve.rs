//! The engine's thread.
//!
//! Owns the engine, the order in which everybody has a turn, and the jobs beside the
//! commands: loading, saving, sending, reading schemas, leisure.

pub(crate) mod agenda;
pub(crate) mod busy;
pub(crate) mod client_limits;
pub(crate) mod clients;
pub(crate) mod commit;
pub(crate) mod core;
pub(crate) mod delivery;
pub(crate) mod error;
pub(crate) mod event_loop;
pub(crate) mod gathering;
pub(crate) mod host;
pub(crate) mod info;
pub(crate) mod leisure;
pub(crate) mod loading;
pub(crate) mod maxmemory_clients;
pub(crate) mod output_limit;
pub(crate) mod rates;
pub(crate) mod reading;
pub(crate) mod round;
pub(crate) mod saving;
pub(crate) mod sending;
pub(crate) mod server;
pub(crate) mod shutdown;
pub(crate) mod start;
pub(crate) mod tick;
pub(crate) mod turn;
pub(crate) mod waiters;
