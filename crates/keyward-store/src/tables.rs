//! A table for each key pattern, and a database of tables.
//!
//! `table` is rows with their deadlines and packed pages, `database` the tables of a
//! schema, or the one without. `companions` knows which rows live with which key,
//! `faulty` and `contradictions` which are known not to fit. `reclaim` is incremental
//! (lazy) free, `eviction` what eviction goes by, `counters` what is counted.
//! Not here: who may change rows and who hears of it (`keyspace`).

pub mod companions;
pub(crate) mod contradictions;
pub mod counters;
pub mod database;
pub mod eviction;
pub(crate) mod faulty;
pub mod reclaim;
pub mod table;
pub(crate) mod weeding;
