//! What a schema costs, and what it saves.
//!
//! Four servers in one run: Keyward with the five systems' schemas twice, Keyward without
//! one, and Redis. Those with schemas are sent the plain command; the others what a client
//! must send so that the same is true afterwards, each of its commands measured by itself
//! and the processor time added up. redis-benchmark draws keys anew for each, so that what
//! the others are sent second often finds no row, which is in their favour.
//!
//! Rows that are in use are loose, those that nobody has used for some seconds packed. While
//! one server is under load the others wait for longer than that: so the first packs
//! only what was idle for longer than a round takes, and the second packs at once, which makes
//! every load meet packed rows. What that takes at leisure, when the load is over, is told
//! beside it.

use crate::arguments::Arguments;
use crate::load::Load;
use crate::peer::Peer;
use crate::report::median;
use anyhow::Context;
use std::io::Write;
use std::path::PathBuf;

/// One write or read, with a schema and without.
struct Case {
    title: &'static str,
    /// The database of the system.
    db: &'static str,
    /// What is sent under the schema.
    governed: &'static [&'static str],
    /// What is sent without.
    plain: &'static [&'static [&'static str]],
}

/// 218 bytes and eight fields, each of which is checked.
const API_KEY: &str = r#"{"key":"kikuai_abc123def456","key_hash":"sha256:0123456789abcdef","user_id":123456789,"name":"Production","created_at":"2025-12-01T10:00:00Z","last_used_at":"2025-12-04T15:30:00Z","status":"active","permissions":["r"]}"#;
const SUBSCRIPTION: &str = r#"{"plan":"monthly","status":"active","expires_at":"2045-12-01T10:00:00Z","payment_method":"solana"}"#;

#[rustfmt::skip]
const CASES: [Case; 7] = [
    Case {
        title: "SET of a number that lives 5 minutes", db: "14",
        governed: &["SET", "price:__rand_int__", "1.2345"],
        plain: &[&["SET", "price:__rand_int__", "1.2345", "EX", "300"]],
    },
    Case {
        title: "GET of it", db: "14",
        governed: &["GET", "price:__rand_int__"],
        plain: &[&["GET", "price:__rand_int__"]],
    },
    Case {
        title: "SET of JSON with eight fields", db: "2",
        governed: &["SET", "api_key:__rand_int__", API_KEY],
        plain: &[&["SET", "api_key:__rand_int__", API_KEY]],
    },
    Case {
        title: "GET of it", db: "2",
        governed: &["GET", "api_key:__rand_int__"],
        plain: &[&["GET", "api_key:__rand_int__"]],
    },
    Case {
        title: "INCR in a window, or INCR and EXPIRE", db: "2",
        governed: &["INCR", "ratelimit:__rand_int__:minute"],
        plain: &[
            &["INCR", "ratelimit:__rand_int__:minute"],
            &["EXPIRE", "ratelimit:__rand_int__:minute", "60", "NX"],
        ],
    },
    Case {
        title: "LPUSH to twenty items, or LPUSH, LTRIM and EXPIRE", db: "0",
        governed: &["LPUSH", "search:recent:__rand_int__", "a query"],
        plain: &[
            &["LPUSH", "search:recent:__rand_int__", "a query"],
            &["LTRIM", "search:recent:__rand_int__", "0", "19"],
            &["EXPIRE", "search:recent:__rand_int__", "604800"],
        ],
    },
    // The first digit makes it a number without leading zeros.
    Case {
        title: "SET of JSON with two indexes, or SET, EXPIREAT and two SADD", db: "14",
        governed: &["SET", "subscription:1__rand_int__", SUBSCRIPTION],
        plain: &[
            &["SET", "subscription:1__rand_int__", SUBSCRIPTION],
            &["EXPIREAT", "subscription:1__rand_int__", "2396000000"],
            &["SADD", "active_subscribers", "1__rand_int__"],
            &["SADD", "active_subscribers:monthly", "1__rand_int__"],
        ],
    },
];

/// Measures every case and writes a table of it.
pub(crate) fn run(arguments: &Arguments, schemas: &[PathBuf]) -> anyhow::Result<()> {
    let schemas: Vec<&str> = schemas
        .iter()
        .map(|path| path.to_str().context("a path is not text"))
        .collect::<Result<_, _>>()?;
    let first = [&["serve"], &schemas[..]].concat();
    let in_use = ["--appendonly", "no", "--pack-after", IN_USE_SECONDS];
    let peers = [
        Peer::start_with("with schema, rows in use", &arguments.keyward, &first, &in_use)?,
        Peer::start_packing("with schema, rows packed", &arguments.keyward, &first)?,
        Peer::start("without", &arguments.keyward, &["serve"])?,
        Peer::start("Redis", "redis-server".as_ref(), &[])?,
    ];
    let mut out = std::io::stdout().lock();
    crate::report::write_heading(&mut out, &peers)?;
    writeln!(out, "\nµs of the server's processor time:\n")?;
    writeln!(
        out,
        "| | pipeline | rows in use | without schema | Redis | without / in use | Redis / in use | rows packed | and at leisure | without / packed | Redis / packed |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|---|---|---|")?;
    for case in &CASES {
        for pipeline in &arguments.pipelines {
            let load = Load { pipeline: *pipeline, ..Load::new(arguments) };
            let rounds = measure(&peers, case, &load, arguments.rounds)?;
            let time = |at: usize| median(rounds.iter().map(|round| round.us[at]));
            let ratio = |of: usize, to: usize| {
                median(rounds.iter().map(|round| round.us[of] / round.us[to]))
            };
            let later = median(rounds.iter().map(|round| round.packing_us));
            writeln!(
                out,
                "| {} | {pipeline} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {later:.2} | {:.2} | {:.2} |",
                case.title,
                time(IN_USE),
                time(WITHOUT),
                time(REDIS),
                ratio(WITHOUT, IN_USE),
                ratio(REDIS, IN_USE),
                time(PACKED),
                ratio(WITHOUT, PACKED),
                ratio(REDIS, PACKED),
            )?;
        }
    }
    Ok(())
}

/// The servers, by their places.
const IN_USE: usize = 0;
const PACKED: usize = 1;
const WITHOUT: usize = 2;
const REDIS: usize = 3;
const PEERS: usize = 4;

/// Longer than a round takes.
const IN_USE_SECONDS: &str = "120";

/// What one round took.
struct Round {
    /// Microseconds of a command, by server.
    us: [f64; PEERS],
    /// What packing its row took later.
    packing_us: f64,
}

/// Every round begins with another server, so that nobody gains by what the one before left in
/// the caches. One round more than is asked for makes the rows.
fn measure(
    peers: &[Peer; PEERS],
    case: &Case,
    load: &Load,
    rounds: u32,
) -> anyhow::Result<Vec<Round>> {
    let per_command = |ns: u64| ns as f64 / 1000.0 / load.requests as f64;
    let mut measured = Vec::new();
    for number in 0..=rounds as usize {
        let mut round = Round { us: [0.0; PEERS], packing_us: 0.0 };
        for turn in 0..PEERS {
            let at = (number + turn) % PEERS;
            let peer = &peers[at];
            let commands =
                if at == IN_USE || at == PACKED { &[case.governed][..] } else { case.plain };
            for command in commands {
                let before_ns = peer.settle()?;
                peer.load(&[&["--dbnum", case.db], *command].concat(), load)?;
                let loaded_ns = peer.processor_ns()?;
                round.us[at] += per_command(loaded_ns - before_ns);
                if at == PACKED {
                    round.packing_us = per_command(peer.settle()? - loaded_ns);
                }
            }
        }
        measured.push(round);
    }
    Ok(measured.split_off(1))
}
