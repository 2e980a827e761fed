//! Snapshots for clients that want nothing else: `keyward backup`, `redis-cli --rdb`.
//!
//! Owns the task that sends one, in turn with the files that are written (`saving`), since
//! one snapshot is taken at a time. The engine captures it in steps between which everybody
//! is served; what the client has not taken yet is bounded, and the walk waits for it. Commands
//! never do: if they change so much meanwhile that a slow client falls too far behind, it
//! is disconnected.
//!
//! ```text
//! $EOF: mark, 40 bytes CR LF | snapshot | mark
//! ```
//! Not here: replicas, which get all of a snapshot at once and then changes (the engine).

use crate::net::peer::Peer;
use crate::serve::output_limit;
use crate::serve::server::Server;
use keyward_engine::{ClientId, Coverage, SnapshotOptions};
use keyward_rdb::Ending;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::Duration;

/// Bytes that wait for the socket before the walk does.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes that commands may have captured while the walk waits.
const CAPTURED_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How long the walk waits when the client is behind.
const BEHIND_PAUSE: Duration = Duration::from_millis(1);

/// A snapshot on its way to a client.
struct Sending<'a> {
    server: &'a Server,
    client: ClientId,
    ending: Ending,
    is_abandoned: bool,
}

/// How a step went.
enum Step {
    More,
    Behind,
    Over,
}

/// Sends a client a snapshot of this instant.
pub(crate) async fn send(server: &Rc<Server>, client: ClientId) {
    let mark = mark();
    let ending = Ending::new(true);
    let mut sending = Sending { server, client, ending, is_abandoned: false };
    sending.begin(&mark);
    loop {
        match sending.step() {
            Step::More => server.agenda.pause().await,
            Step::Behind => server.agenda.sleep(BEHIND_PAUSE).await,
            Step::Over => break,
        }
    }
    server.core.borrow_mut().host.is_sending = false;
    if !sending.is_abandoned {
        let end = [sending.ending.end().as_slice(), mark.as_bytes()].concat();
        sending.push(&end);
    }
}

/// Forty digits that no snapshot holds.
fn mark() -> String {
    let number = |index: u64| RandomState::new().hash_one(index) as u32;
    (0..5).map(|index| format!("{:08x}", number(index))).collect()
}

impl Sending<'_> {
    fn peer(&self) -> Option<Rc<Peer>> {
        self.server.peers.get(self.client).filter(|peer| !peer.must_close.get())
    }

    fn begin(&mut self, mark: &str) {
        {
            let core = &mut *self.server.core.borrow_mut();
            core.host.is_sending = true;
            core.engine.set_time(core.host.clock.now_us());
            let used_bytes = core.host.memory.used();
            let coverage = Coverage::Everything;
            core.engine.begin_snapshot(SnapshotOptions { coverage, sums: true, used_bytes });
        }
        self.push(format!("$EOF:{mark}\r\n").as_bytes());
    }

    /// Leaves bytes with the client's connection, if it is there.
    fn push(&self, bytes: &[u8]) {
        if let Some(peer) = self.peer() {
            peer.output.borrow_mut().push(bytes);
            output_limit::check(&mut self.server.core.borrow_mut(), self.client, &peer);
            peer.wake();
        }
    }

    /// Goes on for a fraction of a millisecond.
    fn step(&mut self) -> Step {
        let peer = self.peer();
        let waiting = peer.as_ref().map_or(0, |peer| peer.unsent_bytes());
        let mut captured = Vec::new();
        let is_over = {
            let engine = &mut self.server.core.borrow_mut().engine;
            if !self.is_abandoned && waiting > OUTPUT_BYTES_MAX {
                if engine.captured_bytes() <= CAPTURED_BYTES_MAX {
                    return Step::Behind;
                }
                tracing::warn!("closing: a client takes a snapshot too slowly");
                peer.iter().for_each(|peer| peer.close());
            }
            // A snapshot that nobody wants any more is walked to its end all the same.
            if !self.is_abandoned && self.peer().is_none() {
                self.is_abandoned = true;
                engine.abandon_snapshot();
            }
            engine.step_snapshot(&mut |bytes| captured.push(bytes))
        };
        for bytes in captured {
            self.ending.add(&bytes);
            self.push(&bytes);
        }
        if is_over { Step::Over } else { Step::More }
    }
}
