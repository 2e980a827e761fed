//! A small sorted set: entries in order, one behind the other in a run of bytes.
//!
//! Owns the encoding of entries and the search over them, which is a walk: a
//! small set is a few cache lines. The run's count is the number of entries.
//!
//! ```text
//! entry   | score | length of the member, varint | member |
//! score   0..=239                a whole number, 0 to 239 above its base
//!         239 + n, n bytes       a whole number, n = 1..=8 bytes above its base,
//!                                little-endian and signed
//!         255, 8 bytes           any other double
//! ```
//!
//! The base of a score is the whole part of the one before it, zero for the
//! first. Entries are in order, so what is written is small: times and points
//! take a byte or two each, after the first one.
//!
//! Estimate: a member of 8 bytes with a whole score takes 10 to 12 bytes (Redis's
//! listpack: 12 for small scores, 15 for those above 4,095, 19 for times).
//!
//! Invariants: entries are in strict order of score, then of the member's bytes;
//! whoever changes what stands before an entry writes its score anew (`splice`).
//! Redis 7.0 keeps a whole score as an integer here, so that −0 becomes 0 as long
//! as a set is small; so does this encoding.

use super::Direction;
use super::cut::{Cut, compare};
use crate::values::thin::ThinBytes;
use std::ops::Range;

/// The largest difference that is its own code.
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
    base: i64,
    at: usize,
    end: usize,
}

/// Walks over a run of entries.
#[derive(Clone)]
pub(super) struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    rank: usize,
    /// The base of the next score.
    base: i64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(run: &'a ThinBytes) -> Walk<'a> {
        Walk { bytes: run.bytes(), at: 0, rank: 0, base: 0 }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Found<'a>;

    #[inline]
    fn next(&mut self) -> Option<Found<'a>> {
        let Walk { at, rank, base, .. } = *self;
        let mut rest = self.bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let score = take_score(&mut rest, base);
        let length = take_length(&mut rest);
        let member = &rest[..length];
        let end = self.bytes.len() - rest.len() + length;
        (self.at, self.rank, self.base) = (end, rank + 1, base_after(score));
        Some(Found { rank, member, score, base, at, end })
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

/// A run of entries that are in order.
pub(super) fn of<'m>(pairs: impl Iterator<Item = (&'m [u8], f64)>) -> ThinBytes {
    let (mut bytes, mut count, mut base) = (Vec::new(), 0, 0);
    for (member, score) in pairs {
        bytes.extend_from_slice(Head::of(member, score, base).bytes());
        bytes.extend_from_slice(member);
        (count, base) = (count + 1, base_after(score));
    }
    let mut run = ThinBytes::default();
    run.insert(0, bytes.len()).copy_from_slice(&bytes);
    run.set_count(count);
    run
}

/// Adds an entry that is not there yet.
pub(super) fn insert(run: &mut ThinBytes, member: &[u8], score: f64) {
    let mut walk = Walk::new(run);
    let next = walk.find(|found| compare((found.score, found.member), (score, member)).is_gt());
    let (at, base) = next.map_or((run.len(), walk.base), |next| (next.at, next.base));
    let next = next.map(|next| next.score);
    splice(run, at..at, (&Head::of(member, score, base), member), (base_after(score), next));
    run.set_count(run.count() + 1);
}

/// Takes out the entry of a member; returns whether it was there.
pub(super) fn remove(run: &mut ThinBytes, member: &[u8]) -> bool {
    let mut walk = Walk::new(run);
    let Some(found) = walk.find(|found| found.member == member) else { return false };
    let next = walk.next().map(|next| next.score);
    close(run, found.at..found.end, 1, (found.base, next));
    true
}

/// Takes out the entries of a range of ranks, which must not be empty nor go
/// beyond the end.
pub(super) fn remove_ranks(run: &mut ThinBytes, ranks: Range<usize>) {
    let mut walk = Walk::new(run);
    let first = walk.nth(ranks.start).expect("callers keep ranks below the count");
    let last = walk.by_ref().take(ranks.len() - 1).last().unwrap_or(first);
    let next = walk.next().map(|next| next.score);
    close(run, first.at..last.end, ranks.len(), (first.base, next));
}

/// Takes out a range of bytes that is so many entries.
fn close(run: &mut ThinBytes, range: Range<usize>, count: usize, next: (i64, Option<f64>)) {
    run.set_count(run.count() - count);
    splice(run, range, (&Head::default(), &[]), next);
}

/// Puts an entry, or nothing, in the place of a range of entries. The score
/// behind them, if there is one, is written anew, above another base.
fn splice(
    run: &mut ThinBytes,
    range: Range<usize>,
    (head, member): (&Head, &[u8]),
    (base, next): (i64, Option<f64>),
) {
    let Range { start, mut end } = range;
    let mut next_score = Head::default();
    if let Some(next) = next {
        next_score.put_score(next, base);
        end += score_bytes(run.bytes()[end]);
    }
    let parts = [head.bytes(), member, next_score.bytes()];
    let mut room = run.replace(start..end, parts.iter().map(|part| part.len()).sum());
    for part in parts {
        let (place, rest) = room.split_at_mut(part.len());
        place.copy_from_slice(part);
        room = rest;
    }
}

/// Bytes an entry takes at most.
pub(super) fn entry_bytes_max(member: &[u8]) -> usize {
    HEAD_BYTES_MAX + member.len()
}

/// The bytes before a member.
#[derive(Default)]
struct Head {
    bytes: [u8; HEAD_BYTES_MAX],
    len: usize,
}

impl Head {
    fn of(member: &[u8], score: f64, base: i64) -> Head {
        let mut head = Head::default();
        head.put_score(score, base);
        head.put_length(member.len());
        head
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn put_score(&mut self, score: f64, base: i64) {
        let whole = score as i64;
        if whole as f64 != score || whole == i64::MAX {
            self.put(&[CODE_DOUBLE]);
            return self.put(&score.to_le_bytes());
        }
        // Where the difference exceeds 64 bits, so does the sum when it is read.
        let above = whole.wrapping_sub(base);
        if let Ok(small) = u8::try_from(above)
            && small <= CODE_WHOLE_MAX
        {
            return self.put(&[small]);
        }
        // One bit of each number is its sign.
        let bits = 65 - above.unsigned_abs().leading_zeros() as usize;
        let length = bits.div_ceil(8).min(8);
        self.put(&[CODE_WHOLE_MAX + length as u8]);
        self.put(&above.to_le_bytes()[..length]);
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

/// The base of the score that follows this one.
#[inline]
fn base_after(score: f64) -> i64 {
    score as i64
}

/// Bytes of a score that begins with this one.
#[inline]
fn score_bytes(code: u8) -> usize {
    match code {
        0..=CODE_WHOLE_MAX => 1,
        CODE_DOUBLE => 9,
        code => 1 + usize::from(code - CODE_WHOLE_MAX),
    }
}

#[inline]
fn take_score(rest: &mut &[u8], base: i64) -> f64 {
    let (code, bytes) = take(rest, score_bytes(rest[0])).split_at(1);
    let above = match code[0] {
        small @ 0..=CODE_WHOLE_MAX => i64::from(small),
        CODE_DOUBLE => {
            return f64::from_le_bytes(bytes.try_into().expect("eight bytes were taken"));
        }
        _ => {
            let mut number = [0; 8];
            number[8 - bytes.len()..].copy_from_slice(bytes);
            // Shifting back down repeats the sign.
            i64::from_le_bytes(number) >> (64 - 8 * bytes.len())
        }
    };
    base.wrapping_add(above) as f64
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
    use proptest::prelude::*;
    use std::collections::BTreeMap;

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
    fn scores_near_each_other_are_short() {
        let times = (0..10).map(|n| (b"".as_slice(), 1_700_000_000_000.0 + f64::from(n) * 200.0));
        assert_eq!(of(times).len(), (7 + 1) + 9 * (1 + 1));
    }

    #[test]
    fn scores_as_far_apart_as_can_be_come_back() {
        let scores = [
            f64::NEG_INFINITY,
            i64::MIN as f64,
            -1.5,
            -1.0,
            0.0,
            0.5,
            1.0,
            (1u64 << 62) as f64,
            1e300,
            f64::INFINITY,
        ];
        let run = of(scores.iter().map(|score| (b"m".as_slice(), *score)));
        let back: Vec<f64> = Walk::new(&run).map(|found| found.score).collect();
        assert_eq!(back, scores);
    }

    proptest! {
        #[test]
        fn a_run_changes_as_an_ordered_map_does(
            steps in proptest::collection::vec((0u8..40, any::<i64>(), 0u32..64, any::<bool>()), 0..120),
        ) {
            let (mut run, mut model) = (ThinBytes::default(), BTreeMap::new());
            for (member, number, shift, is_half) in steps {
                let score = (number >> shift) as f64 + if is_half { 0.5 } else { 0.0 };
                prop_assert_eq!(remove(&mut run, &[member]), model.remove(&member).is_some());
                if member % 4 != 0 {
                    insert(&mut run, &[member], score);
                    model.insert(member, score);
                }
                let mut expected: Vec<(f64, u8)> = model.iter().map(|(m, s)| (*s, *m)).collect();
                expected.sort_by(|a, b| compare((a.0, &[a.1]), (b.0, &[b.1])));
                let found: Vec<(f64, u8)> =
                    Walk::new(&run).map(|found| (found.score, found.member[0])).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(run.count(), model.len());
                let ordered = of(Walk::new(&run).map(|found| (found.member, found.score)));
                prop_assert_eq!(ordered.bytes(), run.bytes());
            }
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
