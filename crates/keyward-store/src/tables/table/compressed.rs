//! Long texts of a table, kept compressed beside its pages.
//!
//! Owns zstd's frames, by number: a packed row whose text is here has the number in its
//! place. The long texts of a collection are one text here. Invariants: a frame is smaller than its text by a fair part, or it is not kept;
//! `bytes` is the sum over all frames. No step compresses more than `STEP_BYTES`, which
//! takes a quarter of a millisecond, or moves more than a block of places: of a longer
//! text each part has a frame, and they come one step after the other. Meanwhile the text
//! may change, and so a copy of it is kept to compare it with.
//!
//! There is no dictionary: long texts have their own repetitions. Of search results of
//! 7.9 KB a frame has 2.0 KB; one trained on a thousand of them (16 KB) would make that
//! 1.6, for keeping every dictionary that a frame still needs.
//! Not here: which rows have their text here (`packed`), other bytes than this process
//! has made.

use crate::values::size_class::{allocated, is_small};

/// zstd's fastest level: the next ones save some per cent for several times the work.
const LEVEL: i32 = 1;
/// Longer texts stay as they are.
const TEXT_BYTES_MAX: usize = keyward_schema::MAX_COMPRESSED as usize;
/// What is compressed at a time.
const STEP_BYTES: usize = 32 * 1024;
/// A frame is kept if it saves at least one part in so many.
const SAVED_SHARE: usize = 8;

/// Places per allocation, so that no step moves more of them.
const BLOCK_PLACES: usize = 1024;

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
    /// It is free; the next one of its block that is.
    Free(Option<u16>),
}

/// Places that come and go together. One without texts has no memory.
#[derive(Debug, Default)]
struct Block {
    places: Vec<Place>,
    /// How many are taken.
    taken: usize,
    /// The first of the chain of free ones.
    free: Option<u16>,
}

impl Block {
    fn is_full(&self) -> bool {
        self.taken == BLOCK_PLACES
    }

    /// Takes a text in, and returns where it is.
    fn put(&mut self, frame: Frame) -> usize {
        self.taken += 1;
        let Some(at) = self.free else {
            self.places.push(Place::Taken(frame));
            return self.places.len() - 1;
        };
        let at = usize::from(at);
        match std::mem::replace(&mut self.places[at], Place::Taken(frame)) {
            Place::Free(next) => self.free = next,
            Place::Taken(_) => unreachable!("a free place has no text"),
        }
        at
    }

    /// Lets the text at a place go.
    fn remove(&mut self, at: usize) {
        self.taken -= 1;
        if self.taken == 0 {
            *self = Block::default();
        } else {
            self.places[at] = Place::Free(self.free);
            self.free = Some(at as u16);
        }
    }

    fn heap_bytes(&self) -> usize {
        allocated(self.places.capacity() * size_of::<Place>())
    }
}

/// A long text on the way.
#[derive(Debug)]
struct Pressing {
    text: Box<[u8]>,
    /// How much of it is compressed.
    done: usize,
    /// The frames of its parts, so far.
    frames: Vec<u8>,
}

impl Pressing {
    /// Compresses the next part; whether that was the last.
    fn advance(&mut self) -> bool {
        let end = self.text.len().min(self.done + STEP_BYTES);
        let part = &self.text[self.done..end];
        let start = self.frames.len();
        self.frames.resize(start + zstd::zstd_safe::compress_bound(part.len()), 0);
        let frame = zstd::bulk::compress_to_buffer(part, &mut self.frames[start..], LEVEL);
        let frame_bytes = frame.expect("there is room for any frame of that part");
        self.frames.truncate(start + frame_bytes);
        self.done = end;
        end == self.text.len()
    }

    /// The frames of all its parts, if that pays.
    fn into_frames(self) -> Option<Box<[u8]>> {
        (self.frames.len() <= frame_bytes_max(&self.text)).then(|| Box::from(&self.frames[..]))
    }

    fn heap_bytes(&self) -> usize {
        allocated(self.text.len()) + allocated(self.frames.capacity())
    }
}

/// Compressed texts by number.
#[derive(Debug, Default)]
pub(super) struct Compressed {
    /// Texts of more bytes are compressed; `None` if none are.
    text_bytes_min: Option<usize>,
    blocks: Vec<Block>,
    /// The blocks that are not full, in any order.
    open: Vec<u32>,
    /// How many texts there are.
    len: usize,
    /// Bytes of the frames.
    bytes: usize,
    /// Bytes of the places.
    place_bytes: usize,
    /// The long text that was tried last, until all of it is compressed.
    pressing: Option<Pressing>,
}

impl Compressed {
    /// Decides which texts are compressed from now on: those of more bytes than this.
    pub(super) fn set_threshold(&mut self, bytes: Option<u64>) {
        self.text_bytes_min = bytes.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    }

    /// Whether a text is one that is to be compressed.
    pub(super) fn takes(&self, text: &[u8]) -> bool {
        let is_long = self.text_bytes_min.is_some_and(|min| text.len() > min);
        is_long && text.len() <= TEXT_BYTES_MAX
    }

    /// Whether any text is.
    pub(super) fn takes_any(&self) -> bool {
        self.text_bytes_min.is_some()
    }

    /// How much of so many bytes one step works on, which are to be compressed.
    pub(super) fn step_bytes(bytes: usize) -> usize {
        bytes.min(STEP_BYTES)
    }

    /// Goes on to compress a text, if that takes several steps; whether it can be added.
    pub(super) fn advance(&mut self, text: &[u8]) -> bool {
        if !self.takes(text) || text.len() <= STEP_BYTES {
            return true;
        }
        let pressing = self.pressing.take().filter(|pressing| *pressing.text == *text);
        let new = || Pressing { text: text.into(), done: 0, frames: Vec::new() };
        self.pressing.insert(pressing.unwrap_or_else(new)).advance()
    }

    /// Takes a text in that can be added; returns its number. `None` if it is to stay as it
    /// is.
    pub(super) fn add(&mut self, text: &[u8]) -> Option<u32> {
        if !self.takes(text) {
            return None;
        }
        let bytes = match text.len() {
            0..=STEP_BYTES => {
                let mut bytes = vec![0; frame_bytes_max(text)];
                // It fails if the frame has no room: then compressing does not pay.
                let frame_bytes = zstd::bulk::compress_to_buffer(text, &mut bytes, LEVEL).ok()?;
                Box::from(&bytes[..frame_bytes])
            }
            _ => {
                let pressing = self.pressing.take().filter(|pressing| *pressing.text == *text);
                pressing.expect("all of it is compressed").into_frames()?
            }
        };
        let frame = Frame { bytes, text_bytes: u32::try_from(text.len()).ok()? };
        self.bytes += frame.heap_bytes();
        self.len += 1;
        Some(self.put(frame))
    }

    /// Gives a text a number.
    fn put(&mut self, frame: Frame) -> u32 {
        let number = self.open.last().map_or(self.blocks.len(), |open| *open as usize);
        if number == self.blocks.len() {
            self.blocks.push(Block::default());
            self.open.push(number as u32);
        }
        let block = &mut self.blocks[number];
        let bytes_before = block.heap_bytes();
        let at = block.put(frame);
        self.place_bytes = self.place_bytes + block.heap_bytes() - bytes_before;
        if block.is_full() {
            self.open.pop();
        }
        let number = u32::try_from(number * BLOCK_PLACES + at);
        number.expect("four billion long texts need more memory than there is")
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

    /// Lets a text go. Memory of its block goes with the last one there, so that no step
    /// frees more.
    pub(super) fn remove(&mut self, number: u32) {
        self.bytes -= self.bytes_of(number);
        self.len -= 1;
        let (number, at) = split(number);
        let block = &mut self.blocks[number];
        let bytes_before = block.heap_bytes();
        if block.is_full() {
            self.open.push(number as u32);
        }
        block.remove(at);
        self.place_bytes = self.place_bytes + block.heap_bytes() - bytes_before;
        if self.len == 0 {
            (self.blocks, self.open) = (Vec::new(), Vec::new());
        }
    }

    /// Moves the frame of a number to another allocation, if it is a small one; whether
    /// there are so many.
    pub(super) fn gather(&mut self, number: usize) -> bool {
        let Some(block) = self.blocks.get_mut(number / BLOCK_PLACES) else { return false };
        if let Some(Place::Taken(frame)) = block.places.get_mut(number % BLOCK_PLACES)
            && is_small(frame.bytes.len())
        {
            frame.bytes = frame.bytes.clone();
        }
        true
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
        self.place_bytes
            + self.pressing.as_ref().map_or(0, Pressing::heap_bytes)
            + allocated(self.blocks.capacity() * size_of::<Block>())
            + allocated(self.open.capacity() * size_of::<u32>())
    }

    fn frame(&self, number: u32) -> &Frame {
        let (number, at) = split(number);
        match self.blocks.get(number).and_then(|block| block.places.get(at)) {
            Some(Place::Taken(frame)) => frame,
            _ => panic!("a packed row has the number of a text that is there"),
        }
    }
}

/// The most bytes of a frame that is worth keeping.
fn frame_bytes_max(text: &[u8]) -> usize {
    text.len() - text.len() / SAVED_SHARE
}

/// The block of a number, and the place there.
fn split(number: u32) -> (usize, usize) {
    (number as usize / BLOCK_PLACES, number as usize % BLOCK_PLACES)
}

impl Frame {
    fn heap_bytes(&self) -> usize {
        allocated(self.bytes.len())
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
        assert!(press(&mut compressed, &vec![b'x'; TEXT_BYTES_MAX]).1.is_some());
        assert_eq!(compressed.add(&vec![b'x'; TEXT_BYTES_MAX + 1]), None);
        let mut random = crate::values::random::Random::from_seed(1);
        let noise: Vec<u8> = (0..3 * STEP_BYTES).map(|_| random.next_u64() as u8).collect();
        assert_eq!(compressed.add(&noise[..1000]), None, "noise does not become shorter");
        assert_eq!(press(&mut compressed, &noise).1, None);
        assert!(compressed.pressing.is_none(), "nothing is kept of it");
        assert_eq!(Compressed::default().add(&[b'x'; 1000]), None);
    }

    /// Adds a text; returns in how many steps, and its number.
    fn press(compressed: &mut Compressed, text: &[u8]) -> (usize, Option<u32>) {
        let mut steps = 1;
        while !compressed.advance(text) {
            steps += 1;
        }
        (steps, compressed.add(text))
    }

    #[test]
    fn a_long_text_is_compressed_in_steps_and_anew_if_it_changes() {
        let mut compressed = compressed(100);
        let mut text: Vec<u8> = (0..5 * STEP_BYTES + 1).map(|at| (at / 7) as u8).collect();
        for _ in 0..3 {
            assert!(!compressed.advance(&text));
        }
        assert!(compressed.own_bytes() > text.len(), "the copy counts");
        text[7] = b'!';
        let (steps, number) = press(&mut compressed, &text);
        assert_eq!(steps, 6);
        let number = number.expect("it becomes shorter");
        let mut back = Vec::new();
        compressed.push_text(number, &mut back);
        assert!(back == text, "it came back otherwise");
        assert!(compressed.bytes() < text.len() / 2 && compressed.pressing.is_none());
        assert_eq!(press(&mut compressed, &text[..STEP_BYTES]).0, 1);
    }

    #[test]
    fn memory_goes_with_the_last_text_of_a_block_and_numbers_are_used_again() {
        let mut compressed = compressed(20);
        let texts = 3 * BLOCK_PLACES;
        let text = |number: usize| format!("{number:08}").repeat(30).into_bytes();
        let add = |compressed: &mut Compressed, number: usize| {
            compressed.add(&text(number)).expect("it becomes shorter")
        };
        let numbers: Vec<u32> = (0..texts).map(|number| add(&mut compressed, number)).collect();
        assert_eq!(numbers, (0..texts as u32).collect::<Vec<_>>());
        let block_bytes = allocated(BLOCK_PLACES * size_of::<Place>());
        let bytes = compressed.own_bytes();
        // The last of each block but one stay.
        let is_kept = |number: u32| number as usize % BLOCK_PLACES == 7 && number > 1024;
        for number in numbers.iter().filter(|number| !is_kept(**number)) {
            compressed.remove(*number);
        }
        assert_eq!(compressed.own_bytes(), bytes - block_bytes);
        let again: Vec<u32> = (0..texts - 2).map(|number| add(&mut compressed, number)).collect();
        let mut all: Vec<u32> = again.iter().copied().chain([1031, 2055]).collect();
        all.sort_unstable();
        assert_eq!(all, numbers);
        for (number, place) in again.iter().enumerate() {
            let mut back = Vec::new();
            compressed.push_text(*place, &mut back);
            assert_eq!(back, text(number));
        }
        all.iter().for_each(|number| compressed.remove(*number));
        assert_eq!((compressed.own_bytes(), compressed.bytes()), (0, 0));
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
