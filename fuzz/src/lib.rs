//! Random input for whatever reads bytes from outside, and for schemas in force.
//!
//! Owns the targets, their inputs and the promises they check. Invariant: a
//! round depends on its seed alone, so that every failure can be repeated.
//! Not here: the clock and the command line (`main.rs`).

pub mod aof;
pub mod derived;
pub mod packing;
pub mod rdb;
pub mod schema;
pub mod simulation;

pub use keyward_testkit::Random;

/// Something that is fuzzed.
pub struct Target {
    /// What the command line calls it.
    pub name: &'static str,
    /// Runs one round; panics if a promise is broken.
    pub round: fn(&mut Random),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "aof", round: aof::round },
    Target { name: "derived", round: derived::round },
    Target { name: "packing", round: packing::round },
    Target { name: "rdb", round: rdb::round },
    Target { name: "schema", round: schema::round },
    Target { name: "simulation", round: simulation::round },
];
