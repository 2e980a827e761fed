//! Signals, as events of the loop.
//!
//! Owns the handlers and the pipe they write to (the self-pipe trick): a signal that comes
//! at any moment ends a wait, and what it asks for happens between two rounds.
//! Not here: what a signal asks for (`serve::shutdown::on_signal`).

use crate::net::selector::{Watcher, Who};
use rustix::buffer::spare_capacity;
use rustix::net::RecvFlags;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the process can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Terminate,
    Interrupt,
    HangUp,
}

const HEARD: [(i32, Signal); 3] =
    [(SIGTERM, Signal::Terminate), (SIGINT, Signal::Interrupt), (SIGHUP, Signal::HangUp)];

/// The handlers; they are removed with this.
#[derive(Debug)]
pub(crate) struct Signals {
    pipe: UnixStream,
    came: Vec<(Signal, Arc<AtomicBool>)>,
    handlers: Vec<SigId>,
}

impl Signals {
    /// From now on signals are heard here.
    pub(crate) fn hear(watcher: &Watcher) -> io::Result<Signals> {
        let (pipe, told) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        watcher.watch_source(Who::Signal, &pipe)?;
        let mut signals = Signals { pipe, came: Vec::new(), handlers: Vec::new() };
        for (number, signal) in HEARD {
            let came = Arc::new(AtomicBool::new(false));
            // In this order: whoever reads the pipe sees which signal it was.
            signals.handlers.push(flag::register(number, Arc::clone(&came))?);
            signals.handlers.push(low_level::pipe::register(number, told.try_clone()?)?);
            signals.came.push((signal, came));
        }
        Ok(signals)
    }

    /// Those that have come since.
    pub(crate) fn take(&self) -> Vec<Signal> {
        let mut bytes = Vec::with_capacity(64);
        let mut has_more = true;
        while has_more {
            bytes.clear();
            let read =
                rustix::net::recv(&self.pipe, spare_capacity(&mut bytes), RecvFlags::DONTWAIT);
            has_more = read.is_ok_and(|(count, _)| count > 0);
        }
        let has_come = |(_, came): &&(Signal, Arc<AtomicBool>)| came.swap(false, Ordering::SeqCst);
        self.came.iter().filter(has_come).map(|(signal, _)| *signal).collect()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::selector::{Ready, Selector};
    use std::time::Duration;

    #[test]
    fn a_signal_ends_a_wait_and_is_told_once() {
        let mut selector = Selector::new().expect("a selector");
        let signals = Signals::hear(&selector.watcher().expect("a watcher")).expect("handlers");
        low_level::raise(SIGHUP).expect("a signal can be raised");
        let mut ready = Vec::new();
        selector.wait(&mut ready, Duration::from_secs(60)).expect("it can wait");
        assert!(matches!(ready[..], [Ready { who: Who::Signal, .. }]), "{ready:?}");
        assert_eq!(signals.take(), [Signal::HangUp]);
        assert_eq!(signals.take(), []);
    }
}
