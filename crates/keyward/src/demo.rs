//! The systems at work: a server in this process and users who come to it.
//!
//! Owns the course of a demonstration: the server starts, the ground is laid, each
//! system's load runs on a thread of its own over a connection of its own, and what
//! the server counts is shown until a signal, or the time that was set, ends it.
//! Nothing outlives it: rows are in memory only, and the directory that the server is
//! given is a temporary one.
//! Not here: what the users of a system do (one file each).

mod api_billing;
mod board;
mod call;
mod calls_bot;
mod chance;
mod connection;
mod events;
mod figures;
mod load;
mod server;
mod social;
mod system;
mod telegram_gateway;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::terminal::Terminal;
use board::{Board, grouped};
use connection::{Connection, REPLY_PATIENCE};
use figures::SystemFigures;
use load::{Loads, Tally};
use server::Server;
pub(crate) use system::{SYSTEMS, System};

/// The most commands a second that may be asked for.
pub(crate) const RATE_MAX: u32 = 100_000;

/// What is to be shown.
pub(crate) struct Plan {
    pub(crate) systems: Vec<&'static System>,
    /// Where to listen; a free port if none is said.
    pub(crate) port: Option<u16>,
    /// Commands a second, over all systems.
    pub(crate) rate: u32,
    pub(crate) seed: u64,
    /// How often the table is shown.
    pub(crate) interval: Duration,
    /// When it ends, unless a signal ends it before.
    pub(crate) length: Option<Duration>,
}

/// Runs until the time is over or the process is told to stop.
pub(crate) fn run(plan: &Plan, terminal: &mut Terminal) -> anyhow::Result<()> {
    let mut server = Server::start(plan.port, &plan.systems)?;
    let mut watcher = Connection::open(server.address(), 0, REPLY_PATIENCE)?;
    let begun = Loads::start(plan, server.address())
        .and_then(|loads| Ok((loads, figures::read(&mut watcher, &plan.systems)?)));
    let Some((loads, figures)) = server.unless_ended(begun)? else { return server.outcome() };
    let start = Instant::now();
    let mut board = Board::new(figures);
    terminal.write(&introduction(plan, server.address()))?;
    terminal.flush()?;
    loop {
        let left = plan.length.map(|length| length.saturating_sub(start.elapsed()));
        if server.ends_within(left.map_or(plan.interval, |left| left.min(plan.interval))) {
            break;
        }
        if plan.length.is_some_and(|length| start.elapsed() >= length) {
            break;
        }
        match server.unless_ended(watch(&mut watcher, plan))? {
            Some(figures) => board.show(figures, terminal)?,
            None => break,
        }
    }
    let tally = loads.stop();
    // Nobody writes any more: what is shown last is what the summary tells.
    let last = watch(&mut watcher, plan);
    if let Some(figures) = server.unless_ended(last)? {
        board.show(figures, terminal)?;
        server.stop(&mut watcher)?;
    }
    server.outcome()?;
    terminal.write(&summary(&tally, start.elapsed()))?;
    Ok(())
}

/// What the server counts now; over another connection if somebody closed this one.
fn watch(watcher: &mut Connection, plan: &Plan) -> io::Result<Vec<SystemFigures>> {
    figures::read(watcher, &plan.systems).or_else(|_| {
        watcher.reopen()?;
        figures::read(watcher, &plan.systems)
    })
}

/// Where to connect, and what to try there.
fn introduction(plan: &Plan, address: SocketAddr) -> String {
    let (rate, seed) = (grouped(plan.rate.into()), plan.seed);
    let cli = |system: &System| format!("redis-cli -p {} -n {}", address.port(), system.db);
    match plan.systems.as_slice() {
        [system] => {
            let mut text = format!(
                "{} on {address}, {rate} commands a second, seed {seed}. Ctrl-C ends it. Try:\n\n",
                system.name
            );
            for command in system.tries {
                text.push_str(&format!("  {} {command}\n", cli(system)));
            }
            text
        }
        systems => {
            let mut text = format!(
                "{} systems on {address}, {rate} commands a second, seed {seed}. \
                 Ctrl-C ends it. Try:\n\n",
                systems.len()
            );
            for system in systems {
                text.push_str(&format!("  {} {}\n", cli(system), system.tries[0]));
            }
            text
        }
    }
}

/// The last line, and below it what should not have happened.
fn summary(tally: &Tally, elapsed: Duration) -> String {
    let mut text = format!(
        "\nended after {:.1} s: {} commands, of which {} broke the schema on purpose and were \
         refused; {} failed\n",
        elapsed.as_secs_f64(),
        grouped(tally.commands),
        grouped(tally.refused),
        grouped(tally.failed)
    );
    if let Some(failure) = &tally.first_failure {
        text.push_str(&format!("the first that failed: {}\n", keyward_schema::escape(failure)));
    }
    text
}
