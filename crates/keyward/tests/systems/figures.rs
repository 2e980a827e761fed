//! The figures of a system's document, as `systems/figures.py` measures them.
//!
//! On this scale they say nothing about speed. Both servers took the system's keyspace, every
//! line of its table has a value of each, and the bytes that Keyward takes are, scaled up,
//! about those that the README tells: who changes what rows take has to measure anew.
//! Social's document has no figures.

use crate::{System, all, scenario};
use keyward_testkit::Client;
use std::process::Command;
use std::time::{Duration, Instant};

/// How far scaled bytes may be from the README's: small tables have more room to spare, and
/// what a server keeps once weighs more.
const SHARE_MIN: f64 = 0.7;
const SHARE_MAX: f64 = 1.5;
const MB: f64 = 1e6;

#[test]
fn figures_of_api_billing_are_measured() {
    measure("api-billing", "0.03");
}

#[test]
fn figures_of_calls_bot_are_measured() {
    measure("calls-bot", "0.005");
}

#[test]
fn figures_of_events_are_measured() {
    measure("events", "0.005");
}

#[test]
fn figures_of_telegram_gateway_are_measured() {
    measure("telegram-gateway", "0.03");
}

/// What its README says under "When something fails" of 360,000 flags.
#[test]
fn flags_of_telegram_gateway_take_what_its_readme_says() {
    const FLAGS: usize = 90_000;
    let system = System::read("telegram-gateway");
    let page = system.text("README.md");
    let between = |before: &str, after: &str| {
        let (_, rest) = page.split_once(before).expect("README.md tells what flags take");
        rest.split(after).next().expect("a figure").parse::<f64>().expect("a figure")
    };
    let server = system.on_keyward();
    let mut client = system.client(&server);
    let empty = used_bytes(&mut client);
    let ids: Vec<String> =
        (0..FLAGS).map(|id| format!("telegram:dedup:-1001649127710:{id}")).collect();
    for ids in ids.chunks(1000) {
        let pairs = ids.iter().flat_map(|id| [id.as_str(), "1"]);
        let set: Vec<&str> = ["MSET"].into_iter().chain(pairs).collect();
        client.call(&set).expect("an answer");
    }
    let scaled = |bytes: f64| (bytes - empty) * 360_000.0 / FLAGS as f64 / MB;
    is_about(scaled(used_bytes(&mut client)), between("two hours at 50 a second, take ", " MB"));
    let packed = between(" MB, and ", " MB when they are packed");
    let deadline = Instant::now() + Duration::from_secs(120);
    while scaled(used_bytes(&mut client)) > packed * SHARE_MAX && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(200));
    }
    is_about(scaled(used_bytes(&mut client)), packed);
}

fn used_bytes(client: &mut Client) -> f64 {
    let info = client.call(["INFO", "memory"]).expect("an answer");
    let info = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    line.expect("it is in INFO").trim().parse().expect("a number")
}

fn is_about(measured_mb: f64, told_mb: f64) {
    let share = measured_mb / told_mb;
    assert!(
        (SHARE_MIN..SHARE_MAX).contains(&share),
        "the README tells {told_mb} MB, measured and scaled up are {measured_mb:.1}"
    );
}

fn measure(name: &str, scale: &str) {
    let mut figures = Command::new(scenario::installed("python"));
    figures.arg(all().join("figures.py")).arg(name);
    figures.args(["--keyward", env!("CARGO_BIN_EXE_keyward"), "--scale", scale, "--calls", "30"]);
    let output = figures.env("PYTHONDONTWRITEBYTECODE", "1").output().expect("it is run");
    let told = String::from_utf8_lossy(&output.stdout);
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{problems}", output.status);
    let lines: Vec<&str> = told.lines().skip(2).take_while(|line| !line.is_empty()).collect();
    assert!(lines.len() >= 4, "{told}");
    let mut bytes = None;
    for line in lines {
        let cells = cells(line);
        assert!(
            matches!(cells[..], [title, _, ours, theirs] if ![title, ours, theirs].contains(&"")),
            "{line}"
        );
        if cells[0] == "used_memory above an empty server" {
            bytes = cells[2].strip_suffix(" bytes").map(figure);
        }
    }
    let scale: f64 = scale.parse().expect("a number");
    is_about(bytes.expect("memory is measured") / scale / MB, memory_in_readme(name));
}

/// What the README's table of figures says Keyward takes, in MB.
fn memory_in_readme(name: &str) -> f64 {
    let page = System::read(name).text("README.md");
    let line = page.lines().find(|line| line.starts_with("| memory in use"));
    let cell = cells(line.expect("README.md has the table"))[2].to_owned();
    figure(cell.split(" MB").next().expect("a figure"))
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

fn figure(text: &str) -> f64 {
    text.replace(',', "").parse().expect("a number")
}
