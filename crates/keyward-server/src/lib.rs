//! The server around the engine: sockets, settings, limits, the process.
//!
//! Owns everything the engine must not know. One thread runs the engine and all
//! connections in one loop (`serve/event_loop.rs`); each connection is a small state
//! machine that reads, lets the engine execute what is complete, and writes
//! (`serve/turn.rs`). `net` has the sockets, `files` what outlives the process, `process`
//! what concerns the system, `settings` what redis.conf says.
//!
//! `keyward serve` calls [`serve_command`]; a program that embeds the server
//! calls [`run`].

mod clock;
mod compat;
mod files;
mod net;
mod process;
mod serve;
pub mod settings;
#[cfg(test)]
mod simulation;

use process::daemon::Process;
use process::{daemon, log};
use serve::start;

pub use compat::compat_markdown;
pub use files::schemas::{Functions, Library, SchemaError, ServedSchema};
pub use process::log::LogError;
pub use serve::door::{Companion, Door};
pub use serve::error::ServeError;
pub use settings::{Settings, SettingsError};

/// Why `keyward serve` ended.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The settings were not accepted.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There is no log.
    #[error("the log: {0}")]
    Log(LogError),
    /// It cannot go to the background.
    #[error("cannot go to the background: {0}")]
    Background(std::io::Error),
    /// The server could not start.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// Serves until the process is told to stop. Logging is the caller's to set up.
///
/// From then on a panic, on any thread of the process, ends the process (SIGABRT) after it
/// was reported: nobody can vouch for the engine afterwards, and one thread serves everybody.
pub fn run(settings: Settings, schemas: Vec<ServedSchema>) -> Result<(), ServeError> {
    start::run(settings, schemas, None, None)
}

/// `keyward serve`: reads the arguments after `serve` as redis-server would,
/// goes to the background if they say so, starts the log and serves.
pub fn serve_command(arguments: &[String], schemas: Vec<ServedSchema>) -> Result<(), CommandError> {
    serve_beside(arguments, schemas, None)
}

/// As [`serve_command`], with something beside the server that is started when it listens.
///
/// # Errors
/// As [`serve_command`].
pub fn serve_beside(
    arguments: &[String],
    schemas: Vec<ServedSchema>,
    companion: Option<Companion>,
) -> Result<(), CommandError> {
    let mut settings = Settings::from_command_line(arguments)?;
    settings.assume_defaults()?;
    // The log comes later, but one that cannot be written is told to who started the server.
    log::check(&settings).map_err(CommandError::Log)?;
    if daemon::enter(&settings).map_err(CommandError::Background)? == Process::Starter {
        return Ok(());
    }
    let log = log::start(&settings).map_err(CommandError::Log)?;
    Ok(start::run(settings, schemas, Some(log), companion)?)
}
