//! Commands of Redis 7.0.15 that this server does not have, and why.
//!
//! Clients get Redis's unknown-command error for them. COMPAT.md lists them from here;
//! together with the table they are all the commands of Redis.

use self::Reason::*;

/// A command that is left out, with all its subcommands.
#[derive(Clone, Copy, Debug)]
pub struct Absent {
    /// The name in lower case.
    pub name: &'static str,
    /// Why it is left out.
    pub reason: Reason,
    /// The names of its subcommands, without its own.
    pub subcommands: &'static [&'static str],
}

/// Why a command is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Redis Cluster.
    Cluster,
    /// Redis Sentinel.
    Sentinel,
    /// Native modules.
    Modules,
}

impl Reason {
    /// Every reason, in the order COMPAT.md lists them.
    pub const ALL: &'static [Reason] = &[Cluster, Sentinel, Modules];

    /// The heading in COMPAT.md.
    pub const fn heading(self) -> &'static str {
        match self {
            Cluster => "cluster",
            Sentinel => "sentinel",
            Modules => "modules",
        }
    }

    /// One sentence for people.
    pub const fn sentence(self) -> &'static str {
        match self {
            Cluster => {
                "A server is not a cluster node; a gateway before Redis Cluster comes later."
            }
            Sentinel => "Answered by Redis in Sentinel mode only, which this server does not have.",
            Modules => "Modules are native code for Redis's own interface.",
        }
    }
}

impl Absent {
    /// Its name and those of its subcommands: `xinfo`, `xinfo|help`, …
    pub fn full_names(&self) -> impl Iterator<Item = String> + use<> {
        let Absent { name, subcommands, .. } = *self;
        std::iter::once(name.to_owned())
            .chain(subcommands.iter().map(move |subcommand| format!("{name}|{subcommand}")))
    }
}

const fn absent(
    name: &'static str,
    reason: Reason,
    subcommands: &'static [&'static str],
) -> Absent {
    Absent { name, reason, subcommands }
}

/// Every command that is left out.
pub const ABSENT: &[Absent] = &[
    absent("asking", Cluster, &[]),
    absent(
        "cluster",
        Cluster,
        &[
            "addslots",
            "addslotsrange",
            "bumpepoch",
            "count-failure-reports",
            "countkeysinslot",
            "delslots",
            "delslotsrange",
            "failover",
            "flushslots",
            "forget",
            "getkeysinslot",
            "help",
            "info",
            "keyslot",
            "links",
            "meet",
            "myid",
            "nodes",
            "replicas",
            "replicate",
            "reset",
            "saveconfig",
            "set-config-epoch",
            "setslot",
            "shards",
            "slaves",
            "slots",
        ],
    ),
    absent("readonly", Cluster, &[]),
    absent("readwrite", Cluster, &[]),
    absent("restore-asking", Cluster, &[]),
    absent(
        "sentinel",
        Sentinel,
        &[
            "ckquorum",
            "config",
            "debug",
            "failover",
            "flushconfig",
            "get-master-addr-by-name",
            "help",
            "info-cache",
            "is-master-down-by-addr",
            "master",
            "masters",
            "monitor",
            "myid",
            "pending-scripts",
            "remove",
            "replicas",
            "reset",
            "sentinels",
            "set",
            "simulate-failure",
            "slaves",
        ],
    ),
    absent("module", Modules, &["help", "list", "load", "loadex", "unload"]),
];
