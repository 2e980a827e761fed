//! The bytes that tell what follows.
//!
//! ```text
//! file     = "REDIS" version(4 digits) | "VALKEY" version(3 digits)
//!            opcode or row … | END | CRC-64, 8 bytes (from version 5 on)
//! row      = [EXPIRE …] [IDLE … | FREQ …] type | key | value
//! payload  = type | value | version, 2 bytes | CRC-64, 8 bytes
//! length   = 00xxxxxx | 01xxxxxx +1 byte | 0x80 +4 bytes | 0x81 +8 bytes, big endian
//! text     = length | bytes
//!          | 0xC0 +1 byte | 0xC1 +2 bytes | 0xC2 +4 bytes, a number, little endian
//!          | 0xC3 | length compressed | length | LZF
//! ```
//! Other numbers are little endian.

/// Frames of a file.
pub(crate) mod opcode {
    pub(crate) const SLOT_INFO: u8 = 244;
    pub(crate) const LIBRARY: u8 = 245;
    pub(crate) const LIBRARY_EARLY: u8 = 246;
    pub(crate) const MODULE: u8 = 247;
    pub(crate) const IDLE: u8 = 248;
    pub(crate) const FREQUENCY: u8 = 249;
    pub(crate) const AUX: u8 = 250;
    pub(crate) const SIZES: u8 = 251;
    pub(crate) const EXPIRE_MS: u8 = 252;
    pub(crate) const EXPIRE_S: u8 = 253;
    pub(crate) const DATABASE: u8 = 254;
    pub(crate) const END: u8 = 255;
}

/// How a value is written.
pub(crate) mod kind {
    pub(crate) const STRING: u8 = 0;
    pub(crate) const LIST: u8 = 1;
    pub(crate) const SET: u8 = 2;
    /// Scores as text.
    pub(crate) const ZSET: u8 = 3;
    pub(crate) const HASH: u8 = 4;
    /// Scores as 8 bytes.
    pub(crate) const ZSET_2: u8 = 5;
    pub(crate) const MODULE: u8 = 6;
    pub(crate) const MODULE_2: u8 = 7;
    pub(crate) const HASH_ZIPMAP: u8 = 9;
    pub(crate) const LIST_ZIPLIST: u8 = 10;
    pub(crate) const SET_INTSET: u8 = 11;
    pub(crate) const ZSET_ZIPLIST: u8 = 12;
    pub(crate) const HASH_ZIPLIST: u8 = 13;
    pub(crate) const LIST_QUICKLIST: u8 = 14;
    pub(crate) const STREAM: u8 = 15;
    pub(crate) const HASH_LISTPACK: u8 = 16;
    pub(crate) const ZSET_LISTPACK: u8 = 17;
    pub(crate) const LIST_QUICKLIST_2: u8 = 18;
    pub(crate) const STREAM_2: u8 = 19;
    pub(crate) const SET_LISTPACK: u8 = 20;
    pub(crate) const STREAM_3: u8 = 21;
    /// Redis 7.4's hash with lifetimes of fields before its release, and Valkey 9's.
    pub(crate) const HASH_LIFETIMES_EARLY: u8 = 22;
    pub(crate) const HASH_LIFETIMES_PACKED_EARLY: u8 = 23;
    pub(crate) const HASH_LIFETIMES: u8 = 24;
    pub(crate) const HASH_LIFETIMES_PACKED: u8 = 25;
    /// Those that come later are not known.
    pub(crate) const LAST: u8 = HASH_LIFETIMES_PACKED;
}

/// Forms of a text, after the two high bits.
pub(crate) mod special {
    pub(crate) const INT_8: u8 = 0;
    pub(crate) const INT_16: u8 = 1;
    pub(crate) const INT_32: u8 = 2;
    pub(crate) const LZF: u8 = 3;
}

/// What a node of a list of type `LIST_QUICKLIST_2` is.
pub(crate) mod node {
    /// One element by itself.
    pub(crate) const PLAIN: u64 = 1;
    /// A listpack.
    pub(crate) const PACKED: u64 = 2;
}
