//! `cargo xtask tcl`: Redis's own test-suite against Keyward and against Redis.
//!
//! Owns which of its files are run, and how: all that the suite itself lists, with the
//! suite starting the servers, and one at a time. The suite is not part of this
//! repository: the caller has a checkout of Redis 7.0.15. What fails here and passes there
//! is to be fixed, or to stand with its reason in `known_failures.txt` of `keyward-commands`,
//! which COMPAT.md shows. What stands there is not run here: a test that ends half-way
//! leaves settings, transactions and clients behind, with which those after it fail.
//! Files about what is absent altogether stand there with `*`, and are not run at all.

mod suite;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use suite::{Outcome, Suite};

const KNOWN: &str = include_str!("../../crates/keyward-commands/src/known_failures.txt");

/// In the list of what is known to fail: all tests of a file.
const WHOLE_FILE: &str = "*";

/// What the command line says.
#[derive(Debug)]
struct Options {
    redis: PathBuf,
    keyward: PathBuf,
    /// Only these files; all if empty.
    files: Vec<String>,
}

fn parse(arguments: &[&str]) -> anyhow::Result<Options> {
    let mut redis = None;
    let mut keyward = PathBuf::from("target/release/keyward");
    let mut files = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{argument} needs a value"));
        match *argument {
            "--redis" => redis = Some(PathBuf::from(value()?)),
            "--keyward" => keyward = PathBuf::from(value()?),
            "--file" => files.push((*value()?).to_owned()),
            other => bail!("\"{other}\" is not an option"),
        }
    }
    let redis = redis.context("--redis DIR names a checkout of Redis 7.0.15")?;
    Ok(Options { redis, keyward: std::path::absolute(keyward)?, files })
}

/// Runs the files and prints what each came to.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let options = parse(arguments)?;
    let keyward = format!("{} serve", options.keyward.display());
    let ours = Suite::prepare(&options.redis, &keyward)?;
    let theirs = Suite::prepare(&options.redis, "redis-server")?;
    let known: BTreeMap<(&str, &str), &str> = known_failures().collect();
    let mut totals = Outcome::default();
    let (mut expected, mut unknown) = (0, 0);
    let files = ours.files()?;
    let is_wanted = |file: &&String| options.files.is_empty() || options.files.contains(file);
    for file in files.iter().filter(is_wanted) {
        let mut out = io::stdout().lock();
        if let Some(reason) = known.get(&(file.as_str(), WHOLE_FILE)) {
            writeln!(out, "{file}: not run: {reason}")?;
            continue;
        }
        let of_file = known.keys().filter(|(in_file, _)| in_file == file);
        let skipped: Vec<&str> = of_file.map(|(_, name)| *name).collect();
        let here = ours.run(file, &skipped)?;
        let there = theirs.run(file, &[])?;
        let passed = there.passed.intersection(&here.passed).count();
        writeln!(out, "{file}: {passed} of the {} that Redis passes", there.passed.len())?;
        for name in there.passed.difference(&here.passed) {
            let is_known = known.contains_key(&(file.as_str(), name.as_str()));
            unknown += usize::from(!is_known);
            writeln!(out, "  {} {name}", if is_known { "known:" } else { "FAILS:" })?;
        }
        expected += there.passed.len();
        totals
            .passed
            .extend(there.passed.intersection(&here.passed).map(|n| format!("{file} {n}")));
    }
    let passed = totals.passed.len();
    let percent = 100.0 * passed as f64 / expected.max(1) as f64;
    writeln!(
        io::stdout(),
        "{passed} of {expected} passed ({percent:.1} %), {unknown} unknown failures"
    )?;
    Ok(if unknown == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Files and names of the tests that are known to fail, and why.
fn known_failures() -> impl Iterator<Item = ((&'static str, &'static str), &'static str)> {
    let lines = KNOWN.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| {
        let mut parts = line.split('\t');
        Some(((parts.next()?, parts.next()?), parts.next()?))
    })
}

/// A directory of the suite's own, removed when it is done.
#[derive(Debug)]
struct Workplace(PathBuf);

impl Workplace {
    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        // What is left behind is in the system's folder for such things.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
