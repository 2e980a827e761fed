//! The handlers of commands, a module per group.
//!
//! `<group>::<command>`, as `engine::dispatch` names them; COMMAND's groups are the
//! folders. A handler works with a `Ctx`.
//! Not here: their names, arity, flags and keys (`keyward-commands`), what a schema says of
//! them (`governed`), EVAL and FCALL (`scripting`).

pub(crate) mod acl;
pub(crate) mod connection;
pub(crate) mod digest;
pub(crate) mod first_of;
pub(crate) mod generic;
pub(crate) mod geo;
pub(crate) mod hash;
pub(crate) mod hyperloglog;
pub(crate) mod keyward;
pub(crate) mod latency;
pub(crate) mod list;
pub(crate) mod long_double;
pub(crate) mod pubsub;
pub(crate) mod server;
pub(crate) mod set;
pub(crate) mod slowlog;
pub(crate) mod stream;
pub(crate) mod string;
pub(crate) mod tracking;
pub(crate) mod transactions;
pub(crate) mod zset;
