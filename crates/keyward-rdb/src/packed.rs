//! The packed forms of small collections: one text that holds all elements.
//!
//! Owns readers of every form there has been, and writers of those of Redis 7.0.
//! A reader is an iterator that ends with an error if the bytes are not what they
//! should be; it reads nothing outside of them.

pub(crate) mod intset;
pub(crate) mod listpack;
pub(crate) mod ziplist;
pub(crate) mod zipmap;

use crate::Element;

/// What is wrong with a packed form.
pub(crate) type Damage = &'static str;

/// The next element of a packed form.
pub(crate) type Next<'a> = Option<Result<Element<'a>, Damage>>;

/// Bytes that are taken from the front.
#[derive(Debug, Clone, Copy)]
struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("an element is cut off")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or("an element is cut off")?;
        self.rest = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, Damage> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// A number of three bytes.
    fn i24(&mut self) -> Result<i64, Damage> {
        let [a, b, c] = self.array()?;
        Ok(i64::from(i32::from_le_bytes([0, a, b, c]) >> 8))
    }
}
