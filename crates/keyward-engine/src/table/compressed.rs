//! Long texts of a table, kept compressed beside its pages.
//!
//! Owns zstd's frames, by number: a packed row whose text is here has the number in its
//! place. Invariants: a frame is smaller than its text by a fair part, or it is not kept;
//! `bytes` is the sum over all frames. No step compresses or decompresses more than
//! `TEXT_BYTES_MAX`, which takes about a millisecond, or moves more than a block of
//! places.
//!
//! There is no dictionary: long texts have their own repetitions. Of search results of
//! 7.9 KB a frame has 2.0 KB; one trained on a thousand of them (16 KB) would make that
//! 1.6, for keeping every dictionary that a frame still needs.
//! Not here: which rows have their text here (`packed`), other bytes than this process
//! has made.

use crate::size_class::{is_small, size_class};

/// zstd's fastest level: the next ones save some per cent for several times the work.
const LEVEL: i32 = 1;
/// Longer texts stay as they are.
const TEXT_BYTES_MAX: usize = 512 * 1024;
/// A frame is kept if it saves at least one part in so many.
const SAVED_SHARE: usize = 8;

/// Places per allocation, so that no step moves more of them.
const BLOCK_PLACES: usize = 1024;
/// The end of the chain of free places.
const NO_NUMBER: u32 = u32::MAX;

/// A text.
#[derive(Debug)]
struct Frame {
    bytes: Box<[u8]>,
    text_bytes: u32,
}

/// The place of a number.
#[derive(Debug)]
enum Place {
    /// A text has it.
    Taken(Frame),
    /// It is free; the next one that is.
    Free(u32),
}

/// Compressed texts by number.
#[derive(Debug, Default)]
pub(super) struct Compressed {
    /// Texts of more bytes are compressed; `None` if none are.
    text_bytes_min: Option<usize>,
    /// All blocks but the last are full.
    blocks: Vec<Vec<Place>>,
    /// The first of the chain of free places.
    free: Option<u32>,
    /// How many texts there are.
    len: usize,
    /// Bytes of the frames.
    bytes: usize,
}

impl Compressed {
    /// Decides which texts are compressed from now on: those of more bytes than this.
    pub(super) fn set_threshold(&mut self, bytes: Option<u64>) {
        self.text_bytes_min = bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Takes a text in; answers its number. `None` if it is to stay as it is.
    pub(super) fn add(&mut self, text: &[u8]) -> Option<u32> {
        let is_long = self.text_bytes_min.is_some_and(|min| text.len() > min);
        if !is_long || text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let frame_bytes_max = text.len() - text.len() / SAVED_SHARE;
        let mut bytes = vec![0; frame_bytes_max];
        // It fails if the frame has no room: then compressing does not pay.
        let frame_bytes = zstd::bulk::compress_to_buffer(text, &mut bytes, LEVEL).ok()?;
        let bytes = Box::from(&bytes[..frame_bytes]);
        let frame = Frame { bytes, text_bytes: u32::try_from(text.len()).ok()? };
        self.bytes += frame.heap_bytes();
        self.len += 1;
        Some(self.put(frame))
    }

    /// Gives a text a number.
    fn put(&mut self, frame: Frame) -> u32 {
        if let Some(number) = self.free {
            let before = std::mem::replace(self.place_mut(number), Place::Taken(frame));
            let Place::Free(next) = before else { unreachable!("a free place has no text") };
            self.free = (next != NO_NUMBER).then_some(next);
            return number;
        }
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK_PLACES) {
            // The first block grows with the texts.
            let places = if self.blocks.is_empty() { 0 } else { BLOCK_PLACES };
            self.blocks.push(Vec::with_capacity(places));
        }
        let before = (self.blocks.len() - 1) * BLOCK_PLACES;
        let block = self.blocks.last_mut().expect("a block was just ensured");
        block.push(Place::Taken(frame));
        (before + block.len() - 1) as u32
    }

    /// Appends a text.
    pub(super) fn push_text(&self, number: u32, out: &mut Vec<u8>) {
        let frame = self.frame(number);
        let start = out.len();
        let text_bytes = frame.text_bytes as usize;
        out.resize(start + text_bytes, 0);
        let bytes = zstd::bulk::decompress_to_buffer(&frame.bytes, &mut out[start..]);
        assert_eq!(bytes.ok(), Some(text_bytes), "a frame was made of a text here");
    }

    /// Lets a text go.
    pub(super) fn remove(&mut self, number: u32) {
        self.bytes -= self.bytes_of(number);
        self.len -= 1;
        let next = self.free.unwrap_or(NO_NUMBER);
        *self.place_mut(number) = Place::Free(next);
        self.free = Some(number);
        if self.len == 0 {
            (self.blocks, self.free) = (Vec::new(), None);
        }
    }

    /// Moves the frame of a number to another allocation, if it is a small one; whether
    /// there are so many.
    pub(super) fn gather(&mut self, number: usize) -> bool {
        let block = self.blocks.get_mut(number / BLOCK_PLACES);
        let place = block.and_then(|block| block.get_mut(number % BLOCK_PLACES));
        let is_there = place.is_some();
        if let Some(Place::Taken(frame)) = place
            && is_small(frame.bytes.len())
        {
            frame.bytes = frame.bytes.clone();
        }
        is_there
    }

    /// Bytes that a text takes.
    pub(super) fn bytes_of(&self, number: u32) -> usize {
        self.frame(number).heap_bytes()
    }

    /// Bytes that all texts take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of everything else.
    pub(super) fn own_bytes(&self) -> usize {
        let last = self.blocks.last().map_or(0, Vec::capacity);
        let full = self.blocks.len().saturating_sub(1);
        full * size_class(BLOCK_PLACES * size_of::<Place>())
            + size_class(last * size_of::<Place>())
            + size_class(self.blocks.capacity() * size_of::<Vec<Place>>())
    }

    fn place_mut(&mut self, number: u32) -> &mut Place {
        let number = number as usize;
        &mut self.blocks[number / BLOCK_PLACES][number % BLOCK_PLACES]
    }

    fn frame(&self, number: u32) -> &Frame {
        let number = number as usize;
        let place = self.blocks.get(number / BLOCK_PLACES);
        match place.and_then(|block| block.get(number % BLOCK_PLACES)) {
            Some(Place::Taken(frame)) => frame,
            _ => panic!("a packed row has the number of a text that is there"),
        }
    }
}

impl Frame {
    fn heap_bytes(&self) -> usize {
        size_class(self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compressed(threshold: u64) -> Compressed {
        let mut compressed = Compressed::default();
        compressed.set_threshold(Some(threshold));
        compressed
    }

    #[test]
    fn only_long_texts_that_become_shorter_are_kept() {
        let mut compressed = compressed(100);
        assert_eq!(compressed.add(&[b'x'; 100]), None, "not longer than the threshold");
        assert!(compressed.add(&[b'x'; 101]).is_some());
        assert!(compressed.add(&vec![b'x'; TEXT_BYTES_MAX]).is_some());
        assert_eq!(compressed.add(&vec![b'x'; TEXT_BYTES_MAX + 1]), None);
        let mut random = crate::random::Random::from_seed(1);
        let noise: Vec<u8> = (0..1000).map(|_| random.next_u64() as u8).collect();
        assert_eq!(compressed.add(&noise), None, "noise does not become shorter");
        assert_eq!(Compressed::default().add(&[b'x'; 1000]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_text_comes_back(steps in proptest::collection::vec(
            (any::<bool>(), any::<usize>(), proptest::collection::vec(0u8..4, 1..500)), 0..20)
        ) {
            let mut compressed = compressed(20);
            let mut model: Vec<(u32, Vec<u8>)> = Vec::new();
            for (adds, index, text) in steps {
                if adds || model.is_empty() {
                    model.extend(compressed.add(&text).map(|number| (number, text)));
                } else {
                    let (number, _) = model.swap_remove(index % model.len());
                    compressed.remove(number);
                }
                let mut bytes = 0;
                for (number, text) in &model {
                    let mut back = b"before".to_vec();
                    compressed.push_text(*number, &mut back);
                    prop_assert_eq!(&back[6..], &text[..]);
                    bytes += compressed.bytes_of(*number);
                }
                prop_assert_eq!(compressed.bytes(), bytes);
                prop_assert_eq!(compressed.len, model.len());
                prop_assert!(compressed.own_bytes() <= 64 * 20);
            }
        }
    }
}
