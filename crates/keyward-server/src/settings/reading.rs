//! What the values in force mean: as numbers, amounts and choices, as limits, and as what
//! the engine is to obey.
//!
//! A row's kind and the method that reads it belong together; another kind is a mistake of
//! the program, not of a user.

use super::Settings;
use super::table::Id;
use super::value::{ClientClass, OutputLimit, Value};
use keyward_engine::{
    FrequencyRates, LazySettings, MemoryLimit, NodeLimits, NotifyFlags, PackedLimits, Policy,
    Replicating, Tunables,
};
use keyward_tls::{ClientAuth, Options as TlsOptions, Pair, Sessions};
use std::path::{Path, PathBuf};

/// The least limit of what clients take together.
const CLIENT_MEMORY_MIN: u64 = 128 * 1024;

/// Sessions of TLS that are kept where nothing limits them.
const TLS_SESSIONS_MAX: usize = 1_000_000;

impl Settings {
    /// The value of a setting of kind `Int`.
    pub fn int(&self, id: Id) -> i64 {
        match self.value(id) {
            Value::Int(number) => *number,
            other => unreachable!("{} is no number: {other:?}", id.setting().name),
        }
    }

    /// How many clients there may be.
    pub fn clients_max(&self) -> u64 {
        self.int(Id::MaxClients).unsigned_abs()
    }

    /// The value of a setting of kind `Permissions`.
    pub fn permissions(&self, id: Id) -> u32 {
        match self.value(id) {
            Value::Permissions(mode) => *mode,
            other => unreachable!("{} are no permissions: {other:?}", id.setting().name),
        }
    }

    /// The value of a setting of kind `Bytes`.
    pub fn bytes(&self, id: Id) -> u64 {
        match self.value(id) {
            Value::Bytes(bytes) => *bytes,
            other => unreachable!("{} is no amount: {other:?}", id.setting().name),
        }
    }

    /// How much memory clients may take together, if that is limited. A limit that is too
    /// low would leave nobody to change it.
    pub fn client_memory_limit(&self) -> Option<u64> {
        let limit = match *self.value(Id::MaxMemoryClients) {
            Value::Bytes(0) => return None,
            Value::Bytes(bytes) => bytes,
            Value::Percent(percent) => match self.bytes(Id::MaxMemory) {
                0 => return None,
                bytes => (u128::from(bytes) * u128::from(percent) / 100) as u64,
            },
            ref other => unreachable!("an amount is bytes or a share: {other:?}"),
        };
        Some(limit.max(CLIENT_MEMORY_MIN))
    }

    /// The value of a setting of kind `Bool`.
    pub fn is_on(&self, id: Id) -> bool {
        matches!(self.value(id), Value::Bool(true))
    }

    /// The value as text.
    pub fn text(&self, id: Id) -> String {
        String::from_utf8_lossy(&self.value(id).to_text()).into_owned()
    }

    /// The word that was chosen for a setting that has a few.
    pub fn choice(&self, id: Id) -> &'static str {
        match self.value(id) {
            Value::OneOf(word) => word,
            other => unreachable!("nothing is chosen from: {other:?}"),
        }
    }

    /// Whether a setting that says who may do something allows it to a client.
    pub fn allows(&self, id: Id, is_local: bool) -> bool {
        match self.choice(id) {
            "yes" => true,
            "local" => is_local,
            _ => false,
        }
    }

    /// The names of plans that a start may carry out, with what they may destroy: words of
    /// [`keyward_engine::Acceptance`].
    pub fn accepted(&self) -> Vec<String> {
        let text = self.text(Id::Accept);
        text.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// The file of users, if there is one, and the name by which it was given.
    pub fn users_file(&self) -> Option<(String, PathBuf)> {
        let name = self.text(Id::AclFile);
        let path = Path::new(&self.text(Id::Dir)).join(&name);
        (!name.is_empty()).then_some((name, path))
    }

    /// A file that a setting names, in `dir` unless it has a path.
    fn file_in_dir(&self, id: Id) -> Option<PathBuf> {
        let name = self.text(id);
        (!name.is_empty()).then(|| Path::new(&self.text(Id::Dir)).join(name))
    }

    /// What is said of TLS, if it is to be used at all: here, or for MIGRATE.
    pub fn tls(&self) -> Option<TlsOptions> {
        let connects = self.is_on(Id::TlsCluster) || self.is_on(Id::TlsReplication);
        if self.int(Id::TlsPort) == 0 && !connects {
            return None;
        }
        let pair = |certificate, key| Pair {
            certificate: self.file_in_dir(certificate),
            key: self.file_in_dir(key),
        };
        let sessions = || Sessions {
            count_max: match self.int(Id::TlsSessionCacheSize) {
                0 => TLS_SESSIONS_MAX,
                count => (count as usize).min(TLS_SESSIONS_MAX),
            },
            seconds: self.int(Id::TlsSessionCacheTimeout) as u64,
        };
        Some(TlsOptions {
            pair: pair(Id::TlsCertFile, Id::TlsKeyFile),
            client_pair: pair(Id::TlsClientCertFile, Id::TlsClientKeyFile),
            authority_file: self.file_in_dir(Id::TlsCaCertFile),
            authority_directory: self.file_in_dir(Id::TlsCaCertDir),
            clients: match self.choice(Id::TlsAuthClients) {
                "no" => ClientAuth::No,
                "optional" => ClientAuth::Optional,
                _ => ClientAuth::Yes,
            },
            connects,
            protocols: self.text(Id::TlsProtocols),
            ciphers: self.text(Id::TlsCiphers),
            suites: self.text(Id::TlsCipherSuites),
            prefers_own_order: self.is_on(Id::TlsPreferServerCiphers),
            sessions: self.is_on(Id::TlsSessionCaching).then(sessions),
        })
    }

    /// The save points: seconds and changes.
    pub fn save_points(&self) -> &[(u64, u64)] {
        match self.value(Id::Save) {
            Value::SavePoints(points) => points,
            other => unreachable!("save points are of their own kind: {other:?}"),
        }
    }

    /// The output limits of a class of clients.
    pub fn output_limit(&self, class: ClientClass) -> OutputLimit {
        match self.value(Id::OutputBufferLimit) {
            Value::OutputLimits(limits) => limits[class as usize],
            other => unreachable!("output limits are of their own kind: {other:?}"),
        }
    }

    fn percentiles(&self) -> Vec<u32> {
        match self.value(Id::LatencyPercentiles) {
            Value::Percentiles(percentiles) => percentiles.clone(),
            other => unreachable!("percentiles are of their own kind: {other:?}"),
        }
    }

    /// The longest text: `proto-max-bulk-len`, as far as a row can hold it.
    pub fn text_bytes_max(&self) -> u64 {
        self.bytes(Id::ProtoMaxBulkLen).min(u32::MAX.into())
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit {
            bytes_max: self.bytes(Id::MaxMemory),
            policy: Policy::by_name(self.choice(Id::MaxMemoryPolicy)),
            samples: self.int(Id::MaxMemorySamples) as usize,
            tenacity: self.int(Id::EvictionTenacity) as u32,
            rates: FrequencyRates {
                log_factor: self.int(Id::LfuLogFactor) as u32,
                decay_minutes: self.int(Id::LfuDecayTime) as u32,
            },
        }
    }

    fn replicating(&self) -> Replicating {
        Replicating {
            backlog_bytes: self.bytes(Id::BacklogSize),
            backlog_ttl_s: self.int(Id::BacklogTtl),
            ping_s: self.int(Id::ReplPing) as u64,
            timeout_s: self.int(Id::ReplTimeout),
            is_diskless: self.is_on(Id::Diskless),
            delay_s: self.int(Id::DisklessDelay),
            count_max: self.int(Id::DisklessMax) as usize,
            replicas_min: self.int(Id::MinReplicas) as usize,
            lag_s_max: self.int(Id::MinReplicasLag),
            shutdown_s: self.int(Id::ShutdownTimeout),
            is_read_only: self.is_on(Id::ReplicaReadOnly),
            serves_stale: self.is_on(Id::ReplicaStale),
            priority: self.int(Id::ReplicaPriority),
            is_announced: self.is_on(Id::ReplicaAnnounced),
            ignores_memory_limit: self.is_on(Id::ReplicaIgnoreMemory),
            skips_unsupported: self.is_on(Id::SkipUnsupported),
        }
    }

    /// The server to follow, by its name and port.
    pub fn primary(&self) -> Option<(Vec<u8>, u16)> {
        let Value::Words(words) = self.value(Id::ReplicaOf) else { return None };
        let [host, port] = &words[..] else { return None };
        let port = std::str::from_utf8(port).ok()?.parse().ok()?;
        Some((host.clone(), port))
    }

    /// Notes which server is followed.
    pub(crate) fn set_primary(&mut self, primary: Option<(&[u8], u16)>) {
        let words = primary.map(|(host, port)| vec![host.to_vec(), port.to_string().into()]);
        self.values[Id::ReplicaOf as usize] = Value::Words(words.unwrap_or_default());
    }

    /// What the engine is to obey.
    pub fn tunables(&self) -> Tunables {
        let password = self.value(Id::RequirePass).to_text();
        let notify = match self.value(Id::NotifyKeyspaceEvents) {
            Value::Notifications(flags) => *flags,
            _ => NotifyFlags::default(),
        };
        Tunables {
            password: (!password.is_empty()).then(|| password.into()),
            denied_log_len_max: self.int(Id::AclLogMaxLen) as usize,
            grants_new_users_channels: self.choice(Id::AclPubsubDefault) == "allchannels",
            notify,
            text_bytes_max: self.text_bytes_max(),
            replicating: self.replicating(),
            compresses: self.is_on(Id::RdbCompression),
            pack_after_seconds: self.int(Id::PackAfter) as u32,
            slow_log_us_min: u64::try_from(self.int(Id::SlowLogSlowerThan)).ok(),
            slow_log_len_max: self.int(Id::SlowLogMaxLen) as usize,
            latency_ms_min: self.int(Id::LatencyThreshold) as u64,
            tracks_latency: self.is_on(Id::LatencyTracking),
            latency_percentiles: self.percentiles(),
            tracked_keys_max: self.int(Id::TrackedKeys) as usize,
            memory: self.memory_limit(),
            lazy: LazySettings {
                eviction: self.is_on(Id::LazyEviction),
                expire: self.is_on(Id::LazyExpire),
                server_del: self.is_on(Id::LazyServerDel),
                user_del: self.is_on(Id::LazyUserDel),
                user_flush: self.is_on(Id::LazyUserFlush),
            },
            packed: PackedLimits {
                hash_fields_max: self.int(Id::HashPackedEntries) as usize,
                hash_text_bytes_max: self.bytes(Id::HashPackedValue) as usize,
                intset_members_max: self.int(Id::IntsetEntries) as usize,
                zset_entries_max: self.int(Id::ZSetPackedEntries) as usize,
                zset_member_bytes_max: self.bytes(Id::ZSetPackedValue) as usize,
            },
            hll_sparse_bytes_max: self.bytes(Id::HllSparseBytes) as usize,
            stream_nodes: NodeLimits {
                bytes_max: self.bytes(Id::StreamNodeBytes) as usize,
                entries_max: self.int(Id::StreamNodeEntries) as usize,
            },
            changefeed_bytes_max: self.bytes(Id::ChangefeedMemory),
        }
    }
}
