//! The link to the server that this one follows: attempts, snapshots, and starting over.
//!
//! Owns the job that keeps it up. An attempt is a thread's (`attempt`): it finds the address,
//! connects, agrees with the primary on what is to be sent, receives a snapshot into a file and
//! checks it there (`transfer`).
//! What it comes to goes on here: rows go, the file is loaded in steps beside whoever is answered,
//! and the socket becomes a connection like any other (`turn`), whose commands the engine follows.
//!
//! Invariant: whatever an attempt comes to is dropped if somebody else is to be followed by then.
//! Not here: what the stream does (`keyward-engine`), when the primary is silent for too long (its
//! tick).

mod attempt;
mod bridge;
pub(crate) mod state;
mod streamed;
mod transfer;

use crate::clock::{self, Instant};
use crate::files::progress::Progress;
use crate::net::transport::Stream;
use crate::serve::core::Core;
use crate::serve::pace::Pace;
use crate::serve::server::Server;
use crate::serve::{clients, commit, delivery};
use crate::settings::table::Id;
use attempt::{Agreement, Attempt, Audience, Beside, Granted, Report, Socket};
use keyward_engine::{
    Arrived, Coverage, DueRows, LinkStage, LoadError, PrimaryAddress, SnapshotLoader,
};
use keyward_persist::disk::Source;
use std::io::Read;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::task::Poll;
use std::time::Duration;

/// How long the next attempt waits after one that came to nothing soon.
const PAUSE: Duration = Duration::from_secs(1);
/// Rows loaded between two looks at the connections, if they are small.
const STEP_ROWS: usize = 1000;
/// How often a primary hears that a snapshot is being loaded.
const ALIVE_INTERVAL: Duration = Duration::from_secs(1);

/// Keeps the link up, for ever.
pub(crate) async fn keep_link(server: Rc<Server>) {
    let changed = Rc::clone(&server.core.borrow().host.link.changed);
    let mut has_tidied = false;
    loop {
        let (primary, order) = {
            let core = &*server.core.borrow();
            // What is there is loaded first.
            let primary = core.engine.primary().filter(|_| !core.host.is_loading());
            (primary, core.host.link.order)
        };
        let Some(primary) = primary else {
            changed.taken().await;
            continue;
        };
        if !std::mem::replace(&mut has_tidied, true) {
            let core = &*server.core.borrow();
            let directory: PathBuf = core.host.settings.text(Id::Dir).into();
            transfer::remove_leftovers(&*core.host.persistence.disk, &directory);
        }
        let (link, began) = (Following { server: &server, order }, Instant::now());
        if let Err(problem) = link.follow(primary).await {
            tracing::warn!("{problem}");
        }
        if link.is_current() {
            link.note(LinkStage::Connect);
            // Who loses a link that has held tries again at once.
            if began.elapsed() < PAUSE {
                link.pause().await;
            }
        }
    }
}

/// Following one server.
struct Following<'a> {
    server: &'a Rc<Server>,
    order: u64,
}

impl Following<'_> {
    /// Whether the same server is still to be followed.
    fn is_current(&self) -> bool {
        self.server.core.borrow().host.link.order == self.order
    }

    fn note(&self, stage: LinkStage) {
        let core = &mut *self.server.core.borrow_mut();
        core.engine.set_time(core.host.clock.now_us());
        core.engine.note_link(stage);
    }

    /// Waits a while, unless somebody else is to be followed.
    async fn pause(&self) {
        let until_ns = clock::monotonic_ns() + PAUSE.as_nanos() as u64;
        while self.is_current() && clock::monotonic_ns() < until_ns {
            self.server.agenda.sleep(PAUSE / 10).await;
        }
    }

    /// Follows the server until the link is lost, or another is to be followed.
    async fn follow(&self, primary: PrimaryAddress) -> Result<(), String> {
        let name = String::from_utf8_lossy(&primary.host).into_owned();
        tracing::info!("Connecting to MASTER {name}:{}", primary.port);
        tracing::info!("MASTER <-> REPLICA sync started");
        let is_over = Arc::new(AtomicBool::new(false));
        let reports = self.begin(&primary, &is_over)?;
        let agreement = self.agreement(&reports).await;
        self.end_loading();
        // The thread need not go on if nobody waits for what it comes to.
        is_over.store(true, Ordering::Relaxed);
        let Some(agreement) = agreement.transpose()? else { return Ok(()) };
        let Agreement { socket, received, granted, tells_schemas } = agreement;
        let stream = match socket {
            Socket::Tcp(socket) => Stream::Tcp(socket),
            Socket::Unix(socket) => Stream::Unix(socket),
        };
        if !matches!(granted, Granted::Nothing(_)) {
            let core = &mut *self.server.core.borrow_mut();
            core.engine.failover_accepted();
            delivery::deliver(self.server, core);
        }
        match granted {
            Granted::Nothing(refusal) => {
                let core = &mut *self.server.core.borrow_mut();
                core.engine.failover_refused(&mut core.host);
                delivery::deliver(self.server, core);
                return Err(refusal);
            }
            Granted::Rest(id) => {
                let core = &mut *self.server.core.borrow_mut();
                if !core.engine.go_on_following(&mut core.host, id.as_deref(), tells_schemas) {
                    return Err("MASTER <-> REPLICA sync: the master's id is none".to_owned());
                }
                tracing::info!(
                    "MASTER <-> REPLICA sync: Master accepted a Partial Resynchronization."
                );
                delivery::deliver(self.server, core);
            }
            Granted::Copy { id, offset, source } => {
                self.copy(&stream, (&id, offset), source).await?;
                self.server.core.borrow_mut().engine.note_telling(tells_schemas);
            }
            Granted::Loaded { id, offset, arrived } => {
                self.swap((&id, offset), *arrived)?;
                self.server.core.borrow_mut().engine.note_telling(tells_schemas);
            }
        }
        self.receive(stream, received).await;
        Ok(())
    }

    /// Begins an attempt.
    fn begin(
        &self,
        primary: &PrimaryAddress,
        is_over: &Arc<AtomicBool>,
    ) -> Result<Receiver<Report>, String> {
        let core = &*self.server.core.borrow();
        let (sender, reports) = channel();
        let settings = &core.host.settings;
        let tls = match settings.is_on(Id::TlsReplication) {
            true => {
                let tls = core.host.tls.as_ref();
                let tls = tls.ok_or("tls-replication is on, and TLS is not configured")?;
                Some(Arc::clone(&tls.client))
            }
            false => None,
        };
        let own_port = match settings.int(Id::ReplicaAnnouncePort) {
            0 if tls.is_some() && settings.int(Id::TlsPort) > 0 => settings.int(Id::TlsPort),
            0 => settings.int(Id::Port),
            announced => announced,
        };
        let attempt = Attempt {
            primary: primary.clone(),
            tls,
            user: settings.text(Id::MasterUser).into_bytes(),
            password: settings.text(Id::MasterAuth).into_bytes(),
            own_port,
            own_address: settings.text(Id::ReplicaAnnounceIp).into_bytes(),
            timeout: Duration::from_secs(settings.int(Id::ReplTimeout).max(1) as u64),
            resumption: core.engine.resumption(),
            refuses_empty: settings.text(Id::EmptyPrimary) == "refuse"
                && core.engine.row_count() > 0,
            skips_unsupported: settings.is_on(Id::SkipUnsupported),
            databases: usize::try_from(settings.int(Id::Databases)).unwrap_or(1),
            beside: beside(core),
            disk: Arc::clone(&core.host.persistence.disk),
            directory: settings.text(Id::Dir).into(),
            is_over: Arc::clone(is_over),
            reports: sender,
            alarm: core.host.alarm.clone(),
        };
        let started = std::thread::Builder::new().name("replica".to_owned());
        let started = started.spawn(move || attempt.run());
        started.map_err(|error| format!("a replica cannot have a thread: {error}"))?;
        Ok(reports)
    }

    /// What an attempt comes to; `None` if nobody wants that any more.
    async fn agreement(&self, reports: &Receiver<Report>) -> Option<Result<Agreement, String>> {
        std::future::poll_fn(|_| {
            loop {
                if !self.is_current() {
                    return Poll::Ready(None);
                }
                match reports.try_recv() {
                    Ok(Report::Stage(stage)) => self.note(stage),
                    Ok(Report::Transfer(transfer)) => {
                        let core = &mut *self.server.core.borrow_mut();
                        core.engine.set_time(core.host.clock.now_us());
                        core.engine.note_transfer(transfer);
                    }
                    Ok(Report::Loading(audience)) => self.begin_loading(audience),
                    Ok(Report::Over(outcome)) => return Poll::Ready(Some(*outcome)),
                    Err(TryRecvError::Empty) => return Poll::Pending,
                    Err(TryRecvError::Disconnected) => {
                        let problem = "a thread has ended without an outcome".to_owned();
                        return Poll::Ready(Some(Err(problem)));
                    }
                }
            }
        })
        .await
    }

    /// A snapshot is loaded beside what there is, on the thread of the attempt.
    fn begin_loading(&self, audience: Audience) {
        let core = &mut *self.server.core.borrow_mut();
        if audience == Audience::Everybody {
            core.host.link.loads_beside = true;
            return;
        }
        // Nobody is served, so the files have all that there is.
        commit::end_log(self.server, core);
        core.engine.load_behind_closed_doors(true);
        core.host.loading = Some(Progress::begun());
    }

    /// It is loaded, or came to nothing.
    fn end_loading(&self) {
        let core = &mut *self.server.core.borrow_mut();
        core.host.link.loads_beside = false;
        if core.host.loading.take().is_some() {
            core.engine.load_behind_closed_doors(false);
            // The append-only file goes on.
            core.host.files_wanted.give();
        }
    }

    /// Puts a snapshot that is loaded in the place of all there is.
    fn swap(&self, place: (&[u8], u64), arrived: Arrived) -> Result<(), String> {
        let core = &mut *self.server.core.borrow_mut();
        // The files have what goes now, and are written anew.
        commit::end_log(self.server, core);
        core.engine.set_time(core.host.clock.now_us());
        let outcome = core.engine.take_in(&mut core.host, arrived, place);
        core.host.files_wanted.give();
        delivery::deliver(self.server, core);
        outcome?;
        tracing::info!("MASTER <-> REPLICA sync: Finished with success");
        Ok(())
    }

    /// Puts the rows of a snapshot in the place of all there are.
    async fn copy(
        &self,
        stream: &Stream,
        place: (&[u8], u64),
        source: Source,
    ) -> Result<(), String> {
        let failed = |error: LoadError| {
            format!("Failed trying to load the MASTER synchronization DB from disk: {error}")
        };
        tracing::info!("MASTER <-> REPLICA sync: Flushing old data");
        let (bytes, mut loader) = {
            let core = &mut *self.server.core.borrow_mut();
            // The files have what goes now, and are written anew when the rest is there.
            commit::end_log(self.server, core);
            core.engine.set_time(core.host.clock.now_us());
            core.engine.begin_copy(&mut core.host);
            let started_s = clock::now_us() / 1_000_000;
            let progress = Progress { started_s, total_bytes: source.bytes, loaded_bytes: 0 };
            core.host.loading = Some(progress);
            delivery::deliver(self.server, core);
            let Source { content, bytes } = source;
            (bytes, core.engine.open_snapshot(content, Coverage::Everything, DueRows::Kept))
        };
        tracing::info!("MASTER <-> REPLICA sync: Loading DB in memory");
        let outcome = match &mut loader {
            Ok(loader) => {
                loader.expect_bytes(bytes);
                self.load(stream, loader).await
            }
            Err(_) => Ok(0),
        };
        let core = &mut *self.server.core.borrow_mut();
        core.host.loading = None;
        core.engine.set_time(core.host.clock.now_us());
        let ended = loader.and_then(|loader| outcome.map(|left_out| (loader, left_out)));
        let ended = ended.map_err(failed).and_then(|(loader, left_out)| {
            let (db, loaded) = (loader.stream_db(), loader.loaded);
            core.engine.end_copy(&mut core.host, place, db, loaded)?;
            core.engine.note_left_out(left_out);
            Ok(())
        });
        if ended.is_err() {
            core.engine.abandon_copy();
        }
        // The append-only file begins anew, with what there is now.
        core.host.files_wanted.give();
        delivery::deliver(self.server, core);
        ended?;
        tracing::info!("MASTER <-> REPLICA sync: Finished with success");
        Ok(())
    }

    /// Loads a snapshot; returns how many rows of it were left out.
    async fn load<R: Read>(
        &self,
        stream: &Stream,
        loader: &mut SnapshotLoader<R>,
    ) -> Result<u64, LoadError> {
        let (mut told, mut pace) = (Instant::now(), Pace::new(Id::KeyLoadDelay));
        loop {
            let has_more = {
                let Core { engine, host, .. } = &mut *self.server.core.borrow_mut();
                engine.set_time(host.clock.now_us());
                let has_more = engine.load_rows(host, loader, STEP_ROWS);
                if let Some(progress) = &mut host.loading {
                    progress.loaded_bytes = loader.offset();
                }
                let skips = host.settings.is_on(Id::SkipUnsupported);
                match has_more {
                    Err(LoadError::Unsupported(rows)) if skips => {
                        tracing::warn!("Left out of the primary's snapshot: {rows}");
                        return Ok(rows.count());
                    }
                    has_more => has_more?,
                }
            };
            if !has_more {
                return Ok(0);
            }
            if told.elapsed() >= ALIVE_INTERVAL {
                told = Instant::now();
                // A primary that does not take it has not been silent either.
                let _ = stream.send(b"\n");
            }
            self.server.agenda.pause().await;
            pace.keep(self.server, loader.loaded.rows, || self.is_current()).await;
        }
    }

    /// Has the stream carried out until the link is lost.
    async fn receive(&self, stream: Stream, received: Vec<u8>) {
        let client = {
            let core = &mut *self.server.core.borrow_mut();
            clients::accept_primary(self.server, core, stream, received)
        };
        let Some(client) = client else { return };
        let is_over = || self.server.peers.get(client).is_none();
        std::future::poll_fn(|_| if is_over() { Poll::Ready(()) } else { Poll::Pending }).await;
        if self.is_current() {
            tracing::warn!("Connection with master lost.");
        }
    }
}

/// How a snapshot is loaded from the connection, if the settings want that and it is possible.
fn beside(core: &Core) -> Option<Beside> {
    let (host, engine) = (&core.host, &core.engine);
    let swaps = match host.settings.text(Id::DisklessLoad).as_str() {
        "swapdb" => true,
        "on-empty-db" if engine.row_count() == 0 => false,
        _ => return None,
    };
    if host.link.goes_by_file.load(Ordering::Relaxed) {
        return None;
    }
    Some(Beside {
        options: engine.beside_options()?,
        swaps,
        key_delay: host.settings.int(Id::KeyLoadDelay),
        goes_by_file: Arc::clone(&host.link.goes_by_file),
    })
}
