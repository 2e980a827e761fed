//! What is measured: redis-benchmark's tests, each with what it needs to find.
//!
//! Commands that take something away would soon find nothing, and collections that only
//! grow would make later rounds another test than the first ones. So before each round
//! its collection is made anew, outside of the measured time.

use crate::load::Load;
use crate::peer::Peer;

/// The names of all, as an argument.
pub(crate) const ALL: &str = "set,get,incr,lpush,rpush,lpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset,xadd,xrange_100,xread_10,xreadgroup";

/// One kind of command under load.
#[derive(Debug)]
pub(crate) struct Workload {
    name: &'static str,
    /// As a table shows it.
    pub(crate) title: &'static str,
    /// What redis-benchmark is told to send.
    pub(crate) command: &'static [&'static str],
    /// The collection it works on.
    collection: Option<&'static str>,
    fill: Fill,
}

/// What must be in a collection.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fill {
    Nothing,
    /// A hundred elements.
    Hundred,
    /// A hundred entries of a stream.
    Entries,
    /// An entry for each command, and a group that has read none.
    Unread,
    /// An element for each command, by this test of redis-benchmark.
    Elements(&'static str),
    /// A member for each command, by this test. Members are drawn at random from all keys:
    /// twice as many draws as commands suffice up to 3/4 of the keys.
    Members(&'static str),
}

#[rustfmt::skip]
const WORKLOADS: [Workload; 17] = [
    plain("set", "SET", &["-t", "set"]),
    plain("get", "GET", &["-t", "get"]),
    plain("incr", "INCR", &["-t", "incr"]),
    on("lpush", "LPUSH", &["-t", "lpush"], "mylist", Fill::Nothing),
    on("rpush", "RPUSH", &["-t", "rpush"], "mylist", Fill::Nothing),
    on("lpop", "LPOP", &["-t", "lpop"], "mylist", Fill::Elements("lpush")),
    on("sadd", "SADD", &["-t", "sadd"], "myset", Fill::Nothing),
    on("hset", "HSET", &["-t", "hset"], "myhash", Fill::Nothing),
    on("spop", "SPOP", &["-t", "spop"], "myset", Fill::Members("sadd")),
    on("zadd", "ZADD", &["-t", "zadd"], "myzset", Fill::Nothing),
    on("zpopmin", "ZPOPMIN", &["-t", "zpopmin"], "myzset", Fill::Members("zadd")),
    // redis-benchmark's own LRANGE would push as many elements within the measured time.
    on("lrange_100", "LRANGE of 100", &["LRANGE", "mylist", "0", "99"], "mylist", Fill::Hundred),
    plain("mset", "MSET of 10", &["-t", "mset"]),
    on("xadd", "XADD of 5 fields", XADD, "mystream", Fill::Nothing),
    on("xrange_100", "XRANGE of 100", &["XRANGE", "mystream", "-", "+"], "mystream", Fill::Entries),
    on("xread_10", "XREAD of 10", &["XREAD", "COUNT", "10", "STREAMS", "mystream", "0"], "mystream", Fill::Entries),
    on("xreadgroup", "XREADGROUP of one", XREADGROUP, "mystream", Fill::Unread),
];

const XREADGROUP: &[&str] =
    &["XREADGROUP", "GROUP", "workers", "ann", "COUNT", "1", "STREAMS", "mystream", ">"];

const XADD: &[&str] = &[
    "XADD",
    "mystream",
    "*",
    "kind",
    "sale",
    "amount",
    "1999",
    "user",
    "__rand_int__",
    "state",
    "accepted",
    "note",
    "delivered by hand",
];

const fn plain(
    name: &'static str,
    title: &'static str,
    command: &'static [&'static str],
) -> Workload {
    Workload { name, title, command, collection: None, fill: Fill::Nothing }
}

const fn on(
    name: &'static str,
    title: &'static str,
    command: &'static [&'static str],
    collection: &'static str,
    fill: Fill,
) -> Workload {
    Workload { name, title, command, collection: Some(collection), fill }
}

impl Workload {
    pub(crate) fn named(name: &str) -> Option<&'static Workload> {
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// Whether it takes members that must have been drawn at random before.
    pub(crate) fn empties_a_set(&self) -> bool {
        matches!(self.fill, Fill::Members(_))
    }

    /// Makes its collection anew, for so many loads.
    pub(crate) fn prepare(&self, peer: &Peer, load: &Load, loads: u32) -> anyhow::Result<()> {
        let requests = load.requests * u64::from(loads);
        if let Some(collection) = self.collection {
            peer.call(&["DEL", collection])?;
        }
        let (test, count): (&[&str], u64) = match self.fill {
            Fill::Nothing => return Ok(()),
            Fill::Hundred => (&["-t", "lpush"], 100),
            Fill::Entries => (XADD, 100),
            Fill::Unread => (XADD, requests),
            Fill::Elements(test) => (&["-t", test], requests),
            Fill::Members(test) => (&["-t", test], requests * 2),
        };
        // One command at a time where few are sent: a batch would send more than asked for.
        let pipeline = if count < 10_000 { 1 } else { 64 };
        peer.load(test, &Load { pipeline, requests: count, ..*load })?;
        if let (Fill::Unread, Some(stream)) = (self.fill, self.collection) {
            peer.call(&["XGROUP", "CREATE", stream, "workers", "0"])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_all_workloads_in_order() {
        let names: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
        assert_eq!(names.join(","), ALL);
    }
}
