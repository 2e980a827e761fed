//! Keyward's deterministic core.
//!
//! An [`Engine`] is a single-threaded state machine. Into it go commands of
//! clients (a batch at a time), the time, ticks, and a seed; out of it come
//! replies, deliveries to other clients, and a log of effects. The same inputs
//! give the same outputs and the same state, bit for bit.
//!
//! Reading order: `engine` (the life of a command), `context` (what a handler
//! works with), `keyspace` (reading and changing rows), then any group of
//! commands, `list` being a small complete one.
//!
//! Never in this crate: a clock, randomness of the system, files, sockets,
//! threads, environment variables; clippy.toml forbids them.

mod access;
mod batch;
mod blocking;
mod client_id;
mod companions;
mod connection;
mod context;
mod contradictions;
mod counters;
mod courier;
mod database;
mod digest;
mod dispatch;
mod durability;
mod effects;
mod engine;
mod event;
mod evict;
mod eviction;
mod faulty;
mod first_of;
mod footprint;
mod generic;
pub mod glob;
mod governed;
mod hash;
mod hasher;
mod host;
mod index;
mod keyspace;
mod keyward;
mod latency;
mod linear;
mod list;
mod long_double;
mod monitor;
mod packed;
mod packed_limits;
mod pause;
mod prefetch;
mod pubsub;
mod random;
mod rebuild;
mod reclaim;
mod replicas;
mod row;
mod sampling;
mod script;
mod server;
mod session;
mod set;
mod shared;
mod size_class;
mod slowlog;
mod snapshot;
mod stats;
mod stream;
mod string;
mod table;
mod text;
mod thin;
mod tracking;
mod transaction;
mod trial;
mod tunables;
mod value;
mod watch;
mod zset;

pub use access::FrequencyRates;
pub use client_id::ClientId;
pub use counters::{KeyStats, TableStats};
pub use courier::Delivery;
pub use durability::{Replay, Settling};
pub use effects::{Effect, Effects};
pub use engine::{Engine, EngineOptions, Progress};
pub use event::{Class, Event, NotifyFlags};
pub use eviction::{MemoryLimit, Policy};
pub use hash::{Hash, Iter as HashIter, Pair};
pub use hasher::{Key, KeyHasher, TableIndex};
pub use host::{
    BackgroundSave, ConfigRefusal, Connection, Exchange, ExchangeFailure, Facts, Host, Library,
    LogCommands, LogFile, MemoryReport, Nobody, OpenCommands, Outgoing, Remote, Rewrite, Section,
};
pub use keyspace::{Gathering, Keyspace, Lifetime, SnapshotProgress};
pub use keyward::proposal::{Draft, Proposal};
pub use packed::Item;
pub use packed_limits::PackedLimits;
pub use random::Random;
pub use reclaim::{Freeing, LazySettings};
pub use row::Row;
pub use script::{Activity, LogLevel, RunningScript, ScriptFacts};
pub use session::Listening;
pub use set::{Iter as SetIter, Set};
pub use snapshot::{
    Coverage, DueRows, LoadError, Loaded, Snapshot, SnapshotLoader, SnapshotOptions, Unsupported,
};
pub use tracking::TrackingFacts;
pub use trial::{TrialLoad, explain};
pub use tunables::Tunables;
pub use value::{Object, ObjectMut, ObjectRef, Type, Value};
pub use zset::{Iter as ZSetIter, ZSet};
