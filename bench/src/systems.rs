//! Resident memory of the systems' own data, side by side.
//!
//! The rows that a system's document reckons with go into Keyward under its schema and
//! into Redis, by the same commands over one pipelined connection; then every value is
//! read back and compared with what was written. What counts is what the kernel says is
//! resident when the server has come to rest, less what the empty server took. Then rows
//! like them are written and read by redis-benchmark, the reads when they are packed.
//! `--share` makes all data sets smaller.

use crate::Arguments;
use crate::load::Load;
use crate::peer::Peer;
use keyward_resp::push_request;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Rows written before their replies are awaited.
const BATCH: usize = 1_000;
/// Memory that does not shrink for so long is settled.
const SHRINKING_STEP: Duration = Duration::from_secs(2);

/// A system and its data.
struct System {
    name: &'static str,
    schema: &'static str,
    db: &'static str,
    /// How many steps its data are made in.
    steps: usize,
    /// The rows of one step.
    rows: fn(usize, &mut Random, &mut Vec<Written>),
    /// A key of many, and its value, for measuring time.
    sample: (&'static str, &'static str),
}

/// A command that writes, and what reads the same back.
struct Written {
    command: Vec<String>,
    /// A command and what it answers, if one row is one answer.
    read: Option<(Vec<String>, Vec<String>)>,
}

const SYSTEMS: [System; 3] = [
    System {
        name: "calls-bot, 25,000 tokens × 100 users",
        schema: "systems/calls-bot/keyward.toml",
        db: "14",
        steps: 25_000,
        rows: token,
        sample: (
            "multiplier:7xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin:1__rand_int__",
            r#"{"channel_id": "@channel7", "fdv_at_call": 123456.0, "highest_multiplier_sent": 2.5, "timestamp": "2025-12-25T10:00:00.123456+00:00"}"#,
        ),
    },
    System {
        name: "telegram-gateway, 180,000 messages",
        schema: "systems/telegram-gateway/keyward.toml",
        db: "3",
        steps: 180_000,
        rows: message,
        sample: (
            "telegram:msg:-1001649127710:1__rand_int__",
            r#"{"channel_id":"-1001649127710","message_id":"1","text":"BUY PETR4 at 38.20, target 41.00, stop 36.90; valid until the close of this week, see the pinned message for the size","status":"received","received_at":"2025-11-03T10:30:00.123Z","telegram_date":"2025-11-03T10:30:00.123Z","metadata":{"source":"telegram-gateway","channel_name":"TP Capital Signals"}}"#,
        ),
    },
    System {
        name: "api-billing, 10,000 users",
        schema: "systems/api-billing/keyward.toml",
        db: "2",
        steps: 10_000,
        rows: user,
        sample: (
            "api_key:kikuai___rand_int__",
            r#"{"key": "kikuai_abc123def456", "key_hash": "sha256:0123456789abcdef", "user_id": 123456789, "name": "Production Key", "created_at": "2025-12-01T10:00:00Z", "last_used_at": "2025-12-04T15:30:00Z", "status": "active", "permissions": ["reliapi:read", "reliapi:write"]}"#,
        ),
    },
];

/// Small numbers that look like chance (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn text(&mut self, alphabet: &[u8], len: usize) -> String {
        (0..len).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }
}

const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

fn string(key: String, value: String, seconds: Option<u32>) -> Written {
    let read = (vec!["GET".to_owned(), key.clone()], vec![value.clone()]);
    let mut command = vec!["SET".to_owned(), key, value];
    command.extend(seconds.into_iter().flat_map(|n| ["EX".to_owned(), n.to_string()]));
    Written { command, read: Some(read) }
}

fn hash(key: String, fields: Vec<(&str, String)>) -> Written {
    let flat: Vec<String> =
        fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
    let command = ["HSET".to_owned(), key.clone()].into_iter().chain(flat.clone()).collect();
    Written { command, read: Some((vec!["HGETALL".to_owned(), key], flat)) }
}

/// A moment of a day, as Python's `isoformat` writes it.
fn moment(random: &mut Random) -> String {
    let [hour, minute, second] = [random.below(24), random.below(60), random.below(60)];
    format!("2025-12-25T{hour:02}:{minute:02}:{second:02}.{:06}+00:00", random.below(1_000_000))
}

/// A token for all of its users: one in twenty is accepted.
fn token(_: usize, random: &mut Random, out: &mut Vec<Written>) {
    // A first digit that keeps it within 32 bytes.
    let address = format!("7{}", random.text(BASE58, 43));
    for user in 0..100 {
        let user = 100_000_000 + user * 7_919;
        let first = random.below(300);
        let channels: Vec<String> = (0..1 + random.below(4))
            .map(|step| format!("\"@channel{}\"", (first + step * 17) % 300))
            .collect();
        let is_accepted = random.below(20) == 0;
        let (status, seconds) =
            if is_accepted { ("accepted", 1_209_600) } else { ("rejected", 3_600) };
        let at = moment(random);
        let mut text = format!(
            r#"{{"status": "{status}", "timestamp": "{at}", "channels_checked": [{}]"#,
            channels.join(", ")
        );
        if is_accepted {
            let called: Vec<String> =
                channels.iter().map(|name| format!("{name}: \"{at}\"")).collect();
            text.push_str(&format!(r#", "channels_called_at": {{{}}}"#, called.join(", ")));
        }
        text.push('}');
        out.push(string(format!("processed_token:{address}:{user}"), text, Some(seconds)));
        let text = format!(
            r#"{{"channel_id": {}, "fdv_at_call": {}.0, "highest_multiplier_sent": {}.5, "timestamp": "{at}"}}"#,
            channels[0],
            10_000 + random.below(1_000_000),
            1 + random.below(20),
        );
        out.push(string(format!("multiplier:{address}:{user}"), text, Some(604_800)));
    }
    let text = format!(
        r#"{{"fdv": {}.{:02}, "marketcap": {}.{:02}}}"#,
        random.below(10_000_000),
        random.below(100),
        random.below(10_000_000),
        random.below(100),
    );
    out.push(string(format!("token_price:{address}"), text, Some(300)));
}

/// A message of some 500 bytes, its flag and its place in the index.
fn message(step: usize, random: &mut Random, out: &mut Vec<Written>) {
    let (channel, id) = ("-1001649127710", 100_000 + step);
    let words: Vec<String> = (0..45)
        .map(|_| {
            let len = 2 + random.below(8);
            random.text(LETTERS, len)
        })
        .collect();
    let [minute, second, thousandth] = [random.below(60), random.below(60), random.below(1000)];
    let at = format!("2025-11-03T10:{minute:02}:{second:02}.{thousandth:03}Z");
    let text = format!(
        r#"{{"channel_id":"{channel}","message_id":"{id}","text":"{}","status":"received","received_at":"{at}","telegram_date":"{at}","metadata":{{"source":"telegram-gateway","channel_name":"TP Capital Signals"}}}}"#,
        words.join(" ")
    );
    out.push(string(format!("telegram:msg:{channel}:{id}"), text, Some(3_600)));
    out.push(string(format!("telegram:dedup:{channel}:{id}"), "1".to_owned(), Some(7_200)));
    let index = format!("telegram:channel:{channel}:recent");
    let score = (1_762_165_800_000 + step * 20).to_string();
    out.push(Written {
        command: vec!["ZADD".to_owned(), index, score, id.to_string()],
        read: None,
    });
}

/// An account, its keys, a year of usage, its limits and its last transactions.
fn user(step: usize, random: &mut Random, out: &mut Vec<Written>) {
    let id = 100_000_000 + step * 13;
    let at = "2025-12-04T15:30:00Z";
    let keys: Vec<String> =
        (0..1 + step % 2).map(|_| format!("kikuai_{}", random.text(LETTERS, 32))).collect();
    out.push(hash(
        format!("user:{id}"),
        vec![
            ("user_id", id.to_string()),
            ("telegram_username", format!("@{}", random.text(LETTERS, 8))),
            ("api_key", keys[0].clone()),
            ("created_at", at.to_owned()),
            ("balance_usd", format!("{}.50", random.below(100))),
            ("total_spent_usd", format!("{}.25", random.below(1000))),
            ("status", "active".to_owned()),
            ("last_active_at", at.to_owned()),
        ],
    ));
    for key in keys {
        let digest = random.text(b"0123456789abcdef", 64);
        let text = format!(
            r#"{{"key": "{key}", "key_hash": "sha256:{digest}", "user_id": {id}, "name": "Production Key", "created_at": "{at}", "last_used_at": "{at}", "status": "active", "permissions": ["reliapi:read", "reliapi:write"]}}"#
        );
        out.push(string(format!("api_key:{key}"), text, None));
    }
    for month in 1..=12 {
        out.push(hash(
            format!("usage:{id}:2025-{month:02}"),
            vec![
                ("total_requests", random.below(10_000).to_string()),
                ("reliapi_requests", random.below(10_000).to_string()),
                ("reliapi_tokens", random.below(1_000_000).to_string()),
                ("last_updated", at.to_owned()),
            ],
        ));
    }
    for window in ["minute", "hour", "day"] {
        let count = random.below(1000).to_string();
        let seconds = match window {
            "minute" => 60,
            "hour" => 3_600,
            _ => 86_400,
        };
        out.push(string(format!("ratelimit:{id}:{window}"), count, Some(seconds)));
    }
}

/// Measures every system and writes two tables of it: bytes, and time.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| | keys | Keyward, bytes per key | Redis, bytes per key | Keyward / Redis |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    let mut times = Vec::new();
    for system in &SYSTEMS {
        let keyward = Peer::start("Keyward", &arguments.keyward, &["serve", system.schema])?;
        let redis = Peer::start("Redis", "redis-server".as_ref(), &[])?;
        let (keys, keyward_bytes) = measure(&keyward, system, arguments.share)?;
        let (_, redis_bytes) = measure(&redis, system, arguments.share)?;
        let ratio = keyward_bytes / redis_bytes;
        writeln!(
            out,
            "| {} | {keys} | {keyward_bytes:.0} | {redis_bytes:.0} | {ratio:.2} |",
            system.name
        )?;
        for pipeline in &arguments.pipelines {
            let load = Load { pipeline: *pipeline, ..Load::new(arguments) };
            let ratios = times_of([&keyward, &redis], system, &load)?;
            times.push((system.name, *pipeline, ratios));
        }
    }
    writeln!(
        out,
        "\nProcessor time of Redis / of Keyward, the rows packed before they are read:\n"
    )?;
    writeln!(out, "| | pipeline | SET | GET |")?;
    writeln!(out, "|---|---|---|---|")?;
    for (name, pipeline, [set, get]) in times {
        writeln!(out, "| {name} | {pipeline} | {set:.2} | {get:.2} |")?;
    }
    Ok(())
}

/// How many times Keyward's processor time Redis takes to write rows, and to read them.
fn times_of(
    [keyward, redis]: [&Peer; 2],
    system: &System,
    load: &Load,
) -> anyhow::Result<[f64; 2]> {
    let (key, value) = system.sample;
    let spent = |peer: &Peer, command: &[&str]| -> anyhow::Result<f64> {
        let before_ns = peer.settle()?;
        peer.load(&[&["--dbnum", system.db], command].concat(), load)?;
        Ok((peer.processor_ns()? - before_ns) as f64)
    };
    let ratio = |command: &[&str]| -> anyhow::Result<f64> {
        Ok(spent(redis, command)? / spent(keyward, command)?)
    };
    Ok([ratio(&["SET", key, value])?, ratio(&["GET", key])?])
}

/// Fills a server with a system's rows and reads them back; answers how many keys there
/// are and the resident bytes of each.
fn measure(peer: &Peer, system: &System, share: f64) -> anyhow::Result<(u64, f64)> {
    let before = peer.resident_bytes()?;
    let steps = ((system.steps as f64 * share) as usize).max(1);
    let mut connection = Connection::open(peer)?;
    connection.exchange(&[vec!["SELECT".to_owned(), system.db.to_owned()]])?;
    each_batch(system, steps, |rows| {
        let commands: Vec<Vec<String>> = rows.iter().map(|row| row.command.clone()).collect();
        connection.exchange(&commands).map(|_| ())
    })?;
    let keys: u64 = peer.call(&["-n", system.db, "DBSIZE"])?.parse()?;
    peer.settle()?;
    let resident = settled_bytes(peer)? - before;
    each_batch(system, steps, |rows| {
        let reads: Vec<&(Vec<String>, Vec<String>)> =
            rows.iter().filter_map(|row| row.read.as_ref()).collect();
        let commands: Vec<Vec<String>> = reads.iter().map(|read| read.0.clone()).collect();
        for (answer, (command, expected)) in connection.exchange(&commands)?.iter().zip(reads) {
            let is_gone = answer.is_empty() && command[1].ends_with(":minute");
            anyhow::ensure!(
                is_gone || answer == expected,
                "{}: {command:?}: {answer:?}",
                peer.name
            );
        }
        Ok(())
    })?;
    Ok((keys, resident as f64 / keys as f64))
}

/// Resident memory when it does not shrink any more: allocators give back what is free
/// bit by bit.
fn settled_bytes(peer: &Peer) -> anyhow::Result<u64> {
    let mut bytes = peer.resident_bytes()?;
    loop {
        std::thread::sleep(SHRINKING_STEP);
        let now = peer.resident_bytes()?;
        if now >= bytes {
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
    let mut random = Random(7);
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

/// A pipelined connection.
struct Connection {
    stream: TcpStream,
    replies: BufReader<TcpStream>,
}

impl Connection {
    fn open(peer: &Peer) -> anyhow::Result<Connection> {
        let stream = peer.connect()?;
        Ok(Connection { replies: BufReader::new(stream.try_clone()?), stream })
    }

    /// Sends commands and answers the texts of each reply; an error of the server is one
    /// here.
    fn exchange(&mut self, commands: &[Vec<String>]) -> anyhow::Result<Vec<Vec<String>>> {
        let mut requests = Vec::new();
        commands.iter().for_each(|command| push_request(&mut requests, command.iter()));
        self.stream.write_all(&requests)?;
        commands.iter().map(|_| self.reply()).collect()
    }

    fn reply(&mut self) -> anyhow::Result<Vec<String>> {
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        let number = || line[1..].trim_end().parse::<i64>();
        match line.as_bytes().first() {
            Some(b'*') => {
                let parts = (0..number()?).map(|_| self.reply());
                Ok(parts.collect::<anyhow::Result<Vec<_>>>()?.concat())
            }
            Some(b'$') if number()? < 0 => Ok(Vec::new()),
            Some(b'$') => {
                let mut text = vec![0; number()? as usize + 2];
                self.replies.read_exact(&mut text)?;
                text.truncate(text.len() - 2);
                Ok(vec![String::from_utf8(text)?])
            }
            Some(b'+' | b':') => Ok(vec![line[1..].trim_end().to_owned()]),
            _ => anyhow::bail!("{line:?}"),
        }
    }
}
