//! The thread that runs the engine and all connections.
//!
//! Owns the engine, the shared buffers, the ticks, the start and the end.
//! Everything here runs on one thread (`event_loop`): jobs borrow `core` only between
//! awaits, so the borrow never fails.

use crate::clock::{self, EngineClock, Instant};
use crate::files::append_only::AppendOnly;
use crate::files::data_locks::DataLocks;
use crate::files::persistence::Persistence;
use crate::files::schemas::{self, Functions, SchemaError, ServedSchema};
use crate::net::listen::Listeners;
use crate::net::outbox::{self, Outbox};
use crate::net::peer::{Peer, Peers};
use crate::net::selector::{Alarm, Selector};
use crate::net::transport::Stream;
use crate::net::wire::Wire;
use crate::process::descriptors;
use crate::process::log::LogControl;
use crate::process::memory::Memory;
use crate::process::pid_file::PidFile;
use crate::process::signals::{Signal, Signals};
use crate::process::supervisor::{Phase, Supervisor};
use crate::serve::agenda::{Agenda, Notice};
use crate::serve::busy::{Busy, Guest};
use crate::serve::commit::Waiters;
use crate::serve::event_loop::EventLoop;
use crate::serve::gathering::Gatherer;
use crate::serve::host::{NetStats, ServerHost};
use crate::serve::leisure;
use crate::serve::loading;
use crate::serve::maxmemory_clients::ClientMemory;
use crate::serve::rates::{Rates, Totals};
use crate::serve::reading::{self, Readings};
use crate::serve::saving;
use crate::settings::Settings;
use crate::settings::table::Id;
use crate::settings::value::{ClientClass, OutputLimit};
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
use std::sync::Once;

/// What one read takes at most.
const INPUT_BYTES: usize = 64 * 1024;
/// Connections accepted before others have their turn.
const ACCEPTS_MAX: usize = 64;

/// Why the server did not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The selector, a thread or a signal handler could not be set up.
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
        self.engine.finish_ends(&mut self.host);
        let saves = self.host.saves_by_itself();
        self.host.begin_shutdown(saves);
        if saves {
            self.host.supervisor.tell(Phase::Saving);
        }
        let may_end = !saves || self.host.save(&self.engine.snapshot());
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

/// What the loop and all jobs share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) core: RefCell<Core>,
    pub(crate) peers: Rc<Peers>,
    pub(crate) wire: Wire,
    /// When jobs go on.
    pub(crate) agenda: Rc<Agenda>,
    /// When the next tick is planned, in milliseconds by the engine's clock, and by the one
    /// that never goes back.
    planned_tick_ms: Cell<i64>,
    planned_tick_ns: Cell<u64>,
    /// Whether the last tick left something to do at once.
    is_behind: Cell<bool>,
    /// Who waits for the log.
    pub(crate) waiters: Waiters,
    /// Tells that there is something to do that has time.
    pub(crate) leisure: Notice,
    /// Why the server could not start.
    failure: RefCell<Option<ServeError>>,
}

/// What a server is made from.
pub(crate) struct Parts {
    pub(crate) settings: Settings,
    pub(crate) log: Option<LogControl>,
    pub(crate) listeners: Listeners,
    pub(crate) wire: Wire,
    pub(crate) alarm: Alarm,
    /// What the engine's chance follows from.
    pub(crate) seed: u64,
}

/// Serves until SIGTERM or SIGINT. `log` is told when its level changes.
pub(crate) fn run(
    mut settings: Settings,
    schemas: Vec<ServedSchema>,
    log: Option<LogControl>,
) -> Result<(), ServeError> {
    abort_on_panic();
    let selector = Selector::new().map_err(ServeError::Start)?;
    let watcher = || selector.watcher().map_err(ServeError::Start);
    let signals = Signals::hear(&watcher()?).map_err(ServeError::Start)?;
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!("keyward {version} starts, PID: {}", std::process::id());
    let supervisor = Supervisor::find(&settings);
    supervisor.tell(Phase::Loading);
    let listeners = Listeners::bind(&settings, watcher()?).map_err(|error| {
        tracing::warn!("Failed listening on port {}, aborting.", settings.int(Id::Port));
        ServeError::Listen(error)
    })?;
    let pid_file = settings.pid_file().and_then(|path| PidFile::write(&path));
    descriptors::provide(&mut settings);
    let wire = Wire::new(watcher()?);
    let alarm = selector.alarm().map_err(ServeError::Start)?;
    let seed = RandomState::new().hash_one(clock::now_us());
    let server = Server::new(Parts { settings, log, listeners, wire, alarm, seed })?;
    let server = Rc::new(server);
    let owned = server.core.borrow_mut().host.own_data_in_force();
    owned.map_err(|error| {
        tracing::warn!("{error}, aborting.");
        ServeError::Locked(error)
    })?;
    server.core.borrow_mut().host.supervisor = Rc::new(supervisor);
    let governed = schemas::describe(&schemas);
    server.core.borrow_mut().host.readings.files = schemas::files(&schemas);
    for served in &schemas {
        server.core.borrow_mut().host.note_schema(served.db, &served.schema);
    }
    let functions = schemas::govern(&mut server.core.borrow_mut().engine, schemas)?;
    let mut event_loop = EventLoop::new(Rc::clone(&server), selector, Some(signals));
    event_loop.begin(leisure::use_leisure(Rc::clone(&server)));
    event_loop.begin(start(Rc::clone(&server), functions, governed));
    event_loop.begin(reading::read_proposals(Rc::clone(&server)));
    event_loop.begin(reading::reload_when_told(Rc::clone(&server)));
    let outcome = event_loop.run();
    drop(event_loop);
    if let Err(error) = outcome {
        tracing::error!(%error, "stopping: cannot watch the sockets");
    }
    server.end();
    // The last line of a server that could not start says why.
    if server.failure.borrow().is_none() {
        pid_file.into_iter().for_each(PidFile::remove);
    }
    server.leave()
}

/// Ends the process when an invariant is broken, on whichever thread: an embedding program
/// may be built to unwind, and would go on with an engine nobody can vouch for.
fn abort_on_panic() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            std::process::abort();
        }));
    });
}

/// Loads what there is, then looks after files for ever.
pub(crate) async fn start(
    server: Rc<Server>,
    functions: Vec<(usize, Functions)>,
    governed: String,
) {
    if let Err(error) = load(&server, functions).await {
        *server.failure.borrow_mut() = Some(error);
        server.core.borrow_mut().host.must_stop = true;
        return;
    }
    {
        let host = &server.core.borrow().host;
        let (place, databases) = (host.listeners.describe(), host.settings.int(Id::Databases));
        tracing::info!("Ready to accept connections on {place}, {databases} databases, {governed}");
    }
    {
        let host = &server.core.borrow().host;
        host.supervisor.tell(Phase::Ready);
        host.readings.is_ready.give();
    }
    saving::keep_files(server).await;
}

async fn load(server: &Rc<Server>, functions: Vec<(usize, Functions)>) -> Result<(), ServeError> {
    loading::load(server).await?;
    let Core { engine, host, .. } = &mut *server.core.borrow_mut();
    engine.set_time(host.clock.now_us());
    host.functions = functions;
    Ok(schemas::load_libraries(engine, host)?)
}

impl Server {
    pub(crate) fn new(parts: Parts) -> Result<Server, ServeError> {
        let Parts { settings, log, listeners, wire, alarm, seed } = parts;
        let waiters = Waiters::new(alarm.clone()).map_err(ServeError::Start)?;
        let agenda = Rc::new(Agenda::default());
        let mut random = Random::from_seed(seed.rotate_left(32));
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
            listeners: Rc::new(listeners),
            peers: Rc::clone(&peers),
            stats: NetStats::default(),
            rates: Rates::default(),
            must_stop: false,
            alarm,
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
            files_wanted: Rc::new(Notice::new(&agenda)),
            loading: None,
            functions: Vec::new(),
            asked: Vec::new(),
            readings: Readings::new(&agenda),
            supervisor: Rc::default(),
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
        Ok(Server {
            core: RefCell::new(core),
            peers,
            wire,
            leisure: Notice::new(&agenda),
            agenda,
            planned_tick_ms: Cell::new(0),
            planned_tick_ns: Cell::new(0),
            is_behind: Cell::new(false),
            waiters,
            failure: RefCell::default(),
        })
    }

    /// A signal has come. Called between two rounds.
    pub(crate) fn on_signal(&self, signal: Signal) {
        let core = &mut *self.core.borrow_mut();
        let name = match signal {
            Signal::Terminate => "SIGTERM",
            Signal::Interrupt => "SIGINT",
            Signal::HangUp => return core.host.readings.reload_wanted.give(),
        };
        tracing::warn!("Received {name} scheduling shutdown...");
        // What is not yet loaded is not saved either.
        core.host.supervisor.tell(Phase::Stopping);
        core.host.must_stop = match core.host.is_loading() {
            true => {
                core.host.begin_shutdown(false);
                true
            }
            false => core.save_before_the_end(),
        };
        if !core.host.must_stop {
            core.host.supervisor.tell(Phase::CannotStop);
        }
    }

    /// Whether the loop is to end. SHUTDOWN has saved already, if that was to be done.
    pub(crate) fn must_stop(&self) -> bool {
        self.core.borrow().host.must_stop
    }

    /// The end: what was said is sent, what was logged is safe. Connections stay until
    /// nobody listens any more: who sees the end of one may start another server here.
    pub(crate) fn end(&self) {
        let core = &mut *self.core.borrow_mut();
        core.host.supervisor.tell(Phase::Stopping);
        if !core.host.is_loading() {
            self.end_round(core);
            self.end_log(core);
        }
    }

    /// Listens no longer, then lets go of the connections; why the server could not start,
    /// if that is why it ends.
    fn leave(&self) -> Result<(), ServeError> {
        let failure = self.failure.take();
        self.core.borrow().host.listeners.close(failure.is_none());
        if failure.is_none() {
            tracing::warn!("Keyward is now ready to exit, bye bye...");
        }
        self.peers.each(Peer::close);
        failure.map_or(Ok(()), Err)
    }

    /// Lets the engine do what time demands, `hz` times a second or when a wait ends.
    pub(crate) fn tick_if_due(&self, now_ns: u64) {
        if self.is_behind.get() || now_ns >= self.planned_tick_ns.get() {
            self.tick();
            self.plan_tick();
        }
    }

    /// One bounded step of background work.
    fn tick(&self) {
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
        core.batch.release();
        if core.has_leisure_work() {
            self.leisure.give();
        }
        self.is_behind.set(has_more);
    }

    /// Lets in who is at the door, some at a time.
    pub(crate) fn admit_newcomers(&self, now_ns: u64) {
        let listeners = Rc::clone(&self.core.borrow().host.listeners);
        for _ in 0..ACCEPTS_MAX {
            let is_due = now_ns >= listeners.next_ns();
            let Some(socket) = is_due.then(|| listeners.accept()).flatten() else { break };
            self.accept(socket);
        }
    }

    /// Takes those who came while a script was running.
    pub(crate) fn accept_guests(&self, core: &mut Core) {
        for Guest { socket, client, unsent } in core.host.busy.take_guests() {
            self.serve_client(core, socket, client, unsent);
        }
    }

    /// Takes a new connection, or turns it away with a reason.
    fn accept(&self, socket: Stream) {
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
            self.set_tick(core, next);
        }
    }

    /// Disconnects a client that leaves more replies unread than it may.
    pub(crate) fn check_output(&self, core: &mut Core, client: ClientId, peer: &Peer) {
        let unread = peer.unsent_bytes() as u64;
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

    /// When something is to be done if nobody comes before; zero for at once.
    pub(crate) fn next_ns(&self) -> u64 {
        if self.is_behind.get() || self.wire.is_ringing() {
            return 0;
        }
        let newcomers_ns = self.core.borrow().host.listeners.next_ns();
        self.planned_tick_ns.get().min(self.agenda.next_ns()).min(newcomers_ns)
    }

    /// Decides when the next tick is.
    fn plan_tick(&self) {
        let core = &*self.core.borrow();
        let now_ms = core.host.clock.now_us() / 1000;
        let regular = now_ms + 1000 / core.host.settings.int(Id::Hz).max(1);
        let next = core.engine.next_deadline().map_or(regular, |wait| wait.min(regular));
        self.set_tick(core, next);
    }

    fn set_tick(&self, core: &Core, engine_ms: i64) {
        self.planned_tick_ms.set(engine_ms);
        self.planned_tick_ns.set(core.host.clock.monotonic_ns_at(engine_ms));
    }
}
