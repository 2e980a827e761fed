//! Writing a value, in the form Redis 7.0 would choose.
//!
//! Owns the forms. Whether a collection is small enough for a packed one is the
//! caller's to say; the form is told before the key (see [`Form`]), the content
//! behind it by the methods of [`Output`].

use crate::Element;
use crate::format::{kind, node};
use crate::output::Output;
use crate::packed::{intset, listpack};
use keyward_resp::number::push_f64;
use std::io::{self, Write};

/// Bytes of a part of a list, as `list-max-listpack-size -2` has it in Redis.
const PART_BYTES_MAX: usize = 8192;
/// A longer element is a part by itself, and not packed.
const PACKED_BYTES_MAX: usize = 1 << 30;

/// The largest score that is written as a whole number, as in Redis: 2 to the 62nd.
const WHOLE_MAX: f64 = (1i64 << 62) as f64;

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// By `string`.
    String,
    /// By `list`.
    List,
    /// By `member`s: a list that is not known as a whole.
    PlainList,
    /// By `set`.
    Set,
    /// By `intset`.
    Intset,
    /// By `sorted_set`.
    SortedSet,
    /// By `packed_sorted_set`.
    PackedSortedSet,
    /// By `hash`.
    Hash,
    /// By `packed_hash`.
    PackedHash,
    /// By `stream_nodes` and what follows it.
    Stream,
}

impl Form {
    pub(crate) fn kind(self) -> u8 {
        match self {
            Form::String => kind::STRING,
            Form::List => kind::LIST_QUICKLIST_2,
            Form::PlainList => kind::LIST,
            Form::Set => kind::SET,
            Form::Intset => kind::SET_INTSET,
            Form::SortedSet => kind::ZSET_2,
            Form::PackedSortedSet => kind::ZSET_LISTPACK,
            Form::Hash => kind::HASH,
            Form::PackedHash => kind::HASH_LISTPACK,
            Form::Stream => kind::STREAM_2,
        }
    }
}

impl<W: Write> Output<W> {
    /// The content of a string.
    pub fn string(&mut self, text: Element<'_>) -> io::Result<()> {
        self.text(text)
    }

    /// The elements of a list, from its head on.
    pub fn list<'a>(
        &mut self,
        elements: impl Iterator<Item = Element<'a>> + Clone,
    ) -> io::Result<()> {
        self.length(count_parts(elements.clone()));
        let mut part = listpack::Writer::new();
        let mut cuts = Cuts::default();
        for element in elements {
            match cuts.place(element) {
                Place::SamePart => part.push(element),
                Place::NewPart => {
                    self.part(&mut part)?;
                    part.push(element);
                }
                Place::Alone => {
                    self.part(&mut part)?;
                    self.length(node::PLAIN);
                    self.text(element)?;
                }
            }
        }
        self.part(&mut part)
    }

    /// Writes a part of a list, unless it is empty, and begins the next one.
    fn part(&mut self, part: &mut listpack::Writer) -> io::Result<()> {
        if !part.is_empty() {
            self.length(node::PACKED);
            self.text(Element::Bytes(part.finish()))?;
            part.clear();
        }
        Ok(())
    }

    /// The members of a set.
    pub fn set<'a>(
        &mut self,
        members: impl ExactSizeIterator<Item = Element<'a>>,
    ) -> io::Result<()> {
        self.length(members.len() as u64);
        members.into_iter().try_for_each(|member| self.member(member))
    }

    /// A member of a set, or an element of a list.
    pub fn member(&mut self, member: Element<'_>) -> io::Result<()> {
        self.text(member)
    }

    /// The members of a set of numbers in order.
    pub fn intset(
        &mut self,
        numbers: impl ExactSizeIterator<Item = i64> + Clone,
    ) -> io::Result<()> {
        self.text(Element::Bytes(&intset::of(numbers)))
    }

    /// The members of a sorted set with their scores. Redis loads them fastest from
    /// the highest down.
    pub fn sorted_set<'a>(
        &mut self,
        members: impl ExactSizeIterator<Item = (Element<'a>, f64)>,
    ) -> io::Result<()> {
        self.length(members.len() as u64);
        members.into_iter().try_for_each(|member| self.scored(member))
    }

    /// A member of a sorted set with its score.
    pub fn scored(&mut self, (member, score): (Element<'_>, f64)) -> io::Result<()> {
        self.text(member)?;
        self.raw(&score.to_le_bytes());
        self.spill()
    }

    /// The members of a small sorted set with their scores, in order.
    pub fn packed_sorted_set<'a>(
        &mut self,
        members: impl Iterator<Item = (Element<'a>, f64)>,
    ) -> io::Result<()> {
        let mut packed = listpack::Writer::new();
        let mut digits = Vec::new();
        for (member, score) in members {
            packed.push(member);
            match whole(score) {
                Some(number) => packed.push(Element::Int(number)),
                None => {
                    digits.clear();
                    push_f64(&mut digits, score);
                    packed.push(Element::Bytes(&digits));
                }
            }
        }
        self.text(Element::Bytes(packed.finish()))
    }

    /// The fields of a hash with their values.
    pub fn hash<'a>(
        &mut self,
        fields: impl ExactSizeIterator<Item = (Element<'a>, Element<'a>)>,
    ) -> io::Result<()> {
        self.length(fields.len() as u64);
        fields.into_iter().try_for_each(|field| self.field(field))
    }

    /// A field of a hash with its value.
    pub fn field(&mut self, (field, value): (Element<'_>, Element<'_>)) -> io::Result<()> {
        self.text(field)?;
        self.text(value)
    }

    /// The fields of a small hash with their values.
    pub fn packed_hash<'a>(
        &mut self,
        fields: impl Iterator<Item = (Element<'a>, Element<'a>)>,
    ) -> io::Result<()> {
        let mut packed = listpack::Writer::new();
        for (field, value) in fields {
            packed.push(field);
            packed.push(value);
        }
        self.text(Element::Bytes(packed.finish()))
    }
}

/// The whole number that a score is, if it is one. Minus zero is not: it would lose
/// its sign.
fn whole(score: f64) -> Option<i64> {
    let is_within = score.abs() <= WHOLE_MAX && !(score == 0.0 && score.is_sign_negative());
    (is_within && score == score.trunc()).then_some(score as i64)
}

/// Where an element of a list goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    SamePart,
    NewPart,
    Alone,
}

/// Cuts a list into parts, always in the same way: their number is written first.
#[derive(Debug, Default)]
struct Cuts {
    /// Bytes of the current part; zero if there is none.
    part_bytes: usize,
}

impl Cuts {
    fn place(&mut self, element: Element<'_>) -> Place {
        if matches!(element, Element::Bytes(bytes) if bytes.len() > PACKED_BYTES_MAX) {
            self.part_bytes = 0;
            return Place::Alone;
        }
        let bytes = listpack::entry_bytes(element);
        if self.part_bytes > 0 && self.part_bytes + bytes <= PART_BYTES_MAX {
            self.part_bytes += bytes;
            return Place::SamePart;
        }
        self.part_bytes = listpack::EMPTY_BYTES + bytes;
        Place::NewPart
    }
}

fn count_parts<'a>(elements: impl Iterator<Item = Element<'a>>) -> u64 {
    let mut cuts = Cuts::default();
    elements.map(|element| u64::from(cuts.place(element) != Place::SamePart)).sum()
}
