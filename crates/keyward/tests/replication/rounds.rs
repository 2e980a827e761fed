//! Rounds of real faults under load: kill -9, SIGSTOP, links that are cut, down or stalled, with
//! Keyward on one side and redis-server 7.0, Valkey 9.1 or Keyward on the other, in both roles.
//!
//! redis-benchmark, a client that remembers and one that makes and ends leaders with more companions
//! than go at once write to the primary, which its replica reaches by a proxy. A Keyward has a schema
//! and an append-only file. After each round both sides must have the same DEBUG DIGEST and the same
//! PEXPIRETIME of every key, and the primary whatever WAIT confirmed, also after it was killed and
//! its replica promoted.
//!
//! `KEYWARD_REPLICATION_ROUNDS=300 cargo test -p keyward --test replication rounds -- --nocapture`
//! goes on for so many, from `KEYWARD_REPLICATION_SEED` on, and writes a line for each to the file
//! that `KEYWARD_REPLICATION_RESULTS` names, or to `target/replication-rounds.tsv`.

use crate::node::Node;
use crate::schemas::{COMPANIONS, SchemaFile};
use crate::write_all_kinds;
use keyward_resp::Frame;
use keyward_testkit::{Client, Proxy, Random, wait_for};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Rounds of each pair in a run of all tests.
const ROUNDS: u64 = 2;
/// Rounds that two servers have together before others take their places.
const ROUNDS_TOGETHER: u64 = 8;
/// How long a fault lasts at most; `repl-timeout` is shorter.
const FAULT_MS_MAX: usize = 2500;
const LONG_FAULT: Duration = Duration::from_secs(5);
/// Of the servers, so that what is silent is noticed.
const TIMEOUTS: [&str; 2] = ["--repl-timeout", "3"];

/// The schema that every Keyward has.
static SCHEMA: OnceLock<SchemaFile> = OnceLock::new();
/// Companions of a leader: more than go at once.
const COMPANION_COUNT: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Keyward,
    Redis,
    Valkey,
}

impl Kind {
    fn start(self) -> Node {
        match self {
            Kind::Keyward => {
                let schema = SCHEMA.get_or_init(|| {
                    let text = COMPANIONS.replace("[keyspace]", "[keyspace]\nunknown = \"allow\"");
                    SchemaFile::new(&text)
                });
                schema.serve(&[&TIMEOUTS[..], &["--save", "", "--appendonly", "yes"]].concat())
            }
            Kind::Redis => Node::redis(&TIMEOUTS),
            Kind::Valkey => Node::valkey(&TIMEOUTS),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    KillReplica,
    /// The replica ends as it should, and starts from its file.
    RestartReplica,
    /// The replica is promoted, and the former primary follows it.
    KillPrimary,
    StopReplica,
    StopPrimary,
    CutLink,
    LinkDown,
    StallLink,
    /// For longer than either side waits.
    StallLinkLong,
    /// Roles change while both are well.
    SwitchRoles,
}

const FAULTS: [Fault; 11] = [
    Fault::CutLink,
    Fault::RestartReplica,
    Fault::KillPrimary,
    Fault::StopReplica,
    Fault::KillReplica,
    Fault::StopPrimary,
    Fault::StallLinkLong,
    Fault::SwitchRoles,
    Fault::LinkDown,
    Fault::StallLink,
    Fault::Nothing,
];

/// Those who write, until it is dropped.
pub(crate) struct Load {
    is_over: Arc<AtomicBool>,
    checking: Option<JoinHandle<BTreeSet<u64>>>,
    kinds: Option<JoinHandle<()>>,
    ends: Option<JoinHandle<()>>,
    benchmark: Child,
}

impl Load {
    pub(crate) fn on(primary: &Node, first: u64) -> Load {
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let mut client = primary.client();
        let checking = std::thread::spawn(move || {
            let (mut number, mut confirmed) = (first, BTreeSet::new());
            while !until.load(Ordering::Relaxed) {
                if !write_checked(&mut client, number, &mut confirmed) {
                    break;
                }
                number += 1;
            }
            confirmed
        });
        let (until, mut client) = (Arc::clone(&is_over), primary.client());
        let kinds = std::thread::spawn(move || {
            let mut round = 0;
            // It is over too when the server is gone.
            while !until.load(Ordering::Relaxed) && client.call(["PING"]).is_ok() {
                let quiet = std::panic::AssertUnwindSafe(|| write_all_kinds(&mut client, round));
                if std::panic::catch_unwind(quiet).is_err() {
                    return;
                }
                round = (round + 1) % 200;
            }
        });
        let (until, mut client) = (Arc::clone(&is_over), primary.client());
        let ends = std::thread::spawn(move || {
            let mut number = 0;
            while !until.load(Ordering::Relaxed) && end_leader(&mut client, number % 8) {
                number += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let port = primary.port.to_string();
        let benchmark = Command::new("redis-benchmark")
            .args(["-p", &port, "-q", "-n", "1000000", "-c", "4", "-P", "4", "-r", "500"])
            .args(["-t", "set,incr,sadd,hset,zadd"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("redis-benchmark runs");
        let (checking, kinds, ends) = (Some(checking), Some(kinds), Some(ends));
        Load { is_over, checking, kinds, ends, benchmark }
    }

    /// Nobody writes any more; the writes that were confirmed.
    pub(crate) fn end(mut self) -> BTreeSet<u64> {
        self.is_over.store(true, Ordering::Relaxed);
        self.stop_benchmark();
        self.kinds.take().expect("it runs").join().expect("it does not panic");
        self.ends.take().expect("it runs").join().expect("it does not panic");
        self.checking.take().expect("it runs").join().expect("it does not panic")
    }

    fn stop_benchmark(&mut self) {
        // Both fail only if the process is gone already.
        let _ = self.benchmark.kill();
        let _ = self.benchmark.wait();
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.stop_benchmark();
    }
}

/// Writes a number, and sometimes waits until the replica has it; whether the server is there.
fn write_checked(client: &mut Client, number: u64, confirmed: &mut BTreeSet<u64>) -> bool {
    let (key, text) = (format!("check:{number}"), number.to_string());
    let written = client.call(["SET", &key, &text]);
    if !matches!(written, Ok(Frame::Simple(_))) {
        return false;
    }
    if number.is_multiple_of(3) {
        match client.call(["WAIT", "1", "100"]) {
            Ok(Frame::Integer(count)) if count > 0 => {
                confirmed.insert(number);
            }
            Ok(_) => {}
            Err(_) => return false,
        }
    }
    true
}

/// Ends a leader of before, in one of several ways, and makes it anew; whether the server is there.
fn end_leader(client: &mut Client, number: usize) -> bool {
    let leader = format!("coupon:{number}");
    let end = match number % 3 {
        0 => client.call(["DEL", &leader]),
        1 => client.call(["PEXPIRE", &leader, "10"]),
        _ => client.call(["EVAL", "return redis.call('UNLINK', KEYS[1])", "1", &leader]),
    };
    let made = client.call(["SET", &leader, "x"]);
    let text = "for i = 1, ARGV[1] do redis.call('SET', KEYS[1] .. ':used_by:' .. i, '1') end";
    let companions = client.call(["EVAL", text, "1", &leader, &COMPANION_COUNT.to_string()]);
    end.is_ok() && made.is_ok() && companions.is_ok()
}

/// Two servers and the link between them.
struct Pair {
    primary: Node,
    replica: Node,
    kinds: [Kind; 2],
    link: Proxy,
    confirmed: BTreeSet<u64>,
    next: u64,
    random: Random,
}

/// What a round came to.
struct Outcome {
    confirmed: usize,
    syncs: [String; 3],
    took: Duration,
}

impl Pair {
    fn new(kinds: [Kind; 2], seed: u64) -> Pair {
        let (primary, replica) = (kinds[0].start(), kinds[1].start());
        let link = Proxy::to(primary.address());
        replica.follow_at(link.port());
        let random = Random::new(seed);
        Pair { primary, replica, kinds, link, confirmed: BTreeSet::new(), next: 0, random }
    }

    fn round(&mut self, fault: Fault) -> Outcome {
        let began = Instant::now();
        self.primary.wait_for(&self.replica);
        let load = Load::on(&self.primary, self.next);
        self.next += 1_000_000;
        self.pause(300);
        let lasts = Duration::from_millis(50 + self.random.below(FAULT_MS_MAX) as u64);
        match fault {
            Fault::Nothing => {}
            Fault::CutLink => {
                for _ in 0..3 {
                    self.link.cut();
                    self.pause(200);
                }
            }
            Fault::LinkDown => {
                self.link.set_down(true);
                std::thread::sleep(lasts);
                self.link.set_down(false);
            }
            Fault::StallLink | Fault::StallLinkLong => {
                self.link.set_stalled(true);
                std::thread::sleep(if fault == Fault::StallLink { lasts } else { LONG_FAULT });
                self.link.set_stalled(false);
            }
            Fault::StopReplica => stop_for(&self.replica, lasts),
            Fault::StopPrimary => stop_for(&self.primary, lasts),
            Fault::KillReplica => {
                self.replica.kill();
                self.replica.start_again();
                self.replica.follow_at(self.link.port());
            }
            Fault::RestartReplica => {
                self.replica.end();
                self.replica.start_again();
                self.replica.follow_at(self.link.port());
            }
            Fault::KillPrimary => self.primary.kill(),
            Fault::SwitchRoles => {}
        }
        self.pause(200);
        let confirmed = load.end();
        let count = confirmed.len();
        self.confirmed.extend(confirmed);
        match fault {
            Fault::KillPrimary => {
                self.replica.lead();
                self.check_confirmed(&self.replica);
                self.primary.start_again();
                self.exchange();
            }
            Fault::SwitchRoles => {
                // The load is over: what the primary has, its replica has soon.
                self.primary.wait_for(&self.replica);
                self.replica.lead();
                self.exchange();
            }
            _ => {}
        }
        self.primary.assert_equals(&self.replica);
        self.check_confirmed(&self.primary);
        self.check_confirmed(&self.replica);
        let syncs = self.primary.syncs();
        Outcome { confirmed: count, syncs, took: began.elapsed() }
    }

    /// Who follows leads, and the other way round.
    fn exchange(&mut self) {
        std::mem::swap(&mut self.primary, &mut self.replica);
        self.kinds.swap(0, 1);
        self.link = Proxy::to(self.primary.address());
        self.replica.follow_at(self.link.port());
    }

    fn pause(&mut self, ms_max: usize) {
        std::thread::sleep(Duration::from_millis(50 + self.random.below(ms_max) as u64));
    }

    /// A server has every write that was confirmed.
    fn check_confirmed(&self, node: &Node) {
        let mut client = node.client();
        for number in &self.confirmed {
            let reply = client.call(["GET", &format!("check:{number}")]).expect("a reply");
            let expected = Frame::Bulk(number.to_string().into_bytes());
            assert_eq!(reply, expected, "the confirmed write {number} of {:?}", self.kinds);
        }
    }
}

fn stop_for(node: &Node, lasts: Duration) {
    node.signal("STOP");
    std::thread::sleep(lasts);
    node.signal("CONT");
    wait_for(|| node.client().call(["PING"]).map(drop));
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Where results are kept, if many rounds are wanted.
fn results() -> Option<File> {
    number("KEYWARD_REPLICATION_ROUNDS")?;
    let named = std::env::var_os("KEYWARD_REPLICATION_RESULTS").map(PathBuf::from);
    let path = named.unwrap_or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/replication-rounds.tsv")
    });
    let file = File::options().create(true).append(true).open(&path);
    Some(file.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// Rounds of two servers; what is kept of each is a line.
fn rounds(kinds: [Kind; 2]) {
    let seed = number("KEYWARD_REPLICATION_SEED").unwrap_or(1);
    // The pairs share the rounds that are wanted.
    let count = number("KEYWARD_REPLICATION_ROUNDS").map_or(ROUNDS, |all| all.div_ceil(5));
    let mut results = results();
    let mut pair = None;
    // Runs of few rounds begin where the pair's name says, and so try other faults.
    let first = kinds.iter().fold(seed, |sum, kind| sum * 3 + *kind as u64);
    for round in 0..count {
        if round.is_multiple_of(ROUNDS_TOGETHER) {
            pair = Some(Pair::new(kinds, seed + round));
        }
        let pair = pair.as_mut().expect("it was made");
        let fault = FAULTS[((first + round) % FAULTS.len() as u64) as usize];
        let names = format!("{:?}\t{:?}", pair.kinds[0], pair.kinds[1]);
        let mut line = format!("{seed}\t{round}\t{names}\t{fault:?}");
        let work = std::panic::AssertUnwindSafe(|| pair.round(fault));
        let outcome = std::panic::catch_unwind(work);
        match &outcome {
            Ok(it) => {
                let (syncs, took_ms) = (it.syncs.join("/"), it.took.as_millis());
                let _ = write!(line, "\tequal\t{}\t{syncs}\t{took_ms}", it.confirmed);
            }
            Err(_) => line.push_str("\tFAILED"),
        }
        if let Some(file) = &mut results {
            writeln!(file, "{line}").expect("results can be kept");
        }
        writeln!(std::io::stderr(), "{line}").expect("stderr is open");
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn rounds_of_a_keyward_and_a_redis() {
    rounds([Kind::Keyward, Kind::Redis]);
}

#[test]
fn rounds_of_a_redis_and_a_keyward() {
    rounds([Kind::Redis, Kind::Keyward]);
}

#[test]
fn rounds_of_a_keyward_and_a_valkey() {
    rounds([Kind::Keyward, Kind::Valkey]);
}

#[test]
fn rounds_of_a_valkey_and_a_keyward() {
    rounds([Kind::Valkey, Kind::Keyward]);
}

#[test]
fn rounds_of_two_keywards() {
    rounds([Kind::Keyward, Kind::Keyward]);
}
