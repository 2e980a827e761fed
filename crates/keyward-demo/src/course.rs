//! The course of a demonstration: from the start of its server to the summary.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::board::{Board, grouped};
use crate::connection::{Connection, REPLY_PATIENCE};
use crate::driver::{Loads, Tally};
use crate::error::DemoError;
use crate::figures::{self, SystemFigures};
use crate::output::Output;
use crate::plan::Plan;
use crate::server::Server;
use crate::system::System;

/// Runs until the time is over or the process is told to stop.
///
/// # Errors
/// If it cannot begin, or breaks off.
pub fn run(plan: &Plan, output: &mut dyn Output) -> Result<(), DemoError> {
    let mut server = Server::start(plan.port, &plan.systems)?;
    let mut watcher =
        Connection::open(server.address(), 0, REPLY_PATIENCE).map_err(DemoError::Connection)?;
    let begun = Loads::start(plan, server.address())
        .and_then(|loads| Ok((loads, figures::read(&mut watcher, &plan.systems)?)));
    let Some((loads, figures)) = server.unless_ended(begun)? else { return server.outcome() };
    let start = Instant::now();
    let mut board = Board::new(figures);
    let introduced = output.write(&introduction(plan, server.address(), server.http()));
    introduced.and_then(|()| output.flush()).map_err(DemoError::Output)?;
    loop {
        let left = plan.length.map(|length| length.saturating_sub(start.elapsed()));
        if server.ends_within(left.map_or(plan.interval, |left| left.min(plan.interval))) {
            break;
        }
        if plan.length.is_some_and(|length| start.elapsed() >= length) {
            break;
        }
        match server.unless_ended(watch(&mut watcher, plan))? {
            Some(figures) => board.show(figures, output).map_err(DemoError::Output)?,
            None => break,
        }
    }
    let tally = loads.stop();
    // Nobody writes any more: what is shown last is what the summary tells.
    let last = watch(&mut watcher, plan);
    if let Some(figures) = server.unless_ended(last)? {
        board.show(figures, output).map_err(DemoError::Output)?;
        server.stop(&mut watcher)?;
    }
    server.outcome()?;
    output.write(&summary(&tally, start.elapsed())).map_err(DemoError::Output)
}

/// What the server counts now; over another connection if somebody closed this one.
fn watch(watcher: &mut Connection, plan: &Plan) -> io::Result<Vec<SystemFigures>> {
    figures::read(watcher, &plan.systems).or_else(|_| {
        watcher.reopen()?;
        figures::read(watcher, &plan.systems)
    })
}

/// Where to connect, and what to try there.
fn introduction(plan: &Plan, address: SocketAddr, http: SocketAddr) -> String {
    let (rate, seed) = (grouped(plan.rate.into()), plan.seed);
    let cli = |system: &System| format!("redis-cli -p {} -n {}", address.port(), system.db);
    let dashboard = format!("\nThe dashboard is on http://{http}/\n");
    let mut text = match plan.systems.as_slice() {
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
    };
    text.push_str(&dashboard);
    text
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
