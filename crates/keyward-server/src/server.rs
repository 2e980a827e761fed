//! The thread that runs the engine and all connections.
//!
//! Owns the engine, the shared buffers, the accept loops, the ticks and the end.
//! Everything here runs on one thread in one local runtime: tasks borrow `core`
//! only between awaits, so the borrow never fails.

use crate::append_only::AppendOnly;
use crate::busy::{Busy, Guest};
use crate::client_memory::ClientMemory;
use crate::clock::{self, EngineClock};
use crate::commit::Waiters;
use crate::data_locks::DataLocks;
use crate::descriptors;
use crate::gathering::Gatherer;
use crate::host::{NetStats, ServerHost};
use crate::leisure;
use crate::listen::{Listeners, Stream};
use crate::loading;
use crate::log::LogControl;
use crate::memory::Memory;
use crate::outbox::{self, Outbox};
use crate::peer::{Peer, Peers};
use crate::persistence::Persistence;
use crate::rates::{Rates, Totals};
use crate::saving;
use crate::schemas::{self, SchemaError, ServedSchema};
use crate::settings::Settings;
use crate::settings::table::Id;
use crate::settings::value::{ClientClass, OutputLimit};
use crate::wire::{self, LINGERING, PATIENCE, Wire};
use keyward_engine::{
    ClientId, Delivery, Engine, EngineOptions, Host, Listening, LoadError, Random,
};
use keyward_persist::PersistError;
use keyward_persist::aof::{OpenError, ReadError};
use keyward_persist::file_lock::LockError;
use keyward_resp::Batch;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, LocalOptions};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// What one read takes at most.
const INPUT_BYTES: usize = 64 * 1024;
/// How long accepting pauses when the process has no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why the server did not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The runtime or a signal handler could not be set up.
    #[error("cannot start: {0}")]
    Start(io::Error),
    /// The snapshot there is cannot be read.
    #[error(transparent)]
    Open(#[from] PersistError),
    /// The snapshot there is cannot be loaded. Nothing is served: what would be saved
    /// later would replace it.
    #[error("{}: {problem}; move the file away to start without it", file.display())]
    Load {
        /// The file.
        file: PathBuf,
        /// Why. No source of the error: the text has all of it.
        problem: LoadError,
    },
    /// The append-only file there is cannot be used.
    #[error(transparent)]
    OpenAppendOnly(#[from] OpenError),
    /// The append-only file there is cannot be read.
    #[error("{0}; make a copy of it, then repair it with redis-check-aof --fix")]
    AppendOnly(ReadError),
    /// Another server writes the same files.
    #[error("{0}; stop that one, or say another --dir")]
    Locked(LockError),
    /// A socket could not be bound.
    #[error("{0}")]
    Listen(io::Error),
    /// A schema could not be put in force.
    #[error(transparent)]
    Schema(#[from] SchemaError),
}

/// The engine and what its calls need.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) engine: Engine,
    pub(crate) host: ServerHost,
    /// What a connection has just read.
    pub(crate) input: Vec<u8>,
    /// What the engine has just replied.
    pub(crate) output: Vec<u8>,
    pub(crate) batch: Batch,
    /// What clients take together.
    pub(crate) client_memory: ClientMemory,
    gatherer: Gatherer,
}

impl Core {
    /// Whether there is something to do at leisure.
    fn has_leisure_work(&self) -> bool {
        self.engine.has_leisure_work() || self.gatherer.is_wanted(self.host.memory.seen())
    }

    /// Uses a moment in which nothing else is to be done; answers whether there is more.
    pub(crate) fn rest(&mut self) -> bool {
        let Core { engine, host, gatherer, .. } = self;
        // What is packed lies elsewhere: it is gathered when all of it is.
        if engine.has_leisure_work() {
            engine.rest();
        } else if gatherer.is_wanted(host.memory.seen()) {
            gatherer.step(engine, || host.memory.look());
        }
        self.has_leisure_work()
    }

    /// How many bytes of replies a client may leave unread.
    pub(crate) fn output_limit(&self, client: ClientId, peer: &Peer) -> OutputLimit {
        let class = match self.engine.listening(client) {
            Listening::No => ClientClass::Normal,
            Listening::ToChanges => ClientClass::Replica,
            Listening::ToChannels => ClientClass::Subscriber,
        };
        peer.class.set(class);
        self.host.settings.output_limit(class)
    }

    /// Writes a last snapshot where snapshots are written at all; whether the process
    /// may end.
    fn save_before_the_end(&mut self) -> bool {
        self.engine.gather_rows();
        let may_end = !self.host.saves_by_itself() || self.host.save(&self.engine.snapshot());
        if !may_end {
            tracing::warn!("Error trying to save the DB, can't exit.");
        }
        may_end
    }

    /// Counts a client's memory, if that is limited.
    pub(crate) fn count_client(&mut self, client: ClientId, peer: &Peer) {
        if self.client_memory.is_on() && !peer.must_close.get() {
            let (bytes, may_go) = self.engine.client_memory(client);
            self.client_memory.count(client, peer, bytes + peer.bytes(), may_go);
        }
    }

    /// Gives memory back after an unusually large reply.
    pub(crate) fn release_large_buffers(&mut self) {
        outbox::release_large(&mut self.output);
    }
}

/// What all tasks share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) core: RefCell<Core>,
    pub(crate) peers: Rc<Peers>,
    pub(crate) wire: Wire,
    /// When the next tick is planned, in milliseconds since the epoch.
    planned_tick_ms: Cell<i64>,
    /// Whether the last tick left something to do at once.
    is_behind: Cell<bool>,
    /// Who waits for the log.
    pub(crate) waiters: Waiters,
    /// Wakes the ticker when a wait ends before that.
    earlier_tick: Notify,
    /// Tells that there is something to do that has time.
    pub(crate) leisure: Notify,
    /// Whether that is being done, bit by bit.
    pub(crate) is_resting: Cell<bool>,
}

/// Serves until SIGTERM or SIGINT. `log` is told when its level changes.
pub(crate) fn run(
    settings: Settings,
    schemas: Vec<ServedSchema>,
    log: Option<LogControl>,
) -> Result<(), ServeError> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    runtime.map_err(ServeError::Start)?.block_on(serve(settings, schemas, log))
}

async fn serve(
    mut settings: Settings,
    schemas: Vec<ServedSchema>,
    log: Option<LogControl>,
) -> Result<(), ServeError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(ServeError::Start)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(ServeError::Start)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!("keyward {version} starts, PID: {}", std::process::id());
    let (wire, selector) = Wire::new().map_err(ServeError::Start)?;
    let doorbell = wire.doorbell().map_err(ServeError::Start)?;
    let listeners = Listeners::bind(&settings, doorbell).map_err(|error| {
        tracing::warn!("Failed listening on port {}, aborting.", settings.int(Id::Port));
        ServeError::Listen(error)
    })?;
    descriptors::provide(&mut settings);
    let databases = settings.int(Id::Databases);
    let listeners = Rc::new(listeners);
    let waiters = wire.waker().and_then(Waiters::new).map_err(ServeError::Start)?;
    let server = Rc::new(Server::new(settings, log, Rc::clone(&listeners), (wire, waiters)));
    let owned = server.core.borrow_mut().host.own_data_in_force();
    owned.map_err(|error| {
        tracing::warn!("{error}, aborting.");
        ServeError::Locked(error)
    })?;
    let governed = schemas::describe(&schemas);
    let functions = schemas::govern(&mut server.core.borrow_mut().engine, schemas)?;
    let place = listeners.describe();
    let tcp = Rc::clone(&listeners);
    tokio::task::spawn_local(accept_all(Rc::clone(&server), async move || tcp.accept_tcp().await));
    let accept_unix = async move || listeners.accept_unix().await;
    tokio::task::spawn_local(accept_all(Rc::clone(&server), accept_unix));
    tokio::task::spawn_local(tick(Rc::clone(&server)));
    tokio::task::spawn_local(serve_connections(Rc::clone(&server), selector));
    tokio::task::spawn_local(leisure::use_leisure(Rc::clone(&server)));
    let stop = Rc::clone(&server.core.borrow().host.stop);
    tokio::select! {
        loaded = loading::load(&server) => loaded?,
        () = stop.notified() => return Ok(()),
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    }
    {
        let Core { engine, host, .. } = &mut *server.core.borrow_mut();
        engine.set_time(host.clock.now_us());
        host.functions = functions;
        schemas::load_libraries(engine, host)?;
    }
    tokio::task::spawn_local(saving::keep_files(Rc::clone(&server)));
    tracing::info!("Ready to accept connections on {place}, {databases} databases, {governed}");
    loop {
        tokio::select! {
            // SHUTDOWN has saved already, if that was to be done.
            () = stop.notified() => break,
            _ = terminate.recv() => tracing::info!("stopping: told to by SIGTERM"),
            _ = interrupt.recv() => tracing::info!("stopping: told to by SIGINT"),
        }
        if server.core.borrow_mut().save_before_the_end() {
            break;
        }
    }
    server.end_round(&mut server.core.borrow_mut());
    server.end_log(&mut server.core.borrow_mut());
    server.peers.each(Peer::close);
    Ok(())
}

/// Serves connections for ever.
async fn serve_connections(server: Rc<Server>, selector: mio::Poll) {
    if let Err(error) = wire::serve(Rc::clone(&server), selector).await {
        tracing::error!(%error, "stopping: cannot watch the sockets");
        server.core.borrow().host.stop.notify_one();
    }
}

/// Accepts connections for ever. Errors are the peer's, or pass.
async fn accept_all(server: Rc<Server>, accept: impl AsyncFn() -> io::Result<Stream>) {
    loop {
        match accept().await {
            Ok(socket) => server.admit(socket),
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Lets the engine do what time demands, `hz` times a second or when a wait ends.
async fn tick(server: Rc<Server>) {
    loop {
        let pause = server.plan_tick();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = server.earlier_tick.notified() => continue,
        }
        while server.tick() {
            tokio::task::yield_now().await;
        }
    }
}

impl Server {
    fn new(
        settings: Settings,
        log: Option<LogControl>,
        listeners: Rc<Listeners>,
        (wire, waiters): (Wire, Waiters),
    ) -> Server {
        let seed = RandomState::new().hash_one(clock::now_us());
        let mut random = Random::from_seed(RandomState::new().hash_one(seed));
        let digits = (0..5).map(|_| format!("{:08x}", random.next_u64() as u32));
        let peers = Rc::new(Peers::default());
        let options = EngineOptions {
            seed,
            databases: usize::try_from(settings.int(Id::Databases)).unwrap_or(1),
            tunables: settings.tunables(),
        };
        let mut memory = Memory::new();
        memory.purge_on_thread(settings.is_on(Id::AllocatorThread));
        let host = ServerHost {
            settings,
            log,
            listeners,
            peers: Rc::clone(&peers),
            stats: NetStats::default(),
            rates: Rates::default(),
            stop: Rc::default(),
            started: Instant::now(),
            clock: EngineClock::new(),
            turn_began_ns: None,
            lately_ns: 0,
            run_id: digits.collect(),
            snapshots_wanted: VecDeque::new(),
            is_sending: false,
            memory,
            busy: Busy::default(),
            persistence: Persistence::new(clock::now_us() / 1_000_000),
            append_only: AppendOnly::new(),
            locks: DataLocks::default(),
            outbox: Outbox::new(),
            departing_bytes: Cell::default(),
            saving: None,
            files_wanted: Rc::default(),
            loading: None,
            functions: Vec::new(),
        };
        let mut engine = Engine::new(options);
        engine.call_commands(host.settings.names().clone());
        let core = Core {
            engine,
            host,
            input: Vec::with_capacity(INPUT_BYTES),
            output: outbox::reply_buffer(),
            batch: Batch::new(),
            client_memory: ClientMemory::default(),
            gatherer: Gatherer::default(),
        };
        Server {
            core: RefCell::new(core),
            peers,
            wire,
            planned_tick_ms: Cell::new(0),
            is_behind: Cell::new(false),
            waiters,
            earlier_tick: Notify::new(),
            leisure: Notify::new(),
            is_resting: Cell::new(false),
        }
    }

    /// One bounded step of background work; answers whether there is more.
    fn tick(&self) -> bool {
        let core = &mut *self.core.borrow_mut();
        let now_us = clock::now_us();
        core.host.clock.look_at_wall();
        core.engine.set_time(core.host.clock.now_us());
        core.host.memory.look_at_times(now_us / 1000);
        let has_more = core.engine.tick(&mut core.host);
        let NetStats { input_bytes, output_bytes, .. } = core.host.stats;
        let commands = core.engine.commands_processed();
        let totals = Totals { commands, input_bytes, output_bytes };
        core.host.rates.sample(Instant::now(), totals);
        self.collect_log(core);
        self.deliver(core);
        self.tick_files(core);
        self.check_clients(core, now_us / 1000);
        self.limit_client_memory(core);
        if core.has_leisure_work() {
            self.leisure.notify_one();
        }
        self.is_behind.set(has_more);
        has_more
    }

    /// Takes those who came while a script was running.
    pub(crate) fn admit_guests(&self, core: &mut Core) {
        for Guest { socket, client, unsent } in core.host.busy.take_guests() {
            self.serve_client(core, socket, client, unsent);
        }
    }

    /// Takes a new connection, or turns it away with a reason.
    fn admit(&self, socket: Stream) {
        let core = &mut *self.core.borrow_mut();
        if let Some(text) = core.host.judge_newcomer(socket.is_local()) {
            // The peer may be gone: there is nobody to tell then.
            let _ = socket.send(text);
            return;
        }
        core.engine.set_time(core.host.clock.now_us());
        let client = core.engine.connect();
        self.serve_client(core, socket, client, Vec::new());
    }

    /// Serves a client of the engine by this socket, which has yet to take `unsent`.
    fn serve_client(&self, core: &mut Core, socket: Stream, client: ClientId, unsent: Vec<u8>) {
        socket.configure(&core.host.settings);
        if let Err(error) = self.wire.add((self, core), socket, client, unsent) {
            tracing::warn!(%error, "cannot take a connection");
        }
    }

    /// Hands out what the engine has for other clients, and sees to it that the
    /// next wait ends in time.
    pub(crate) fn deliver(&self, core: &mut Core) {
        for delivery in core.engine.take_deliveries() {
            let (Delivery::Output(client, _)
            | Delivery::Unblocked(client)
            | Delivery::Close(client)) = delivery;
            let Some(peer) = self.peers.get(client) else { continue };
            match delivery {
                Delivery::Output(_, bytes) => {
                    self.post(core, client, &peer, &bytes);
                    continue;
                }
                Delivery::Unblocked(_) => {
                    self.wait_with_others(core, &peer);
                    peer.must_resume.set(true);
                }
                Delivery::Close(_) => peer.must_close.set(true),
            }
            core.count_client(client, &peer);
            peer.wake();
        }
        let next = core.engine.next_deadline();
        if let Some(next) = next.filter(|next| *next < self.planned_tick_ms.get()) {
            self.planned_tick_ms.set(next);
            self.earlier_tick.notify_one();
        }
    }

    /// Disconnects a client that leaves more replies unread than it may.
    pub(crate) fn check_output(&self, core: &mut Core, client: ClientId, peer: &Peer) {
        let unread = peer.output.borrow().len() as u64;
        if unread == 0 {
            return peer.over_limit_since_ms.set(None);
        }
        let limit = core.output_limit(client, peer);
        let now_ms = clock::now_us() / 1000;
        let is_over_soft = limit.soft_bytes > 0 && unread > limit.soft_bytes;
        let since = is_over_soft.then(|| peer.over_limit_since_ms.get().unwrap_or(now_ms));
        peer.over_limit_since_ms.set(since);
        let seconds = since.map_or(0, |since| (now_ms - since) / 1000) as u64;
        let is_over_hard = limit.hard_bytes > 0 && unread > limit.hard_bytes;
        if is_over_hard || (is_over_soft && seconds > limit.soft_seconds) {
            tracing::warn!(
                address = peer.addresses.peer,
                "closing: the output buffer limit is reached"
            );
            core.client_memory.forget(client, peer);
            peer.close();
        }
    }

    /// Disconnects clients that have been idle, or above their soft limit, for too long.
    /// Who waits for a key or listens is not idle.
    fn check_clients(&self, core: &mut Core, now_ms: i64) {
        let timeout_ms = core.host.settings.int(Id::Timeout) * 1000;
        self.peers.each_client(|client, peer| {
            self.check_output(core, client, peer);
            core.count_client(client, peer);
            let is_idle = timeout_ms > 0 && now_ms - peer.active_ms.get() > timeout_ms;
            if is_idle && !peer.is_blocked.get() && !core.engine.is_listener(client) {
                tracing::debug!(address = peer.addresses.peer, "closing an idle client");
                peer.close();
            }
        });
    }

    /// Disconnects the largest clients while all together take more than they may.
    pub(crate) fn limit_client_memory(&self, core: &mut Core) {
        let limit = core.host.settings.client_memory_limit();
        if limit.is_some() != core.client_memory.is_on() {
            core.client_memory.switch(limit.is_some());
            self.peers.each_client(|client, peer| {
                peer.counted_bytes.set(0);
                core.count_client(client, peer);
            });
        }
        let Some(limit) = limit else { return };
        while let Some(client) = core.client_memory.largest_if_over(limit)
            && let Some(peer) = self.peers.get(client)
        {
            let bytes = peer.counted_bytes.get();
            tracing::info!(
                client = client.0,
                address = peer.addresses.peer,
                bytes,
                "Evicting client"
            );
            core.host.stats.evicted += 1;
            core.client_memory.forget(client, &peer);
            peer.depart(&core.host.departing_bytes);
        }
    }

    /// Whether the last tick left something to do at once.
    pub(crate) fn is_behind(&self) -> bool {
        self.is_behind.get()
    }

    /// How long sockets may be waited for before tasks of the runtime have their turn.
    pub(crate) fn time_for_sockets(&self) -> Duration {
        let Core { host, engine, .. } = &*self.core.borrow();
        let is_snapshot_taken = host.saving.is_some() || host.is_sending;
        if self.is_behind.get() || is_snapshot_taken || host.loading.is_some() {
            return Duration::ZERO;
        }
        let until_tick_ms = self.planned_tick_ms.get() - engine.now_ms();
        let is_soon = until_tick_ms <= LINGERING.as_millis() as i64;
        if is_soon || self.is_resting.get() { PATIENCE } else { LINGERING }
    }

    /// Decides when the next tick is; answers how long until then.
    fn plan_tick(&self) -> Duration {
        let core = &*self.core.borrow();
        let now_ms = core.host.clock.now_us() / 1000;
        let regular = now_ms + 1000 / core.host.settings.int(Id::Hz).max(1);
        let next = core.engine.next_deadline().map_or(regular, |wait| wait.min(regular));
        self.planned_tick_ms.set(next);
        Duration::from_millis(u64::try_from(next - now_ms).unwrap_or(0))
    }
}
