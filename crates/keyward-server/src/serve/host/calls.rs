//! What the engine asks of this process.
//!
//! Owns the answers, one function each; what they are made from is in `host`.

use super::{NetStats, ServerHost};
use crate::clock;
use crate::files::append_only::AppendOnly;
use crate::files::data_locks::Guarded;
use crate::files::log_parts::open_log;
use crate::files::persistence::Persistence;
use crate::files::schemas::without_repeats;
use crate::files::snapshot_writer::{CAPTURED_BYTES_MAX, Target};
use crate::files::users::{self, UsersFile};
use crate::net::exchange;
use crate::process::supervisor::Phase;
use crate::process::{descriptors, log, memory};
use crate::serve::errands::queue::Errand;
use crate::serve::preparing::wanted::{Prepared, TOO_MANY, Wanted};
use crate::serve::{busy, info};
use crate::settings::Settings;
use crate::settings::table::Id;
use crate::settings::value::ClientClass;
use keyward_engine::{
    BackgroundSave, ClientId, ConfigRefusal, Connection, Exchange, Facts, Host, LastWish, Library,
    Loaded, LogFile, LogLevel, MemoryReport, NoSecrets, Outgoing, Proposal, Remote, Rewrite,
    RunningScript, Section, Snapshot, Told, Tunables, UsersRead, UsersReader,
};
use keyward_schema::Schema;
use keyward_tls::Configuration;
use std::any::Any;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

impl ServerHost {
    /// Whether a client is of this machine.
    fn is_local(&self, client: ClientId) -> bool {
        self.peers.get(client).is_some_and(|peer| {
            let address = peer.addresses.peer.parse::<SocketAddr>();
            peer.addresses.is_unix || address.is_ok_and(|address| address.ip().is_loopback())
        })
    }

    /// Listens where new settings say.
    fn rebind(&self, changed: &Settings) -> Result<(), ConfigRefusal> {
        self.listeners.rebind(&self.settings, changed).map_err(|(which, error)| {
            tracing::warn!("{error}");
            let reason = match which {
                Id::Bind => "Failed to bind to specified addresses.",
                _ => "Unable to listen on this port. Check server logs.",
            };
            let name = which.setting().name;
            format!("CONFIG SET failed (possibly related to argument '{name}') - {reason}")
        })
    }

    /// Listens where new settings say, with the certificates that they name. Those are read
    /// anew whenever something is said of TLS, if it is the same too. All of it is done, or
    /// nothing.
    fn listen_anew(
        &mut self,
        client: ClientId,
        changed: &Settings,
        pairs: &[(&[u8], &[u8])],
    ) -> Result<(), ConfigRefusal> {
        let Some(name) = setting_of_tls(pairs) else { return self.rebind(changed) };
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        let refused = |error: &dyn std::fmt::Display| {
            tracing::warn!("{error}");
            let reason = "Unable to update TLS configuration. Check server logs.";
            format!("CONFIG SET failed (possibly related to argument '{name}') - {reason}")
        };
        let tls = match (changed.tls(), self.preparations.take(client)) {
            (None, _) => Ok(None),
            (Some(_), None) if self.preparations.is_full() => return Err(refused(&TOO_MANY)),
            // Unless another client was faster with another setting.
            (Some(options), Some(Prepared::Tls(of, read))) if options == *of => read.map(Some),
            (Some(options), _) => Configuration::read(&options).map(Some),
        };
        let before =
            self.use_tls(tls.map_err(|error| refused(&error))?).map_err(|error| refused(&error))?;
        let rebound = self.rebind(changed);
        if rebound.is_err() {
            self.use_tls(before).map_err(|error| refused(&error))?;
        }
        rebound
    }
}

/// The first setting of these that says something of TLS.
fn setting_of_tls<'p>(pairs: &[(&'p [u8], &[u8])]) -> Option<&'p [u8]> {
    let is_of_tls = |name: &[u8]| name.to_ascii_lowercase().starts_with(b"tls-");
    pairs.iter().map(|(name, _)| *name).find(|name| is_of_tls(name))
}

impl Host for ServerHost {
    fn sync_wanted(&mut self) {
        self.files_wanted.give();
    }

    fn primary_changed(&mut self, primary: Option<(&[u8], u16)>) {
        self.settings.set_primary(primary);
        log::note_role(primary.is_some());
        self.link.order += 1;
        self.link.goes_by_file = Arc::default();
        self.link.changed.give();
    }

    fn libraries(&mut self, db: usize) -> Result<Vec<Library>, String> {
        let mut libraries = Vec::new();
        for (_, functions) in self.functions.iter().filter(|(of, _)| *of == db) {
            libraries.extend(functions.read()?);
        }
        Ok(without_repeats(libraries))
    }

    fn config_get(&mut self, patterns: &[&[u8]]) -> Vec<(String, Vec<u8>)> {
        self.settings.matching(patterns)
    }

    fn config_set(
        &mut self,
        client: ClientId,
        pairs: &[(&[u8], &[u8])],
    ) -> Result<Tunables, ConfigRefusal> {
        let is_local = self.is_local(client);
        let mut changed = self.settings.clone();
        changed.set_live(pairs, is_local)?;
        let clients_max = descriptors::clients_max();
        if changed.clients_max() > clients_max {
            return Err(format!(
                "CONFIG SET failed (possibly related to argument 'maxclients') - The operating \
                 system is not able to handle the specified number of clients, try with \
                 {clients_max}"
            ));
        }
        self.own_data(&changed).map_err(|(guarded, error)| {
            let name = guarded.setting(&self.settings, &changed);
            format!("CONFIG SET failed (possibly related to argument '{name}') - {error}")
        })?;
        self.listen_anew(client, &changed, pairs)?;
        let is_other = changed.is_on(Id::AppendOnly) != self.settings.is_on(Id::AppendOnly);
        let before = std::mem::replace(&mut self.settings, changed);
        self.asks.warn_of_less(&before, &self.settings);
        if is_other {
            // While it is written anew there is more to end than the log.
            let AppendOnly { log, rewrites, must_end, .. } = &mut self.append_only;
            let may_end = log.is_some() && rewrites.started.is_none();
            let is_on = self.settings.is_on(Id::AppendOnly);
            *must_end = may_end && !is_on;
            // It begins by being written anew, and INFO tells so at once.
            rewrites.is_wanted = is_on && (rewrites.is_wanted || log.is_none());
            self.files_wanted.give();
        }
        if let Some(log) = &self.log {
            log.apply(&self.settings);
        }
        self.memory.purge_on_thread(self.settings.is_on(Id::AllocatorThread));
        Ok(self.settings.tunables())
    }

    fn prepare_config(&mut self, client: ClientId, pairs: &[(&[u8], &[u8])]) -> bool {
        if setting_of_tls(pairs).is_none() {
            return false;
        }
        let mut changed = self.settings.clone();
        let is_sound = changed.set_live(pairs, self.is_local(client)).is_ok();
        let Some(options) = changed.tls().filter(|_| is_sound) else { return false };
        self.preparations.want(client, Wanted::Tls(Box::new(options)))
    }

    fn is_fixed_while_loading(&self, client: ClientId, name: &[u8]) -> bool {
        // They say which files are read.
        let is_dir = name.eq_ignore_ascii_case(Id::Dir.setting().name.as_bytes());
        name.eq_ignore_ascii_case(Id::AppendOnly.setting().name.as_bytes())
            || is_dir && self.settings.allows(Id::ProtectedConfigs, self.is_local(client))
    }

    fn read_users(&mut self, reader: UsersReader) -> Option<Result<UsersRead, String>> {
        UsersFile::of(&self.settings).map(|file| file.read(reader))
    }

    fn read_users_elsewhere(&mut self, client: ClientId, reader: UsersReader) -> bool {
        let Some(file) = UsersFile::of(&self.settings) else { return false };
        self.preparations.want(client, Wanted::Users(file, reader))
    }

    fn users_read(&mut self, client: ClientId) -> Option<Result<UsersRead, String>> {
        match self.preparations.take(client) {
            Some(Prepared::Users(read)) => Some(read),
            None if self.preparations.is_full() => {
                Some(Err(format!("Error loading ACLs, {TOO_MANY}")))
            }
            Some(Prepared::Tls(..)) | None => None,
        }
    }

    fn write_users(&mut self, text: &[u8]) -> Option<bool> {
        users::write(&self.settings, text)
    }

    fn fill_with_secrets(&mut self, bytes: &mut [u8]) -> Result<(), NoSecrets> {
        let mut left = bytes;
        while !left.is_empty() {
            match rustix::rand::getrandom(&mut *left, rustix::rand::GetRandomFlags::empty()) {
                Ok(count) => left = &mut left[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => {
                    tracing::error!("the system has no randomness: {error}");
                    return Err(NoSecrets);
                }
            }
        }
        Ok(())
    }

    fn config_rewrite(&mut self, scope: Rewrite, users: &[Vec<u8>]) -> Result<(), ConfigRefusal> {
        self.settings.rewrite(scope, users).inspect_err(|error| tracing::warn!("{error}"))
    }

    fn read_schema(&mut self, proposal: Proposal) -> Option<Proposal> {
        self.readings.want(proposal);
        None
    }

    fn read_told(&mut self, told: Told) -> Option<Told> {
        self.readings.want_told(told);
        None
    }

    fn remember_applied(&mut self, text: Vec<u8>, dirty: u64) {
        let Persistence { applied, disk, .. } = &mut self.persistence;
        applied.write(disk, &self.settings, text, dirty);
    }

    fn is_remembering(&mut self) -> bool {
        self.persistence.applied.is_writing()
    }

    fn governed(&mut self, db: usize, schema: &Schema) {
        self.asks.note_schema(db, schema, &self.settings);
    }

    fn reloaded(&mut self, outcome: Result<Vec<String>, String>) {
        self.readings.end_reload(outcome);
    }

    fn discard(&mut self, remains: Box<dyn Any + Send>) {
        // Where no thread can be started it is freed here.
        let _ = std::thread::Builder::new().spawn(move || drop(remains));
    }

    fn reset_stats(&mut self) {
        self.stats = NetStats::default();
    }

    fn info(&mut self, section: Section, facts: &Facts, out: &mut String) {
        info::write(self, section, facts, out);
    }

    fn begin_shutdown(&mut self, wish: LastWish) -> bool {
        tracing::warn!("User requested shutdown...");
        if self.is_first_log_due() {
            if !wish.is_forced {
                tracing::warn!("Writing initial AOF, can't exit.");
                return false;
            }
            tracing::warn!("Writing initial AOF. Exit anyway.");
        }
        if wish.saves {
            tracing::info!("Saving the final RDB snapshot before exiting.");
        }
        true
    }

    fn shutdown_failed(&mut self) {
        tracing::warn!(
            "Errors trying to shut down the server. Check the logs for more information."
        );
    }

    fn abort_shutdown(&mut self, was_waiting: bool) -> bool {
        let was_waiting = was_waiting | std::mem::take(&mut self.is_stop_due);
        if was_waiting {
            self.supervisor.tell(Phase::Ready);
        }
        was_waiting
    }

    fn shut_down(&mut self) {
        self.must_stop = true;
    }

    fn hang_up(&mut self, client: ClientId) {
        if let Some(peer) = self.peers.get(client) {
            peer.socket.shut_down();
        }
    }

    fn time_us(&mut self) -> Option<i64> {
        Some(self.clock.now_us())
    }

    fn monotonic_ns(&mut self) -> u64 {
        self.lately_ns = self.turn_began_ns.take().unwrap_or_else(clock::monotonic_ns);
        self.lately_ns
    }

    fn connection(&self, client: ClientId) -> Connection {
        self.peers.get(client).map(|peer| peer.facts()).unwrap_or_default()
    }

    #[inline]
    fn used_memory(&mut self) -> u64 {
        self.memory.used()
    }

    fn outgoing_memory(&mut self, outgoing: &Outgoing<'_>) -> u64 {
        let peers = outgoing.replicas.iter().filter_map(|client| self.peers.get(*client));
        let replicas: usize = peers.map(|peer| peer.bytes()).sum();
        // A reply that makes its client too large ends the client, and costs no row.
        let is_limited = self.settings.client_memory_limit().is_some();
        let reply = if is_limited { outgoing.reply_bytes } else { 0 };
        let clients = self.outbox.spare_bytes() + reply + self.departing_bytes.get();
        let log = self.append_only.buffer_capacity();
        (replicas + clients + log) as u64 + self.unsaved_bytes()
    }

    fn memory(&mut self) -> MemoryReport {
        // What eviction went by. The allocator's own total is coarser: it counts what
        // this thread has freed and keeps for itself.
        let used = self.memory.used();
        let allocator = self.memory.look();
        let (mut clients, mut replicas) = (0, 0);
        self.peers.each(|peer| match peer.class.get() {
            ClientClass::Replica => replicas += peer.bytes(),
            ClientClass::Normal | ClientClass::Subscriber => clients += peer.bytes(),
        });
        MemoryReport {
            used,
            peak: self.memory.peak().max(used),
            startup: self.memory.startup(),
            resident: memory::resident_bytes(),
            allocated: allocator.allocated,
            active: allocator.active,
            mapped: allocator.resident,
            clients: clients as u64,
            replicas: replicas as u64,
            log: self.append_only.buffer_memory(),
            unsaved: self.unsaved_bytes(),
        }
    }

    fn purge_memory(&mut self) -> bool {
        memory::purge()
    }

    fn allocator_statistics(&mut self) -> String {
        memory::allocator_statistics()
    }

    fn may_save(&mut self) -> Result<(), String> {
        let owned = self.own_before_writing(Guarded::Snapshot);
        owned.map_err(|error| error.to_string()).inspect_err(|error| tracing::warn!("{error}"))
    }

    fn save(&mut self, snapshot: &Snapshot<'_>) -> bool {
        let used_bytes = self.memory.used();
        let outcome = self
            .own_before_writing(Guarded::Snapshot)
            .and_then(|()| self.persistence.save(&self.settings, snapshot, used_bytes));
        if let Err(error) = &outcome {
            tracing::warn!(%error, "the snapshot is not saved");
        }
        outcome.is_ok()
    }

    fn save_in_background(&mut self, may_wait: bool) -> BackgroundSave {
        let must_wait = self.is_writing(Target::AppendOnly);
        if self.is_writing(Target::Snapshot) || (must_wait && !may_wait) {
            return BackgroundSave::AlreadyRunning;
        }
        self.persistence.is_wanted = true;
        self.files_wanted.give();
        if must_wait { BackgroundSave::Scheduled } else { BackgroundSave::Begun }
    }

    fn renew_files(&mut self) {
        self.append_only.rewrites.is_wanted |= self.append_only.files.is_some();
        self.append_only.rewrites.failures = 0;
        self.renew_snapshot();
    }

    fn rewrite_log(&mut self, must_wait: bool) -> BackgroundSave {
        if self.is_writing(Target::AppendOnly) {
            return BackgroundSave::AlreadyRunning;
        }
        self.append_only.rewrites.is_wanted = true;
        self.append_only.rewrites.failures = 0;
        self.files_wanted.give();
        match must_wait || self.is_writing(Target::Snapshot) {
            true => BackgroundSave::Scheduled,
            false => BackgroundSave::Begun,
        }
    }

    fn log_ends(&self) -> Option<(u64, u64)> {
        // Where it is switched off while it is written anew it ends with that.
        let is_on = self.settings.is_on(Id::AppendOnly);
        let log = self.append_only.log.as_ref().filter(|_| is_on)?;
        // Without its base a file has nothing; after a sync that failed nobody knows.
        let is_unsure = self.is_first_log_due() || self.append_only.problem.is_some();
        let synced = if is_unsure { 0 } else { log.synced() };
        Some((log.logged(), synced))
    }

    fn keeps_log(&self) -> bool {
        self.settings.is_on(Id::AppendOnly)
    }

    fn open_log(&mut self, logged: Vec<u8>) -> Option<Vec<LogFile>> {
        // Without a log there may be files: BGREWRITEAOF writes them all the same.
        let is_rewriting = self.append_only.rewrites.started.is_some();
        if self.append_only.files.is_none() && !is_rewriting {
            let files = self.open_append_only();
            self.append_only.files = files.inspect_err(|error| tracing::warn!("{error}")).ok();
        }
        let opened = open_log(&mut self.append_only, &self.persistence.disk, &logged);
        match opened {
            Ok(files) => Some(files),
            Err(problem) => {
                tracing::warn!("the append-only file cannot be loaded: {problem}");
                None
            }
        }
    }

    fn captured_bytes_max(&self) -> usize {
        CAPTURED_BYTES_MAX
    }

    fn take_captured(&mut self, parts: Vec<Vec<u8>>) {
        if let Some(saving) = &mut self.saving {
            saving.take_captured(parts);
        }
    }

    fn is_saving(&self) -> bool {
        self.is_writing(Target::Snapshot)
    }

    fn saves_by_itself(&self) -> bool {
        !self.settings.save_points().is_empty()
    }

    fn last_save_s(&self) -> i64 {
        self.persistence.last_save_s
    }

    fn open_snapshot(&mut self) -> Option<Box<dyn Read>> {
        match self.persistence.open(&self.settings) {
            Ok(file) => Some(file?.content),
            Err(error) => {
                tracing::warn!(%error, "there is no snapshot to load");
                None
            }
        }
    }

    fn loaded(&mut self, loaded: Loaded) {
        self.persistence.loaded(loaded);
    }

    fn may_debug(&self, client: ClientId) -> bool {
        self.settings.allows(Id::DebugCommand, self.is_local(client))
    }

    fn sleep_us(&mut self, microseconds: u64) {
        clock::sleep(Duration::from_micros(microseconds));
    }

    fn advance_clock(&mut self, microseconds: u64) {
        self.clock.advance(microseconds);
    }

    fn exchange(&mut self, remote: Remote<'_>, requests: &[u8], reply_count: usize) -> Exchange {
        let tls = self.tls.as_ref().filter(|_| self.settings.is_on(Id::TlsCluster));
        let tls = tls.map(|tls| Arc::clone(&tls.client));
        exchange::exchange(remote, tls, requests, reply_count)
    }

    fn exchange_elsewhere(
        &mut self,
        client: ClientId,
        remote: Remote<'_>,
        requests: Vec<u8>,
        reply_count: usize,
    ) -> Option<Vec<u8>> {
        let tls = self.tls.as_ref().filter(|_| self.settings.is_on(Id::TlsCluster));
        let tls = tls.map(|tls| Arc::clone(&tls.client));
        let errand = Errand::new(client, remote, tls, requests, reply_count);
        self.errands.add(&self.alarm, errand);
        None
    }

    fn script_runs(&mut self, script: &mut dyn RunningScript) {
        busy::look(self, script);
    }

    fn log(&mut self, level: LogLevel, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        match level {
            LogLevel::Debug => tracing::trace!("{line}"),
            LogLevel::Verbose => tracing::debug!("{line}"),
            LogLevel::Notice => tracing::info!("{line}"),
            LogLevel::Warning => tracing::warn!("{line}"),
        }
    }
}
