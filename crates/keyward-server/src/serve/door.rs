//! A way to the server for what runs beside it in the same process.
//!
//! Owns nothing but the way: whoever comes by it is a client like any other, with the rights that
//! clients have, served by turns; it never holds the thread up that serves.

use crate::net::selector::Alarm;
use crate::net::visitors::Visitors;
use crate::serve::core::Core;
use crate::settings::table::Id;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// What is started beside a server, when it listens: it is given the way, and is to return at
/// once.
pub type Companion = Box<dyn FnOnce(Door) -> io::Result<()>>;

/// A way to the server.
#[derive(Clone)]
pub struct Door {
    visitors: Arc<Visitors>,
    alarm: Alarm,
    password: Option<String>,
}

impl Door {
    pub(crate) fn of(core: &Core) -> Door {
        let password = core.host.settings.text(Id::RequirePass);
        Door {
            visitors: core.host.listeners.visitors(),
            alarm: core.host.alarm.clone(),
            password: (!password.is_empty()).then_some(password),
        }
    }

    /// Connects as a client.
    ///
    /// # Errors
    /// If the system lacks sockets.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let stream = self.visitors.connect()?;
        self.alarm.ring();
        Ok(stream)
    }

    /// What clients have to say first (`requirepass`), as it was when the server started.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Writes a line to the server's log.
    pub fn log(&self, line: &str) {
        tracing::warn!("{line}");
    }
}
