//! A short stretch of random commands on Keyward and on a real Redis; the long one is
//! `cargo run --release -p keyward-differ`.

use keyward_differ::{Limits, Pair, run};
use keyward_testkit::Server;
use std::path::Path;

#[test]
fn random_commands_get_the_replies_of_redis() {
    let keyward = Path::new(env!("CARGO_BIN_EXE_keyward"));
    let mut pair = Pair::new(move || [Server::keyward(keyward, &[]), Server::redis(&[])]);
    let mut told = String::new();
    let limits = Limits { seed: 1, commands: 25_000, differences: 1 };
    let report = run(&mut pair, &limits, |text| told.push_str(text));
    assert_eq!(report.differences, 0, "{told}");
    assert!(report.commands >= limits.commands, "{report:?}");
}
