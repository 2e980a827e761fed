//! Connections from within the process: HTTP's users come by them.
//!
//! Owns those that wait to be let in. Each is one end of a pair of sockets; the thread that
//! serves takes it as it takes any client's, so that nothing is special about it.

use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Those who wait to be let in.
#[derive(Debug, Default)]
pub(crate) struct Visitors {
    waiting: Mutex<VecDeque<UnixStream>>,
    /// How many they are, for who only looks.
    count: AtomicUsize,
}

impl Visitors {
    /// Makes a connection; this end is the visitor's.
    pub(crate) fn connect(&self) -> io::Result<UnixStream> {
        let (ours, theirs) = UnixStream::pair()?;
        theirs.set_nonblocking(true)?;
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push_back(theirs);
        self.count.store(waiting.len(), Ordering::Release);
        Ok(ours)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// The next one.
    pub(crate) fn take(&self) -> Option<UnixStream> {
        if self.is_empty() {
            return None;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let next = waiting.pop_front();
        self.count.store(waiting.len(), Ordering::Release);
        next
    }
}
