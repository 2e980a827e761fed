//! Keys as tables find them, and the hashing of what clients send.
//!
//! Owns the keyed SipHash-1-3 that every table and map of client-supplied bytes
//! uses: without the seed nobody can choose keys that collide. The seed comes
//! from outside, so that a replay hashes the same.

use keyward_schema::KeyId;
use siphasher::sip::SipHasher13;
use std::hash::BuildHasher;

/// A keyed hash function; copies of it agree.
#[derive(Debug, Clone, Copy)]
pub struct KeyHasher {
    keys: [u64; 2],
}

impl KeyHasher {
    /// The hash function these two numbers choose.
    pub const fn new(keys: [u64; 2]) -> KeyHasher {
        KeyHasher { keys }
    }

    /// The two numbers that chose it.
    pub fn keys(&self) -> [u64; 2] {
        self.keys
    }

    /// The hash of a key.
    #[inline]
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        SipHasher13::new_with_keys(self.keys[0], self.keys[1]).hash(bytes)
    }
}

impl BuildHasher for KeyHasher {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.keys[0], self.keys[1])
    }
}

/// A key of one database: its hash and its table, found once per command.
#[derive(Debug, Clone, Copy)]
pub struct Key<'a> {
    /// The key's bytes.
    pub bytes: &'a [u8],
    /// What the engine's hasher makes of them.
    pub hash: u64,
    /// The table it belongs to.
    pub table: TableIndex,
    /// The database it belongs to.
    pub db: DbIndex,
}

// Keys are passed by value all the way: the database lies beside the table, in what was padding.
const _: () = assert!(size_of::<Key<'_>>() == 32);

impl Key<'_> {
    /// The number of the database it belongs to.
    #[inline(always)]
    pub fn db(self) -> usize {
        self.db.number()
    }
}

/// Which database, as keys carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DbIndex(u32);

impl DbIndex {
    /// Of keys that are only looked up within a database, which does not know its number.
    /// There is no such database: one that escapes panics rather than hits another row.
    pub(crate) const WITHIN: DbIndex = DbIndex(u32::MAX);

    /// The database of this number. There are fewer than 2³¹ of them.
    #[inline(always)]
    pub fn of(db: usize) -> DbIndex {
        DbIndex(db as u32)
    }

    /// Its number.
    #[inline(always)]
    pub fn number(self) -> usize {
        self.0 as usize
    }
}

/// Which table of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableIndex(pub u16);

impl TableIndex {
    /// The table of keys that belong to no pattern.
    pub const PLAIN: TableIndex = TableIndex(0);

    /// The table of a pattern.
    pub fn of(pattern: KeyId) -> TableIndex {
        TableIndex(pattern.index() as u16 + 1)
    }
}
