//! How far the append-only file of a replica is synced, as a place of its primary's stream.
//!
//! The file counts bytes of its own: marks tell where it was when the stream was at a place, and
//! a mark is reached when the file is synced up to there. A primary is told of the last one that
//! is (`REPLCONF ACK offset FACK synced`), which WAITAOF counts.
//! Invariants: a place that is told is in the file, synced; it never goes back. There are at most
//! [`MARKS_MAX`] marks: beyond, the newest moves on, so that places are told in larger steps.

use std::collections::VecDeque;

/// Marks that are kept.
const MARKS_MAX: usize = 64;

/// A place of the stream, and where the file was then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    offset: u64,
    position: u64,
}

/// How far the file is synced.
#[derive(Debug, Default)]
pub(crate) struct SyncedPlace {
    marks: VecDeque<Mark>,
    offset: u64,
}

impl SyncedPlace {
    /// The place of the stream up to which all is in the file, synced.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// All of the stream up to a place is logged, the file ends at the first position and is
    /// synced up to the second; whether more of the stream is synced than before.
    pub(crate) fn note(&mut self, offset: u64, (logged, synced): (u64, u64)) -> bool {
        let mark = Mark { offset, position: logged };
        let is_full = self.marks.len() == MARKS_MAX;
        match self.marks.back_mut() {
            Some(last) if is_full || last.position == logged => *last = mark,
            _ => self.marks.push_back(mark),
        }
        let before = self.offset;
        while let Some(mark) = self.marks.pop_front_if(|mark| mark.position <= synced) {
            self.offset = self.offset.max(mark.offset);
        }
        self.offset > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_synced_once_the_file_is_as_far_as_it_was_then() {
        let mut place = SyncedPlace::default();
        assert!(!place.note(100, (10, 0)));
        assert!(!place.note(200, (20, 9)));
        assert!(place.note(300, (30, 10)));
        assert_eq!(place.offset(), 100);
        assert!(place.note(300, (30, 29)));
        assert_eq!(place.offset(), 200);
        assert!(place.note(300, (30, 30)));
        // What changes nothing is in no file, and nothing of it is lacking.
        assert!(place.note(350, (30, 30)));
        assert_eq!(place.offset(), 350);
        assert!(!place.note(350, (30, 30)));
    }

    #[test]
    fn marks_are_bounded_and_the_newest_is_reached() {
        let mut place = SyncedPlace::default();
        for number in 1..1000 {
            assert!(!place.note(number * 10, (number, 0)));
        }
        assert_eq!(place.marks.len(), MARKS_MAX);
        assert!(place.note(9990, (999, 500)));
        assert_eq!(place.offset(), 630);
        assert!(place.note(9990, (999, 999)));
        assert_eq!(place.offset(), 9990);
    }
}
