//! Compressing the texts of a part, by somebody who has the time.
//!
//! Who captures rows while others wait writes them as they are; a thread does the rest.
//! What comes out is byte for byte what would have been written compressed at once.

mod stream;

use crate::Error;
use crate::format::{kind, opcode};
use crate::input::Input;
use crate::output::{FileOptions, Output};

/// Compresses the [`Part`](super::Part)s of a file, which were written without
/// compression, one after the other.
#[derive(Debug, Default)]
pub struct Compressor {
    /// A row that goes on in the next part.
    open: Option<Open>,
}

/// A row of which some elements are to come.
#[derive(Debug, Clone, Copy)]
enum Open {
    /// So many elements, each as its form has them.
    Elements { form: u8, left: u64 },
    /// Of a stream.
    Stream(stream::Rest),
}

impl Compressor {
    /// The next part, compressed.
    pub fn part(&mut self, part: &[u8]) -> Result<Vec<u8>, Error> {
        let mut input = Input::new(part);
        let options = FileOptions { compresses: true, sums: false };
        let mut output = Output::new(Vec::new(), options);
        output.reserve(part.len());
        let mut pass = Pass { output, text: Vec::new(), end: part.len() as u64 };
        if let Some(open) = self.open.take() {
            self.open = pass.elements(&mut input, open)?;
        }
        while let Some(byte) = input.byte_or_end()? {
            pass.output.byte(byte);
            match byte {
                opcode::DATABASE | opcode::IDLE => {
                    pass.length(&mut input)?;
                }
                opcode::SIZES => {
                    pass.length(&mut input)?;
                    pass.length(&mut input)?;
                }
                opcode::AUX => {
                    pass.text(&mut input)?;
                    pass.text(&mut input)?;
                }
                opcode::EXPIRE_MS => pass.output.raw(&input.array::<8>()?),
                opcode::FREQUENCY => pass.output.byte(input.byte()?),
                form => {
                    pass.text(&mut input)?;
                    self.open = pass.value(&mut input, form)?;
                }
            }
        }
        Ok(pass.output.into_bytes()?)
    }
}

/// What is read on one side is written on the other.
struct Pass {
    output: Output<Vec<u8>>,
    text: Vec<u8>,
    /// Where the input ends.
    end: u64,
}

impl Pass {
    fn length(&mut self, input: &mut Input<&[u8]>) -> Result<u64, Error> {
        let length = input.length()?;
        self.output.length(length);
        Ok(length)
    }

    fn text(&mut self, input: &mut Input<&[u8]>) -> Result<(), Error> {
        Ok(self.output.text(input.text(&mut self.text)?)?)
    }

    /// A value, or what there is of it.
    fn value(&mut self, input: &mut Input<&[u8]>, form: u8) -> Result<Option<Open>, Error> {
        match form {
            kind::STRING | kind::SET_INTSET | kind::ZSET_LISTPACK | kind::HASH_LISTPACK => {
                self.text(input)?;
                Ok(None)
            }
            kind::LIST | kind::SET | kind::HASH | kind::ZSET_2 | kind::LIST_QUICKLIST_2 => {
                let left = self.length(input)?;
                self.elements(input, Open::Elements { form, left })
            }
            kind::STREAM_2 => {
                let nodes = self.length(input)?;
                self.elements(input, Open::Stream(stream::Rest::Nodes(nodes)))
            }
            _ => Err(input.unsupported("a value in a form that no part has")),
        }
    }

    /// Elements of a row, until it or the part ends.
    fn elements(&mut self, input: &mut Input<&[u8]>, open: Open) -> Result<Option<Open>, Error> {
        let (form, mut left) = match open {
            Open::Elements { form, left } => (form, left),
            Open::Stream(rest) => return Ok(self.stream(input, rest)?.map(Open::Stream)),
        };
        while left > 0 && input.offset < self.end {
            left -= 1;
            if form == kind::LIST_QUICKLIST_2 {
                self.length(input)?;
            }
            self.text(input)?;
            match form {
                kind::HASH => self.text(input)?,
                kind::ZSET_2 => self.output.raw(&input.array::<8>()?),
                _ => {}
            }
        }
        Ok((left > 0).then_some(Open::Elements { form, left }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ConsumerHead, Element, Form, GroupHead, OpenRow, Part, RowHead, Sizes, StreamFacts, Usage,
    };

    /// Rows of every form, texts of every kind.
    fn part(compresses: bool) -> Vec<u8> {
        let mut part = Part::new(300, compresses);
        part.sizes(Sizes { rows: 70_000, expiring: 1 });
        let texts: Vec<Vec<u8>> = (0..40)
            .map(|n: usize| match n % 4 {
                0 => n.to_string().into_bytes(),
                1 => b"abc".repeat(n * 10),
                2 => (0..n * 20).map(|i| (i * i * 7 + n) as u8).collect(),
                _ => Vec::new(),
            })
            .collect();
        let all = || texts.iter().map(|text| Element::Bytes(text));
        let scored = || all().zip((0..40).map(|n| f64::from(n) / 7.0));
        let pairs = || all().zip(all().rev());
        let mut row = |form: Form, usage: Option<Usage>| {
            let head = RowHead { key: &texts[5], deadline_ms: Some(-7), usage };
            let output = part.row(head, form).unwrap();
            match form {
                Form::String => output.string(Element::Bytes(&texts[9])).unwrap(),
                Form::List => output.list(all()).unwrap(),
                Form::PlainList => unreachable!("one is written in several parts"),
                Form::Set => output.set(all()).unwrap(),
                Form::Intset => output.intset((0..100_i32).map(|n| i64::from(n * n))).unwrap(),
                Form::SortedSet => output.sorted_set(scored()).unwrap(),
                Form::PackedSortedSet => output.packed_sorted_set(scored()).unwrap(),
                Form::Hash => output.hash(pairs()).unwrap(),
                Form::PackedHash => output.packed_hash(pairs()).unwrap(),
                Form::Stream => unreachable!("one is written in several parts"),
            }
        };
        row(Form::String, Some(Usage::Frequency(255)));
        row(Form::List, Some(Usage::IdleSeconds(1 << 20)));
        row(Form::Set, None);
        row(Form::Intset, None);
        row(Form::SortedSet, None);
        row(Form::PackedSortedSet, None);
        row(Form::Hash, None);
        row(Form::PackedHash, None);
        part.take().unwrap()
    }

    #[test]
    fn a_part_compressed_later_is_the_part_compressed_at_once() {
        let (plain, compressed) = (part(false), part(true));
        assert!(compressed.len() < plain.len());
        assert_eq!(Compressor::default().part(&plain).unwrap(), compressed);
    }

    #[test]
    fn a_row_in_several_parts_is_compressed_as_one() {
        let texts: Vec<Vec<u8>> = (0..30).map(|n| b"abc".repeat(n)).collect();
        for form in [Form::PlainList, Form::Set, Form::SortedSet, Form::Hash] {
            let row = |cuts: usize| {
                let head = RowHead { key: b"key", deadline_ms: None, usage: None };
                let mut row = OpenRow::begin(3, head, form, texts.len()).unwrap();
                let mut parts = Vec::new();
                for (at, text) in texts.iter().enumerate() {
                    let element = Element::Bytes(text);
                    match form {
                        Form::SortedSet => row.output().scored((element, at as f64)),
                        Form::Hash => row.output().field((element, element)),
                        _ => row.output().member(element),
                    }
                    .unwrap();
                    if at % cuts == 0 {
                        parts.push(row.take().unwrap());
                    }
                }
                parts.push(row.take().unwrap());
                parts
            };
            // Another row behind it shows that its end is found.
            let mut compressor = Compressor::default();
            let mut compress = |parts: Vec<Vec<u8>>| {
                let parts = parts.into_iter().chain([part(false)]);
                parts.flat_map(|part| compressor.part(&part).unwrap()).collect::<Vec<u8>>()
            };
            let whole = compress(row(usize::MAX));
            assert_eq!(compress(row(4)), whole, "{form:?}");
            assert_eq!(compress(row(1)), whole, "{form:?}");
            assert!(whole.ends_with(&part(true)), "{form:?}");
        }
    }

    /// A stream whose elements come in parts of so many each.
    fn stream(elements_per_part: usize) -> Vec<Vec<u8>> {
        let head = RowHead { key: b"stream", deadline_ms: Some(7), usage: None };
        let nodes: Vec<Vec<u8>> = (1..4).map(|n| b"abc".repeat(n * 20)).collect();
        let mut row = OpenRow::begin(3, head, Form::Stream, nodes.len()).unwrap();
        let (mut parts, mut written) = (Vec::new(), 0);
        let mut add = |write: &dyn Fn(&mut Output<Vec<u8>>)| {
            write(row.output());
            written += 1;
            if written % elements_per_part == 0 {
                parts.push(row.take().unwrap());
            }
        };
        for (at, node) in (0..).zip(&nodes) {
            add(&|out| out.stream_node((5, at), node).unwrap());
        }
        add(&|out| {
            out.stream_facts(&StreamFacts { length: 9, ..StreamFacts::default() }, 3).unwrap()
        });
        for group in 0..3 {
            let name = b"group ".repeat(1 + group * 5);
            let head = GroupHead { name: &name, last_id: (1, 2), read: u64::MAX, pending: group };
            add(&|out| out.stream_group(head).unwrap());
            (0..group as u64)
                .for_each(|at| add(&|out| out.stream_pending((5, at), 1, 900).unwrap()));
            add(&|out| out.stream_consumers(2));
            for owned in [0, group] {
                let head = ConsumerHead { name: &name, seen_ms: 5, owned };
                add(&|out| out.stream_consumer(head).unwrap());
                (0..owned as u64).for_each(|at| add(&|out| out.stream_owned((5, at)).unwrap()));
            }
        }
        parts.push(row.take().unwrap());
        parts
    }

    #[test]
    fn a_stream_in_several_parts_is_compressed_as_one() {
        let mut compressor = Compressor::default();
        let mut compress = |parts: Vec<Vec<u8>>| {
            // Another row behind it shows that its end is found.
            let parts = parts.into_iter().chain([part(false)]);
            parts.flat_map(|part| compressor.part(&part).unwrap()).collect::<Vec<u8>>()
        };
        let whole = compress(stream(usize::MAX));
        for cuts in 1..9 {
            assert_eq!(compress(stream(cuts)), whole, "parts of {cuts}");
        }
        assert!(whole.ends_with(&part(true)));
        assert!(whole.len() < stream(usize::MAX).concat().len() + part(true).len());
    }
}
