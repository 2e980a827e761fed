//! What the server knows, and the engine may ask of it.
//!
//! Owns the settings in force, the counters of connections, and the state of everything
//! beside the engine.

mod calls;

use crate::clock::{EngineClock, Instant};
use crate::files::append_only::AppendOnly;
use crate::files::data_locks::{DataLocks, Guarded};
use crate::files::keeping::Asks;
use crate::files::persistence::Persistence;
use crate::files::progress::Progress;
use crate::files::schemas::Functions;
use crate::files::snapshot_writer::{Saving, Target};
use crate::files::written_sync::Written;
use crate::net::listen::Listeners;
use crate::net::outbox::Outbox;
use crate::net::peer::Peers;
use crate::net::selector::Alarm;
use crate::process::log::LogControl;
use crate::process::memory::Memory;
use crate::process::signal_wish::SignalWish;
use crate::process::supervisor::Supervisor;
use crate::serve::agenda::Notice;
use crate::serve::busy::watch::Busy;
use crate::serve::errands::queue::Errands;
use crate::serve::link::state::Link;
use crate::serve::preparing::wanted::Preparations;
use crate::serve::rates::Rates;
use crate::serve::reading::wanted::Readings;
use crate::settings::Settings;
use crate::settings::table::Id;
use keyward_commands::WireError;
use keyward_engine::{ClientId, Host as _};
use keyward_persist::PersistError;
use keyward_persist::aof::{AofFiles, OpenError};
use keyward_persist::file_lock::LockError;
use keyward_tls::Configuration;
use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

const TOO_MANY_CLIENTS: &[u8] = b"-ERR max number of clients reached\r\n";
const PROTECTED: &[u8] = b"-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. In this mode connections are only accepted from the loopback interface. If you want to connect from external computers to Redis you may adopt one of the following solutions: 1) Just disable protected mode sending the command 'CONFIG SET protected-mode no' from the loopback interface by connecting to Redis from the same host the server is running, however MAKE SURE Redis is not publicly accessible from internet if you do so. Use CONFIG REWRITE to make this change permanent. 2) Alternatively you can just disable the protected mode by editing the Redis configuration file, and setting the protected mode option to 'no', and then restarting the server. 3) If you started the server manually just for testing, restart it with the '--protected-mode no' option. 4) Setup a an authentication password for the default user. NOTE: You only need to do one of the above things in order for the server to start accepting connections from the outside.\r\n";

/// Counters of connections and bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct NetStats {
    pub(crate) connections: u64,
    pub(crate) rejected: u64,
    pub(crate) input_bytes: u64,
    pub(crate) output_bytes: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) evicted: u64,
    pub(crate) replica_output_bytes: u64,
}

/// The host of the engine.
#[derive(Debug)]
pub(crate) struct ServerHost {
    pub(crate) settings: Settings,
    pub(crate) log: Option<LogControl>,
    pub(crate) listeners: Rc<Listeners>,
    /// Certificates and keys, while TLS is used.
    pub(crate) tls: Option<Configuration>,
    pub(crate) peers: Rc<Peers>,
    pub(crate) stats: NetStats,
    pub(crate) rates: Rates,
    /// The process is to end.
    pub(crate) must_stop: bool,
    /// How the signal that came last wants it to end.
    pub(crate) last_signal: SignalWish,
    /// That signal came while the append-only file was not complete: it is obeyed when it is.
    pub(crate) is_stop_due: bool,
    /// By which threads end a wait.
    pub(crate) alarm: Alarm,
    pub(crate) started: Instant,
    /// The time that the engine is told.
    pub(crate) clock: EngineClock,
    /// When a connection's turn began, until the engine asks for the time.
    pub(crate) turn_began_ns: Option<u64>,
    /// When a turn last began, or the engine asked for the time.
    pub(crate) lately_ns: u64,
    /// Forty hexadecimal digits that tell one run from another.
    pub(crate) run_id: String,
    /// Memory of the process.
    pub(crate) memory: Memory,
    /// What a slow script needs.
    pub(crate) busy: Busy,
    /// Snapshots.
    pub(crate) persistence: Persistence,
    /// The append-only file.
    pub(crate) append_only: AppendOnly,
    /// Which files are this server's alone.
    pub(crate) locks: DataLocks,
    /// What is said to clients in this round.
    pub(crate) outbox: Outbox,
    /// Bytes of clients that are to be disconnected to save them, and are not yet.
    pub(crate) departing_bytes: Cell<usize>,
    /// What is being written in the background.
    pub(crate) saving: Option<Saving>,
    /// Told when something is to be.
    pub(crate) files_wanted: Rc<Notice>,
    /// Since when a snapshot is made for those who follow.
    pub(crate) syncing: Option<Instant>,
    /// Snapshots for those who follow that are written and not sent, and the wish to send them.
    pub(crate) written_syncs: VecDeque<Written>,
    pub(crate) sync_written: Rc<Notice>,
    /// Clients that are left all of a snapshot.
    pub(crate) ending_syncs: Vec<ClientId>,
    /// The buffer for clients that have yet to be sent some of the stream.
    pub(crate) unfed: Vec<ClientId>,
    /// How far loading is.
    pub(crate) loading: Option<Progress>,
    /// The functions of the databases under a schema.
    pub(crate) functions: Vec<(usize, Functions)>,
    /// What schemas ask to outlive a restart.
    pub(crate) asks: Asks,
    /// Schemas that are read elsewhere.
    pub(crate) readings: Readings,
    /// What commands wait for that is read elsewhere.
    pub(crate) preparations: Preparations,
    /// What other servers are asked.
    pub(crate) errands: Errands,
    /// The link to the server that this one follows.
    pub(crate) link: Link,
    /// Who looks after the process.
    pub(crate) supervisor: Rc<Supervisor>,
}

impl ServerHost {
    /// Bytes that a snapshot has handed over and that are not yet written.
    pub(crate) fn unsaved_bytes(&self) -> u64 {
        self.saving.as_ref().map_or(0, |saving| saving.unwritten_bytes() as u64)
    }

    /// Counts a client that comes, and says why it is turned away if it is.
    /// `is_open` is whether the default user needs no password.
    pub(crate) fn judge_newcomer(
        &mut self,
        is_local: bool,
        is_open: bool,
    ) -> Option<&'static [u8]> {
        let count = self.peers.count() + self.busy.guest_count();
        let is_full = count as u64 >= self.settings.clients_max();
        let is_protected = self.settings.is_on(Id::ProtectedMode) && is_open && !is_local;
        let refusal = match (is_full, is_protected) {
            (true, _) => Some(TOO_MANY_CLIENTS),
            (_, true) => Some(PROTECTED),
            _ => None,
        };
        self.stats.connections += 1;
        self.stats.rejected += u64::from(refusal.is_some());
        refusal
    }

    /// Puts certificates and keys in force: for who comes from now on, and for MIGRATE. What
    /// was in force before is returned.
    pub(crate) fn use_tls(
        &mut self,
        tls: Option<Configuration>,
    ) -> std::io::Result<Option<Configuration>> {
        self.listeners.configure_tls(tls.as_ref().map(|tls| Arc::clone(&tls.server)))?;
        Ok(std::mem::replace(&mut self.tls, tls))
    }

    /// Why writes are refused, if they are: the last snapshot could not be written, or the
    /// append-only file cannot be.
    pub(crate) fn write_refusal(&self) -> Option<WireError> {
        let is_asked_for = self.settings.is_on(Id::StopWrites) && self.saves_by_itself();
        if is_asked_for && !self.persistence.is_last_ok {
            return Some(WireError::SaveFailed);
        }
        self.append_only.refusal()
    }

    pub(crate) fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    /// What is being written in the background, or about to be.
    pub(crate) fn is_writing(&self, target: Target) -> bool {
        self.saving.as_ref().is_some_and(|saving| saving.target == target)
            || match target {
                Target::Snapshot => {
                    self.persistence.is_wanted || self.persistence.background.is_some()
                }
                Target::AppendOnly => self.append_only.rewrites.started.is_some(),
                Target::Sync => false,
            }
    }

    /// Whether changes are to be in the append-only file and are not yet: the first one since
    /// `appendonly` was turned on is not complete. At a start it is, before anybody is served.
    pub(crate) fn is_first_log_due(&self) -> bool {
        self.settings.is_on(Id::AppendOnly) && !self.is_loading() && !self.append_only.has_base
    }

    /// Has a snapshot written, where there are any.
    pub(crate) fn renew_snapshot(&mut self) {
        self.persistence.is_wanted |= !self.settings.save_points().is_empty();
        self.files_wanted.give();
    }

    /// Finds the files of the append-only file.
    pub(crate) fn open_append_only(&self) -> Result<AofFiles, OpenError> {
        let settings = &self.settings;
        let (folder, name) = (settings.text(Id::AppendDirName), settings.text(Id::AppendFilename));
        let directory = settings.text(Id::Dir);
        let disk = Arc::clone(&self.persistence.disk);
        AofFiles::open(disk, Path::new(&directory), &folder, &name)
    }

    /// Tells of an append-only file that nobody writes: it falls behind, and a start with
    /// `appendonly yes` would load it, as Redis does.
    pub(crate) fn tell_unused_log(&self) {
        let settings = &self.settings;
        let folder = Path::new(&settings.text(Id::Dir)).join(settings.text(Id::AppendDirName));
        let manifest = format!("{}.manifest", settings.text(Id::AppendFilename));
        if self.persistence.disk.open(&folder.join(manifest)).is_ok() {
            tracing::warn!(
                "{} has an append-only file, which is not used with appendonly no and has nothing \
                 of what changes from now on; a start with appendonly yes would load it in the \
                 place of the snapshot. CONFIG SET appendonly yes writes it anew; otherwise move it \
                 away",
                folder.display()
            );
        }
    }

    /// Makes files of locks again that somebody has removed; called now and then.
    pub(crate) fn retain_locks(&mut self, now_s: i64) {
        let listeners = &self.listeners;
        self.locks.retain_all(now_s, || holder(listeners));
    }

    /// Makes sure that nobody else writes what these settings have this server write.
    /// Called once at the start, by the process that will serve: a lock is not inherited
    /// by one that is forked off and outlives it.
    pub(crate) fn own_data(&mut self, settings: &Settings) -> Result<(), (Guarded, LockError)> {
        for guarded in Guarded::by_itself(settings) {
            let owned = self.locks.take(guarded, settings, &holder(&self.listeners));
            owned.map_err(|error| (guarded, error))?;
        }
        Ok(())
    }

    /// As [`ServerHost::own_data`], by the settings in force.
    pub(crate) fn own_data_in_force(&mut self) -> Result<(), LockError> {
        let settings = self.settings.clone();
        self.own_data(&settings).map_err(|(_, error)| error)
    }

    /// Makes sure of one file before it is written.
    pub(crate) fn own_before_writing(&mut self, guarded: Guarded) -> Result<(), PersistError> {
        Ok(self.locks.take(guarded, &self.settings, &holder(&self.listeners))?)
    }
}

/// Who holds a lock, for those who find it taken.
fn holder(listeners: &Listeners) -> String {
    format!("PID {}, {}\n", std::process::id(), listeners.describe())
}
