//! Resident memory of the systems' own data, side by side.
//!
//! The rows that a system's document reckons with (`rows`) go into Keyward under its
//! schema and into Redis, by the same commands over one pipelined connection, except that
//! Redis must be told every lifetime; then every value is read back and compared with what
//! was written. What counts is what the kernel says is resident when the server has come
//! to rest, less what the empty server took. Then rows like them are written and read by
//! redis-benchmark, the reads when they are packed: Keyward is sent the plain SET, Redis
//! what makes the same true. `--share` makes all data sets smaller,
//! `--only` leaves others out.

mod rows;

use crate::arguments::Arguments;
use crate::load::Load;
use crate::peer::Peer;
use crate::report::median;
use keyward_testkit::Random;
use rows::Written;
use std::io::Write;
use std::time::Duration;

/// Rows written before their replies are awaited.
const BATCH: usize = 1_000;
/// A server that does nothing for so long, and whose memory does not shrink meanwhile, has
/// come to rest: lists are packed when nobody has used them for some seconds.
const RESTING_STEP: Duration = Duration::from_secs(8);

/// A system and its data.
struct System {
    name: &'static str,
    schema: &'static str,
    db: &'static str,
    /// How many steps its data are made in.
    steps: usize,
    /// The rows of one step.
    rows: fn(usize, &mut Random, &mut Vec<Written>),
    /// For measuring time.
    sample: Option<Sample>,
}

/// Writing and reading a key of many.
struct Sample {
    key: &'static str,
    value: &'static str,
    /// What follows the value where there is no schema.
    lifetime: &'static [&'static str],
    /// What else is sent there, so that the same is true afterwards.
    index: Option<&'static [&'static str]>,
}

#[rustfmt::skip]
const SYSTEMS: [System; 5] = [
    System {
        name: "calls-bot, 25,000 tokens × 100 users",
        schema: "systems/calls-bot/keyward.toml",
        db: "14",
        steps: 25_000,
        rows: rows::token,
        sample: Some(Sample {
            key: "multiplier:7xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin:1__rand_int__",
            value: r#"{"channel_id": "@channel7", "fdv_at_call": 123456.0, "highest_multiplier_sent": 2.5, "timestamp": "2025-12-25T10:00:00.123456+00:00"}"#,
            lifetime: &["EX", "604800"],
            index: None,
        }),
    },
    System {
        name: "telegram-gateway, 180,000 messages",
        schema: "systems/telegram-gateway/keyward.toml",
        db: "3",
        steps: 180_000,
        rows: rows::message,
        sample: Some(Sample {
            key: "telegram:msg:-1001649127710:1__rand_int__",
            value: r#"{"channel_id":"-1001649127710","message_id":"1","text":"BUY PETR4 at 38.20, target 41.00, stop 36.90; valid until the close of this week, see the pinned message for the size","status":"received","received_at":"2025-11-03T10:30:00.123Z","telegram_date":"2025-11-03T10:30:00.123Z","metadata":{"source":"telegram-gateway","channel_name":"TP Capital Signals"}}"#,
            lifetime: &["EX", "3600"],
            index: Some(&["SADD", "telegram:channel:-1001649127710:open", "1__rand_int__"]),
        }),
    },
    System {
        name: "api-billing, 10,000 users",
        schema: "systems/api-billing/keyward.toml",
        db: "2",
        steps: 10_000,
        rows: rows::user,
        sample: Some(Sample {
            key: "api_key:kikuai___rand_int__",
            value: r#"{"key": "kikuai_abc123def456", "key_hash": "sha256:0123456789abcdef", "user_id": 123456789, "name": "Production Key", "created_at": "2025-12-01T10:00:00Z", "last_used_at": "2025-12-04T15:30:00Z", "status": "active", "permissions": ["reliapi:read", "reliapi:write"]}"#,
            lifetime: &[],
            index: None,
        }),
    },
    System {
        name: "api-billing, its users' 500,000 transactions",
        schema: "systems/api-billing/keyward.toml",
        db: "2",
        steps: 10_000,
        rows: rows::transactions,
        sample: None,
    },
    System {
        name: "events, 400,000 sessions and their caches",
        schema: "systems/events/keyward.toml",
        db: "0",
        steps: 40_000,
        rows: rows::event,
        sample: Some(Sample {
            key: "user:email_verification:__rand_int__",
            value: "123",
            lifetime: &["EX", "86400"],
            index: None,
        }),
    },
];

/// Measures every system and writes two tables of it: bytes, and time.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| | keys | Keyward, bytes per key | Redis, bytes per key | Keyward / Redis |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    let mut times = Vec::new();
    for system in SYSTEMS.iter().filter(|system| system.name.contains(&arguments.only)) {
        let keyward =
            Peer::start_packing("Keyward", &arguments.keyward, &["serve", system.schema])?;
        let redis = Peer::start("Redis", "redis-server".as_ref(), &[])?;
        let (keys, keyward_bytes) = measure(&keyward, system, true, arguments.share)?;
        let (_, redis_bytes) = measure(&redis, system, false, arguments.share)?;
        let ratio = keyward_bytes / redis_bytes;
        writeln!(
            out,
            "| {} | {keys} | {keyward_bytes:.0} | {redis_bytes:.0} | {ratio:.2} |",
            system.name
        )?;
        let Some(sample) = &system.sample else { continue };
        for pipeline in &arguments.pipelines {
            let load = Load { pipeline: *pipeline, ..Load::new(arguments) };
            let rounds = (0..arguments.rounds)
                .map(|_| times_of([&keyward, &redis], system.db, sample, &load))
                .collect::<Result<Vec<_>, _>>()?;
            let ratio = |at: usize| median(rounds.iter().map(|ratios| ratios[at]));
            times.push((system.name, *pipeline, [0, 1, 2].map(ratio)));
        }
    }
    writeln!(
        out,
        "\nProcessor time of Redis / of Keyward, the rows packed before they are read:\n"
    )?;
    writeln!(out, "| | pipeline | SET | SET and what is done at leisure | GET |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    for (name, pipeline, [set, all, get]) in times {
        writeln!(out, "| {name} | {pipeline} | {set:.2} | {all:.2} | {get:.2} |")?;
    }
    Ok(())
}

/// How many times Keyward's processor time Redis takes to write rows, the same with what
/// both do when the load is over, and to read them.
fn times_of(
    [keyward, redis]: [&Peer; 2],
    db: &str,
    sample: &Sample,
    load: &Load,
) -> anyhow::Result<[f64; 3]> {
    // Nanoseconds until the load is over, and until nothing is left to do.
    let spent = |peer: &Peer, command: &[&str]| -> anyhow::Result<[u64; 2]> {
        let before_ns = peer.settle()?;
        peer.load(&[&["--dbnum", db], command].concat(), load)?;
        let loaded_ns = peer.processor_ns()?;
        Ok([loaded_ns - before_ns, peer.settle()? - before_ns])
    };
    let ratio = |redis: u64, keyward: u64| redis as f64 / keyward as f64;
    let set = ["SET", sample.key, sample.value];
    let [mut redis_ns, mut redis_all_ns] = spent(redis, &[&set, sample.lifetime].concat())?;
    if let Some(command) = sample.index {
        let [now_ns, all_ns] = spent(redis, command)?;
        redis_ns += now_ns;
        redis_all_ns += all_ns;
    }
    let [keyward_ns, keyward_all_ns] = spent(keyward, &set)?;
    let get = ["GET", sample.key];
    let get = ratio(spent(redis, &get)?[0], spent(keyward, &get)?[0]);
    Ok([ratio(redis_ns, keyward_ns), ratio(redis_all_ns, keyward_all_ns), get])
}

/// Fills a server with a system's rows and reads them back; returns how many keys there
/// are and the resident bytes of each.
fn measure(
    peer: &Peer,
    system: &System,
    is_governed: bool,
    share: f64,
) -> anyhow::Result<(u64, f64)> {
    let before = peer.resident_bytes()?;
    let steps = ((system.steps as f64 * share) as usize).max(1);
    let mut connection = peer.open()?;
    connection.call(&["SELECT", system.db])?;
    each_batch(system, steps, |rows| {
        let mut commands: Vec<Vec<String>> = rows.iter().map(|row| row.command.clone()).collect();
        if !is_governed {
            commands.extend(rows.iter().filter_map(Written::expire));
        }
        connection.exchange(&commands).map(|_| ())
    })?;
    let keys: u64 = connection.call(&["DBSIZE"])?.parse()?;
    let resident = settled_bytes(peer)? - before;
    each_batch(system, steps, |rows| {
        let reads: Vec<&(Vec<String>, Vec<String>)> =
            rows.iter().filter_map(|row| row.read.as_ref()).collect();
        let commands: Vec<Vec<String>> = reads.iter().map(|read| read.0.clone()).collect();
        for (answer, (command, expected)) in connection.exchange(&commands)?.iter().zip(reads) {
            let is_gone = answer.is_empty() && rows::is_short_lived(&command[1]);
            anyhow::ensure!(
                is_gone || is_same(command, answer, expected),
                "{}: {command:?}: {answer:?}",
                peer.name
            );
        }
        Ok(())
    })?;
    Ok((keys, resident as f64 / keys as f64))
}

/// Whether an answer is the one that is expected; fields come in any order.
fn is_same(command: &[String], answer: &[String], expected: &[String]) -> bool {
    let sorted = |texts: &[String]| -> Vec<[String; 2]> {
        let mut pairs = texts.as_chunks().0.to_vec();
        pairs.sort_unstable();
        pairs
    };
    match &*command[0] {
        "HGETALL" => answer.len() == expected.len() && sorted(answer) == sorted(expected),
        _ => answer == expected,
    }
}

/// Resident memory when the server has come to rest and it does not shrink any more:
/// allocators give back what is free bit by bit.
fn settled_bytes(peer: &Peer) -> anyhow::Result<u64> {
    let mut bytes = peer.resident_bytes()?;
    loop {
        let is_resting = peer.is_idle_for(RESTING_STEP)?;
        let now = peer.resident_bytes()?;
        if is_resting && now >= bytes {
            return Ok(now);
        }
        bytes = now;
    }
}

/// Makes the rows of a system, always the same.
fn each_batch(
    system: &System,
    steps: usize,
    mut visit: impl FnMut(&[Written]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut random = Random::new(7);
    let mut rows = Vec::new();
    for step in 0..steps {
        (system.rows)(step, &mut random, &mut rows);
        if rows.len() >= BATCH {
            visit(&rows)?;
            rows.clear();
        }
    }
    visit(&rows)
}
