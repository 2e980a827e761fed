//! Why a demonstration ends early.

use std::io;

use keyward_server::{ServeError, SettingsError};

/// Why a demonstration cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// It cannot be shown.
    #[error(transparent)]
    Output(io::Error),
    /// Its server does not speak to it.
    #[error(transparent)]
    Connection(io::Error),
    /// There is no port to listen on.
    #[error("there is no free port: {0}")]
    Port(io::Error),
    /// There is no place for the server's files.
    #[error("cannot make a temporary directory: {0}")]
    Directory(io::Error),
    /// There is no thread for the server.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A schema that this program carries is not sound.
    #[error("{0} is not sound")]
    Schema(&'static str),
    /// The server does not take its settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The server ended by an error.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The server does not do what it should.
    #[error("the server {0}")]
    Server(&'static str),
}
