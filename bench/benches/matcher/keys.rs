//! Random keys: what the five systems would send, and what matches nothing.
//!
//! Keys lie one after the other in the order of their use, as in a receive
//! buffer, so that reading them is not what is measured.

use keyward_schema::{Kind, Matcher, Pattern, Placeholder};
use keyward_testkit::Random;

/// A fixed start, so that every run sees the same keys.
const SEED: u64 = 42;

/// Keys that are made until one belongs to its pattern.
const TRIES_MAX: usize = 1_000;

/// Keys in the order of their use.
pub(crate) struct Keys {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The pattern that each was made of.
    patterns: Vec<usize>,
}

impl Keys {
    /// As many keys of each pattern, shuffled; none that belongs to a smaller pattern.
    pub(crate) fn of(patterns: &[Pattern], matcher: &Matcher, count_per_pattern: usize) -> Keys {
        let mut generator = Generator(Random::new(SEED));
        let mut keys = Vec::with_capacity(patterns.len() * count_per_pattern);
        for (index, pattern) in patterns.iter().enumerate() {
            let mut key = || {
                let belongs =
                    |key: &Vec<u8>| matcher.find(key).is_some_and(|found| found.pattern == index);
                let key = (0..TRIES_MAX).map(|_| generator.key(pattern)).find(belongs);
                key.unwrap_or_else(|| panic!("{}: a key is found by chance", pattern.text()))
            };
            keys.extend((0..count_per_pattern).map(|_| (index, key())));
        }
        generator.0.shuffle(&mut keys);
        Keys::concat(&keys)
    }

    /// Keys like those, each spoilt in one of four ways, that match nothing.
    pub(crate) fn missing(
        patterns: &[Pattern],
        matcher: &Matcher,
        count_per_pattern: usize,
    ) -> Keys {
        let mut generator = Generator(Random::new(SEED));
        let mut keys = Vec::with_capacity(patterns.len() * count_per_pattern);
        for (index, pattern) in patterns.iter().enumerate() {
            let spoilt = (0..count_per_pattern).map(|_| (index, generator.spoilt_key(pattern)));
            keys.extend(spoilt.filter(|(_, key)| matcher.find(key).is_none()));
        }
        generator.0.shuffle(&mut keys);
        Keys::concat(&keys)
    }

    fn concat(keys: &[(usize, Vec<u8>)]) -> Keys {
        let patterns = keys.iter().map(|(pattern, _)| *pattern).collect();
        let mut all = Keys { bytes: Vec::new(), ends: Vec::new(), patterns };
        for (_, key) in keys {
            all.bytes.extend_from_slice(key);
            all.ends.push(all.bytes.len());
        }
        all
    }

    /// The pattern that each key was made of, by its index.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = usize> {
        self.patterns.iter().copied()
    }

    /// The keys in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let mut start = 0;
        self.ends.iter().map(move |&end| &self.bytes[std::mem::replace(&mut start, end)..end])
    }
}

/// Makes keys by chance.
struct Generator(Random);

const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const HEX: &[u8] = b"0123456789abcdef";
const CODE: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const CROCKFORD: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const WORD: &[u8] = b"abcdefghijklmnopqrstuvwxyz_";
const TOKEN: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound as usize) as u64
    }

    fn text(&mut self, alphabet: &[u8], length: u64) -> String {
        self.0.text(alphabet, length as usize)
    }

    /// A number of one to so many digits.
    fn number(&mut self, digits_max: u32) -> String {
        let digits = 1 + self.below(u64::from(digits_max)) as u32;
        self.below(10_u64.pow(digits)).to_string()
    }

    fn key(&mut self, pattern: &Pattern) -> Vec<u8> {
        let values: Vec<String> =
            pattern.placeholders().iter().map(|placeholder| self.value(placeholder)).collect();
        pattern.fill(&values)
    }

    fn value(&mut self, placeholder: &Placeholder) -> String {
        match &placeholder.kind {
            Kind::Int if *placeholder.name == *"channel_id" => {
                format!("-100{}", 1_000_000_000 + self.below(1_000_000_000))
            }
            Kind::Int | Kind::Uint => self.number(10),
            Kind::Uuid => [8, 4, 4, 4, 12].map(|length| self.text(HEX, length)).join("-"),
            Kind::Date => {
                format!("2025-{:02}-{:02}", 1 + self.below(12), 1 + self.below(28))
            }
            Kind::Month => format!("2025-{:02}", 1 + self.below(12)),
            Kind::Enum(words) => words[self.below(words.len() as u64) as usize].to_string(),
            Kind::Base58 => self.text(BASE58, 44),
            Kind::Hex => self.text(HEX, 64),
            Kind::Ulid => format!("01{}", self.text(CROCKFORD, 24)),
            Kind::Slug => format!("{}-{}", self.text(HEX, 4), self.text(HEX, 6)),
            Kind::Base64Url => self.text(TOKEN, 43),
            Kind::Ip if self.below(4) == 0 => format!("2001:db8::{:x}", self.below(65_536)),
            Kind::Ip => [0; 4].map(|_: u8| self.below(256).to_string()).join("."),
            Kind::Text(text) => {
                let alphabet: Vec<u8> = text.characters().collect();
                self.text(&alphabet, text.length().unwrap_or(12) as u64)
            }
            Kind::Str | Kind::Rest => self.text_named(&placeholder.name),
        }
    }

    /// What the seeds show under a placeholder's name.
    fn text_named(&mut self, name: &str) -> String {
        match name {
            "token_address" if self.below(4) == 0 => format!("0x{}", self.text(HEX, 40)),
            "token_address" => {
                let length = 43 + self.below(2);
                self.text(BASE58, length)
            }
            "tx_hash" => self.text(BASE58, 88),
            "api_key" => format!("kikuai_{}", self.text(TOKEN, 32)),
            "subject" if self.below(2) == 0 => format!("kikuai_{}", self.text(TOKEN, 32)),
            "subject" | "id" | "user_id" | "category_id" | "commission_id" => self.number(10),
            "token" | "session_id" => self.text(TOKEN, 43),
            "query_hash" => self.text(HEX, 64),
            "channel_id" => {
                let length = 5 + self.below(15);
                format!("@{}", self.text(WORD, length))
            }
            "code" => {
                let length = 6 + self.below(5);
                self.text(CODE, length)
            }
            "transaction_id" => format!("ptx_{}", self.number(12)),
            "prefix" if self.below(8) == 0 => {
                format!("{}:{}", self.text(WORD, 4), self.text(WORD, 3))
            }
            _ => {
                let length = 1 + self.below(16);
                self.text(WORD, length)
            }
        }
    }

    /// A key with an unknown word, without its end, with more than its end,
    /// or with a wrong value.
    fn spoilt_key(&mut self, pattern: &Pattern) -> Vec<u8> {
        let mut key = self.key(pattern);
        let colon = key.iter().rposition(|&byte| byte == b':').unwrap_or(key.len() / 2);
        match self.below(4) {
            0 => {
                let at = self.below(key.len() as u64) as usize;
                key[at] = b'!';
            }
            1 => key.truncate(colon),
            2 => key.extend_from_slice(b":x"),
            _ => {
                key.truncate(colon + 1);
                key.extend_from_slice(self.text(WORD, 5).as_bytes());
            }
        }
        key
    }
}
