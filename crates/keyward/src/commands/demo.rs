//! `keyward demo`: a system at work, on this machine, in a minute.

use std::num::NonZeroU32;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use keyward_demo::{DemoError, Plan, RATE_MAX, SYSTEMS, System};

use crate::answer::Answer;
use crate::terminal::Terminal;

/// Run one of five real systems under a living load, or all of them
///
/// Starts a server with the system's schema and functions, which this program
/// carries, on the loopback interface and in memory only; then users of the system
/// come. Shows what happens to each pattern of keys until Ctrl-C, and how to look at
/// it with redis-cli. Nothing is left behind.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  keyward demo\n  keyward demo calls-bot\n  \
    keyward demo events --port 7000 --rate 500\n  \
    keyward demo social --for 10s --interval 5s > social.txt")]
pub(crate) struct Demo {
    /// The system; all of them if none is named
    #[arg(value_name = "NAME", value_parser = names())]
    system: Option<String>,
    /// The port to listen on; a free one if none is given
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Commands a second, over all systems
    #[arg(long, default_value = "2000", value_parser = rate)]
    rate: NonZeroU32,
    /// What the users do is decided by this number
    #[arg(long, default_value = "7")]
    seed: u64,
    /// How often the table is shown
    #[arg(long, default_value = "1s", value_name = "DURATION", value_parser = duration)]
    interval: Duration,
    /// End by itself after this time
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    length: Option<Duration>,
}

impl Demo {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> anyhow::Result<Answer> {
        let is_wanted =
            |system: &&System| self.system.as_ref().is_none_or(|name| name == system.name);
        let plan = Plan {
            systems: SYSTEMS.iter().filter(is_wanted).collect(),
            port: self.port,
            rate: self.rate.get(),
            seed: self.seed,
            interval: self.interval,
            length: self.length,
        };
        keyward_demo::run(&plan, terminal).map_err(|error| match error {
            // A reader that closes the pipe has what it wanted: `main` looks for that.
            DemoError::Output(error) => error.into(),
            other => anyhow::Error::from(other),
        })?;
        Ok(Answer::Yes)
    }
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(SYSTEMS.iter().map(|system| system.name))
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    let parsed = keyward_schema::Duration::parse(text).ok_or("write it as 500ms, 10s or 5m")?;
    Ok(Duration::from_millis(parsed.as_ms()))
}

fn rate(text: &str) -> Result<NonZeroU32, String> {
    let parsed = text.parse().ok().filter(|rate: &NonZeroU32| rate.get() <= RATE_MAX);
    parsed.ok_or_else(|| format!("write a number from 1 to {}", RATE_MAX))
}
