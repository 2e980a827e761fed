//! The `keyward` command line.
//!
//! Owns the arguments, what goes to which stream, and the exit codes: 0 for
//! success, 1 for a negative answer, 2 if a command could not run. Data goes
//! to stdout, messages go to stderr, and a reader that closes the pipe early
//! has what it wanted: that is success.
//! Not here: anything a program that embeds Keyward would need.

mod answer;
mod commands;
mod progress;
mod schema_file;
mod signals;
mod terminal;

use std::io;
use std::process::ExitCode;

use clap::Parser;

use answer::Answer;
use commands::Command;
use terminal::Terminal;

/// Redis's own allocator: the engine's rows are sized by its classes.
#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Runs the document that describes your Redis keys.
#[derive(Debug, Parser)]
#[command(
    name = "keyward",
    version,
    after_help = "Examples:\n  keyward demo\n  keyward init shop && keyward check shop/keyward.toml"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut terminal = Terminal::standard();
    let outcome = arguments.command.run(&mut terminal).and_then(|answer| {
        terminal.flush()?;
        Ok(answer)
    });
    match outcome {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Where stderr is gone too there is nobody left to tell.
            let _ = terminal.flush().and_then(|()| terminal.say(&format!("keyward: {error:#}")));
            ExitCode::from(2)
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io_error = error.downcast_ref::<io::Error>();
    io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
