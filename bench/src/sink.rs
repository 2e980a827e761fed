//! What rows in PostgreSQL cost, and how far they are behind.
//!
//! A PostgreSQL of its own, a server under a schema with sinks, and `keyward sync` of the same
//! binary. Three figures: rows a second that are stored in bulk, after nobody stored for a while;
//! the longest that a change waits at a steady pace of writes; and the processor time of the
//! thread that executes commands, for GET and SET of keys without a sink, with sinks beside them
//! and without.

use crate::arguments::Arguments;
use crate::load::Load;
use crate::peer::Peer;
use anyhow::{Context, ensure};
use keyward_testkit::Postgres;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Rows that are stored in bulk.
const BULK_ROWS: usize = 200_000;
/// Commands that are sent together.
const AT_ONCE: usize = 500;
/// Writes a second while the lag is measured, and for how long.
const WRITES_PER_SECOND: usize = 5_000;
const PACED: Duration = Duration::from_secs(20);
/// Between two looks at the lag, and two bursts of writes.
const STEP: Duration = Duration::from_millis(20);

const SINKS: &str = r#"
[keyspace]
name    = "shop"
unknown = "allow"

[key."tx:{user:uint}"]
type  = "list"
ttl   = "none"
items = { id = "str", amount = "decimal" }
allow = ["KW0310: a row of the table each"]
sink  = { append = "tx" }
"#;

/// Measures it.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, SINKS)?;
    let plain = folder.path().join("plain.toml");
    let without: Vec<&str> = SINKS.lines().filter(|line| !line.starts_with("sink")).collect();
    std::fs::write(&plain, without.join("\n"))?;
    let [file, plain] = [file, plain].map(|path| path.display().to_string());
    let postgres = Postgres::start();
    let url = postgres.url();
    let program = &arguments.keyward;
    let made = Command::new(program).args(["sql", "--check", &url, "--apply", &file]).output()?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let peer = Peer::start("with sinks", program, &["serve", &file])?;
    // It listens before it serves.
    peer.settle()?;
    let mut out = std::io::stdout().lock();
    push(&peer, 0..BULK_ROWS)?;
    let begun = Instant::now();
    let mut bulk = sync(program, &peer, (&url, &file), &["--once"])?;
    ensure!(bulk.0.wait()?.success(), "keyward sync failed");
    let seconds = begun.elapsed().as_secs_f64();
    let stored = postgres.query("SELECT count(*) FROM tx");
    ensure!(stored == BULK_ROWS.to_string(), "{stored} rows are stored");
    let rate = BULK_ROWS as f64 / seconds;
    writeln!(out, "in bulk: {BULK_ROWS} rows in {seconds:.1} s, {rate:.0} a second")?;
    let _syncing = sync(program, &peer, (&url, &file), &[])?;
    let (written, lag) = paced(&peer)?;
    writeln!(
        out,
        "at {WRITES_PER_SECOND} writes a second, {written} in all: lag at most {lag} ms"
    )?;
    let other = Peer::start("without sinks", program, &["serve", &plain])?;
    other.settle()?;
    let load = Load::new(arguments);
    for test in ["set", "get"] {
        let mut ratios = Vec::new();
        for _ in 0..arguments.rounds {
            ratios.push(core_us(&peer, test, &load)? / core_us(&other, test, &load)?);
        }
        ratios.sort_by(f64::total_cmp);
        let median = ratios[ratios.len() / 2];
        writeln!(out, "{test} of other keys: {median:.3} of the time without sinks")?;
    }
    Ok(())
}

/// Who stores changes, until it is dropped.
struct Syncing(Child);

impl Drop for Syncing {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sync(
    program: &Path,
    peer: &Peer,
    (url, file): (&str, &str),
    options: &[&str],
) -> anyhow::Result<Syncing> {
    let source = peer.connect()?.peer_addr()?.to_string();
    let child = Command::new(program)
        .args(["sync", "--postgres", url, "--source", &source, file])
        .args(options)
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Syncing(child))
}

/// Pushes an item of each number.
fn push(peer: &Peer, numbers: std::ops::Range<usize>) -> anyhow::Result<()> {
    let mut connection = peer.open()?;
    let numbers: Vec<usize> = numbers.collect();
    for some in numbers.chunks(AT_ONCE) {
        let commands: Vec<[String; 3]> = some.iter().map(|number| command(*number)).collect();
        connection.exchange(&commands)?;
    }
    Ok(())
}

fn command(number: usize) -> [String; 3] {
    let item = format!(r#"{{"id":"t{number}","amount":0.{number}}}"#);
    ["RPUSH".to_owned(), format!("tx:{}", number % 1000), item]
}

/// Writes at a steady pace; how many, and the longest that one waited to be stored.
fn paced(peer: &Peer) -> anyhow::Result<(usize, u64)> {
    let (mut writer, mut reader) = (peer.open()?, peer.open()?);
    let (begun, mut sent, mut lag_max) = (Instant::now(), 0, 0);
    while begun.elapsed() < PACED {
        let due = (begun.elapsed().as_secs_f64() * WRITES_PER_SECOND as f64) as usize;
        let numbers = BULK_ROWS + sent..BULK_ROWS + due.max(sent);
        let commands: Vec<[String; 3]> = numbers.map(command).collect();
        sent += commands.len();
        if !commands.is_empty() {
            writer.exchange(&commands)?;
        }
        let info = reader.call(&["INFO", "patterns"])?;
        let line = info.lines().find(|line| line.contains("pattern=keyward:changefeed:shop,"));
        let fields = line.context("the changefeed's line")?.split(',');
        let lag = fields.filter_map(|field| field.strip_prefix("lag_ms=")).next();
        lag_max = lag_max.max(lag.context("its lag")?.parse::<u64>()?);
        std::thread::sleep(STEP);
    }
    Ok((sent, lag_max))
}

/// Microseconds of the core per command of a load.
fn core_us(peer: &Peer, test: &str, load: &Load) -> anyhow::Result<f64> {
    let before_ns = peer.core_ns()?;
    peer.load_plainly(&["-t", test], load)?;
    Ok((peer.core_ns()? - before_ns) as f64 / 1000.0 / load.requests as f64)
}
