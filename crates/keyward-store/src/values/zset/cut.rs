//! Places between the entries of a sorted set.
//!
//! Owns the comparison of entries with the ends of ranges: a range of scores, of
//! members or of ranks is everything from one cut to another, so all of them are
//! found by the same search.

use std::cmp::Ordering;

/// A place between entries; which entries lie before it follows from its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cut<'a> {
    /// Before everything.
    Start,
    /// Behind everything.
    End,
    /// Before the first entry of this score.
    BeforeScore(f64),
    /// Behind the last entry of this score.
    AfterScore(f64),
    /// Before this member; all scores are taken to be the same.
    BeforeMember(&'a [u8]),
    /// Behind this member; all scores are taken to be the same.
    AfterMember(&'a [u8]),
    /// Before the entry of this score and member, whether it is there or not.
    BeforeScored(f64, &'a [u8]),
    /// Behind the entry of this score and member, whether it is there or not.
    AfterScored(f64, &'a [u8]),
}

impl Cut<'_> {
    /// Whether an entry lies before this cut. The member is asked for only where
    /// the score does not decide: reading it may be a cache miss.
    #[inline(always)]
    pub fn is_behind<'m>(&self, score: f64, member: impl FnOnce() -> &'m [u8]) -> bool {
        match *self {
            Cut::Start => false,
            Cut::End => true,
            Cut::BeforeScore(edge) => score < edge,
            Cut::AfterScore(edge) => score <= edge,
            Cut::BeforeMember(edge) => member() < edge,
            Cut::AfterMember(edge) => member() <= edge,
            Cut::BeforeScored(edge, bytes) => score < edge || (score == edge && member() < bytes),
            Cut::AfterScored(edge, bytes) => score < edge || (score == edge && member() <= bytes),
        }
    }
}

/// The order of entries: by score, then by the bytes of the member. Scores are
/// never NaN; the two zeros are the same score.
#[inline(always)]
pub fn compare(a: (f64, &[u8]), b: (f64, &[u8])) -> Ordering {
    a.0.partial_cmp(&b.0).expect("a score is never NaN").then_with(|| a.1.cmp(b.1))
}
