//! A short stretch of random commands on Keyward and on a real Redis; the long one is
//! `cargo run --release -p keyward-differ`. `KEYWARD_DIFFER_SEED` and `KEYWARD_DIFFER_COMMANDS`
//! make it another one.

use keyward_differ::{Limits, Pair, run};
use keyward_testkit::Server;
use std::path::Path;

#[test]
fn random_commands_get_the_replies_of_redis() {
    let keyward = Path::new(env!("CARGO_BIN_EXE_keyward"));
    let mut pair = Pair::new(move || [Server::keyward(keyward, &[]), Server::redis(&[])]);
    let mut told = String::new();
    let seed = asked("KEYWARD_DIFFER_SEED").unwrap_or(1);
    let commands = asked("KEYWARD_DIFFER_COMMANDS").unwrap_or(25_000);
    let limits = Limits { seed, commands, differences: 1, only: &[] };
    let report = run(&mut pair, &limits, |text| told.push_str(text));
    assert_eq!(report.differences, 0, "{told}");
    assert!(report.commands >= limits.commands, "{report:?}");
}

/// The number in a variable of the environment.
fn asked(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}
