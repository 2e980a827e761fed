//! `cargo xtask sanitize`: AddressSanitizer and LeakSanitizer over what runs most code.
//!
//! Owns how such a build is made, what is run with it, and what is left out and why.
//! Rust and C (Lua, zstd) are instrumented, the server uses the system's allocator
//! (jemalloc's heap cannot be seen), and counters of coverage guide the fuzzer. The short
//! run has the wire scripts and random commands beside a real Redis, the engine's tests and
//! some fuzzing; `--minutes` goes on with new seeds for that long.
//!
//! Every process of a run writes what the sanitizer finds into one directory, servers that
//! tests start too: a report there is a failure, whatever the test says.
//! The stable toolchain carries the runtime, and lets itself be asked for it by
//! `RUSTC_BOOTSTRAP`; only this build sets that.

mod build;
mod reports;

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use build::Build;
use reports::Reports;

/// Tests that start servers; they are built as ever, and start the sanitised one. Never
/// among them, because they measure memory as jemalloc counts it, and a server with the
/// system's allocator has figures about zero: `memory`, `memory_truth`, `client_memory`.
const ON_SERVERS: [&str; 4] = ["--test", "differential", "--test", "wire"];
/// The same in a long run.
const ON_SERVERS_LONG: [&str; 14] = [
    "--test",
    "append_only",
    "--test",
    "differential",
    "--test",
    "hostile",
    "--test",
    "migrate",
    "--test",
    "serve",
    "--test",
    "snapshots",
    "--test",
    "wire",
];
/// Tests that are built with the sanitizer, of the engine and the fuzzer.
const INSTRUMENTED: [&str; 3] = ["--lib", "--test", "guided"];
/// The same in a long run.
const INSTRUMENTED_LONG: [&str; 7] =
    ["--lib", "--test", "guided", "--test", "engine", "--test", "scripting"];

/// Tests that only a long run has, by what their names contain: each takes more than five
/// seconds of a processor.
const LONG: [&str; 13] = [
    "a_schema_for_a_crowd_takes_several_ticks",
    "a_table_agrees_with_a_map_through_a_long_life",
    "bytes_are_what_counting_finds_however_the_index_changes",
    "companions_agree_with_a_plain_map",
    "deadlines_agree_with_a_set",
    "derived_keys_equal_their_recomputation",
    "every_row_is_looked_at_as_often_as_any_other",
    "four_thousand_payloads_keep_every_promise",
    "hashes_change_as_a_naive_map_does",
    "inputs_reach_most_rules",
    "steps_change_rows_and_let_them_go",
    "storage_agrees_with_a_plain_model_for_hours",
    "the_index_takes_at_most_twenty_bytes",
];

/// Random cases of each property in a short run.
const SHORT_CASES: &str = "32";

/// Stack of a thread that runs a test, as a server's thread has it: with the sanitizer frames
/// are several times as large, and JSON may be a thousand deep.
const STACK_BYTES: &str = "8388608";

/// What a round of a long run does besides random commands: targets of the fuzzer.
const TARGETS: [&str; 11] = [
    "requests",
    "acl",
    "aof",
    "derived",
    "http",
    "packing",
    "rdb",
    "schema",
    "simulation",
    "sketches",
    "streams",
];
/// Seconds for each of them in a round.
const TARGET_SECONDS: &str = "20";
/// Seconds for the guided one.
const GUIDED_SECONDS: &str = "60";
/// Random commands in a round.
const ROUND_COMMANDS: &str = "20000";

/// What was run.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn add(&mut self, is_passed: bool) {
        self.passed += usize::from(is_passed);
        self.failed += usize::from(!is_passed);
    }
}

/// Builds, runs, and tells what was found.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let minutes = parse(arguments)?;
    let build = Build::new()?;
    let reports = Reports::new(&build.directory)?;
    let server = build.build_server()?;
    let mut tally = Tally::default();
    run_tests(&build, &server, &reports, minutes.is_some(), &mut tally)?;
    if let Some(minutes) = minutes {
        let end = Instant::now() + Duration::from_secs(60 * minutes);
        let mut seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() * 1_000_000;
        while Instant::now() < end && tally.failed == 0 {
            run_round(&build, &server, &reports, seed, &mut tally)?;
            seed += 1_000_000;
        }
    }
    let mut out = io::stdout().lock();
    for report in reports.read()? {
        tally.failed += 1;
        writeln!(out, "{report}")?;
    }
    writeln!(out, "{} passed, {} failed", tally.passed, tally.failed)?;
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// How many minutes a long run has; none for a short one.
fn parse(arguments: &[&str]) -> anyhow::Result<Option<u64>> {
    match arguments {
        [] => Ok(None),
        ["--minutes", count] => Ok(Some(count.parse().context("--minutes takes a number")?)),
        [other, ..] => bail!("\"{other}\" is not an option: there is --minutes N"),
    }
}

fn run_tests(
    build: &Build,
    server: &Path,
    reports: &Reports,
    is_long: bool,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let left_out: &[&str] = if is_long { &[] } else { &LONG };
    let mut on_servers = on_servers(server);
    on_servers.args(if is_long { &ON_SERVERS_LONG[..] } else { &ON_SERVERS });
    let instrumented = build.test(if is_long { &INSTRUMENTED_LONG } else { &INSTRUMENTED });
    for mut command in [on_servers, instrumented] {
        command.env("RUST_MIN_STACK", STACK_BYTES);
        if !is_long {
            command.env("PROPTEST_CASES", SHORT_CASES);
        }
        command.arg("--");
        left_out.iter().for_each(|name| {
            command.args(["--skip", name]);
        });
        let (is_success, counts) = run_counted(reports.heed(&mut command))?;
        ensure!(is_success || counts.failed > 0 || reports.has_any()?, "tests could not be run");
        ensure!(counts.passed + counts.failed > 0, "no tests were run");
        tally.passed += counts.passed;
        tally.failed += counts.failed;
    }
    Ok(())
}

/// `cargo test` of tests that start servers. They are built for the whole workspace, as
/// `./test` does: nothing is built twice.
fn on_servers(server: &Path) -> Command {
    let mut command = Command::new("cargo");
    command.args(["test", "--locked", "--quiet", "--workspace", "--no-fail-fast"]);
    command.env("KEYWARD_PROGRAM", server);
    command
}

/// One round of a long run, with seeds of its own.
fn run_round(
    build: &Build,
    server: &Path,
    reports: &Reports,
    seed: u64,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    writeln!(io::stdout(), "== round from seed {seed}")?;
    let seed = seed.to_string();
    let mut commands = on_servers(server);
    commands.args(["--test", "differential", "--test", "wire"]);
    commands.env("KEYWARD_DIFFER_SEED", &seed).env("KEYWARD_DIFFER_COMMANDS", ROUND_COMMANDS);
    tally.add(reports.heed(&mut commands).status()?.success());
    for target in TARGETS {
        let mut fuzzer = Command::new(build.program("keyward-fuzz"));
        fuzzer.args([target, "--seed", &seed, "--seconds", TARGET_SECONDS]);
        tally.add(reports.heed(&mut fuzzer).status()?.success());
    }
    let mut guided = Command::new(build.program("keyward-fuzz"));
    guided.args(["requests", "--guided", "--seed", &seed, "--seconds", GUIDED_SECONDS, "--keep"]);
    guided.arg(build.directory.join("requests"));
    tally.add(reports.heed(&mut guided).status()?.success());
    Ok(())
}

/// Runs cargo's tests, shows what they say, and counts it.
fn run_counted(command: &mut Command) -> anyhow::Result<(bool, Tally)> {
    let output = command.stderr(std::process::Stdio::inherit()).output().context("cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    io::stdout().write_all(&output.stdout)?;
    Ok((output.status.success(), count(&text)))
}

/// The sums over lines `test result: ok. 3 passed; 0 failed; …`.
fn count(text: &str) -> Tally {
    let mut tally = Tally::default();
    for line in text.lines().filter(|line| line.starts_with("test result:")) {
        let mut words = line.split(' ').peekable();
        while let Some(word) = words.next() {
            let number = word.parse().unwrap_or(0);
            match words.peek() {
                Some(&"passed;") => tally.passed += number,
                Some(&"failed;") => tally.failed += number,
                _ => {}
            }
        }
    }
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_summed() {
        let text = "test a ... ok\n\
            test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out\n\
            test result: FAILED. 40 passed; 2 failed; 0 ignored; 0 measured\n";
        let tally = count(text);
        assert_eq!((tally.passed, tally.failed), (43, 2));
    }

    #[test]
    fn minutes_are_the_only_option() {
        assert_eq!(parse(&[]).ok(), Some(None));
        assert_eq!(parse(&["--minutes", "60"]).ok(), Some(Some(60)));
        assert!(parse(&["--minutes"]).is_err() && parse(&["--hours", "1"]).is_err());
    }
}
