//! The append-only file: any bytes get an answer.
//!
//! Inputs are manifests and increments as they are written, with bytes changed, cut and
//! doubled. Promises: reading ends without a panic and hands out no more bytes than there
//! are; where it says that a file is sound up to a place, the same commands are found in
//! that much of it, and no other end.
//! Not here: carrying commands out, which is what every client does.

use crate::Random;
use keyward_persist::aof::{Manifest, ReadError, Reader};
use keyward_persist::disk::Source;
use keyward_resp::{Batch, push_request};
use std::path::Path;

/// What commands are made of.
const WORDS: &[&[u8]] = &[b"SET", b"MULTI", b"EXEC", b"a", b"", b"\0\0", b"\r\n*1\r\n", b"99999"];
/// What manifests are made of.
const PARTS: &[&str] =
    &["file", "seq", "type", "a.aof.1.base.rdb", "1", "2", "b", "i", "h", "\"x y\"", "\n", "#"];

/// Reads one random increment and one random manifest.
pub fn round(random: &mut Random) {
    let mut file = increment(random);
    for _ in 0..random.below(4) {
        damage(&mut file, random);
    }
    let (commands, outcome) = read(&file);
    assert!(commands.concat().len() <= file.len(), "bytes from nowhere");
    if let Err(ReadError::Truncated { sound, .. }) = outcome {
        let sound = usize::try_from(sound).expect("within the file");
        let (again, outcome) = read(&file[..sound]);
        assert!(outcome.is_ok(), "what is sound is whole");
        assert!(commands.starts_with(&again), "what is sound is what was read");
    }
    let words = (0..random.below(30)).map(|_| *random.pick(PARTS)).collect::<Vec<_>>();
    let manifest = words.join(if random.one_in(2) { " " } else { "" });
    if let Ok(manifest) = Manifest::parse(manifest.as_bytes())
        && !manifest.is_empty()
    {
        let again = Manifest::parse(manifest.to_text().as_bytes());
        assert_eq!(again.as_ref(), Ok(&manifest), "a manifest is read back");
    }
}

fn increment(random: &mut Random) -> Vec<u8> {
    let mut file = Vec::new();
    for _ in 0..random.below(20) {
        let words: Vec<&[u8]> = (0..1 + random.below(4)).map(|_| *random.pick(WORDS)).collect();
        push_request(&mut file, words.iter());
        if random.one_in(10) {
            file.extend_from_slice(b"#TS:1700000000\r\n");
        }
    }
    file
}

fn damage(file: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(file.len());
    match random.below(4) {
        _ if file.is_empty() => {}
        0 => file[at] = random.number() as u8,
        1 => file.truncate(at),
        2 => file[at..].fill(0),
        _ => file.extend_from_within(at..),
    }
}

/// The commands of a file, their words joined, and how it ends.
fn read(file: &[u8]) -> (Vec<Vec<u8>>, Result<(), ReadError>) {
    let content = Box::new(std::io::Cursor::new(file.to_vec()));
    let source = Source { content, bytes: file.len() as u64 };
    let mut reader = Reader::new(source, Path::new("increment"));
    let (mut commands, mut batch) = (Vec::new(), Batch::new());
    loop {
        batch.clear();
        match reader.next(&mut batch) {
            Ok(false) => return (commands, Ok(())),
            Err(error) => return (commands, Err(error)),
            Ok(true) => {
                let joined = |words: Vec<&[u8]>| words.concat();
                let all = batch.commands(reader.buffer());
                commands.extend(all.map(|command| joined(command.iter().collect())));
            }
        }
    }
}
