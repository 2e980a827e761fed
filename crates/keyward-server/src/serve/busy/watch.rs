//! The script that is being watched, and who came while it ran.

use crate::clock::Instant;
use crate::net::transport::Stream;
use keyward_engine::ClientId;

/// What a slow script needs.
#[derive(Debug, Default)]
pub(crate) struct Busy {
    watch: Option<Watch>,
    pub(super) guests: Vec<Guest>,
}

/// A script that is being watched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch {
    run: u64,
    pub(super) since: Instant,
    pub(super) looked: Instant,
    pub(super) is_slow: bool,
}

/// A client that came while a script was running.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) socket: Stream,
    pub(crate) client: ClientId,
    /// Replies its socket has not taken.
    pub(crate) unsent: Vec<u8>,
}

impl Busy {
    /// Those who came while a script was running.
    pub(crate) fn take_guests(&mut self) -> Vec<Guest> {
        std::mem::take(&mut self.guests)
    }

    /// How many came while the script was running.
    pub(crate) fn guest_count(&self) -> usize {
        self.guests.len()
    }

    /// The watch over this run, begun now if it is new.
    pub(super) fn watch(&mut self, run: u64) -> &mut Watch {
        let now = Instant::now();
        let new = Watch { run, since: now, looked: now, is_slow: false };
        let watch = self.watch.get_or_insert(new);
        if watch.run != run {
            *watch = new;
        }
        watch
    }
}
