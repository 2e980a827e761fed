//! `kill -9` under load, again and again: nothing that was acknowledged is lost.
//!
//! Each round starts a server on what the last one left, lets redis-benchmark and a few
//! clients write, and kills it at a moment that chance decides: while clients write, while
//! the append-only file is written anew or turned off and on, while a snapshot is written,
//! or while it loads.
//! The clients remember what was acknowledged; the next server must have all of it, and
//! of what was under way either all or nothing.
//!
//! That holds with every `appendfsync`: what the system was given outlives the process. Only
//! while the file is off, and until it is written anew after that, nothing is promised but
//! what was acknowledged before.
//!
//! `KEYWARD_CRASH_ROUNDS=300` kills so often, `KEYWARD_CRASH_SEED` decides how.
//! Not here: power cuts, which lose what is not synced (`power_cuts.rs`).

use keyward_resp::Frame;
use keyward_testkit::{Client, ClientError, Random, Server, wait_for};
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// Rounds of each policy in a run of all tests.
const ROUNDS: u64 = 8;
/// Rounds on one directory: what there is to load grows.
const ROUNDS_PER_DIRECTORY: u64 = 12;
/// How long something is under way before the kill at most.
const BEGUN_MS_MAX: usize = 40;
const WRITERS: usize = 4;
/// Keys that a writer writes in turn.
const KEYS: u64 = 16;
/// How long clients write before the kill at most.
const LOAD_MS_MAX: usize = 400;
/// How long a server that loads is let live at most.
const LOADING_MS_MAX: usize = 120;
/// How long the file is off at most.
const OFF_MS_MAX: usize = 20;

/// When a server is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Writing,
    Rewriting,
    /// The append-only file was turned off and on.
    Toggling,
    Saving,
    Loading,
}

impl Moment {
    fn of(random: &mut Random) -> Moment {
        match random.below(8) {
            0..=2 => Moment::Rewriting,
            3 => Moment::Toggling,
            4 => Moment::Saving,
            5 => Moment::Loading,
            _ => Moment::Writing,
        }
    }
}

/// What one writer knows. Step `n` is one atomic write: the element `n` at the end of a
/// list, a key of a ring set to `n`, and two others that must always be equal.
#[derive(Clone, Debug)]
struct Ledger {
    writer: usize,
    /// Steps that were acknowledged.
    acknowledged: Arc<AtomicU64>,
    /// Steps that were sent, the last of which may have no answer.
    sent: u64,
}

impl Ledger {
    fn new(writer: usize) -> Ledger {
        Ledger { writer, acknowledged: Arc::default(), sent: 0 }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::SeqCst)
    }

    fn step(&self, number: u64) -> Vec<Vec<String>> {
        let (writer, value) = (self.writer, number.to_string());
        let ring = format!("ring:{writer}:{}", number % KEYS);
        let words = |words: [&str; 3]| words.map(str::to_owned).to_vec();
        match number % 3 {
            // One command.
            0 => vec![words(["RPUSH", &format!("log:{writer}"), &value])],
            // A transaction.
            1 => vec![
                vec!["MULTI".to_owned()],
                words(["RPUSH", &format!("log:{writer}"), &value]),
                words(["SET", &ring, &value]),
                words(["SET", &format!("left:{writer}"), &value]),
                words(["SET", &format!("right:{writer}"), &value]),
                vec!["EXEC".to_owned()],
            ],
            // A script.
            _ => vec![vec![
                "EVAL".to_owned(),
                "redis.call('rpush', KEYS[1], ARGV[1]) for i = 2, 4 do \
                 redis.call('set', KEYS[i], ARGV[1], 'EX', 1000000) end return 1"
                    .to_owned(),
                "4".to_owned(),
                format!("log:{writer}"),
                ring,
                format!("left:{writer}"),
                format!("right:{writer}"),
                value,
            ]],
        }
    }

    /// Writes until the server is gone.
    fn write(&mut self, address: SocketAddr) -> Result<(), ClientError> {
        let mut client = Client::connect(address)?;
        loop {
            let commands = self.step(self.sent);
            self.sent += 1;
            for command in &commands {
                client.send_command(command)?;
            }
            for _ in &commands {
                let reply = client.receive()?;
                assert!(!matches!(reply, Frame::Error(_)), "a write is refused: {reply:?}");
            }
            self.acknowledged.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Holds a server that was started again against what is known. `safe` steps must be
    /// there; the ledger goes on with what is. Returns how many of them are not.
    fn verify(&mut self, client: &mut Client, safe: u64, context: &str) -> u64 {
        let writer = self.writer;
        let log = call(client, &["LRANGE", &format!("log:{writer}"), "0", "-1"]);
        let log: Vec<u64> = log.as_elements().expect("a list").iter().map(number).collect();
        let count = log.len() as u64;
        assert!(log.iter().copied().eq(0..count), "{context}: the log has gaps: {log:?}");
        let lost = safe.saturating_sub(count);
        assert!(count <= self.sent, "{context}: {count} steps are there, {} sent", self.sent);
        // What each key has by the last step that wrote it.
        let last = (0..count).rev().find(|number| !number.is_multiple_of(3));
        for key in ["left", "right"] {
            assert_eq!(get(client, &format!("{key}:{writer}")), last, "{context}: half a step");
        }
        for place in 0..KEYS {
            let writes = |number: &u64| number % KEYS == place && !number.is_multiple_of(3);
            let expected = (0..count).rev().find(writes);
            assert_eq!(get(client, &format!("ring:{writer}:{place}")), expected, "{context}");
        }
        self.acknowledged.store(count, Ordering::SeqCst);
        self.sent = count;
        lost
    }
}

fn call(client: &mut Client, words: &[&str]) -> Frame {
    let reply = client.call(words).expect("an answer");
    assert!(!matches!(reply, Frame::Error(_)), "{words:?}: {reply:?}");
    reply
}

fn number(frame: &Frame) -> u64 {
    let text = std::str::from_utf8(frame.as_bytes().expect("a text")).expect("digits");
    text.parse().expect("a number")
}

fn get(client: &mut Client, key: &str) -> Option<u64> {
    let value = call(client, &["GET", key]);
    value.as_bytes().is_some().then(|| number(&value))
}

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_keyward"))
}

fn options<'a>(directory: &'a Path, policy: &'a str) -> [&'a str; 8] {
    let directory = directory.to_str().expect("a path in UTF-8");
    // The file is written anew often, by itself too.
    let (name, size) = ("--auto-aof-rewrite-min-size", "256kb");
    ["--dir", directory, "--appendonly", "yes", "--appendfsync", policy, name, size]
}

/// Lets chance decide on a moment.
fn pause(random: &mut Random, ms_max: usize) {
    std::thread::sleep(Duration::from_millis(random.below(ms_max) as u64));
}

/// Starts a server and kills it before it has loaded, or shortly after.
fn kill_while_loading(directory: &Path, policy: &str, random: &mut Random) {
    let socket = directory.join("socket");
    let mut child = Command::new(program())
        .args(["serve", "--port", "0", "--unixsocket"])
        .arg(socket)
        .args(options(directory, policy))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    pause(random, LOADING_MS_MAX);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

fn benchmark(address: SocketAddr, random: &mut Random) -> Child {
    let test = random.pick(&["set", "incr", "lpush", "hset", "sadd", "mset"]);
    Command::new("redis-benchmark")
        .args(["-p", &address.port().to_string(), "-c", "8", "-n", "100000000", "-r", "2000"])
        .args(["-q", "-t", test])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("redis-benchmark runs")
}

/// What all rounds have come to.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    acknowledged: u64,
    lost: u64,
}

/// Kills servers of one policy so often.
fn kill_again_and_again(policy: &'static str, rounds: u64, seed: u64) -> Tally {
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    let mut directory = TempDir::new().expect("a directory");
    let mut ledgers: Vec<Ledger> = (0..WRITERS).map(Ledger::new).collect();
    let mut safe = vec![0; WRITERS];
    for round in 0..=rounds {
        let server = Server::keyward(program(), &options(directory.path(), policy));
        let context = format!("{policy}, seed {seed}, round {round}");
        let mut client = server.client();
        for (ledger, safe) in ledgers.iter_mut().zip(&safe) {
            let lost = ledger.verify(&mut client, *safe, &context);
            if lost > 0 {
                writeln!(std::io::stderr(), "{context}: {lost} lost").expect("stderr is open");
            }
            tally.lost += lost;
        }
        if round == rounds {
            break;
        }
        if round % ROUNDS_PER_DIRECTORY == ROUNDS_PER_DIRECTORY - 1 {
            drop(server);
            directory = TempDir::new().expect("a directory");
            ledgers = (0..WRITERS).map(Ledger::new).collect();
            safe = vec![0; WRITERS];
            continue;
        }
        let before = sum(&ledgers);
        let moment = Moment::of(&mut random);
        (ledgers, safe) = kill_under_load(server, ledgers, moment, &mut random);
        tally.acknowledged += sum(&ledgers) - before;
        tally.kills += 1;
        if moment == Moment::Loading {
            kill_while_loading(directory.path(), policy, &mut random);
            tally.kills += 1;
        }
    }
    tally
}

fn sum(ledgers: &[Ledger]) -> u64 {
    ledgers.iter().map(Ledger::acknowledged).sum()
}

/// Turns the append-only file off and on; whether it was waited for until it is whole.
fn toggle(client: &mut Client, random: &mut Random) -> bool {
    call(client, &["CONFIG", "SET", "appendonly", "no"]);
    pause(random, OFF_MS_MAX);
    call(client, &["CONFIG", "SET", "appendonly", "yes"]);
    if random.one_in(3) {
        return false;
    }
    wait_for(|| {
        let info = call(client, &["INFO", "persistence"]);
        let info = String::from_utf8_lossy(info.as_bytes().expect("a text")).into_owned();
        let says = |line: &str| info.lines().any(|said| said == line);
        if says("aof_rewrite_in_progress:0") && says("aof_rewrite_scheduled:0") {
            assert!(says("aof_last_bgrewrite_status:ok"), "{info}");
            return Ok(());
        }
        Err(format!("it is never written anew: {info}"))
    });
    true
}

/// Lets clients write and kills the server; what they know then, and how many steps of
/// each are safe.
fn kill_under_load(
    server: Server,
    ledgers: Vec<Ledger>,
    moment: Moment,
    random: &mut Random,
) -> (Vec<Ledger>, Vec<u64>) {
    let address = server.address();
    let mut load = benchmark(address, random);
    let write = |mut ledger: Ledger| {
        std::thread::spawn(move || {
            // It ends with an error, since the server is killed.
            ledger.write(address).expect_err("the server was killed");
            ledger
        })
    };
    let counts: Vec<Arc<AtomicU64>> =
        ledgers.iter().map(|ledger| Arc::clone(&ledger.acknowledged)).collect();
    let counts = || counts.iter().map(|count| count.load(Ordering::SeqCst)).collect();
    let writers: Vec<JoinHandle<Ledger>> = ledgers.into_iter().map(write).collect();
    pause(random, LOAD_MS_MAX);
    let mut client = server.client();
    // What is safe although the file is not whole.
    let mut before: Option<Vec<u64>> = None;
    match moment {
        // One may be under way already, which is as good.
        Moment::Rewriting => drop(client.call(["BGREWRITEAOF"]).expect("an answer")),
        Moment::Saving => drop(client.call(["BGSAVE"]).expect("an answer")),
        Moment::Toggling => {
            let counted = counts();
            let is_whole = toggle(&mut client, random);
            before = (!is_whole).then_some(counted);
        }
        Moment::Writing | Moment::Loading => {}
    }
    if moment != Moment::Writing {
        pause(random, BEGUN_MS_MAX);
    }
    // Kills it with SIGKILL.
    drop(server);
    let ledgers = writers.into_iter().map(|writer| writer.join().expect("no write is refused"));
    let ledgers: Vec<Ledger> = ledgers.collect();
    // It may have ended with the server.
    let _ = load.kill();
    load.wait().expect("it ends");
    (ledgers, before.unwrap_or_else(counts))
}

fn rounds() -> u64 {
    let text = std::env::var("KEYWARD_CRASH_ROUNDS").ok();
    text.map_or(ROUNDS, |text| text.parse().expect("KEYWARD_CRASH_ROUNDS is a number"))
}

fn seed() -> u64 {
    let text = std::env::var("KEYWARD_CRASH_SEED").ok();
    text.map_or(1, |text| text.parse().expect("KEYWARD_CRASH_SEED is a number"))
}

/// The figures of a long run; `cargo test` shows them with `--nocapture`.
fn tell(policy: &str, Tally { kills, acknowledged, lost }: &Tally) {
    let figures =
        format!("{policy}: {kills} kills, {acknowledged} writes acknowledged, {lost} lost");
    writeln!(std::io::stderr(), "{figures}").expect("stderr is open");
}

fn nothing_is_lost(policy: &'static str, seed: u64) {
    let tally = kill_again_and_again(policy, rounds(), seed);
    tell(policy, &tally);
    assert_eq!(tally.lost, 0);
    assert!(tally.acknowledged > 0);
}

#[test]
fn with_always_nothing_acknowledged_is_lost() {
    nothing_is_lost("always", seed());
}

#[test]
fn with_everysec_nothing_acknowledged_is_lost() {
    nothing_is_lost("everysec", seed() + 1);
}

#[test]
fn with_no_syncs_nothing_acknowledged_is_lost() {
    nothing_is_lost("no", seed() + 2);
}
