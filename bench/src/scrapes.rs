//! What scraping costs the thread that executes commands.
//!
//! A server under a schema of a thousand patterns, with HTTP. Its thread's processor time is
//! read from the kernel: of a load with and without ten scrapes a second, and of a server that
//! has nothing else to do, which shows the cost itself without the noise of a load.

use crate::arguments::Arguments;
use crate::load::Load;
use crate::peer::Peer;
use anyhow::{Context, ensure};
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const PATTERNS: usize = 1000;
/// Between two scrapes.
const EVERY: Duration = Duration::from_millis(100);
/// How long a server without anything else to do is watched.
const WATCHED: Duration = Duration::from_secs(20);

/// Measures it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("many.toml");
    std::fs::write(&file, schema())?;
    let http = free_address()?;
    let (file, place) = (file.display().to_string(), http.to_string());
    let peer = Peer::start("Keyward", &arguments.keyward, &["serve", &file, "--http", &place])?;
    let load = Load::new(arguments);
    peer.load_plainly(&["-t", "set"], &load)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "| round | alone, \u{b5}s | with scrapes, \u{b5}s | ratio | scrapes |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    let mut ratios = Vec::new();
    for round in 0..arguments.rounds {
        let alone = core_us(&peer, &load)?;
        let scraper = Scraper::start(http);
        let scraped = core_us(&peer, &load)?;
        let count = scraper.stop()?;
        ratios.push(scraped / alone);
        writeln!(
            out,
            "| {round} | {alone:.3} | {scraped:.3} | {:.3} | {count} |",
            scraped / alone
        )?;
    }
    ratios.sort_by(f64::total_cmp);
    let idle = idle_share(&peer)?;
    let scraper = Scraper::start(http);
    let busy = idle_share(&peer)?;
    let count = scraper.stop()?;
    writeln!(out, "\nmedian of the ratios: {:.3}", ratios[ratios.len() / 2])?;
    writeln!(
        out,
        "without a load: {:.3} % of a core, {:.3} % with {count} scrapes in {} s: {:.3} % for them",
        idle * 100.0,
        busy * 100.0,
        WATCHED.as_secs(),
        (busy - idle) * 100.0,
    )?;
    Ok(())
}

/// A thousand patterns; keys of the load are of none of them.
fn schema() -> String {
    let mut text = String::from("[keyspace]\nname = \"many\"\nunknown = \"allow\"\n");
    for number in 0..PATTERNS {
        // Writing to a string cannot fail.
        let _ = write!(text, "[key.\"p{number}:{{id}}\"]\ntype = \"string\"\nttl = \"1h\"\n");
    }
    text
}

fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Microseconds of the core per command of a load.
fn core_us(peer: &Peer, load: &Load) -> anyhow::Result<f64> {
    let before_ns = peer.core_ns()?;
    peer.load_plainly(&["-t", "get"], load)?;
    Ok((peer.core_ns()? - before_ns) as f64 / 1000.0 / load.requests as f64)
}

/// The share of a core that the thread takes while nobody sends commands.
fn idle_share(peer: &Peer) -> anyhow::Result<f64> {
    let (begun, before_ns) = (Instant::now(), peer.core_ns()?);
    std::thread::sleep(WATCHED);
    Ok((peer.core_ns()? - before_ns) as f64 / begun.elapsed().as_nanos() as f64)
}

/// Who scrapes.
struct Scraper {
    must_end: Arc<AtomicBool>,
    count: Arc<AtomicUsize>,
    thread: std::thread::JoinHandle<anyhow::Result<()>>,
}

impl Scraper {
    fn start(address: SocketAddr) -> Scraper {
        let (must_end, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let of_thread = (Arc::clone(&must_end), Arc::clone(&count));
        let thread = std::thread::spawn(move || {
            let mut next = Instant::now();
            while !of_thread.0.load(Ordering::Relaxed) {
                scrape(address)?;
                of_thread.1.fetch_add(1, Ordering::Relaxed);
                next += EVERY;
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            Ok(())
        });
        Scraper { must_end, count, thread }
    }

    /// Ends it; how often it has scraped.
    fn stop(self) -> anyhow::Result<usize> {
        self.must_end.store(true, Ordering::Relaxed);
        self.thread.join().ok().context("the scraper is well")??;
        Ok(self.count.load(Ordering::Relaxed))
    }
}

fn scrape(address: SocketAddr) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    ensure!(bytes.starts_with(b"HTTP/1.1 200"), "a scrape failed");
    Ok(())
}
