//! Rows in few bytes: keys by their pattern, values by their shape.
//!
//! Owns the packed form of a row's key and value, and nothing of where rows are
//! kept. A [`Packer`] is made for one declared key. What a pattern or a shape
//! already says is not stored: literals of the pattern, names of fields. What is
//! left are short texts, the **atoms** (`atom`): each is stored as what it happens to
//! be (a number, a time, a UUID, base58, …) or as one of the table's **words**
//! (`words`), texts that occur in many rows. What remains of JSON without its atoms is
//! its **skeleton** (`skeleton`), a word too; so spacing, order and optional fields
//! cost nothing per row, whatever they are.
//!
//! Invariant: what was packed comes back byte for byte. Every form is either exact by
//! construction or compared with the original when it is made; what fits no form is
//! kept as it is.
//!
//! ```text
//! body   = key | value
//! key    = an atom for each placeholder
//! value  = 0 atom                  a text
//!        | 1 word atoms            JSON: its skeleton, then what fills it
//!        | 2 word atoms            the fields of a hash: their names, then their values
//!        | 3 count (atom atom)…    the fields of a hash: names and values
//!        | 4 count value…          the items of a list, each a text or JSON
//! ```
//!
//! Estimate: `processed_token:{token_address}:{user_id:uint}`, of which Redis keeps
//! 68 bytes of key and 160 of value, is 3 bytes for the address, 2 or 3 for the user,
//! 2 for the skeleton, 1 for the status, 6 to 9 for each time, 2 for each channel:
//! 30 bytes with four channels.
//!
//! Not here: lifetimes, segments, the index over rows (`keyward-engine`).

mod atom;
mod packer;
mod reader;
mod sink;
mod skeleton;
mod words;

pub use packer::Packer;
pub use reader::Broken;
pub use sink::Sink;
