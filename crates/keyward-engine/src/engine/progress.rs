//! What becomes of a client's commands.

use crate::sessions::session::Session;

/// What a batch came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All commands were executed.
    Done,
    /// The client waits; commands after the one it waits in are kept and run
    /// when it goes on.
    Blocked,
    /// The connection is to be closed once the replies are sent.
    Closing,
}

impl Progress {
    pub(crate) fn of(session: &Session) -> Progress {
        match session {
            session if session.is_closing => Progress::Closing,
            session if session.is_waiting() => Progress::Blocked,
            _ => Progress::Done,
        }
    }
}
