//! Reading at a fixed rate, and how long that takes.
//!
//! Each read has its time. What is late because of the one before counts as late: so a
//! server that stops for a while is seen to, however few commands it holds up. A reader that
//! wakes up late, since its core had other things to do, has its later times put off:
//! nobody had asked the server anything.

use crate::peer::Peer;
use anyhow::{Context, bail};
use keyward_testkit::Random;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Connections that read in turn.
const CONNECTIONS: u32 = 4;
/// The longest reply that is read at once.
const REPLY_BYTES_MAX: usize = 64 * 1024;

/// How long reads took, in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Latencies {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) longest: f64,
}

/// Reads keys `key:N` by chance, so many a second, until `is_over`.
pub(crate) fn read(
    peer: &Peer,
    keys: u64,
    per_second: u32,
    is_over: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<Latencies> {
    let interval = Duration::from_secs(1) * CONNECTIONS / per_second;
    let start = Instant::now();
    let mut all = std::thread::scope(|scope| {
        let connections = (0..CONNECTIONS).map(|index| {
            let stream = peer.connect();
            let first = start + interval * index / CONNECTIONS;
            scope.spawn(move || {
                let seed = u64::from(index) + 1;
                read_on(stream?, keys, (first, interval), seed, is_over)
            })
        });
        let connections: Vec<_> = connections.collect();
        let mut all = Vec::new();
        for connection in connections {
            let Ok(seen) = connection.join() else { bail!("a reader has panicked") };
            all.extend(seen?);
        }
        Ok(all)
    })?;
    all.sort_unstable();
    let at = |share: f64| {
        let index = (all.len() as f64 * share) as usize;
        let nanoseconds = all.get(index.min(all.len().saturating_sub(1)));
        nanoseconds.map_or(0.0, |nanoseconds| *nanoseconds as f64 / 1e6)
    };
    Ok(Latencies { p50: at(0.5), p99: at(0.99), p999: at(0.999), longest: at(1.0) })
}

/// Reads on one connection; returns how long each read took, in nanoseconds.
fn read_on(
    mut stream: TcpStream,
    keys: u64,
    (mut due, interval): (Instant, Duration),
    seed: u64,
    is_over: &(dyn Fn() -> bool + Sync),
) -> anyhow::Result<Vec<u64>> {
    stream.set_nodelay(true)?;
    let mut reply = vec![0; REPLY_BYTES_MAX];
    let mut seen = Vec::new();
    let mut random = Random::new(seed);
    while !is_over() {
        let pause = due.saturating_duration_since(Instant::now());
        if !pause.is_zero() {
            std::thread::sleep(pause);
            due = Instant::now();
        }
        let key = format!("key:{}", random.below(keys as usize));
        stream.write_all(format!("*2\r\n$3\r\nGET\r\n${}\r\n{key}\r\n", key.len()).as_bytes())?;
        let count = stream.read(&mut reply).context("the server has closed the connection")?;
        if reply[0] != b'$' || count == 0 {
            bail!("GET answers {}", reply[..count].escape_ascii());
        }
        seen.push(due.elapsed().as_nanos() as u64);
        due += interval;
    }
    Ok(seen)
}
