//! The rows of the systems, always the same.
//!
//! Sizes and numbers are those of the systems' documents. What a document leaves open
//! (the words of a message, events' mixture of sessions, caches and search results) is
//! made up here.

use keyward_testkit::Random;

/// A command that writes, and what reads the same back.
pub(super) struct Written {
    pub(super) command: Vec<String>,
    /// How long the row lives, where no command but EXPIRE tells.
    seconds: Option<u32>,
    /// A command and what it answers, if one row is one answer.
    pub(super) read: Option<(Vec<String>, Vec<String>)>,
}

impl Written {
    /// What gives the row its lifetime where there is no schema.
    pub(super) fn expire(&self) -> Option<Vec<String>> {
        let seconds = self.seconds?.to_string();
        Some(vec!["EXPIRE".to_owned(), self.command[1].clone(), seconds])
    }
}

/// Whether a row may be gone when it is read back.
pub(super) fn is_short_lived(key: &str) -> bool {
    key.ends_with(":minute") || key.starts_with("event:stats:")
}

const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

fn string(key: String, value: String, seconds: Option<u32>) -> Written {
    let read = (vec!["GET".to_owned(), key.clone()], vec![value.clone()]);
    let mut command = vec!["SET".to_owned(), key, value];
    command.extend(seconds.into_iter().flat_map(|n| ["EX".to_owned(), n.to_string()]));
    Written { command, seconds: None, read: Some(read) }
}

fn hash(key: String, seconds: Option<u32>, fields: Vec<(&str, String)>) -> Written {
    let flat: Vec<String> =
        fields.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect();
    let command = ["HSET".to_owned(), key.clone()].into_iter().chain(flat.clone()).collect();
    Written { command, seconds, read: Some((vec!["HGETALL".to_owned(), key], flat)) }
}

/// A moment of a day, as Python's `isoformat` writes it.
fn moment(random: &mut Random) -> String {
    let [hour, minute, second] = [random.below(24), random.below(60), random.below(60)];
    format!("2025-12-25T{hour:02}:{minute:02}:{second:02}.{:06}+00:00", random.below(1_000_000))
}

/// A token for all of its users: one in twenty is accepted.
pub(super) fn token(_: usize, random: &mut Random, out: &mut Vec<Written>) {
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
pub(super) fn message(step: usize, random: &mut Random, out: &mut Vec<Written>) {
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
        seconds: None,
        read: None,
    });
}

/// An account, its keys, a year of usage and its limits.
pub(super) fn user(step: usize, random: &mut Random, out: &mut Vec<Written>) {
    let id = 100_000_000 + step * 13;
    let at = "2025-12-04T15:30:00Z";
    let keys: Vec<String> =
        (0..1 + step % 2).map(|_| format!("kikuai_{}", random.text(LETTERS, 32))).collect();
    out.push(hash(
        format!("user:{id}"),
        None,
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
            Some(3_024_000),
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

/// What changed a user's balance: fifty transactions of some 300 bytes.
pub(super) fn transactions(step: usize, random: &mut Random, out: &mut Vec<Written>) {
    let key = format!("transactions:{}", 100_000_000 + step * 13);
    let items: Vec<String> = (0..50)
        .map(|_| {
            // A topup is positive.
            let [before, amount] = [random.below(10_000), 1 + random.below(9_999)];
            let money = |cents: usize| format!("{}.{:02}", cents / 100, cents % 100);
            let [minute, second] = [random.below(60), random.below(60)];
            format!(
                r#"{{"id": "txn_{}", "type": "topup", "amount_usd": {}, "balance_before": {}, "balance_after": {}, "source": "paddle", "paddle_transaction_id": "ptx_{}", "metadata": {{"ip": "203.0.113.{}", "plan": "prepaid"}}, "created_at": "2025-12-04T15:{minute:02}:{second:02}Z"}}"#,
                random.text(LETTERS, 16),
                money(amount),
                money(before),
                money(before + amount),
                random.text(LETTERS, 16),
                random.below(256),
            )
        })
        .collect();
    let range = ["LRANGE", &key, "0", "-1"].map(str::to_owned).to_vec();
    let command = ["RPUSH".to_owned(), key].into_iter().chain(items.clone()).collect();
    out.push(Written { command, seconds: None, read: Some((range, items)) });
}

/// Ten sessions with their variants, five events with all that is cached of them, five
/// search results and as many recommendations.
pub(super) fn event(step: usize, random: &mut Random, out: &mut Vec<Written>) {
    let texts = |pairs: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        pairs.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    };
    let at = "2025-12-04T15:30:00Z";
    for user in step * 10..step * 10 + 10 {
        let (id, email) = (user.to_string(), format!("user{user}@example.com"));
        let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101";
        let session = texts(&[
            ("user_id", &id),
            ("email", &email),
            ("role", "attendee"),
            // A session ends a day after it: this one lies ahead of every measurement.
            ("created_at", "2099-12-04T15:00:00Z"),
            ("last_activity", at),
            ("ip_address", "203.0.113.7"),
            ("user_agent", agent),
        ]);
        out.push(hash(format!("user:session:{}", uuid(random)), Some(1_800), session));
        let variant = if random.below(2) == 0 { "green" } else { "red" };
        let key = format!("ab_test:checkout_button:{user}");
        out.push(string(key, variant.to_owned(), Some(2_592_000)));
    }
    let events: Vec<String> = (0..100).map(|_| uuid(random)).collect();
    for event in &events[..5] {
        let words: Vec<&str> = (0..60).map(|_| WORDS[random.below(WORDS.len())]).collect();
        let cache = texts(&[
            ("title", "Jazz by the river"),
            ("description", &words.join(" ")),
            ("start_time", "2026-06-20T19:00:00Z"),
            ("end_time", "2026-06-20T23:00:00Z"),
            ("venue_name", "Pier 7"),
            ("is_virtual", "false"),
            ("status", "published"),
            ("cached_at", at),
        ]);
        out.push(hash(format!("event:cache:{event}"), Some(3_600), cache));
        let stats = vec![
            ("view_count", random.below(100_000).to_string()),
            ("registration_count", random.below(500).to_string()),
            ("favorite_count", random.below(900).to_string()),
            ("share_count", "25".to_owned()),
        ];
        out.push(hash(format!("event:stats:{event}"), Some(300), stats));
        let mut alike = vec!["ZADD".to_owned(), format!("event:similarity:{event}")];
        for other in &events[10..20] {
            alike.extend([format!("0.{:04}", random.below(10_000)), other.clone()]);
        }
        out.push(Written { command: alike, seconds: Some(86_400), read: None });
    }
    for number in step * 5..step * 5 + 5 {
        let hits: Vec<String> = events
            .iter()
            .map(|event| {
                let score = random.below(10_000);
                format!(
                    r#"{{"event_id": "{event}", "score": 0.{score:04}, "title": "Jazz by the river"}}"#
                )
            })
            .collect();
        let results = format!(r#"{{"total": 100, "hits": [{}]}}"#, hits.join(", "));
        let query = random.text(b"0123456789abcdef", 32);
        out.push(string(format!("search:results:{query}"), results, Some(1_800)));
        let found: Vec<String> = events.iter().map(|event| format!("\"{event}\"")).collect();
        let found = format!("[{}]", found.join(", "));
        out.push(string(format!("recommendations:{number}"), found, Some(14_400)));
    }
}

const WORDS: [&str; 8] = ["music", "night", "river", "stage", "jam", "doors", "free", "seats"];

fn uuid(random: &mut Random) -> String {
    let digits = format!("{:016x}{:016x}", random.number(), random.number());
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}
