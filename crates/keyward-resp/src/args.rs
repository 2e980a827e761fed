//! The arguments of one command, borrowed or owned.
//!
//! A command is a buffer and the ranges of its arguments in it, so a parsed command
//! costs no allocation and no copy. [`ArgBuf`] is the same thing with a buffer of its
//! own, for commands that outlive the read buffer or never came from a socket.

use std::ops::Index;

/// Where an argument lies in the buffer of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgRange {
    /// Offset of the first byte.
    pub start: usize,
    /// Length in bytes.
    pub len: usize,
}

/// A command's arguments; index 0 is its name.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    buffer: &'a [u8],
    ranges: &'a [ArgRange],
}

impl<'a> Args<'a> {
    /// The arguments that `ranges` cuts out of `buffer`.
    pub fn new(buffer: &'a [u8], ranges: &'a [ArgRange]) -> Args<'a> {
        Args { buffer, ranges }
    }

    /// How many arguments, the name included.
    #[inline]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Whether there is not even a name.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The argument at `index`, which must exist: for positions that the command's
    /// arity guarantees.
    #[inline]
    pub fn at(&self, index: usize) -> &'a [u8] {
        let ArgRange { start, len } = self.ranges[index];
        &self.buffer[start..start + len]
    }

    /// The argument at `index`, if there is one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.ranges.get(index).map(|range| &self.buffer[range.start..range.start + range.len])
    }

    /// The arguments from `index` on; none if there are fewer.
    #[inline]
    pub fn from(&self, index: usize) -> Args<'a> {
        Args { buffer: self.buffer, ranges: self.ranges.get(index..).unwrap_or_default() }
    }

    /// The first `count` arguments, of which there must be that many, and the rest.
    pub fn split_at(&self, count: usize) -> (Args<'a>, Args<'a>) {
        let (first, rest) = self.ranges.split_at(count);
        (Args { buffer: self.buffer, ranges: first }, Args { buffer: self.buffer, ranges: rest })
    }

    /// All arguments in order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + Clone + use<'a> {
        let buffer = self.buffer;
        self.ranges.iter().map(move |range| &buffer[range.start..range.start + range.len])
    }
}

impl Index<usize> for Args<'_> {
    type Output = [u8];

    #[inline]
    fn index(&self, index: usize) -> &[u8] {
        self.at(index)
    }
}

/// A command that owns its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgBuf {
    bytes: Vec<u8>,
    ranges: Vec<ArgRange>,
}

impl ArgBuf {
    /// A command without even a name.
    pub fn new() -> ArgBuf {
        ArgBuf::default()
    }

    /// A command without even a name, with room for so many arguments and bytes.
    pub fn with_capacity(arguments: usize, bytes: usize) -> ArgBuf {
        ArgBuf { bytes: Vec::with_capacity(bytes), ranges: Vec::with_capacity(arguments) }
    }

    /// Adds an argument at the end.
    pub fn push(&mut self, argument: &[u8]) {
        self.ranges.push(ArgRange { start: self.bytes.len(), len: argument.len() });
        self.bytes.extend_from_slice(argument);
    }

    /// Forgets the arguments, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
    }

    /// Bytes it has allocated.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.ranges.capacity() * size_of::<ArgRange>()
    }

    /// The arguments.
    #[inline]
    pub fn args(&self) -> Args<'_> {
        Args::new(&self.bytes, &self.ranges)
    }
}

impl From<Args<'_>> for ArgBuf {
    fn from(args: Args<'_>) -> ArgBuf {
        args.iter().collect()
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for ArgBuf {
    fn from_iter<I: IntoIterator<Item = T>>(arguments: I) -> ArgBuf {
        let mut buf = ArgBuf::new();
        for argument in arguments {
            buf.push(argument.as_ref());
        }
        buf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_beyond_the_end_is_empty() {
        let buf: ArgBuf = ["set", "k", "v"].iter().collect();
        assert!(buf.args().from(4).is_empty());
        assert_eq!(buf.args().from(1).iter().collect::<Vec<_>>(), [b"k", b"v"]);
        assert_eq!(buf.args().get(3), None);
    }

    #[test]
    fn an_owned_copy_equals_the_borrowed_command() {
        let buf: ArgBuf = ["", "\0\r\n", "x"].iter().collect();
        let copy = ArgBuf::from(buf.args().from(1));
        assert_eq!(copy.args().iter().collect::<Vec<_>>(), [&b"\0\r\n"[..], b"x"]);
    }
}
