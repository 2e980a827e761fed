//! Requests, and how they are changed.
//!
//! Where an input is whole requests, most changes are made to their words, and the lengths
//! agree again: what is behind the parser is reached too. Where it is not, and now and
//! then anyway, single bytes are changed. Most requests have the arguments that their
//! command documents (`documented`), the others any words.

mod documented;

use crate::Random;
use keyward_commands::COMMANDS;
use keyward_resp::{Batch, RequestLimits, RequestParser, push_request};

use super::INPUT_BYTES_MAX;

/// The scripts that are run: whatever else the bytes may do, these end.
pub(super) const SCRIPTS: [&str; 6] = [
    "return redis.call(ARGV[1],KEYS[1],ARGV[2])",
    "return redis.pcall(unpack(ARGV))",
    "return cjson.encode(cjson.decode(ARGV[1]))",
    "return cmsgpack.pack(cmsgpack.unpack(ARGV[1]))",
    "return {struct.unpack(ARGV[1],ARGV[2])}",
    "return {string.find(ARGV[1],ARGV[2]),ARGV,{1,2.5,{'a'},true,false}}",
];
/// Keys, of which there are few: commands are to meet each other's rows.
const KEYS: [&str; 6] = ["a", "b", "c", "{t}d", "", "a long key that is no word of any other kind"];
/// Whatever else stands in commands.
const WORDS: [&str; 48] = [
    "0",
    "1",
    "-1",
    "2",
    "10",
    "100",
    "-0.5",
    "3.0e2",
    "inf",
    "-inf",
    "(1",
    "[a",
    "+",
    "-",
    "*",
    "9223372036854775807",
    "-9223372036854775808",
    "4294967296",
    "16383",
    "1000000",
    "x",
    "yy",
    "a*",
    "[a-c]?",
    "EX",
    "PX",
    "NX",
    "XX",
    "GT",
    "KEEPTTL",
    "GET",
    "WITHSCORES",
    "LIMIT",
    "COUNT",
    "MATCH",
    "BY",
    "STORE",
    "LEFT",
    "RIGHT",
    "BEFORE",
    "i64",
    "u8",
    "#3",
    "OVERFLOW",
    "SAT",
    "{\"a\":[1,null]}",
    "\u{0}\u{ff}",
    "a value of some length, beyond what fits into a word at all",
];
/// What framing is made of.
const FRAMES: [&str; 10] =
    ["\r\n", "*", "$", "*3\r\n", "$0\r\n\r\n", "$-1\r\n", "*-1\r\n", "\"", "'\\x41' ", "PING\r\n"];

type Requests = Vec<Vec<Vec<u8>>>;

/// Some requests.
pub fn generate(random: &mut Random) -> Vec<u8> {
    let requests: Requests = (0..1 + random.below(12)).map(|_| request(random)).collect();
    let mut input = encode(&requests);
    if random.one_in(8) {
        input.extend_from_slice(b"SET a 'inline \\x41' \r\nGET a\n");
    }
    input.truncate(INPUT_BYTES_MAX);
    input
}

fn request(random: &mut Random) -> Vec<Vec<u8>> {
    if random.one_in(10) {
        let script = random.pick(&SCRIPTS).as_bytes().to_vec();
        let mut words = vec![b"EVAL".to_vec(), script, b"1".to_vec(), key(random)];
        words.extend((0..random.below(4)).map(|_| word(random)));
        return words;
    }
    let command = random.pick(&COMMANDS);
    let mut words: Vec<Vec<u8>> = command.name.split('|').map(|word| word.into()).collect();
    if !random.one_in(3) {
        documented::push_arguments(&mut words, command.args, random);
        return words;
    }
    for place in 0..random.below(5) {
        words.push(if place == 0 || random.one_in(4) { key(random) } else { word(random) });
    }
    words
}

fn key(random: &mut Random) -> Vec<u8> {
    random.pick(&KEYS).as_bytes().to_vec()
}

fn word(random: &mut Random) -> Vec<u8> {
    if random.one_in(6) { key(random) } else { random.pick(&WORDS).as_bytes().to_vec() }
}

fn encode(requests: &Requests) -> Vec<u8> {
    let mut bytes = Vec::new();
    requests.iter().for_each(|words| push_request(&mut bytes, words.iter()));
    bytes
}

/// The requests of an input that has nothing else.
fn decode(input: &[u8]) -> Option<Requests> {
    let (mut parser, mut batch) = (RequestParser::new(), Batch::new());
    let mut buffer = input.to_vec();
    parser.parse(&mut buffer, &RequestLimits::default(), &mut batch).ok()?;
    let commands = batch.commands(&buffer);
    let requests = commands.map(|c| c.iter().map(<[u8]>::to_vec).collect()).collect();
    batch.clear();
    parser.consume(&mut buffer);
    buffer.is_empty().then_some(requests)
}

/// Another input, made from one and maybe from parts of others.
pub fn mutate(input: &[u8], others: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = match decode(input) {
        Some(requests) if !requests.is_empty() && !random.one_in(4) => {
            let other = (!others.is_empty()).then(|| random.pick::<Vec<u8>>(others));
            let other = other.and_then(|other| decode(other)).unwrap_or_default();
            encode(&changed(requests, other, random))
        }
        _ => damaged(input.to_vec(), random),
    };
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

fn changed(mut requests: Requests, others: Requests, random: &mut Random) -> Requests {
    for _ in 0..1 + random.below(3) {
        let at = random.below(requests.len());
        let place = random.below(requests.get(at).map_or(0, Vec::len));
        match (random.below(10), requests.get_mut(at)) {
            (0, _) | (_, None) => requests.insert(at, request(random)),
            (1, _) if !others.is_empty() => requests.insert(at, random.pick(&others).clone()),
            (1 | 2, Some(words)) => {
                let words = words.clone();
                requests.push(words);
            }
            (3, _) => {
                requests.remove(at);
            }
            (4, Some(words)) => words.insert((place + 1).min(words.len()), word(random)),
            (5, Some(words)) if words.len() > 1 => {
                words.remove(place.max(1));
            }
            (6, Some(words)) if !words.is_empty() => {
                words[place] = damaged(words[place].clone(), random);
            }
            (7, Some(words)) => {
                let other = random.below(words.len());
                if !words.is_empty() {
                    words.swap(place, other);
                }
            }
            (8, Some(words)) if !words.is_empty() => words[place] = key(random),
            (_, Some(words)) if !words.is_empty() => words[place] = word(random),
            (_, Some(words)) => words.push(word(random)),
        }
    }
    requests
}

fn damaged(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let at = random.below(bytes.len() + 1);
    let is_inside = at < bytes.len();
    match random.below(8) {
        0 if is_inside => bytes[at] = random.number() as u8,
        1 if is_inside => bytes[at] ^= 1 << random.below(8),
        2 if is_inside => {
            bytes.remove(at);
        }
        3 => bytes.truncate(at),
        4 => {
            let end = (at + random.below(32)).min(bytes.len());
            bytes.extend_from_within(at..end);
        }
        5 => bytes.insert(at, *random.pick(b"0159-+.e*$\r\n\0\" \xff")),
        6 => {
            let part = random.pick(&FRAMES).as_bytes();
            bytes.splice(at..at, part.iter().copied());
        }
        _ => {
            let part = random.pick(&WORDS).as_bytes();
            bytes.splice(at..at, part.iter().copied());
        }
    }
    bytes
}
