//! Random input for whatever reads bytes from outside, and for schemas in force.
//!
//! Owns the targets, their inputs and the promises they check. Invariant: a
//! round depends on its seed alone, so that every failure can be repeated.
//! Not here: the clock and the command line (`main.rs`).

pub mod acl;
pub mod aof;
pub mod derived;
pub mod guided;
pub mod heap;
pub mod http;
pub mod packing;
pub mod rdb;
pub mod requests;
pub mod schema;
pub mod simulation;
pub mod sketches;
pub mod streams;

use guided::Subject;
pub use keyward_testkit::Random;

/// Something that is fuzzed.
pub struct Target {
    /// What the command line calls it.
    pub name: &'static str,
    /// Runs one round; panics if a promise is broken.
    pub round: fn(&mut Random),
    /// How it is fuzzed by a guide, if it can be.
    pub subject: Option<Subject>,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target { name: "acl", round: acl::round, subject: None },
    Target { name: "aof", round: aof::round, subject: None },
    Target { name: "derived", round: derived::round, subject: None },
    Target { name: "http", round: http::round, subject: None },
    Target { name: "packing", round: packing::round, subject: None },
    Target { name: "rdb", round: rdb::round, subject: None },
    Target { name: "requests", round: requests::round, subject: Some(REQUESTS) },
    Target { name: "schema", round: schema::round, subject: None },
    Target { name: "simulation", round: simulation::round, subject: None },
    Target { name: "sketches", round: sketches::round, subject: None },
    Target { name: "streams", round: streams::round, subject: None },
];

const REQUESTS: Subject =
    Subject { generate: requests::generate, mutate: requests::mutate, judge: requests::judge };
