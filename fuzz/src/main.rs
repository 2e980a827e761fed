//! The command line of the fuzzer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use keyward_fuzz::guided::{Guided, Reached};
use keyward_fuzz::{Random, TARGETS, Target};

/// The most of a processor's time that one round may take: others may use the machine. A
/// sanitizer takes a multiple of it.
const ROUND_MAX: Duration = Duration::from_secs(if cfg!(feature = "guided") { 60 } else { 2 });

/// A guided run tells this often how far it has come.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// How what is under way is repeated.
static REPEATED_BY: Mutex<String> = Mutex::new(String::new());

/// Throws random input at whatever reads bytes from outside.
#[derive(Parser)]
struct Arguments {
    /// What is fuzzed.
    target: String,
    /// For how long.
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The seed of the first round; each further one has the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many rounds at most.
    #[arg(long, default_value_t = u64::MAX)]
    rounds: u64,
    /// Is guided by coverage: `cargo xtask sanitize` builds a program that can be.
    #[arg(long)]
    guided: bool,
    /// Keeps what the guide finds in this directory, and goes on from what is there.
    #[arg(long, requires = "guided")]
    keep: Option<PathBuf>,
    /// Judges the bytes of this file and nothing else.
    #[arg(long, conflicts_with = "guided")]
    input: Option<PathBuf>,
}

#[allow(clippy::print_stdout, reason = "this is what the program is for")]
fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let target = TARGETS.iter().find(|target| target.name == arguments.target);
    let target = target.with_context(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("there is no target {:?}; there are {}", arguments.target, names.join(", "))
    })?;
    tell_on_panic();
    if let Some(path) = &arguments.input {
        let subject = target.subject.context("this target has no inputs that are bytes")?;
        let input = std::fs::read(path).with_context(|| path.display().to_string())?;
        let repeated_by = format!("--input {}", path.display());
        watch(&repeated_by, || (subject.judge)(&input)).context(path.display().to_string())?;
        println!("{}: nothing found", target.name);
        return Ok(());
    }
    if arguments.guided {
        return run_guided(target, &arguments);
    }
    let start = Instant::now();
    let mut rounds = 0;
    while start.elapsed() < Duration::from_secs(arguments.seconds) && rounds < arguments.rounds {
        let seed = arguments.seed.wrapping_add(rounds);
        let repeated_by = format!("--seed {seed} --rounds 1");
        watch(&repeated_by, || (target.round)(&mut Random::new(seed)))
            .with_context(|| format!("repeat it by {repeated_by}"))?;
        rounds += 1;
    }
    println!("{}: {rounds} rounds from seed {} on, nothing found", target.name, arguments.seed);
    Ok(())
}

#[allow(clippy::print_stdout, reason = "this is what the program is for")]
fn run_guided(target: &Target, arguments: &Arguments) -> Result<()> {
    let subject = target.subject.context("this target cannot be guided")?;
    ensure!(Guided::is_possible(), "built without counters; see fuzz/README.md");
    let mut guided = Guided::new(subject, arguments.seed);
    if let Some(directory) = &arguments.keep {
        guided.keep_in(directory).with_context(|| directory.display().to_string())?;
    }
    let repeated_by = match guided.current() {
        Some(path) => format!("--input {}", path.display()),
        None => format!("--guided --seed {}", arguments.seed),
    };
    let (start, mut told) = (Instant::now(), Instant::now());
    let tell = |reached: Reached| {
        let Reached { executions, corpus, edges, edges_total } = reached;
        println!("{executions} inputs, {corpus} kept, {edges} of {edges_total} edges");
    };
    let first = guided.reached().executions;
    while start.elapsed() < Duration::from_secs(arguments.seconds)
        && guided.reached().executions - first < arguments.rounds
    {
        watch(&repeated_by, || guided.step())
            .with_context(|| format!("repeat it by {repeated_by}"))??;
        if told.elapsed() > TELL_EVERY {
            told = Instant::now();
            tell(guided.reached());
        }
    }
    tell(guided.reached());
    println!("{}: guided, from seed {} on, nothing found", target.name, arguments.seed);
    Ok(())
}

/// How long this process has had a processor.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Says how a panic is repeated: a release build ends with it.
#[allow(clippy::print_stderr, reason = "this is what the program is for")]
fn tell_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        let repeated_by = REPEATED_BY.lock().unwrap_or_else(PoisonError::into_inner);
        eprintln!("repeat it by {repeated_by}");
    }));
}

/// Runs something that must neither panic nor take long.
fn watch<R>(repeated_by: &str, run: impl FnOnce() -> R) -> Result<R> {
    repeated_by.clone_into(&mut REPEATED_BY.lock().unwrap_or_else(PoisonError::into_inner));
    let start = processor_time();
    let Ok(result) = catch_unwind(AssertUnwindSafe(run)) else { bail!("it panics") };
    let taken = processor_time() - start;
    ensure!(taken <= ROUND_MAX, "it takes {taken:?}");
    Ok(result)
}
