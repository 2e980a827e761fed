//! The RDB format: any bytes get an answer.
//!
//! Inputs are payloads of every form that is written, with bytes changed, cut and
//! doubled, and the first byte any type there is; their checksum is not looked at.
//! Promises: reading ends without a panic, and hears of no more elements than there
//! are bytes that compression could have made.

use keyward_rdb::{
    Build, ConsumerHead, Element, FileReader, Form, GroupHead, Output, StreamFacts, StreamPart,
    Sum, read_libraries, read_payload, write_payload,
};

use crate::Random;

/// Types of values, and a few that are none.
const KINDS: usize = 27;
/// A byte of LZF makes at most this many.
const EXPANSION_MAX: usize = 264;

/// Counts what it hears of.
#[derive(Default)]
struct Count {
    elements: usize,
}

impl Build for Count {
    fn string(&mut self, _: Element<'_>) {
        self.elements += 1;
    }

    fn element(&mut self, _: Element<'_>) {
        self.elements += 1;
    }

    fn member(&mut self, _: Element<'_>) -> bool {
        self.elements += 1;
        true
    }

    fn scored(&mut self, _: Element<'_>, score: f64) -> bool {
        assert!(!score.is_nan(), "a score that is no number");
        self.elements += 1;
        true
    }

    fn stream(&mut self, _: StreamPart<'_>) -> Result<(), &'static str> {
        self.elements += 1;
        Ok(())
    }

    fn field(&mut self, _: Element<'_>, _: Element<'_>) -> bool {
        self.elements += 1;
        true
    }
}

/// Reads one random payload, also as a file and as libraries.
pub fn round(random: &mut Random) {
    let mut payload = sound(random);
    for _ in 0..random.below(8) {
        damage(&mut payload, random);
    }
    let mut count = Count::default();
    // Most are refused; that is for the reader to say.
    let _ = read_payload(&payload, Sum::Ignored, &mut count);
    assert!(count.elements <= payload.len() * EXPANSION_MAX, "elements from nowhere");
    let _ = read_libraries(&payload);
    // As the value of a key, in files of both dialects.
    let (kind, value) = payload.split_at(payload.len().min(1));
    let magic = random.pick(&[b"REDIS0012", b"VALKEY080"]);
    let file = [magic.as_slice(), kind, b"\x03key", value].concat();
    if let Ok(mut reader) = FileReader::new(file.as_slice(), Sum::Ignored) {
        while let Ok(Some(_)) = reader.next(&mut count) {}
    }
}

/// A payload as it is written.
fn sound(random: &mut Random) -> Vec<u8> {
    let texts: Vec<Vec<u8>> = (0..1 + random.below(20)).map(|_| text(random)).collect();
    let numbers: Vec<i64> = texts.iter().map(|text| text.len() as i64 * 1000 - 500).collect();
    let elements = || texts.iter().map(|text| Element::Bytes(text));
    let compresses = random.one_in(2);
    match random.below(7) {
        0 => write_payload(Form::String, compresses, |out| out.string(Element::Bytes(&texts[0]))),
        1 => write_payload(Form::List, compresses, |out| out.list(elements())),
        2 => write_payload(Form::Set, compresses, |out| out.set(elements())),
        3 => write_payload(Form::Intset, compresses, |out| out.intset(numbers.iter().copied())),
        4 => write_payload(Form::PackedSortedSet, compresses, |out| {
            out.packed_sorted_set(elements().zip(numbers.iter().map(|n| *n as f64 / 7.0)))
        }),
        5 => write_payload(Form::Stream, compresses, |out| stream(out, &texts)),
        _ => write_payload(Form::PackedHash, compresses, |out| {
            out.packed_hash(elements().zip(numbers.iter().map(|n| Element::Int(*n))))
        }),
    }
}

/// A stream: its nodes are not looked at here, and are any texts.
fn stream(out: &mut Output<Vec<u8>>, texts: &[Vec<u8>]) -> std::io::Result<()> {
    let ids = || (1..).zip(texts).map(|(ms, text)| ((ms, text.len() as u64), text));
    out.stream_nodes(texts.len());
    ids().try_for_each(|(id, node)| out.stream_node(id, node))?;
    out.stream_facts(&StreamFacts { length: 7, last_id: (9, 9), ..StreamFacts::default() }, 1)?;
    let group =
        GroupHead { name: &texts[0], last_id: (1, 1), read: u64::MAX, pending: texts.len() };
    out.stream_group(group)?;
    ids().try_for_each(|(id, _)| out.stream_pending(id, -1, 3))?;
    out.stream_consumers(1);
    out.stream_consumer(ConsumerHead { name: &texts[0], seen_ms: 5, owned: texts.len() })?;
    ids().try_for_each(|(id, _)| out.stream_owned(id))
}

fn text(random: &mut Random) -> Vec<u8> {
    let length = if random.one_in(8) { random.below(300) } else { random.below(12) };
    let letters = 1 + random.below(4);
    (0..length).map(|_| b'a' + random.below(letters) as u8).collect()
}

fn damage(payload: &mut Vec<u8>, random: &mut Random) {
    if payload.is_empty() {
        return;
    }
    let at = random.below(payload.len());
    match random.below(6) {
        0 => payload.truncate(at),
        1 => payload[0] = random.below(KINDS) as u8,
        2 => payload[at] = *random.pick(&[0, 0x7f, 0x80, 0x81, 0xc3, 0xf0, 0xf5, 0xfe, 0xff]),
        3 => payload[at] ^= 1 << random.below(8),
        4 => payload.insert(at, random.below(256) as u8),
        _ => {
            let part = payload[at..].to_vec();
            payload.extend_from_slice(&part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_thousand_payloads_keep_every_promise() {
        (0..4_000).for_each(|seed| round(&mut Random::new(seed)));
    }
}
