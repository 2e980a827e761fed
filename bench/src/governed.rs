//! What a schema costs, and what it saves.
//!
//! Three servers in one run: Keyward with the five systems' schemas, Keyward without
//! one, and Redis. The first is sent the plain command; the others what a client must
//! send so that the same is true afterwards, each of its commands measured by itself
//! and the processor time added up. redis-benchmark draws keys anew for each, so that what
//! the others are sent second often finds no row, which is in their favour. What the
//! server does when the load is over, packing rows at leisure, is told beside it.

use crate::Arguments;
use crate::load::Load;
use crate::peer::Peer;
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
    let peers = [
        Peer::start("with schema", &arguments.keyward, &first)?,
        Peer::start("without", &arguments.keyward, &["serve"])?,
        Peer::start("Redis", "redis-server".as_ref(), &[])?,
    ];
    let mut out = std::io::stdout().lock();
    crate::report::write_heading(&mut out, &peers)?;
    writeln!(out, "\nµs of the server's processor time:\n")?;
    writeln!(
        out,
        "| | pipeline | with schema | without | Redis | without / with | Redis / with | then, at leisure |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for case in &CASES {
        for pipeline in &arguments.pipelines {
            let load = Load { pipeline: *pipeline, ..Load::new(arguments) };
            let [(with, later), (without, _), (redis, _)] =
                measure(&peers, case, &load, arguments.rounds)?;
            writeln!(
                out,
                "| {} | {pipeline} | {with:.2} | {without:.2} | {redis:.2} | {:.2} | {:.2} | {later:.2} |",
                case.title,
                without / with,
                redis / with
            )?;
        }
    }
    Ok(())
}

/// Microseconds of a command while it runs and of what is done later.
type Spent = (f64, f64);

/// The medians of the three. Runs are interleaved, and every round begins with another, so
/// that nobody gains by what the one before left in the caches.
fn measure(peers: &[Peer; 3], case: &Case, load: &Load, rounds: u32) -> anyhow::Result<[Spent; 3]> {
    let mut samples = [(); 3].map(|()| Vec::new());
    for round in 0..rounds as usize {
        for turn in 0..peers.len() {
            let at = (round + turn) % peers.len();
            let (peer, samples) = (&peers[at], &mut samples[at]);
            let commands = if at == 0 { &[case.governed][..] } else { case.plain };
            let (mut now_ns, mut later_ns) = (0, 0);
            for command in commands {
                let before_ns = peer.settle()?;
                peer.load(&[&["--dbnum", case.db], *command].concat(), load)?;
                let loaded_ns = peer.processor_ns()?;
                now_ns += loaded_ns - before_ns;
                later_ns += peer.settle()? - loaded_ns;
            }
            let per_command = |ns: u64| ns as f64 / 1000.0 / load.requests as f64;
            samples.push((per_command(now_ns), per_command(later_ns)));
        }
    }
    Ok(samples.map(|mut samples| {
        samples.sort_by(|a: &Spent, b| a.0.total_cmp(&b.0));
        samples[samples.len() / 2]
    }))
}
