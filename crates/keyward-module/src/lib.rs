//! The rule book inside Valkey and Redis.
//!
//! A module for their servers: `valkey-server --loadmodule keyward.so /etc/keyward/shop.toml`. It
//! keeps the same schema in force that the engine runs, with the same words, on a server that
//! stays what it is. A command filter (`filter`) leads each command that writes governed keys to
//! `keyward.X`, which judges it with the rule book, runs X, and carries out what follows in one
//! unit (`judged`); replicas and files get plain commands.
//!
//! Invariants: every entry is guarded against panics, and unsafe code is in `api` alone; memory is
//! the server's; nothing of the module is in the data or in the stream.
//! Not here: the rules (`keyward-rules`), what a host can promise (`keyward_rules::host`).

mod api;
mod cluster;
mod commands;
mod entries;
mod figures;
mod filter;
mod guard;
mod judged;
mod live;
mod plan;
mod routes;
mod schemas;
mod state;
