//! Where within a stream a part of a file ends, and the next one goes on.
//!
//! Owns the order of elements, as [`crate::stream`] writes them. A part ends behind one.

use super::Pass;
use crate::Error;
use crate::input::Input;

/// What of a stream is to come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rest {
    /// So many nodes, and all that follows.
    Nodes(u64),
    /// So many groups.
    Groups(u64),
    /// So many pending entries of a group, and as many groups behind it.
    Pending(u64, u64),
    /// So many consumers of a group, and groups.
    Consumers(u64, u64),
    /// So many entries of a consumer, consumers, and groups.
    Owned(u64, u64, u64),
}

impl Pass {
    /// Elements of a stream, until it or the part ends.
    pub(super) fn stream(
        &mut self,
        input: &mut Input<&[u8]>,
        mut rest: Rest,
    ) -> Result<Option<Rest>, Error> {
        loop {
            // What has come to its end needs nothing more of the part.
            rest = match rest {
                Rest::Groups(0) => return Ok(None),
                Rest::Owned(0, consumers, groups) => Rest::Consumers(consumers, groups),
                Rest::Consumers(0, groups) => Rest::Groups(groups),
                rest if input.offset >= self.end => return Ok(Some(rest)),
                Rest::Nodes(0) => {
                    for _ in 0..8 {
                        self.length(input)?;
                    }
                    Rest::Groups(self.length(input)?)
                }
                Rest::Nodes(left) => {
                    self.text(input)?;
                    self.text(input)?;
                    Rest::Nodes(left - 1)
                }
                Rest::Groups(left) => {
                    self.text(input)?;
                    for _ in 0..3 {
                        self.length(input)?;
                    }
                    Rest::Pending(self.length(input)?, left - 1)
                }
                Rest::Pending(0, groups) => Rest::Consumers(self.length(input)?, groups),
                Rest::Pending(left, groups) => {
                    self.output.raw(&input.array::<24>()?);
                    self.length(input)?;
                    Rest::Pending(left - 1, groups)
                }
                Rest::Consumers(left, groups) => {
                    self.text(input)?;
                    self.output.raw(&input.array::<8>()?);
                    Rest::Owned(self.length(input)?, left - 1, groups)
                }
                Rest::Owned(left, consumers, groups) => {
                    self.output.raw(&input.array::<16>()?);
                    Rest::Owned(left - 1, consumers, groups)
                }
            };
        }
    }
}
