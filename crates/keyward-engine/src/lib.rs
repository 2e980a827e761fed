//! Keyward's deterministic core.
//!
//! An [`Engine`] is a single-threaded state machine. Into it go commands of
//! clients (a batch at a time), the time, ticks, and a seed; out of it come
//! replies, deliveries to other clients, and a log of effects. The same inputs
//! give the same outputs and the same state, bit for bit.
//!
//! Reading order: `engine` (the life of a command), `engine::context` (what a handler
//! works with), `keyspace` of `keyward-store` (reading and changing rows), then any group
//! of `commands`, `list` being a small complete one.
//!
//! Never in this crate: a clock, randomness of the system, files, sockets,
//! threads, environment variables; clippy.toml forbids them.

mod acl;
pub(crate) mod commands;
mod engine;
pub mod glob;
mod governed;
mod host;
mod scripting;
pub(crate) mod sessions;
mod snapshot;
mod tunables;

pub use acl::{UsersRead, UsersReader};
pub use engine::durability::{Replay, Settling};
pub use engine::following::FullSync;
pub use engine::primary::{PrimaryAddress, Resumption};
pub use engine::progress::Progress;
pub use engine::published::{
    LATENCY_LEVELS, Latencies, Onlooker, PUBLISHED_SECTIONS, TableFigures, latency_level_us,
};
pub use engine::users::{RulesLook, VoidRule};
pub use engine::{Engine, EngineOptions};
pub use governed::arrival::{Acceptance, Expected, Unaccepted};
pub use governed::beside::{Arrived, BesideError, BesideLoad, BesideOptions};
pub use governed::proposal::{Draft, Proposal};
pub use governed::told::{Heard, Told};
pub use governed::trial::{TrialLoad, WriteTrial, explain};
pub use host::{
    Activity, BackgroundSave, ConfigRefusal, Connection, Exchange, ExchangeFailure, Facts, Host,
    Library, LogBatch, LogCommands, LogFile, MemoryReport, NoSecrets, Nobody, OpenCommands,
    Outgoing, Remote, Rewrite, RunningScript, Section,
};
pub use keyward_lua::LogLevel;
pub use keyward_store::keyspace::client_id::ClientId;
pub use keyward_store::keyspace::effects::{Effect, Effects};
pub use keyward_store::keyspace::event::{Class, Event, NotifyFlags};
pub use keyward_store::keyspace::{Gathering, Keyspace, Lifetime, SnapshotProgress};
pub use keyward_store::tables::counters::{KeyStats, TableStats};
pub use keyward_store::tables::eviction::{MemoryLimit, Policy};
pub use keyward_store::tables::reclaim::{Freeing, LazySettings};
pub use keyward_store::values::access::FrequencyRates;
pub use keyward_store::values::hash::{Hash, Iter as HashIter, Pair};
pub use keyward_store::values::hasher::{Key, KeyHasher, TableIndex};
pub use keyward_store::values::packed::Item;
pub use keyward_store::values::packed_limits::PackedLimits;
pub use keyward_store::values::random::Random;
pub use keyward_store::values::row::Row;
pub use keyward_store::values::set::{Iter as SetIter, Set};
pub use keyward_store::values::stream::NodeLimits;
pub use keyward_store::values::value::{Object, ObjectMut, ObjectRef, Type, Value};
pub use keyward_store::values::zset::{Iter as ZSetIter, ZSet};
pub use scripting::ScriptFacts;
pub use sessions::courier::Delivery;
pub use sessions::primary::{LinkStage, Transfer};
pub use sessions::replicas::{LACKS_SCHEMAS, TELLS_SCHEMAS};
pub use sessions::session::Listening;
pub use sessions::shutdown::LastWish;
pub use sessions::tracking::TrackingFacts;
pub use snapshot::{
    Coverage, DueRows, LoadError, Loaded, Snapshot, SnapshotLoader, SnapshotOptions, Unsupported,
};
pub use tunables::{Replicating, Tunables};
