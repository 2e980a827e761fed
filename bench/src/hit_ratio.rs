//! Hit ratios at half the memory, side by side.
//!
//! A cache of all keys is read by a zipfian load; whoever misses writes the value back.
//! First each server may use half of what all keys take in it, so that both can keep about
//! as many, and the order decides; then both have the same, half of what all keys take in
//! Redis. Both get the same reads in lockstep, so that time passes alike for both: the
//! order of use has a resolution of a second. The first half of the load warms the
//! caches up; hits are counted in the second.

use crate::arguments::Arguments;
use crate::connection::Connection;
use crate::peer::Peer;
use anyhow::Context;
use keyward_testkit::Random;
use std::io::Write;
use std::path::Path;

/// Reads sent before their replies are awaited.
const BATCH: usize = 100;
/// Reads for each key.
const READS_PER_KEY: usize = 10;
/// How much rarer a key is than the one before it: as in YCSB.
const SKEW: f64 = 0.99;
/// Odd and without a factor that the number of keys may have: it scatters ranks over keys.
const SCATTER: u64 = 2_654_435_761;
const SEED: u64 = 1;

/// What decides which rows go.
struct Case {
    title: &'static str,
    /// What Keyward's schema says of the rows; without one it has Redis's policy.
    evict: Option<&'static str>,
    policy: &'static str,
}

const CASES: [Case; 4] = [
    Case { title: "allkeys-lru", evict: None, policy: "allkeys-lru" },
    Case { title: "allkeys-lfu", evict: None, policy: "allkeys-lfu" },
    Case { title: "a table with evict = lru", evict: Some("lru"), policy: "allkeys-lru" },
    Case { title: "a table with evict = lfu", evict: Some("lfu"), policy: "allkeys-lfu" },
];

/// Measures every case and writes a table of it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let keys = usize::try_from(arguments.keys)?;
    let zipf = Zipf::new(keys);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{keys} keys, {} reads, half the memory:\n", keys * READS_PER_KEY)?;
    writeln!(
        out,
        "| | of | Keyward, hits | Redis, hits | Keyward − Redis | kept | kept by Redis |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for case in &CASES {
        for (title, is_same) in [("its own", false), ("Redis's", true)] {
            let caches = measure(arguments, case, is_same, &zipf, keys)?;
            let [ours, theirs] =
                caches.each_ref().map(|cache| cache.hits as f64 / cache.reads as f64);
            let [kept, kept_by_redis] = [caches[0].rows()?, caches[1].rows()?];
            let [ours, theirs, more] = [ours, theirs, ours - theirs].map(|ratio| ratio * 100.0);
            writeln!(
                out,
                "| {} | {title} | {ours:.2} % | {theirs:.2} % | {more:+.2} | {kept} | {kept_by_redis} |",
                case.title
            )?;
        }
    }
    Ok(())
}

/// Has Keyward and Redis, in this order, go through the load.
fn measure(
    arguments: &Arguments,
    case: &Case,
    is_same: bool,
    zipf: &Zipf,
    keys: usize,
) -> anyhow::Result<[Cache; 2]> {
    let directory = tempfile::tempdir()?;
    let keyward = start_keyward(&arguments.keyward, case, directory.path())?;
    let redis = Peer::start("Redis", "redis-server".as_ref(), &[])?;
    let mut caches = [Cache::new(keyward)?, Cache::new(redis)?];
    let [(ours, empty), (theirs, empty_redis)] =
        [caches[0].fill_and_empty(keys)?, caches[1].fill_and_empty(keys)?];
    let ours = if is_same { theirs } else { ours };
    caches[0].limit(empty + ours / 2, case.policy)?;
    caches[1].limit(empty_redis + theirs / 2, case.policy)?;
    read(&mut caches, zipf, keys)?;
    Ok(caches)
}

fn start_keyward(program: &Path, case: &Case, directory: &Path) -> anyhow::Result<Peer> {
    let Some(evict) = case.evict else {
        return Peer::start("Keyward", program, &["serve"]);
    };
    let schema = directory.join("cache.toml");
    std::fs::write(
        &schema,
        format!(
            "[keyspace]\nname = \"cache\"\n\
             [key.\"cache:{{id:uint}}\"]\ntype = \"string\"\nttl = \"1d\"\nevict = \"{evict}\"\n"
        ),
    )?;
    let schema = schema.to_str().context("a path is text")?;
    Peer::start_packing("Keyward", program, &["serve", schema])
}

/// Sends the same reads to both, and their values where they miss.
fn read(caches: &mut [Cache; 2], zipf: &Zipf, keys: usize) -> anyhow::Result<()> {
    let mut random = Random::new(SEED);
    let batches = keys * READS_PER_KEY / BATCH;
    for batch in 0..batches {
        let ids: Vec<usize> = (0..BATCH).map(|_| zipf.draw(&mut random)).collect();
        for cache in caches.iter_mut() {
            cache.read(&ids, batch >= batches / 2)?;
        }
    }
    Ok(())
}

/// A server used as a cache.
struct Cache {
    peer: Peer,
    connection: Connection,
    hits: u64,
    reads: u64,
}

impl Cache {
    fn new(peer: Peer) -> anyhow::Result<Cache> {
        Ok(Cache { connection: peer.open()?, peer, hits: 0, reads: 0 })
    }

    /// What all keys take in it, and what it takes without them.
    fn fill_and_empty(&mut self, keys: usize) -> anyhow::Result<(u64, u64)> {
        let ids: Vec<usize> = (0..keys).collect();
        ids.chunks(BATCH).try_for_each(|ids| self.write(ids))?;
        let full = self.settled_bytes()?;
        self.peer.call(&["FLUSHALL"])?;
        let empty = self.settled_bytes()?;
        Ok((full - empty, empty))
    }

    fn limit(&self, bytes_max: u64, policy: &str) -> anyhow::Result<()> {
        self.peer.call(&["CONFIG", "SET", "maxmemory-policy", policy])?;
        self.peer.call(&["CONFIG", "SET", "maxmemory", &bytes_max.to_string()])?;
        Ok(())
    }

    fn used_bytes(&self) -> anyhow::Result<u64> {
        let info = self.peer.call(&["INFO", "memory"])?;
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
        Ok(used.context("INFO tells the memory in use")?.trim().parse()?)
    }

    /// Bytes in use once the server no longer rearranges what it was given.
    fn settled_bytes(&self) -> anyhow::Result<u64> {
        let mut used = self.used_bytes()?;
        loop {
            std::thread::sleep(std::time::Duration::from_secs(1));
            let before = std::mem::replace(&mut used, self.used_bytes()?);
            if before.abs_diff(used) < used / 1000 {
                return Ok(used);
            }
        }
    }

    fn rows(&self) -> anyhow::Result<String> {
        self.peer.call(&["DBSIZE"])
    }

    /// Reads these keys, and writes those that are missing.
    fn read(&mut self, ids: &[usize], counts: bool) -> anyhow::Result<()> {
        let commands: Vec<_> = ids.iter().map(|id| ["GET".to_owned(), key(*id)]).collect();
        let replies = self.connection.exchange(&commands)?;
        let missing = ids.iter().zip(replies).filter(|(_, texts)| texts.is_empty());
        let missing: Vec<usize> = missing.map(|(id, _)| *id).collect();
        if counts {
            self.reads += ids.len() as u64;
            self.hits += (ids.len() - missing.len()) as u64;
        }
        self.write(&missing)
    }

    fn write(&mut self, ids: &[usize]) -> anyhow::Result<()> {
        let command = |id: &usize| ["SET".to_owned(), key(*id), value(*id)];
        let commands: Vec<_> = ids.iter().map(command).collect();
        self.connection.exchange(&commands).with_context(|| self.peer.name)?;
        Ok(())
    }
}

fn key(id: usize) -> String {
    format!("cache:{id}")
}

/// A value of its own for each key, of about a hundred bytes.
fn value(id: usize) -> String {
    let mut random = Random::new(id as u64);
    (0..6).map(|_| format!("{:016x}", random.number())).collect()
}

/// Keys of which few are read often and many seldom.
struct Zipf {
    /// The share of reads that the keys up to each rank have.
    shares: Vec<f64>,
}

impl Zipf {
    fn new(keys: usize) -> Zipf {
        let mut sum = 0.0;
        let sums = (1..=keys).map(|rank| {
            sum += (rank as f64).powf(-SKEW);
            sum
        });
        let mut shares: Vec<f64> = sums.collect();
        shares.iter_mut().for_each(|share| *share /= sum);
        Zipf { shares }
    }

    fn draw(&self, random: &mut Random) -> usize {
        let share = random.share();
        let rank = self.shares.partition_point(|end| *end < share).min(self.shares.len() - 1);
        (rank as u64 * SCATTER % self.shares.len() as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_keys_has_most_of_the_reads() {
        let zipf = Zipf::new(10_000);
        let mut random = Random::new(SEED);
        let mut reads = vec![0; 10_000];
        (0..100_000).for_each(|_| reads[zipf.draw(&mut random)] += 1);
        reads.sort_unstable_by(|one, other| other.cmp(one));
        let most: usize = reads[..1_000].iter().sum();
        assert!((70_000..85_000).contains(&most), "{most} of 100000");
    }
}
