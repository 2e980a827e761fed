//! The server around the engine: sockets, settings, limits, the process.
//!
//! Owns everything the engine must not know. One thread runs the engine and all
//! connections (`server`); each connection is a small state machine that reads,
//! lets the engine execute what is complete, and writes (`connection`).
//!
//! `keyward serve` calls [`serve_command`]; a program that embeds the server
//! calls [`run`].

mod busy;
mod clock;
mod connection;
mod host;
mod info;
mod listen;
mod peer;
mod server;
pub mod settings;

pub use server::ServeError;
pub use settings::{Settings, SettingsError};

use std::io::{self, IsTerminal};

/// Why `keyward serve` ended.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The settings were not accepted.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The log file cannot be written.
    #[error("the log: {0}")]
    Log(io::Error),
    /// The server could not start.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Serves until the process is told to stop. Logging is the caller's to set up.
pub fn run(settings: Settings) -> Result<(), ServeError> {
    server::run(settings)
}

/// `keyward serve`: reads the arguments after `serve` as redis-server would,
/// starts the log and serves.
pub fn serve_command(arguments: &[String]) -> Result<(), CommandError> {
    let settings = Settings::from_command_line(arguments)?;
    start_log(&settings).map_err(CommandError::Log)?;
    stop_on_panic();
    Ok(run(settings)?)
}

/// Ends the process when an invariant is broken. The runtime would let only the
/// one connection die, and go on with an engine nobody can vouch for.
fn stop_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

/// Sends the log to standard error or to the file the settings name.
fn start_log(settings: &Settings) -> io::Result<()> {
    use settings::table::Id;
    let level = match settings.text(Id::LogLevel).as_str() {
        "debug" => tracing::Level::TRACE,
        "verbose" => tracing::Level::DEBUG,
        "notice" => tracing::Level::INFO,
        _ => tracing::Level::WARN,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_target(false);
    let path = settings.text(Id::LogFile);
    if path.is_empty() {
        let is_terminal = io::stderr().is_terminal();
        log.with_ansi(is_terminal).with_writer(io::stderr).init();
    } else {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        log.with_ansi(false).with_writer(file).init();
    }
    Ok(())
}
