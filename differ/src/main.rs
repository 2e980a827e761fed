//! The command line of the differential test.

use anyhow::{Context, Result, ensure};
use clap::Parser;
use keyward_differ::{Limits, Pair, has_rules, run};
use keyward_testkit::Server;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Sends random commands to Keyward and to a real Redis and compares every reply.
#[derive(Parser)]
struct Arguments {
    /// How many commands: a number, or one with K or M.
    #[arg(long, default_value = "100K", value_parser = parse_count)]
    commands: u64,
    /// The seed of the first round; each further one has the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after so many differences.
    #[arg(long, default_value_t = 1)]
    differences: usize,
    /// Draw commands only from these files of the grammar: `stream,geo`.
    #[arg(long, value_delimiter = ',', value_parser = parse_rules)]
    only: Vec<String>,
    /// The keyward binary; unless given, the one built beside this program.
    #[arg(long)]
    keyward: Option<PathBuf>,
}

#[allow(clippy::print_stdout, reason = "this is what the program is for")]
fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let keyward = match arguments.keyward {
        Some(path) => path,
        None => std::env::current_exe()?.with_file_name("keyward"),
    };
    ensure!(
        keyward.is_file(),
        "there is no {}; build it by `cargo build --release -p keyward`, or name one by --keyward",
        keyward.display()
    );
    let start = Instant::now();
    let mut pair = Pair::new(move || servers(&keyward));
    let Arguments { seed, commands, differences, only, .. } = arguments;
    let limits = Limits { seed, commands, differences, only: &only };
    let report = run(&mut pair, &limits, |text| println!("{text}"));
    println!(
        "{} commands in {} rounds from seed {} on, {:.1} s: {} differences",
        report.commands,
        report.rounds,
        seed,
        start.elapsed().as_secs_f64(),
        report.differences
    );
    if report.differences > 0 {
        println!("repeat a round by --seed N --commands 1");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn servers(keyward: &Path) -> [Server; 2] {
    [Server::keyward(keyward, &[]), Server::redis(&[])]
}

fn parse_rules(name: &str) -> Result<String> {
    ensure!(has_rules(name), "the grammar has no {name}.txt");
    Ok(name.to_owned())
}

fn parse_count(text: &str) -> Result<u64> {
    let (digits, factor) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix(['M', 'm']) {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    let count: u64 = digits.parse().with_context(|| format!("{text} is no number"))?;
    count.checked_mul(factor).context("too many")
}
