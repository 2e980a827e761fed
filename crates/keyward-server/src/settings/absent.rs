//! Settings of Redis 7.0.15 that are refused, and why.
//!
//! What they ask for does not exist here, and a server that took them in silence would be
//! another one than its file says. COMPAT.md lists them from here.

/// Settings that are refused for one reason.
#[derive(Debug, Clone, Copy)]
pub struct Absent {
    /// One sentence for people.
    pub reason: &'static str,
    /// Their names in redis.conf.
    pub names: &'static [&'static str],
}

/// Every setting of Redis that is refused.
pub static ABSENT: &[Absent] = &[
    Absent {
        reason: "A server is not a cluster node.",
        names: &[
            "cluster-config-file",
            "cluster-node-timeout",
            "cluster-port",
            "cluster-replica-validity-factor",
            "cluster-slave-validity-factor",
            "cluster-migration-barrier",
            "cluster-allow-replica-migration",
            "cluster-require-full-coverage",
            "cluster-replica-no-failover",
            "cluster-slave-no-failover",
            "cluster-allow-reads-when-down",
            "cluster-allow-pubsubshard-when-down",
            "cluster-link-sendbuf-limit",
            "cluster-announce-hostname",
            "cluster-announce-ip",
            "cluster-announce-port",
            "cluster-announce-tls-port",
            "cluster-announce-bus-port",
            "cluster-preferred-endpoint-type",
        ],
    },
    Absent { reason: "There are no modules.", names: &["loadmodule"] },
    Absent { reason: "There is no Sentinel.", names: &["sentinel"] },
];

/// Why a setting is refused, if it is one of these.
pub(super) fn reason(name: &[u8]) -> Option<&'static str> {
    let is_it = |known: &&str| known.as_bytes().eq_ignore_ascii_case(name);
    let found = ABSENT.iter().find(|absent| absent.names.iter().any(is_it));
    found.map(|absent| absent.reason)
}
