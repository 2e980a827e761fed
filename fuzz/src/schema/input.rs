//! Random schema files: examples, mutated.

use keyward_schema::{DataType, Kind, RULES, SETTINGS};

use crate::Random;

/// The largest file that is made, in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// A file.
pub(super) fn file(random: &mut Random) -> Vec<u8> {
    if random.one_in(50) {
        return noise(random);
    }
    let mut lines = examples(random);
    for _ in 0..mutations(random) {
        mutate_lines(&mut lines, random);
    }
    let mut bytes = lines.join("\n").into_bytes();
    if random.one_in(4) {
        for _ in 0..=random.below(4) {
            mutate_bytes(&mut bytes, random);
        }
    }
    bytes.truncate(MAX_BYTES);
    bytes
}

/// The lines of one page's example of how it is right.
pub(super) fn sound_example(random: &mut Random) -> Vec<u8> {
    let pages: Vec<&str> =
        RULES.iter().map(|rule| rule.right).filter(|example| !example.is_empty()).collect();
    random.pick(&pages).as_bytes().to_vec()
}

/// Mostly few, so that a good part of the files stays sound.
fn mutations(random: &mut Random) -> usize {
    match random.below(10) {
        0..=1 => 0,
        2..=6 => 1 + random.below(2),
        _ => random.below(12),
    }
}

fn noise(random: &mut Random) -> Vec<u8> {
    let length = random.below(200);
    match random.below(3) {
        0 => (0..length).map(|_| random.number() as u8).collect(),
        1 => (0..length).map(|_| *random.pick(b"[]{}\"'=.,:|\\\n ax1?()#")).collect(),
        _ => {
            let open = *random.pick(&["[", "{a=", "a.", "[[", "\"\"\"", "("]);
            open.repeat(1 + random.below(2000)).into_bytes()
        }
    }
}

/// The lines of one or several pages' examples, under one `[keyspace]`.
fn examples(random: &mut Random) -> Vec<String> {
    let pages: Vec<&str> = RULES
        .iter()
        .flat_map(|rule| [rule.wrong, rule.right])
        .filter(|example| !example.is_empty())
        .collect();
    let mut lines: Vec<String> = Vec::new();
    for _ in 0..=random.below(3) {
        let page = random.pick(&pages);
        let own = page.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned);
        let is_head = |line: &String| line == "[keyspace]" || line.starts_with("name = \"shop\"");
        if lines.is_empty() {
            lines.extend(own);
        } else {
            // A prefix keeps the pages' patterns apart, at least half of the time.
            let prefix = if random.one_in(2) { "" } else { random.pick(&["x:", "y:", "z:{q}:"]) };
            let renamed = own.filter(|line| !is_head(line)).map(|line| with_prefix(&line, prefix));
            lines.extend(renamed);
        }
    }
    lines
}

fn with_prefix(line: &str, prefix: &str) -> String {
    line.replace("[key.\"", &format!("[key.\"{prefix}"))
}

fn mutate_lines(lines: &mut Vec<String>, random: &mut Random) {
    if lines.is_empty() {
        return;
    }
    let at = random.below(lines.len());
    match random.below(9) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[random.below(lines.len())].clone()),
        2 => {
            let other = random.below(lines.len());
            lines.swap(at, other);
        }
        3 => lines[at] = setting(random),
        4 => lines.insert(at, setting(random)),
        _ => mutate_word(&mut lines[at], random),
    }
}

/// Some setting with its example, or with that of another.
fn setting(random: &mut Random) -> String {
    let setting = random.pick(SETTINGS);
    let value = if random.one_in(3) { random.pick(SETTINGS).example } else { setting.example };
    format!("{} = {value}", setting.name)
}

/// Replaces a word or a number of a line by another.
fn mutate_word(line: &mut String, random: &mut Random) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words: Vec<(usize, usize)> = Vec::new();
    let mut start = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (start, is_word(c)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                words.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    if words.is_empty() {
        return;
    }
    let (from, to) = *random.pick(&words);
    let word = word(random);
    line.replace_range(from..to, &word);
}

fn word(random: &mut Random) -> String {
    const OTHERS: [&str; 24] = [
        "",
        "object",
        "string",
        "null",
        "timestamp",
        "decimal(2)",
        "a | b",
        "x[]",
        "{string: int}",
        "id",
        "user",
        "status",
        "active",
        "none",
        "5m",
        "{id}",
        "{r:rest}",
        "{w:a|b}",
        "?",
        "0",
        "-1",
        "99999999999999999999",
        "1e9",
        "\\u0000",
    ];
    match random.below(4) {
        0 => random.pick(SETTINGS).name.to_owned(),
        1 => (*random.pick(DataType::NAMES)).to_owned(),
        2 => (*random.pick(&Kind::NAMES)).to_owned(),
        _ => (*random.pick(&OTHERS)).to_owned(),
    }
}

fn mutate_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes[at] = random.number() as u8,
        1 => drop(bytes.remove(at)),
        2 => bytes.insert(at, *random.pick(b"{}[]\"':|=?,.\n\\ 0\xff")),
        _ => {
            let end = (at + random.below(40)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
    }
}
