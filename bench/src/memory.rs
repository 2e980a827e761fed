//! Resident memory, side by side.
//!
//! Each data set goes into a fresh Keyward and a fresh Redis over one pipelined
//! connection. What counts is what the kernel says is resident, less what the empty
//! server took.

use crate::arguments::Arguments;
use crate::peer::Peer;
use keyward_resp::push_request;
use std::io::{BufRead, BufReader, Write};

/// Commands sent before their replies are awaited.
const BATCH: usize = 1_000;

/// A data set: so many keys, each made by one command.
struct DataSet {
    title: &'static str,
    keys: usize,
    command: fn(usize) -> Vec<String>,
}

const DATA_SETS: [DataSet; 7] = [
    DataSet { title: "1,000,000 strings of 100 bytes", keys: 1_000_000, command: string },
    DataSet { title: "100,000 hashes of 10 fields", keys: 100_000, command: hash },
    DataSet { title: "100,000 sets of 10 members", keys: 100_000, command: set },
    DataSet {
        title: "100,000 sorted sets of 10 short members",
        keys: 100_000,
        command: short_zset,
    },
    DataSet { title: "100,000 sorted sets of 10 longer members", keys: 100_000, command: zset },
    DataSet { title: "100,000 lists of 10 items", keys: 100_000, command: list },
    DataSet { title: "a stream of 1,000,000 entries", keys: 1_000_000, command: entry },
];

fn string(key: usize) -> Vec<String> {
    vec!["SET".to_owned(), format!("key:{key:012}"), format!("{key:099}x")]
}

fn hash(key: usize) -> Vec<String> {
    let fields = (0..10).flat_map(|n| [format!("field{n}"), format!("value:{key}:{n}")]);
    ["HSET".to_owned(), format!("hash:{key:012}")].into_iter().chain(fields).collect()
}

fn set(key: usize) -> Vec<String> {
    let members = (0..10).map(|n| format!("member:{key}:{n}"));
    ["SADD".to_owned(), format!("set:{key:012}")].into_iter().chain(members).collect()
}

fn short_zset(key: usize) -> Vec<String> {
    let members = (0..10).flat_map(|n| [(key + n).to_string(), format!("member{n}")]);
    ["ZADD".to_owned(), format!("zset:{key:012}")].into_iter().chain(members).collect()
}

fn zset(key: usize) -> Vec<String> {
    let members = (0..10).flat_map(|n| [(key + n).to_string(), format!("member:{key}:{n}")]);
    ["ZADD".to_owned(), format!("zset:{key:012}")].into_iter().chain(members).collect()
}

fn entry(number: usize) -> Vec<String> {
    let fields = (0..5).flat_map(|n| [format!("field{n}"), format!("value:{n}:{number}")]);
    ["XADD", "stream", "*"].map(str::to_owned).into_iter().chain(fields).collect()
}

fn list(key: usize) -> Vec<String> {
    let items = (0..10).map(|n| format!("item:{key}:{n}"));
    ["RPUSH".to_owned(), format!("list:{key:012}")].into_iter().chain(items).collect()
}

/// Measures every data set and writes a table of it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| | Keyward, bytes per key | Redis, bytes per key | Keyward / Redis |")?;
    writeln!(out, "|---|---|---|---|")?;
    for data in &DATA_SETS {
        let keyward = Peer::start("Keyward", &arguments.keyward, &["serve"])?;
        let redis = Peer::start("Redis", "redis-server".as_ref(), &[])?;
        let (keyward, redis) = (bytes_per_key(&keyward, data)?, bytes_per_key(&redis, data)?);
        let ratio = keyward / redis;
        writeln!(out, "| {} | {keyward:.0} | {redis:.0} | {ratio:.2} |", data.title)?;
    }
    Ok(())
}

fn bytes_per_key(peer: &Peer, data: &DataSet) -> anyhow::Result<f64> {
    let before = peer.resident_bytes()?;
    let mut stream = peer.connect()?;
    let mut replies = BufReader::new(stream.try_clone()?);
    let mut reply = String::new();
    for first in (0..data.keys).step_by(BATCH) {
        let keys = first..data.keys.min(first + BATCH);
        let mut requests = Vec::new();
        for key in keys.clone() {
            push_request(&mut requests, (data.command)(key).iter());
        }
        stream.write_all(&requests)?;
        for _ in keys {
            reply.clear();
            replies.read_line(&mut reply)?;
            anyhow::ensure!(reply.starts_with(['+', ':', '$']), "{}: {reply}", peer.name);
            if reply.starts_with('$') {
                replies.read_line(&mut reply)?;
            }
        }
    }
    Ok((peer.resident_bytes()? - before) as f64 / data.keys as f64)
}
