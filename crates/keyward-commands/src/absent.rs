//! Commands of Redis 7.0.15 that this server does not have, and why.
//!
//! Clients get Redis's unknown-command error for them. COMPAT.md lists them from here;
//! together with the table they are all the commands of Redis. Rights to them are kept
//! ([`ABSENT_RIGHTS`]), so that rules of users can go to Redis and come back.

use self::Reason::*;
use crate::flags::{AclCategories, AclCategory};

/// A command that is left out, with all its subcommands.
#[derive(Clone, Copy, Debug)]
pub struct Absent {
    /// The name in lower case.
    pub name: &'static str,
    /// Why it is left out.
    pub reason: Reason,
    /// The categories by which Redis groups it for access lists.
    pub acl: AclCategories,
    /// Its subcommands.
    pub subcommands: &'static [AbsentPart],
}

/// A subcommand of a command that is left out.
#[derive(Clone, Copy, Debug)]
pub struct AbsentPart {
    /// The name in lower case, without that of the command.
    pub name: &'static str,
    /// The categories by which Redis groups it for access lists.
    pub acl: AclCategories,
}

/// A command or subcommand that is left out and that a right of a user can be about.
#[derive(Clone, Copy, Debug)]
pub struct AbsentRight {
    /// The name of the command in lower case.
    pub command: &'static str,
    /// That of the subcommand, if it is one.
    pub subcommand: Option<&'static str>,
    /// The categories that it is in.
    pub acl: AclCategories,
    /// Of a subcommand, which of [`ABSENT_RIGHTS`] its command is.
    pub container: Option<usize>,
}

impl AbsentRight {
    /// As rules name it: `cluster`, `cluster|slots`.
    pub fn full_name(&self) -> String {
        match self.subcommand {
            Some(subcommand) => format!("{}|{subcommand}", self.command),
            None => self.command.to_owned(),
        }
    }
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
            .chain(subcommands.iter().map(move |part| format!("{name}|{}", part.name)))
    }
}

const fn absent(
    name: &'static str,
    reason: Reason,
    acl: &'static [AclCategory],
    subcommands: &'static [AbsentPart],
) -> Absent {
    Absent { name, reason, acl: AclCategories::of(acl), subcommands }
}

const SLOW: &[AclCategory] = &[AclCategory::Slow];
const FAST_CONNECTION: &[AclCategory] = &[AclCategory::Fast, AclCategory::Connection];

/// A subcommand that anybody may be let run.
const fn open(name: &'static str) -> AbsentPart {
    AbsentPart { name, acl: AclCategories::of(SLOW) }
}

/// One for who administers the server.
const fn admin(name: &'static str) -> AbsentPart {
    use AclCategory::{Admin, Dangerous, Slow};
    AbsentPart { name, acl: AclCategories::of(&[Admin, Slow, Dangerous]) }
}

/// Every command that is left out.
pub const ABSENT: &[Absent] = &[
    absent("asking", Cluster, FAST_CONNECTION, &[]),
    absent(
        "cluster",
        Cluster,
        SLOW,
        &[
            admin("addslots"),
            admin("addslotsrange"),
            admin("bumpepoch"),
            admin("count-failure-reports"),
            open("countkeysinslot"),
            admin("delslots"),
            admin("delslotsrange"),
            admin("failover"),
            admin("flushslots"),
            admin("forget"),
            open("getkeysinslot"),
            open("help"),
            open("info"),
            open("keyslot"),
            open("links"),
            admin("meet"),
            open("myid"),
            open("nodes"),
            admin("replicas"),
            admin("replicate"),
            admin("reset"),
            admin("saveconfig"),
            admin("set-config-epoch"),
            admin("setslot"),
            open("shards"),
            admin("slaves"),
            open("slots"),
        ],
    ),
    absent("readonly", Cluster, FAST_CONNECTION, &[]),
    absent("readwrite", Cluster, FAST_CONNECTION, &[]),
    absent(
        "restore-asking",
        Cluster,
        &[AclCategory::Keyspace, AclCategory::Write, AclCategory::Slow, AclCategory::Dangerous],
        &[],
    ),
    absent(
        "sentinel",
        Sentinel,
        SLOW,
        &[
            open("ckquorum"),
            open("config"),
            open("debug"),
            open("failover"),
            open("flushconfig"),
            open("get-master-addr-by-name"),
            open("help"),
            open("info-cache"),
            open("is-master-down-by-addr"),
            open("master"),
            open("masters"),
            open("monitor"),
            open("myid"),
            open("pending-scripts"),
            open("remove"),
            open("replicas"),
            open("reset"),
            open("sentinels"),
            open("set"),
            open("simulate-failure"),
            open("slaves"),
        ],
    ),
    absent(
        "module",
        Modules,
        SLOW,
        &[open("help"), admin("list"), admin("load"), admin("loadex"), admin("unload")],
    ),
];

/// The commands that are left out and that Redis knows in rules of users: all but those of
/// Sentinel's mode.
pub const ABSENT_RIGHTS: [AbsentRight; RIGHTS] = rights();

const RIGHTS: usize = count_rights();

const fn count_rights() -> usize {
    let (mut count, mut index) = (0, 0);
    while index < ABSENT.len() {
        if !matches!(ABSENT[index].reason, Sentinel) {
            count += 1 + ABSENT[index].subcommands.len();
        }
        index += 1;
    }
    count
}

const fn rights() -> [AbsentRight; RIGHTS] {
    let none =
        AbsentRight { command: "", subcommand: None, acl: AclCategories::of(&[]), container: None };
    let mut rights = [none; RIGHTS];
    let (mut next, mut index) = (0, 0);
    while index < ABSENT.len() {
        let Absent { name: command, reason, acl, subcommands } = ABSENT[index];
        index += 1;
        if matches!(reason, Sentinel) {
            continue;
        }
        let place = next;
        rights[place] = AbsentRight { command, subcommand: None, acl, container: None };
        next += 1;
        let mut part = 0;
        while part < subcommands.len() {
            let AbsentPart { name, acl } = subcommands[part];
            let (subcommand, container) = (Some(name), Some(place));
            rights[next] = AbsentRight { command, subcommand, acl, container };
            next += 1;
            part += 1;
        }
    }
    rights
}
