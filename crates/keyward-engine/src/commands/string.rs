//! The commands of strings: bytes, ranges, counters, bits.
//!
//! Owns what they do and say; how a string is stored is `text`'s.

pub(crate) mod bitfield;
pub(crate) mod bits;
pub(crate) mod commands;
pub(crate) mod counters;
pub(crate) mod lcs;
pub(crate) mod ranges;
