//! The wish to stop: SIGTERM and SIGINT.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;
use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Whether the process was told to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    state: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// From now on signals are heard here, and end the process no more.
    pub(crate) fn on_signals() -> io::Result<Stop> {
        let (mut came, handler) = UnixStream::pair()?;
        pipe::register(SIGTERM, handler.try_clone()?)?;
        pipe::register(SIGINT, handler)?;
        let stop = Stop::default();
        let told = stop.clone();
        std::thread::spawn(move || {
            // The handlers stay for ever, and so does their end: there is no other error.
            let _ = came.read_exact(&mut [0]);
            let (is_set, changed) = &*told.state;
            *is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
            changed.notify_all();
        });
        Ok(stop)
    }

    pub(crate) fn is_set(&self) -> bool {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits so long, or until the process is told to stop; whether it was.
    pub(crate) fn within(&self, time: Duration) -> bool {
        let (is_set, changed) = &*self.state;
        let guard = is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(guard, time, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The error of who was told to stop.
    pub(crate) fn error() -> io::Error {
        io::Error::new(io::ErrorKind::Interrupted, "told to stop")
    }
}
