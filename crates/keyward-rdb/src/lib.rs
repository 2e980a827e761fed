//! Redis's RDB format: values, DUMP payloads and whole files.
//!
//! Owns the bytes and nothing of what they mean to a database. Reading calls a
//! [`Build`] with one element after the other, writing takes iterators, so that
//! no value exists here as a whole and any host can use either: the engine
//! (DUMP, RESTORE, SAVE), and tools that only look at a file.
//!
//! Reading order: `format` (the bytes that tell what follows), `input` and
//! `output` (lengths and texts), `decode` and `encode` (values), `stream`, `payload` (what
//! DUMP answers), `file`.
//!
//! Written is version 10, which Redis 7.0 and everything later reads, in the
//! compact forms that Redis 7.0 itself would choose. Read is whatever Redis 1.2
//! to 8 and Valkey 8 and 9 write for strings, lists, sets, sorted sets, hashes, streams and
//! function libraries; anything else is an error that names it.
//!
//! Invariants: no input panics; nothing is allocated by a length that is only
//! claimed; every length is checked against the bytes that are there.
//! Never in this crate: files and sockets (a source is any `io::BufRead`, a sink
//! any `io::Write`), the engine's types.

pub mod crc64;
mod decode;
mod element;
mod encode;
mod error;
mod file;
mod format;
mod input;
mod lzf;
mod output;
mod packed;
mod payload;
mod stream;

pub use decode::{Build, TWICE};
pub use element::Element;
pub use encode::Form;
pub use error::Error;
pub use file::{
    Compressor, Ending, FileReader, FileWriter, OpenRow, Part, Record, RowHead, Sizes, Usage, fact,
};
pub use output::{FileOptions, Output};
pub use packed::listpack::elements as listpack;
pub use payload::{Sum, read_libraries, read_payload, write_libraries, write_payload};

pub use stream::{ConsumerHead, GroupHead, Id, StreamFacts, StreamPart, Told};

/// The version that is written.
pub const VERSION: u16 = 10;
