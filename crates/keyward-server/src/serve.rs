//! The engine's thread.
//!
//! Owns the engine, the order in which everybody has a turn, and the jobs beside the
//! commands: loading, saving, sending, following a primary, reading schemas, leisure.
//!
//! `server` and `core` are what all share, `host` is what the engine may ask. `start` sets
//! them up; then `event_loop` lets connections have a `turn`, ends the `round`, and between
//! rounds lets clients come and go (`clients`), the engine `tick`, and jobs go on (`agenda`).
//! Invariant: imports go one way, from those who do something to what they do it to.

pub(crate) mod agenda;
pub(crate) mod busy;
pub(crate) mod client_limits;
pub(crate) mod clients;
pub(crate) mod commit;
pub(crate) mod core;
pub(crate) mod delivery;
pub(crate) mod door;
pub(crate) mod errands;
pub(crate) mod error;
pub(crate) mod event_loop;
pub(crate) mod gathering;
pub(crate) mod host;
pub(crate) mod http;
pub(crate) mod info;
pub(crate) mod leisure;
pub(crate) mod link;
pub(crate) mod loading;
pub(crate) mod maxmemory_clients;
pub(crate) mod output_limit;
pub(crate) mod pace;
pub(crate) mod preparing;
pub(crate) mod publishing;
pub(crate) mod rates;
pub(crate) mod reading;
pub(crate) mod replicas;
pub(crate) mod round;
pub(crate) mod saving;
pub(crate) mod sending;
pub(crate) mod server;
pub(crate) mod shutdown;
pub(crate) mod start;
pub(crate) mod tick;
pub(crate) mod turn;
pub(crate) mod void_rules;
pub(crate) mod waiters;
