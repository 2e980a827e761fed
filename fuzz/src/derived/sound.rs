//! What must be true of each row by itself, by the words of `shop.toml`.

use super::rows::{Plain, Rows, Stored};

/// What is wrong with a row of a database at a time; due rows are stored, and
/// are looked at by whoever still depends on them.
pub(super) fn fault(rows: &Rows, key: &str, row: &Stored, now_ms: i64) -> Option<String> {
    let parts: Vec<&str> = key.split(':').collect();
    let problem = match parts[..] {
        ["user", _] => user(row, now_ms),
        ["code", _] => text(row).or(endless(row)),
        ["lease", _] => text(row).or(within(row, now_ms, 6_000)),
        ["doc", _] => doc(row),
        ["note", doc, _] => text(row).or(with(rows, row, &format!("doc:{doc}"), now_ms)),
        ["stamp", doc, n] => text(row).or(with(rows, row, &format!("note:{doc}:{n}"), now_ms)),
        ["msg", ..] => text(row).or(within(row, now_ms, 10_000)),
        ["session", _] => session(row, now_ms),
        ["log", _] => log(row, now_ms),
        ["hits", _] => hits(row, now_ms),
        ["notes", doc] => followers(rows, row, &format!("note:{doc}:")),
        ["recent", room] => followers(rows, row, &format!("msg:{room}:")).or(at_most(row, 3)),
        ["out" | "in", _] => at_most(row, 4),
        ["seen" | "users" | "active" | "sizes"] => endless(row),
        [
            "by_email" | "plan_of" | "owner" | "leaser" | "note_of" | "active" | "docs" | "stamps"
            | "sessions",
            _,
        ] => endless(row),
        _ => Some("fits no pattern"),
    };
    problem.map(|problem| format!("{key} {problem}: {row:?}"))
}

/// Whether eviction may take a row: of each other it may not, or not while its source
/// stays.
pub(super) fn may_be_evicted(key: &str) -> bool {
    let table = key.split(':').next().unwrap_or_default();
    matches!(table, "user" | "lease" | "doc" | "note" | "stamp" | "msg" | "session" | "log")
}

type Problem = Option<&'static str>;

fn unless(is_true: bool, problem: &'static str) -> Problem {
    (!is_true).then_some(problem)
}

fn text(row: &Stored) -> Problem {
    unless(row.text().is_some(), "is no string")
}

fn endless(row: &Stored) -> Problem {
    unless(row.deadline.is_none(), "has an end")
}

fn within(row: &Stored, now_ms: i64, most_ms: i64) -> Problem {
    unless(row.deadline.is_some_and(|end| end <= now_ms + most_ms), "lives too long")
}

fn at_most(row: &Stored, most: usize) -> Problem {
    let count = row.members().len();
    unless((1..=most).contains(&count), "has too many members, or none")
}

fn user(row: &Stored, now_ms: i64) -> Problem {
    let most_ms = match row.field("status") {
        Some("active") => 20_000,
        Some("closed") => 5_000,
        _ => return Some("has no status"),
    };
    let plan = unless(matches!(row.field("plan"), Some("gold" | "free")), "has no plan");
    let is_number = row.field("seen").is_none_or(|seen| seen.parse::<u64>().is_ok());
    let is_idle = row.field("plan") == Some("gold") && row.field("seen") == Some("0");
    plan.or(unless(is_number, "was seen at no number"))
        .or(unless(!is_idle, "is golden and was not seen"))
        .or(within(row, now_ms, most_ms))
}

fn doc(row: &Stored) -> Problem {
    let json: serde_json::Value =
        row.text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let ends = json["ends"].as_i64();
    let kind = unless(matches!(json["kind"].as_str(), Some("text" | "image")), "has no kind");
    kind.or(unless(ends.is_some() && ends == row.deadline, "does not end when it says"))
}

/// Lives with another row: as long, and not without it. One that is over may be
/// found to be so a little later than its leader.
fn with(rows: &Rows, row: &Stored, leader: &str, now_ms: i64) -> Problem {
    match rows.get(leader) {
        _ if row.is_over(now_ms) => None,
        Some(leader) => unless(leader.deadline == row.deadline, "does not end with its leader"),
        None => Some("has lost its leader"),
    }
}

/// Each member names a row.
fn followers(rows: &Rows, row: &Stored, prefix: &str) -> Problem {
    let named = |member: &&str| rows.contains_key(&format!("{prefix}{member}"));
    unless(row.members().iter().all(named), "names a row that is gone")
}

fn session(row: &Stored, now_ms: i64) -> Problem {
    let is_whole = row.field("user").is_some_and(|user| user.parse::<u64>().is_ok());
    unless(is_whole, "has no user").or(within(row, now_ms, 8_000))
}

fn log(row: &Stored, now_ms: i64) -> Problem {
    let is_short = matches!(&row.value, Plain::List(items) if (1..=3).contains(&items.len()));
    unless(is_short, "is too long, or empty").or(within(row, now_ms, 10_000))
}

fn hits(row: &Stored, now_ms: i64) -> Problem {
    let is_number = row.text().is_some_and(|text| text.parse::<i64>().is_ok());
    unless(is_number, "is no number").or(within(row, now_ms, 5_000))
}
