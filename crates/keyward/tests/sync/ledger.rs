//! A ledger under `kill -9` of the server, of what stores and of PostgreSQL, a table that is
//! locked, a constraint that refuses every row and a column that is not there: at the end every
//! item is in its table exactly once, and every balance is what was acknowledged.
//!
//! `KEYWARD_LEDGER_ROUNDS=200` has so many of these happen, `KEYWARD_LEDGER_ITEMS=3000000` has them
//! go on until so many items were pushed, `KEYWARD_LEDGER_BATCH=50` pushes so many in a
//! transaction, and `KEYWARD_LEDGER_SEED` decides what happens when. What came of it is a line of
//! `target/ledger.tsv`.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use keyward_resp::Frame;
use keyward_testkit::{Client, Random, Server};

use crate::stage::{Stage, said};

const SCHEMA: &str = r#"
[keyspace]
name = "ledger"

[key."account:{id:int}"]
type   = "hash"
ttl    = "none"
fields = { balance = "int" }
sink   = { mirror = "accounts" }

[key."entries:{id:int}"]
type  = "list"
ttl   = "none"
items = "string"
allow = ["KW0310: a row of the table each"]
sink  = { append = "entries" }

[key."queue"]
type  = "list"
ttl   = "none"
items = "string"
allow = ["KW0310: drained"]
sink  = { drain = "queue" }

[key."visit:{id:int}"]
type = "string"
ttl  = "1h"
sink = { archive = "visits" }
"#;

/// Kills in a run of all tests.
const ROUNDS: u64 = 6;
const WRITERS: usize = 3;
/// Kinds of what happens.
const KINDS: usize = 6;

/// What writers know.
#[derive(Default)]
struct Ledger {
    /// Where the server listens at the time; zero while it does not.
    port: AtomicU16,
    is_over: AtomicBool,
    /// Transactions of each writer that were acknowledged, one after the other.
    acknowledged: [AtomicU64; WRITERS],
}

/// Writes transactions as long as it is let: each adds to a balance, an entry, an item of the
/// queue and a visit that is over at once. What was under way at a kill is asked for.
fn write(ledger: &Ledger, writer: usize, batch: u64) {
    let account = format!("account:{writer}");
    while !ledger.is_over.load(Ordering::Acquire) {
        let port = ledger.port.load(Ordering::Acquire);
        let connected = (port != 0).then(|| Client::connect(([127, 0, 0, 1], port).into()));
        let Some(Ok(mut client)) = connected else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let Ok(balance) = client.call(["HGET", &account, "balance"]) else { continue };
        let done = match balance {
            Frame::Bulk(text) => String::from_utf8_lossy(&text).parse().expect("a number"),
            Frame::NullBulk => 0,
            _ => continue,
        };
        let known = ledger.acknowledged[writer].load(Ordering::Acquire);
        assert!(done == known || done == known + 1, "writer {writer}: {done}, not {known}");
        ledger.acknowledged[writer].store(done, Ordering::Release);
        while !ledger.is_over.load(Ordering::Acquire) {
            let next = ledger.acknowledged[writer].load(Ordering::Acquire) + 1;
            if transact(&mut client, writer, next, batch).is_none() {
                break;
            }
            ledger.acknowledged[writer].store(next, Ordering::Release);
        }
    }
}

fn transact(client: &mut Client, writer: usize, number: u64, batch: u64) -> Option<()> {
    let item = format!("{writer}-{number}");
    let items: Vec<String> = (0..batch).map(|at| format!("{writer}-{number}-{at}")).collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    let (account, entries) = (format!("account:{writer}"), format!("entries:{writer}"));
    let visit = format!("visit:{}", number * WRITERS as u64 + writer as u64);
    let commands: [&[&str]; 7] = [
        &["MULTI"],
        &["HINCRBY", &account, "balance", "1"],
        &[&["RPUSH", &entries][..], &items].concat(),
        &[&["RPUSH", "queue"][..], &items].concat(),
        &["SET", &visit, &item],
        &["DEL", &visit],
        &["EXEC"],
    ];
    let mut last = Frame::Null;
    for command in commands {
        last = client.call(command).ok()?;
    }
    matches!(last, Frame::Array(_)).then_some(())
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// For who repeats a run, or has it go on for long.
fn tell(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("stderr is open");
}

#[test]
fn every_item_is_stored_exactly_once_whoever_is_killed() {
    let mut stage = Stage::new(SCHEMA);
    let seed = setting("KEYWARD_LEDGER_SEED", 7);
    tell(&format!("KEYWARD_LEDGER_SEED={seed}"));
    let mut random = Random::new(seed);
    let ledger = Arc::new(Ledger::default());
    let mut server: Server = stage.serve();
    let listen = |server: &Server| ledger.port.store(server.address().port(), Ordering::Release);
    listen(&server);
    // Two of them, which must not get into each other's way.
    let mut syncs = [(); 2].map(|()| stage.sync(&server.address().to_string()));
    let writers: Vec<JoinHandle<()>> = (0..WRITERS)
        .map(|writer| {
            let ledger = Arc::clone(&ledger);
            let batch = setting("KEYWARD_LEDGER_BATCH", 3);
            std::thread::spawn(move || write(&ledger, writer, batch))
        })
        .collect();
    let (batch, wanted) = (setting("KEYWARD_LEDGER_BATCH", 3), setting("KEYWARD_LEDGER_ITEMS", 0));
    let rounds = setting("KEYWARD_LEDGER_ROUNDS", ROUNDS);
    let started = Instant::now();
    let pushed = || {
        let all = ledger.acknowledged.iter().map(|count| count.load(Ordering::Acquire));
        all.sum::<u64>() * batch
    };
    let mut done = [0u64; KINDS];
    for round in 0.. {
        if round >= rounds && pushed() >= wanted {
            break;
        }
        std::thread::sleep(Duration::from_millis(100 + random.below(500) as u64));
        // The first ones are each of another kind.
        let kind = if round < KINDS as u64 { round as usize } else { random.below(KINDS) };
        done[kind] += 1;
        match kind {
            0 => {
                // Dropping it kills it; the next one listens elsewhere.
                ledger.port.store(0, Ordering::Release);
                drop(server);
                server = stage.serve();
                listen(&server);
            }
            1 => stage.postgres.kill_and_restart(),
            2 => {
                stage.postgres.query("BEGIN; LOCK TABLE entries; SELECT pg_sleep(2); COMMIT");
            }
            3 => {
                let refuse = "ALTER TABLE entries ADD CONSTRAINT no CHECK (item = '') NOT VALID";
                stage.postgres.query(refuse);
                std::thread::sleep(Duration::from_millis(500));
                stage.postgres.query("ALTER TABLE entries DROP CONSTRAINT no");
            }
            4 => {
                stage.postgres.query("ALTER TABLE entries RENAME COLUMN item TO gone");
                std::thread::sleep(Duration::from_millis(500));
                stage.postgres.query("ALTER TABLE entries RENAME COLUMN gone TO item");
                continue;
            }
            _ => {}
        }
        syncs = syncs.map(|sync| {
            drop(sync);
            stage.sync(&server.address().to_string())
        });
    }
    ledger.is_over.store(true, Ordering::Release);
    writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
    drop(syncs);
    said(&stage.sync_once(&server));
    let all: Vec<u64> =
        ledger.acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect();
    assert!(all.iter().all(|count| *count > 0), "{all:?}");
    for (writer, acknowledged) in all.iter().enumerate() {
        // The last transaction may stand without having been acknowledged.
        let balance =
            stage.postgres.query(&format!("SELECT balance FROM accounts WHERE id = {writer}"));
        let balance: u64 = balance.parse().expect("a number");
        assert!(
            balance == *acknowledged || balance == acknowledged + 1,
            "{balance} {acknowledged}"
        );
        let items = balance * batch;
        let count = |table: &str, column: &str| {
            stage.postgres.query(&format!(
                "SELECT count(*), count(DISTINCT {column}), max(split_part({column}, '-', 2)::bigint) \
                 FROM {table} WHERE {column} LIKE '{writer}-%'"
            ))
        };
        let expected = format!("{items}|{items}|{balance}");
        assert_eq!(count("entries", "item"), expected, "entries of {writer}");
        assert_eq!(count("queue", "item"), expected, "queue of {writer}");
        let expected = format!("{balance}|{balance}|{balance}");
        assert_eq!(count("visits", "value"), expected, "visits of {writer}");
    }
    let verified = stage.verify(&server);
    assert!(verified.starts_with("exit 0"), "{verified}");
    stage.check("SELECT count(*) FROM keyward_dead_letters", "0");
    let seconds = started.elapsed().as_secs();
    let done = done.map(|count| count.to_string()).join("\t");
    keep(&format!("{seed}\t{}\t{}\t{seconds}\t{done}", all.iter().sum::<u64>(), pushed()));
}

/// Keeps what came of a run: its seed, transactions, items in each table, seconds, and how often
/// the server was killed, PostgreSQL was, a table was locked, a constraint refused, a column was
/// gone, and what stores was killed alone.
fn keep(line: &str) {
    tell(line);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/ledger.tsv");
    let file = std::fs::File::options().create(true).append(true).open(path);
    file.and_then(|mut file| writeln!(file, "{line}")).expect("the line is kept");
}
