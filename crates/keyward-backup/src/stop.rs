//! The wish to stop, which whoever waits looks at.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Whether to stop; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    state: Arc<(Mutex<bool>, Condvar)>,
}

impl Stop {
    /// Has everybody stop who looks at it.
    pub fn set(&self) {
        let (is_set, changed) = &*self.state;
        *is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Whether to stop.
    pub fn is_set(&self) -> bool {
        *self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for that time, or until it is set; whether it is.
    pub fn within(&self, time: Duration) -> bool {
        let (is_set, changed) = &*self.state;
        let guard = is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(guard, time, |is_set| !*is_set);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// The error of whoever was told to stop.
    pub(crate) fn error() -> io::Error {
        io::Error::new(io::ErrorKind::Interrupted, "told to stop")
    }
}
