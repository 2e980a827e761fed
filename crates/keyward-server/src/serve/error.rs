//! Why the server did not serve.

use crate::files::schemas::SchemaError;
use keyward_engine::{LoadError, Unaccepted};
use keyward_persist::PersistError;
use keyward_persist::aof::{OpenError, ReadError};
use keyward_persist::file_lock::LockError;
use keyward_tls::TlsError;
use std::io;
use std::path::PathBuf;

/// Why the server did not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The selector, a thread or a signal handler could not be set up.
    #[error("cannot start: {0}")]
    Start(io::Error),
    /// The snapshot there is cannot be read.
    #[error(transparent)]
    Open(#[from] PersistError),
    /// The snapshot there is cannot be loaded. Nothing is served: what would be saved
    /// later would replace it.
    #[error("{}: {problem}; move the file away to start without it", file.display())]
    Load {
        /// The file.
        file: PathBuf,
        /// Why. No source of the error: the text has all of it.
        problem: LoadError,
    },
    /// The append-only file there is cannot be used.
    #[error(transparent)]
    OpenAppendOnly(#[from] OpenError),
    /// The append-only file there is cannot be read.
    #[error("{0}; make a copy of it, then repair it with redis-check-aof --fix")]
    AppendOnly(ReadError),
    /// Rows are to be in the append-only file that only snapshots have, and it cannot be written.
    /// Nothing is served: what would be acknowledged would not be there. The files are as they
    /// were.
    #[error(
        "the append-only file cannot be written anew with the rows that only snapshots have; the \
         files are as they were"
    )]
    NotLogged,
    /// Another server writes the same files.
    #[error("{0}; stop that one, or say another --dir")]
    Locked(LockError),
    /// A socket could not be bound.
    #[error("{0}")]
    Listen(io::Error),
    /// What the settings say of TLS cannot be done.
    #[error("{0}")]
    Tls(TlsError),
    /// The schemas would change rows that are there, and nobody has accepted that.
    #[error("{0}")]
    Unaccepted(Box<Unaccepted>),
    /// Users could not be read from the settings or from their file.
    #[error("{0}")]
    Users(String),
    /// A schema could not be put in force.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}
