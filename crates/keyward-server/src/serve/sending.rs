//! Snapshots for those who follow: replicas, `keyward backup`, `redis-cli --rdb`.
//!
//! Owns the task that makes one, in turn with the files that are written (`saving`), since
//! one snapshot is taken at a time. All who wait when it begins share it. The engine captures
//! it in steps between which everybody is served.
//!
//! Who takes a snapshot that ends with a mark is sent it while it is made (diskless
//! synchronisation): what a client has not taken yet is bounded, and the walk waits for the
//! slowest. Commands never do: if they change so much meanwhile that a slow client falls too far
//! behind, it is disconnected. For the others it is written to a file first, which is then sent
//! and has no name any more (`sending::files`).
//!
//! ```text
//! $EOF: mark, 40 bytes CR LF | snapshot | mark         $ length CR LF | snapshot
//! ```
//! Not here: the stream behind it (`replicas`).

pub(crate) mod files;

use crate::clock::{self, Instant};
use crate::files::snapshot_writer::{Saving, Target};
use crate::files::written_sync::Written;
use crate::net::peer::Peer;
use crate::serve::core::Core;
use crate::serve::pace::Pace;
use crate::serve::saving::{finish_snapshot, snapshot_rows};
use crate::serve::server::Server;
use crate::serve::{delivery, round};
use crate::settings::table::Id;
use keyward_engine::{ClientId, FullSync};
use keyward_persist::PersistError;
use keyward_rdb::{Ending, FileOptions};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::Duration;

/// Bytes that wait for a socket before the walk does.
const OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes that commands may have captured while the walk waits.
const CAPTURED_BYTES_MAX: usize = 256 * 1024 * 1024;
/// How long the walk waits when a client is behind.
const BEHIND_PAUSE: Duration = Duration::from_millis(1);

/// Clients that are sent the same.
struct Group<'a> {
    server: &'a Server,
    clients: Vec<ClientId>,
    began_ms: i64,
}

/// How a step went.
enum Step {
    More,
    Behind,
    Over,
}

/// Makes a snapshot of this instant for all who wait for one of the same kind.
pub(crate) async fn synchronize(server: &Rc<Server>) {
    let Some(sync) = server.core.borrow().engine.next_full_sync() else { return };
    let target = if sync.takes_mark { "replicas sockets" } else { "disk" };
    tracing::info!("Starting BGSAVE for SYNC with target: {target}");
    server.core.borrow_mut().host.syncing = Some(Instant::now());
    match sync.takes_mark {
        true => send(server, sync).await,
        false => write(server, sync).await,
    }
    server.core.borrow_mut().host.syncing = None;
}

/// Begins the snapshot, and tells those who get it.
fn begin(server: &Server, sync: &FullSync) {
    let core = &mut *server.core.borrow_mut();
    core.engine.set_time(core.host.clock.now_us());
    let used_bytes = core.host.memory.used();
    core.engine.begin_full_sync(sync, true, used_bytes);
    delivery::deliver(server, core);
    // What follows goes to the connections by another way.
    round::end_round(server, core);
}

/// Sends the snapshot while it is made.
async fn send(server: &Rc<Server>, sync: FullSync) {
    begin(server, &sync);
    let group = Group::new(server, sync.clients);
    let (mark, mut ending) = (mark(), Ending::new(true));
    group.push(format!("$EOF:{mark}\r\n").as_bytes());
    let mut is_abandoned = false;
    let (mut pace, total) = (Pace::new(Id::KeySaveDelay), snapshot_rows(server).1);
    let is_wanted = || group.peers().next().is_some();
    loop {
        let step = group.step(&mut ending, &mut is_abandoned);
        match step {
            Step::More => server.agenda.pause().await,
            Step::Behind => server.agenda.sleep(BEHIND_PAUSE).await,
            Step::Over => {}
        }
        pace.keep(server, snapshot_rows(server).0.unwrap_or(total), is_wanted).await;
        if matches!(step, Step::Over) {
            break;
        }
    }
    if !is_abandoned {
        group.push(&ending.end());
        group.push(mark.as_bytes());
        group.end();
        // In the words of Redis, which others look for in a log.
        let count = group.peers().count();
        tracing::info!("Diskless rdb transfer, done reading from pipe, {count} replicas still up.");
    }
}

/// Forty digits that no snapshot holds.
fn mark() -> String {
    let number = |index: u64| RandomState::new().hash_one(index) as u32;
    (0..5).map(|index| format!("{:08x}", number(index))).collect()
}

/// Writes the snapshot to a file, which is sent afterwards.
async fn write(server: &Rc<Server>, sync: FullSync) {
    let file = {
        let host = &server.core.borrow().host;
        host.persistence.new_sync_file(&host.settings)
    };
    let written = match file {
        Ok(file) => {
            begin(server, &sync);
            let writer = {
                let core = &mut *server.core.borrow_mut();
                let compresses = core.host.settings.is_on(Id::RdbCompression);
                let options = FileOptions { compresses, sums: true };
                let alarm = core.host.alarm.clone();
                let (saving, writer) = Saving::begin(Target::Sync, file, options, alarm);
                core.host.saving = Some(saving);
                writer
            };
            let is_there = |client: &ClientId| {
                server.peers.get(*client).is_some_and(|peer| !peer.must_close.get())
            };
            let is_wanted = || sync.clients.iter().any(is_there);
            finish_snapshot(server, writer, is_wanted).await.map(drop)
        }
        Err(error) => Err(error),
    };
    let core = &mut *server.core.borrow_mut();
    match written.and_then(|()| open(core)) {
        Ok(source) => {
            core.host.written_syncs.push_back(Written { clients: sync.clients, source });
            core.host.sync_written.give();
        }
        Err(error) => {
            tracing::warn!(%error, "BGSAVE for replication failed");
            core.engine.fail_full_sync(&sync.clients);
            delivery::deliver(server, core);
        }
    }
}

fn open(core: &Core) -> Result<keyward_persist::disk::Source, PersistError> {
    core.host.persistence.take_sync_file(&core.host.settings)
}

impl Group<'_> {
    fn new(server: &Server, clients: Vec<ClientId>) -> Group<'_> {
        Group { server, clients, began_ms: clock::now_us() / 1000 }
    }

    /// The connections of those who are still there.
    fn peers(&self) -> impl Iterator<Item = (ClientId, Rc<Peer>)> {
        self.clients.iter().filter_map(|client| {
            let peer = self.server.peers.get(*client)?;
            (!peer.must_close.get()).then_some((*client, peer))
        })
    }

    /// Leaves bytes with the connections.
    fn push(&self, bytes: &[u8]) {
        for (_, peer) in self.peers() {
            peer.output.borrow_mut().push(bytes);
            peer.wake();
        }
        let copies = self.clients.len() as u64;
        self.server.core.borrow_mut().host.stats.replica_output_bytes +=
            copies * bytes.len() as u64;
    }

    /// They have all of it when they have taken what is left with them.
    fn end(&self) {
        let core = &mut *self.server.core.borrow_mut();
        core.host.ending_syncs.extend(&self.clients);
    }

    /// Whether somebody has yet to take a lot. Who takes nothing for too long is disconnected.
    fn is_behind(&self) -> bool {
        let timeout_ms = self.server.core.borrow().host.settings.int(Id::ReplTimeout) * 1000;
        let now_ms = clock::now_us() / 1000;
        let mut is_behind = false;
        for (_, peer) in self.peers().filter(|(_, peer)| peer.unsent_bytes() > OUTPUT_BYTES_MAX) {
            is_behind = true;
            if now_ms - peer.active_ms.get().max(self.began_ms) > timeout_ms {
                let address = &peer.addresses.peer;
                tracing::warn!("Disconnecting timedout replica (full sync): {address}");
                peer.close();
            }
        }
        is_behind
    }

    /// Disconnects those who are behind.
    fn close_behind(&self) {
        for (_, peer) in self.peers().filter(|(_, peer)| peer.unsent_bytes() > OUTPUT_BYTES_MAX) {
            let address = &peer.addresses.peer;
            tracing::warn!("closing: {address} takes a snapshot too slowly");
            peer.close();
        }
    }

    /// Goes on with the snapshot for a fraction of a millisecond.
    fn step(&self, ending: &mut Ending, is_abandoned: &mut bool) -> Step {
        if !*is_abandoned && self.is_behind() {
            let captured = self.server.core.borrow().engine.captured_bytes();
            if captured <= CAPTURED_BYTES_MAX {
                return Step::Behind;
            }
            self.close_behind();
        }
        let mut captured = Vec::new();
        let is_over = {
            let engine = &mut self.server.core.borrow_mut().engine;
            // A snapshot that nobody wants any more is walked to its end all the same.
            if !*is_abandoned && self.peers().next().is_none() {
                *is_abandoned = true;
                engine.abandon_snapshot();
            }
            engine.step_snapshot(&mut |bytes| captured.push(bytes))
        };
        for bytes in captured {
            ending.add(&bytes);
            self.push(&bytes);
        }
        if is_over { Step::Over } else { Step::More }
    }
}
