//! Streams: nodes, what is told of all entries, and groups with what is pending.
//!
//! Owns the order of the parts of a stream and the bytes of each. Nodes are handed over as
//! they are, packed; what is in them is not looked at here.
//!
//! ```text
//! stream   = nodes: count | (text: id | text: listpack) …
//!            length | last id | [first id | highest removed id | added]      (from 2 on)
//!            groups: count | (name | last id | [read] | pending | consumers) …
//! id       = two lengths, or 16 bytes, the highest first, where one by itself is meant
//! pending  = count | (16 bytes: id | 8 bytes: time | length: deliveries) …
//! consumers = count | (name | 8 bytes: seen | [8 bytes: active, from 3 on]
//!            | count | 16 bytes: id …) …
//! ```
//!
//! Written is the second form, which Redis 7.0 and everything later reads.

use crate::format::kind;
use crate::input::Input;
use crate::output::Output;
use crate::{Element, Error};
use std::io::{self, BufRead, Write};

/// An id: a time and a number within it.
pub type Id = (u64, u64);

/// What is told of the entries of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamFacts {
    /// How many there are.
    pub length: u64,
    /// The last one that was ever added.
    pub last_id: Id,
    /// The first one that is there.
    pub first_id: Id,
    /// The highest one that was removed.
    pub removed_id: Id,
    /// How many were ever added.
    pub added: u64,
}

/// A part of a stream, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamPart<'a> {
    /// A node: its id and its listpack.
    Node(Id, &'a [u8]),
    /// What is told of the entries; files of Redis before 7.0 say no more than how many
    /// there are and which was the last.
    Facts(StreamFacts, Told),
    /// A group: its name, the last entry it was given, and how many it has read, which is
    /// `u64::MAX` if nobody knows, and `None` where a file does not say.
    Group(&'a [u8], Id, Option<u64>),
    /// An entry that is pending in the group: when and how often it was delivered.
    Pending(Id, i64, u64),
    /// A consumer of the group, and when it was seen last.
    Consumer(&'a [u8], i64),
    /// An entry that the consumer has.
    Owned(Id),
    /// There is no more.
    End,
}

/// How much a file tells of the entries of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Everything.
    All,
    /// What Redis before 7.0 knew.
    Some,
}

/// A group, before what is pending in it.
#[derive(Debug, Clone, Copy)]
pub struct GroupHead<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The last entry it was given.
    pub last_id: Id,
    /// How many it has read; `u64::MAX` if nobody knows.
    pub read: u64,
    /// How many entries are pending.
    pub pending: usize,
}

/// A consumer, before what it has.
#[derive(Debug, Clone, Copy)]
pub struct ConsumerHead<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// When it was seen last.
    pub seen_ms: i64,
    /// How many entries it has.
    pub owned: usize,
}

fn id_bytes((ms, seq): Id) -> [u8; 16] {
    (u128::from(ms) << 64 | u128::from(seq)).to_be_bytes()
}

fn id_of(bytes: [u8; 16]) -> Id {
    let number = u128::from_be_bytes(bytes);
    ((number >> 64) as u64, number as u64)
}

impl<W: Write> Output<W> {
    /// How many nodes a stream has; they follow.
    pub fn stream_nodes(&mut self, count: usize) {
        self.length(count as u64);
    }

    /// A node of a stream.
    pub fn stream_node(&mut self, id: Id, listpack: &[u8]) -> io::Result<()> {
        self.text(Element::Bytes(&id_bytes(id)))?;
        self.text(Element::Bytes(listpack))
    }

    /// What is told of the entries of a stream, behind its nodes, and how many groups there
    /// are; they follow.
    pub fn stream_facts(&mut self, facts: &StreamFacts, groups: usize) -> io::Result<()> {
        self.length(facts.length);
        for (ms, seq) in [facts.last_id, facts.first_id, facts.removed_id] {
            self.length(ms);
            self.length(seq);
        }
        self.length(facts.added);
        self.length(groups as u64);
        self.spill()
    }

    /// A group of a stream; what is pending in it follows.
    pub fn stream_group(&mut self, group: GroupHead<'_>) -> io::Result<()> {
        self.text(Element::Bytes(group.name))?;
        self.length(group.last_id.0);
        self.length(group.last_id.1);
        self.length(group.read);
        self.length(group.pending as u64);
        self.spill()
    }

    /// An entry that is pending in a group.
    pub fn stream_pending(&mut self, id: Id, delivered_ms: i64, count: u64) -> io::Result<()> {
        self.raw(&id_bytes(id));
        self.raw(&delivered_ms.to_le_bytes());
        self.length(count);
        self.spill()
    }

    /// How many consumers a group has, behind what is pending in it; they follow.
    pub fn stream_consumers(&mut self, count: usize) {
        self.length(count as u64);
    }

    /// A consumer of a group; what it has follows.
    pub fn stream_consumer(&mut self, consumer: ConsumerHead<'_>) -> io::Result<()> {
        self.text(Element::Bytes(consumer.name))?;
        self.raw(&consumer.seen_ms.to_le_bytes());
        self.length(consumer.owned as u64);
        self.spill()
    }

    /// An entry that a consumer has.
    pub fn stream_owned(&mut self, id: Id) -> io::Result<()> {
        self.raw(&id_bytes(id));
        self.spill()
    }
}

/// Reads a stream; what is wrong with a part `take` says.
pub(crate) fn read<R: BufRead>(
    input: &mut Input<R>,
    kind: u8,
    text: &mut Vec<u8>,
    mut take: impl FnMut(StreamPart<'_>) -> Result<(), &'static str>,
) -> Result<(), Error> {
    for _ in 0..input.length()? {
        input.bytes(text)?;
        let id = <[u8; 16]>::try_from(&text[..]);
        let id = id.map_err(|_| input.malformed("a node of a stream whose id is no id"))?;
        input.bytes(text)?;
        put(input, &mut take, StreamPart::Node(id_of(id), text))?;
    }
    let has_all = kind != kind::STREAM;
    let mut facts =
        StreamFacts { length: input.length()?, last_id: id(input)?, ..StreamFacts::default() };
    if has_all {
        facts.first_id = id(input)?;
        facts.removed_id = id(input)?;
        facts.added = input.length()?;
    }
    let told = if has_all { Told::All } else { Told::Some };
    put(input, &mut take, StreamPart::Facts(facts, told))?;
    for _ in 0..input.length()? {
        group(input, kind, text, &mut take)?;
    }
    put(input, &mut take, StreamPart::End)
}

fn group<R: BufRead>(
    input: &mut Input<R>,
    kind: u8,
    text: &mut Vec<u8>,
    take: &mut impl FnMut(StreamPart<'_>) -> Result<(), &'static str>,
) -> Result<(), Error> {
    input.bytes(text)?;
    let last_id = id(input)?;
    let read = if kind == kind::STREAM { None } else { Some(input.length()?) };
    put(input, take, StreamPart::Group(text, last_id, read))?;
    for _ in 0..input.length()? {
        let id = id_of(input.array()?);
        let delivered_ms = i64::from_le_bytes(input.array()?);
        let count = input.length()?;
        put(input, take, StreamPart::Pending(id, delivered_ms, count))?;
    }
    for _ in 0..input.length()? {
        input.bytes(text)?;
        let seen_ms = i64::from_le_bytes(input.array()?);
        if kind == kind::STREAM_3 {
            // When it was active last, which Redis 7.0 does not know.
            input.array::<8>()?;
        }
        put(input, take, StreamPart::Consumer(text, seen_ms))?;
        for _ in 0..input.length()? {
            let id = id_of(input.array()?);
            put(input, take, StreamPart::Owned(id))?;
        }
    }
    Ok(())
}

fn id<R: BufRead>(input: &mut Input<R>) -> Result<Id, Error> {
    Ok((input.length()?, input.length()?))
}

fn put<R: BufRead>(
    input: &Input<R>,
    take: &mut impl FnMut(StreamPart<'_>) -> Result<(), &'static str>,
    part: StreamPart<'_>,
) -> Result<(), Error> {
    take(part).map_err(|what| input.malformed(what))
}
