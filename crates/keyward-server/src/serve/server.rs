//! What the loop and all jobs share.
//!
//! Owns the core, the connections, and when things are to be done. Everything here runs on
//! one thread (`event_loop`): jobs borrow `core` only between awaits, so the borrow never
//! fails. Who does something to it is a function elsewhere (`turn`, `round`, `tick`, …).

use crate::clock::{self, EngineClock, Instant};
use crate::files::append_only::AppendOnly;
use crate::files::data_locks::DataLocks;
use crate::files::keeping::Asks;
use crate::files::persistence::Persistence;
use crate::files::progress::Progress;
use crate::net::listen::Listeners;
use crate::net::outbox::{self, Outbox};
use crate::net::peer::Peers;
use crate::net::selector::Alarm;
use crate::net::wire::Wire;
use crate::process::log::LogControl;
use crate::process::memory::Memory;
use crate::process::signal_wish::SignalWish;
use crate::serve::agenda::{Agenda, Notice};
use crate::serve::busy::watch::Busy;
use crate::serve::core::Core;
use crate::serve::errands::queue::Errands;
use crate::serve::error::ServeError;
use crate::serve::gathering::Gatherer;
use crate::serve::host::{NetStats, ServerHost};
use crate::serve::link::state::Link;
use crate::serve::maxmemory_clients::ClientMemory;
use crate::serve::preparing::wanted::Preparations;
use crate::serve::rates::Rates;
use crate::serve::reading::wanted::Readings;
use crate::serve::void_rules::VoidRules;
use crate::serve::waiters::Waiters;
use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_engine::{Engine, EngineOptions, Random};
use keyward_resp::Batch;
use keyward_tls::Configuration;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// What one read takes at most.
const INPUT_BYTES: usize = 64 * 1024;

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
    pub(super) planned_tick_ms: Cell<i64>,
    pub(super) planned_tick_ns: Cell<u64>,
    /// Whether the last tick left something to do at once.
    pub(super) is_behind: Cell<bool>,
    /// Who waits for the log.
    pub(crate) waiters: Waiters,
    /// Tells that there is something to do that has time.
    pub(crate) leisure: Notice,
    /// Why the server could not start.
    pub(super) failure: RefCell<Option<ServeError>>,
}

/// What a server is made from.
pub(crate) struct Parts {
    pub(crate) settings: Settings,
    pub(crate) log: Option<LogControl>,
    pub(crate) listeners: Listeners,
    pub(crate) tls: Option<Configuration>,
    pub(crate) wire: Wire,
    pub(crate) alarm: Alarm,
    /// What the engine's chance follows from.
    pub(crate) seed: u64,
}

impl Server {
    pub(crate) fn new(parts: Parts) -> Result<Server, ServeError> {
        let Parts { settings, log, listeners, tls, wire, alarm, seed } = parts;
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
            tls,
            peers: Rc::clone(&peers),
            stats: NetStats::default(),
            rates: Rates::default(),
            must_stop: false,
            last_signal: SignalWish::default(),
            is_stop_due: false,
            alarm,
            started: Instant::now(),
            clock: EngineClock::new(),
            turn_began_ns: None,
            lately_ns: 0,
            run_id: digits.collect(),
            syncing: None,
            written_syncs: VecDeque::new(),
            sync_written: Rc::new(Notice::new(&agenda)),
            ending_syncs: Vec::new(),
            unfed: Vec::new(),
            memory,
            busy: Busy::default(),
            persistence: Persistence::new(clock::now_us() / 1_000_000),
            append_only: AppendOnly::new(),
            locks: DataLocks::default(),
            outbox: Outbox::new(),
            departing_bytes: Cell::default(),
            saving: None,
            files_wanted: Rc::new(Notice::new(&agenda)),
            // Whoever asks before the files are opened, a signal say, is not to take the empty
            // engine for what there is.
            loading: Some(Progress::begun()),
            functions: Vec::new(),
            asks: Asks::default(),
            readings: Readings::new(&agenda),
            preparations: Preparations::new(&agenda),
            errands: Errands::default(),
            link: Link::new(&agenda),
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
            publishing: None,
            void_rules: VoidRules::default(),
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

    /// Whether the loop is to end. SHUTDOWN has saved already, if that was to be done.
    pub(crate) fn must_stop(&self) -> bool {
        self.core.borrow().host.must_stop
    }

    /// The next tick is at this time, by the engine's clock.
    pub(super) fn set_tick(&self, core: &Core, engine_ms: i64) {
        self.planned_tick_ms.set(engine_ms);
        self.planned_tick_ns.set(core.host.clock.monotonic_ns_at(engine_ms));
    }
}
