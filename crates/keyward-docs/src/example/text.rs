//! Example texts: by name where the name says something, and to measure.

/// The longest text that an example shows, in bytes.
use std::borrow::Cow;

use keyward_schema::{Kind, Limits, TextKind};

pub(super) const MAX_TEXT_BYTES: u64 = 4096;

/// What a text looks like whose name has this word in it, between underscores.
const BY_WORD: &[(&str, &str)] = &[
    ("id", "42"),
    ("email", "ada@example.com"),
    ("url", "https://example.com/"),
    ("ip", "192.0.2.7"),
    ("agent", "Mozilla/5.0"),
    ("username", "ada"),
    ("name", "Ada"),
    ("title", "An example"),
    ("description", "What it is about."),
    ("text", "An example text."),
    ("message", "An example text."),
    ("content", "An example text."),
    ("query", "jazz"),
    ("role", "member"),
    ("currency", "USD"),
    ("city", "Lisbon"),
    ("version", "1.0.0"),
    ("code", "ABC123"),
    ("token", "t0k3n"),
    ("hash", "9f86d081884c7d65"),
    ("host", "example.com"),
];

/// Times, the first one in the past of the second.
pub(super) const TIMES: [&str; 2] = ["2025-12-25T10:00:00Z", "2026-01-25T10:00:00Z"];

/// Whether a name speaks of an end rather than of something that happened.
pub(super) fn is_of_an_end(name: &str) -> bool {
    words(name).any(|word| matches!(word, "expires" | "until" | "expiry" | "end" | "ends" | "due"))
}

/// Texts for something of that name.
pub(super) fn by_name(name: &str) -> impl Iterator<Item = &'static str> {
    let by_word = |word: &str| BY_WORD.iter().find(|(known, _)| *known == word);
    let last_word_first: Vec<&'static str> = words(name)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .filter_map(by_word)
        .map(|(_, text)| *text)
        .collect();
    last_word_first.into_iter().chain(["example", "abc", "x", "42"])
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// Words of a fixed form, of which a prefix may ask for another beginning.
pub(super) fn of_kind(kind: &Kind) -> Vec<Cow<'_, str>> {
    let texts = match kind {
        Kind::Uuid => vec!["123e4567-e89b-12d3-a456-426614174000"],
        Kind::Base58 => vec!["9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"],
        Kind::Hex => vec!["9f86d081884c7d65"],
        Kind::Date => vec!["2025-12-25", "2025-10-01", "2025-11-30", "2025-12-31"],
        Kind::Month => vec!["2025-12", "2025-10", "2025-01"],
        Kind::Ulid => vec!["01JFXK8M3QZ7V2T9B4W6N5RDHC"],
        Kind::Slug => vec!["summer-sale", "x", "42"],
        Kind::Base64Url => vec!["kX3v9_Qm-7TzL2pR"],
        Kind::Ip => vec!["203.0.113.7", "2001:db8::7"],
        Kind::Enum(words) => words.iter().map(|word| &**word).collect(),
        Kind::Text(text) => return vec![Cow::Owned(of_alphabet(text))],
        Kind::Str | Kind::Rest | Kind::Int | Kind::Uint => Vec::new(),
    };
    texts.into_iter().map(Cow::Borrowed).collect()
}

/// Characters of an alphabet, all over it, as many as there have to be.
fn of_alphabet(text: &TextKind) -> String {
    let characters: Vec<char> = match text.characters().next() {
        Some(_) => text.characters().map(char::from).collect(),
        None => "k3Xv9Qm7TzL2pRw8".chars().collect(),
    };
    let length = text.length().unwrap_or(8);
    // A step that shares no divisor with the number of characters meets them all.
    (0..length)
        .map(|place| characters[(place * 7 + place / characters.len()) % characters.len()])
        .collect()
}

/// A text made to begin with the prefix and to have an admitted length, by
/// cutting it or by going through it again. `None` beyond what is printed.
pub(super) fn measured(text: &str, limits: &Limits) -> Option<String> {
    let prefix = limits.prefix.as_deref().unwrap_or("");
    let mut text =
        if text.starts_with(prefix) { text.to_owned() } else { format!("{prefix}{text}") };
    let Some(len) = limits.len else { return Some(text) };
    if len.min > MAX_TEXT_BYTES {
        return None;
    }
    let filler: Vec<char> = text.chars().filter(char::is_ascii_alphanumeric).collect();
    for place in 0.. {
        if text.len() as u64 >= len.min {
            break;
        }
        text.push(filler.get(place % filler.len().max(1)).copied().unwrap_or('x'));
    }
    while text.len() as u64 > len.max {
        text.pop();
    }
    Some(text)
}

/// The same length with the beginning replaced by the prefix.
pub(super) fn overwritten(text: &str, limits: &Limits) -> Option<String> {
    let prefix = limits.prefix.as_deref()?;
    text.get(prefix.len()..).map(|rest| format!("{prefix}{rest}"))
}
