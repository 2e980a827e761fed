//! One text of a value.

use keyward_resp::number::push_i64;

/// A text: a number in its canonical decimal form, or bytes.
///
/// Bytes may well spell a number: which form a file has for it is the writer's
/// choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element<'a> {
    /// The decimal form of this number.
    Int(i64),
    /// These bytes.
    Bytes(&'a [u8]),
}

impl Element<'_> {
    /// Appends the text.
    pub fn push_to(self, out: &mut Vec<u8>) {
        match self {
            Element::Int(number) => push_i64(out, number),
            Element::Bytes(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// The text.
    pub fn to_vec(self) -> Vec<u8> {
        let mut out = Vec::new();
        self.push_to(&mut out);
        out
    }
}
