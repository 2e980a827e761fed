//! A small sorted set: entries in order, one behind the other in a run of bytes.
//!
//! Owns the encoding of entries and the search over them, which is a walk: a
//! small set is a few cache lines. The run's count is the number of entries.
//!
//! ```text
//! entry   | score | length of the member, varint | member |
//! score   0..=239                a whole number from 0 to 239
//!         239 + n, n bytes       a whole number of n = 1..=8 bytes, little-endian
//!         255, 8 bytes           any other double
//! ```
//!
//! Estimate: a member of 8 bytes with a small whole score takes 10 bytes
//! (Redis's listpack: 12 and more).
//!
//! Invariant: entries are in strict order of score, then of the member's bytes.
//! Redis 7.0 keeps a whole score as an integer here, so that −0 becomes 0 as long
//! as a set is small; so does this encoding.

use super::Direction;
use super::cut::{Cut, compare};
use crate::thin::ThinBytes;
use std::ops::Range;

/// The largest score whose code is the score itself.
const CODE_WHOLE_MAX: u8 = 239;
/// The code of a score written as a double.
const CODE_DOUBLE: u8 = 255;
/// Bytes of a score and a length at most.
const HEAD_BYTES_MAX: usize = 9 + 5;

/// An entry and where it is.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) rank: usize,
    pub(super) member: &'a [u8],
    pub(super) score: f64,
    at: usize,
    end: usize,
}

/// Walks over a run of entries.
#[derive(Clone)]
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    rank: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(run: &'a ThinBytes) -> Walk<'a> {
        Walk { bytes: run.bytes(), at: 0, rank: 0 }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Found<'a>;

    #[inline]
    fn next(&mut self) -> Option<Found<'a>> {
        let at = self.at;
        let mut rest = self.bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let score = take_score(&mut rest);
        let length = take_length(&mut rest);
        let member = &rest[..length];
        let end = self.bytes.len() - rest.len() + length;
        let rank = self.rank;
        (self.at, self.rank) = (end, rank + 1);
        Some(Found { rank, member, score, at, end })
    }
}

/// The entry of a member.
pub(super) fn find<'a>(run: &'a ThinBytes, member: &[u8]) -> Option<Found<'a>> {
    Walk::new(run).find(|found| found.member == member)
}

/// The entry at a rank.
pub(super) fn at(run: &ThinBytes, rank: usize) -> Option<Found<'_>> {
    Walk::new(run).nth(rank)
}

/// The ranks that a walk from one end finds between two cuts.
pub(super) fn span(
    run: &ThinBytes,
    from: &Cut<'_>,
    to: &Cut<'_>,
    direction: Direction,
) -> Range<usize> {
    let before_start = |found: &Found<'_>| from.is_behind(found.score, || found.member);
    let before_end = |found: &Found<'_>| to.is_behind(found.score, || found.member);
    let walk = || Walk::new(run);
    let is_reached = walk().next().is_some_and(|first| before_end(&first))
        && walk().last().is_some_and(|last| !before_start(&last));
    if !is_reached {
        return 0..0;
    }
    match direction {
        Direction::Forward => {
            let start = walk().take_while(before_start).count();
            start..start + walk().skip(start).take_while(before_end).count()
        }
        Direction::Reverse => {
            let end = walk().filter(before_end).last().map_or(0, |found| found.rank + 1);
            let before = walk().take(end).filter(before_start).last();
            before.map_or(0, |found| found.rank + 1)..end
        }
    }
}

/// Adds an entry that is not there yet.
pub(super) fn insert(run: &mut ThinBytes, member: &[u8], score: f64) {
    let next = Walk::new(run)
        .find(|found| compare((found.score, found.member), (score, member)).is_gt())
        .map(|found| found.at);
    insert_at(run, next.unwrap_or(run.len()), member, score);
}

/// Adds an entry behind all others, where it belongs.
pub(super) fn push(run: &mut ThinBytes, member: &[u8], score: f64) {
    insert_at(run, run.len(), member, score);
}

fn insert_at(run: &mut ThinBytes, at: usize, member: &[u8], score: f64) {
    let mut head = Head { bytes: [0; HEAD_BYTES_MAX], len: 0 };
    head.put_score(score);
    head.put_length(member.len());
    let head = &head.bytes[..head.len];
    let (head_room, member_room) =
        run.insert(at, head.len() + member.len()).split_at_mut(head.len());
    head_room.copy_from_slice(head);
    member_room.copy_from_slice(member);
    run.set_count(run.count() + 1);
}

/// Takes out the entry of a member; answers whether it was there.
pub(super) fn remove(run: &mut ThinBytes, member: &[u8]) -> bool {
    let Some(Found { at, end, .. }) = find(run, member) else { return false };
    let count = run.count();
    run.set_count(count - 1);
    run.remove(at..end);
    true
}

/// Takes out the entries of a range of ranks, which must not be empty nor go
/// beyond the end.
pub(super) fn remove_ranks(run: &mut ThinBytes, ranks: Range<usize>) {
    let mut walk = Walk::new(run).skip(ranks.start);
    let first = walk.next().expect("callers keep ranks below the count");
    let last = walk.take(ranks.len() - 1).last().unwrap_or(first);
    let bytes = first.at..last.end;
    let count = run.count();
    run.set_count(count - ranks.len());
    run.remove(bytes);
}

/// Bytes an entry takes at most.
pub(super) fn entry_bytes_max(member: &[u8]) -> usize {
    HEAD_BYTES_MAX + member.len()
}

/// The bytes before a member.
struct Head {
    bytes: [u8; HEAD_BYTES_MAX],
    len: usize,
}

impl Head {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn put_score(&mut self, score: f64) {
        let whole = score as i64;
        if whole as f64 != score || whole == i64::MAX {
            self.put(&[CODE_DOUBLE]);
            return self.put(&score.to_le_bytes());
        }
        if let Ok(small) = u8::try_from(whole)
            && small <= CODE_WHOLE_MAX
        {
            return self.put(&[small]);
        }
        // One bit of each number is its sign.
        let bits = 65 - whole.unsigned_abs().leading_zeros() as usize;
        let length = bits.div_ceil(8).min(8);
        self.put(&[CODE_WHOLE_MAX + length as u8]);
        self.put(&whole.to_le_bytes()[..length]);
    }

    fn put_length(&mut self, mut length: usize) {
        while length >= 0x80 {
            self.put(&[length as u8 | 0x80]);
            length >>= 7;
        }
        self.put(&[length as u8]);
    }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at(length);
    *rest = left;
    taken
}

#[inline]
fn take_score(rest: &mut &[u8]) -> f64 {
    match take(rest, 1)[0] {
        small @ 0..=CODE_WHOLE_MAX => f64::from(small),
        CODE_DOUBLE => {
            f64::from_le_bytes(take(rest, 8).try_into().expect("eight bytes were taken"))
        }
        code => {
            let length = usize::from(code - CODE_WHOLE_MAX);
            let mut bytes = [0; 8];
            bytes[8 - length..].copy_from_slice(take(rest, length));
            // Shifting back down repeats the sign.
            (i64::from_le_bytes(bytes) >> (64 - 8 * length)) as f64
        }
    }
}

#[inline]
fn take_length(rest: &mut &[u8]) -> usize {
    let (mut length, mut shift) = (0, 0);
    loop {
        let byte = take(rest, 1)[0];
        length |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return length;
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The score and the bytes of a set of one entry without a name.
    fn coded(score: f64) -> (f64, usize) {
        let mut run = ThinBytes::default();
        insert(&mut run, b"", score);
        (at(&run, 0).unwrap().score, run.len() - 1)
    }

    #[test]
    fn scores_come_back_and_small_ones_are_short() {
        let cases = [
            (0.0, 1),
            (239.0, 1),
            (240.0, 3),
            (-1.0, 2),
            (-128.0, 3),
            (-127.0, 2),
            (32_767.0, 3),
            (32_768.0, 4),
            (1_700_000_000.0, 5),
            (1_700_000_000_000.0, 7),
            (9_007_199_254_740_992.0, 8),
            (-9_223_372_036_854_775_808.0, 9),
            (9_223_372_036_854_775_808.0, 9),
            (0.1, 9),
            (f64::INFINITY, 9),
            (f64::NEG_INFINITY, 9),
            (5e-324, 9),
        ];
        for (score, bytes) in cases {
            assert_eq!(coded(score), (score, bytes), "{score}");
        }
    }

    #[test]
    fn minus_zero_becomes_zero_as_in_a_listpack() {
        assert!(coded(-0.0).0.is_sign_positive());
    }

    #[test]
    fn long_members_have_long_lengths() {
        let mut run = ThinBytes::default();
        for length in [0, 127, 128, 16_384] {
            insert(&mut run, &vec![b'x'; length], length as f64);
        }
        let lengths: Vec<usize> = Walk::new(&run).map(|found| found.member.len()).collect();
        assert_eq!(lengths, [0, 127, 128, 16_384]);
    }
}
