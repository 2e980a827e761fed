//! The engine as its host sees it: inputs in, outputs out.

mod blocking;
mod changeover;
mod compression;
mod dependents;
mod effects;
mod eviction;
mod expiry;
mod explain;
mod forkless;
mod harness;
mod hashes_and_sets;
mod hit_ratio;
mod lifetimes;
mod memory;
mod observation;
mod pause;
mod plan;
mod planning;
mod rebuild;
mod replay;
mod scanning;
mod shop;
mod sorted_sets;
mod strings;
mod tracking;
mod undo;
