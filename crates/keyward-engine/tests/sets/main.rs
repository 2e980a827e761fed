//! Sets of servers without sockets: the engine as a primary and as replicas, over a simulated
//! network that delays, cuts and stalls connections, with kills, restarts and promotions.
//!
//! Each seed is a history. After it, when nothing more happens, every node has every row of the
//! one that leads, with the same end, and derived keys agree with their sources. What WAIT
//! confirmed is where it said, and is not lost by a failover to whom had it. What WAITAOF confirmed
//! is in as many files as it said, and is there after the power was cut.
//!
//! `./test` runs some; thousands: `KEYWARD_SETS=5000 cargo test --release -p keyward-engine --test
//! sets -- --nocapture`, from seed `KEYWARD_SETS_SEED` on.

mod faults;
mod link;
mod load;
mod logging;
mod node;
mod quiet;
mod world;

use link::Planted;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use world::{Tally, World};

/// Histories that `./test` has.
const HISTORIES: u64 = 100;
/// Steps between two times of rest, and how many of them a history has.
const STEPS: usize = 250;
const ERAS: usize = 3;

#[allow(clippy::disallowed_methods, reason = "how many histories there are is no input of engines")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn history(seed: u64, planted: Planted) -> Tally {
    let mut world = World::new(seed, planted);
    for _ in 0..ERAS {
        world.live(STEPS);
    }
    world.tally
}

#[test]
fn after_whatever_happened_all_nodes_have_the_same_and_nothing_confirmed_is_lost() {
    let first = number("KEYWARD_SETS_SEED").unwrap_or(1);
    let count = number("KEYWARD_SETS").unwrap_or(HISTORIES);
    let mut sum = Tally::default();
    for seed in first..first + count {
        let outcome = catch_unwind(AssertUnwindSafe(|| history(seed, Planted::Nothing)));
        let tally = outcome.unwrap_or_else(|_| panic!("KEYWARD_SETS_SEED={seed}"));
        sum.add(tally);
    }
    writeln!(std::io::stderr(), "{count} histories from seed {first}: {sum:?}").expect("open");
    if count >= HISTORIES {
        assert!(sum.has_everything(), "some of it never happens: {sum:?}");
    }
}

#[test]
fn a_seed_has_one_history() {
    for seed in 1..4 {
        let twice = [0; 2].map(|_| format!("{:?}", history(seed, Planted::Nothing)));
        assert_eq!(twice[0], twice[1]);
    }
}

/// A simulation in which such faults pass proves nothing.
#[test]
fn faults_that_are_planted_are_found() {
    let faults = [
        Planted::AsksOneByteEarly,
        Planted::AcknowledgesAhead,
        Planted::TakesPlaceOneByteLate,
        Planted::LosesPartOfAUnit,
        Planted::LosesPartOfLog,
        Planted::SyncsAhead,
    ];
    for planted in faults {
        let is_found =
            (1..=30).any(|seed| catch_unwind(AssertUnwindSafe(|| history(seed, planted))).is_err());
        assert!(is_found, "{planted:?} passes");
    }
}
