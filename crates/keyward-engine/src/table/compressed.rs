//! Long texts of a table, kept compressed beside its pages.
//!
//! Owns zstd's frames, by number: a packed row whose text is here has the number in its
//! place. Invariants: a frame is smaller than its text by a fair part, or it is not kept;
//! `bytes` is the sum over all frames. No step compresses or decompresses more than
//! `TEXT_BYTES_MAX`, which takes about a millisecond.
//!
//! There is no dictionary: long texts have their own repetitions. Of search results of
//! 7.9 KB a frame has 2.0 KB; one trained on a thousand of them (16 KB) would make that
//! 1.6, for keeping every dictionary that a frame still needs.
//! Not here: which rows have their text here (`packed`), other bytes than this process
//! has made.

use crate::size_class::size_class;

/// zstd's fastest level: the next ones save some per cent for several times the work.
const LEVEL: i32 = 1;
/// Longer texts stay as they are.
const TEXT_BYTES_MAX: usize = 512 * 1024;
/// A frame is kept if it saves at least one part in so many.
const SAVED_SHARE: usize = 8;

/// A text.
#[derive(Debug)]
struct Frame {
    bytes: Box<[u8]>,
    text_bytes: usize,
}

/// Compressed texts by number.
#[derive(Debug, Default)]
pub(super) struct Compressed {
    /// Texts of more bytes are compressed; `None` if none are.
    text_bytes_min: Option<usize>,
    frames: Vec<Option<Frame>>,
    /// Numbers that are not in use.
    free: Vec<u32>,
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
        let frame = Frame { bytes: Box::from(&bytes[..frame_bytes]), text_bytes: text.len() };
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                let number = u32::try_from(self.frames.len()).ok()?;
                self.frames.push(None);
                number
            }
        };
        self.bytes += frame.heap_bytes();
        self.frames[number as usize] = Some(frame);
        Some(number)
    }

    /// Appends a text.
    pub(super) fn push_text(&self, number: u32, out: &mut Vec<u8>) {
        let frame = self.frame(number);
        let start = out.len();
        out.resize(start + frame.text_bytes, 0);
        let bytes = zstd::bulk::decompress_to_buffer(&frame.bytes, &mut out[start..]);
        assert_eq!(bytes.ok(), Some(frame.text_bytes), "a frame was made of a text here");
    }

    /// Lets a text go.
    pub(super) fn remove(&mut self, number: u32) {
        self.bytes -= self.bytes_of(number);
        self.frames[number as usize] = None;
        self.free.push(number);
        if self.free.len() == self.frames.len() {
            (self.frames, self.free) = (Vec::new(), Vec::new());
        }
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
        size_class(self.frames.capacity() * size_of::<Option<Frame>>())
            + size_class(self.free.capacity() * size_of::<u32>())
    }

    fn frame(&self, number: u32) -> &Frame {
        let frame = self.frames.get(number as usize).and_then(Option::as_ref);
        frame.expect("a packed row has the number of a text that is there")
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
                prop_assert_eq!(compressed.frames.len() - compressed.free.len(), model.len());
            }
        }
    }
}
