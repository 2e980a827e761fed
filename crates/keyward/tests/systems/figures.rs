//! The figures of a system's document, as `systems/figures.py` measures them.
//!
//! On this scale they say nothing about size or speed, only that the program works:
//! both servers took its keyspace, and every line of its table has a value of each.
//! Social's document has no figures.

use crate::{all, scenario};
use std::process::Command;

#[test]
fn figures_of_api_billing_are_measured() {
    measure("api-billing");
}

#[test]
fn figures_of_calls_bot_are_measured() {
    measure("calls-bot");
}

#[test]
fn figures_of_events_are_measured() {
    measure("events");
}

#[test]
fn figures_of_telegram_gateway_are_measured() {
    measure("telegram-gateway");
}

fn measure(name: &str) {
    let mut figures = Command::new(scenario::installed("python"));
    figures.arg(all().join("figures.py")).arg(name);
    figures.args(["--keyward", env!("CARGO_BIN_EXE_keyward"), "--scale", "0.005", "--calls", "30"]);
    let output = figures.env("PYTHONDONTWRITEBYTECODE", "1").output().expect("it is run");
    let told = String::from_utf8_lossy(&output.stdout);
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{problems}", output.status);
    let lines: Vec<&str> = told.lines().skip(2).take_while(|line| !line.is_empty()).collect();
    assert!(lines.len() >= 4, "{told}");
    for line in lines {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        assert!(
            matches!(cells[..], [title, _, ours, theirs] if ![title, ours, theirs].contains(&"")),
            "{line}"
        );
    }
}
