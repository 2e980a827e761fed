//! Up to which size collections are packed, as the settings have it.
//!
//! Owns plain values, of which each type makes its `Growth`; their names and limits are
//! the server's.

/// Up to which size collections are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackedLimits {
    /// `hash-max-listpack-entries`: the most fields a packed hash has.
    pub hash_fields_max: usize,
    /// `hash-max-listpack-value`: the longest field and value a packed hash has.
    pub hash_text_bytes_max: usize,
    /// `set-max-intset-entries`: the most members a set of numbers in order has.
    pub intset_members_max: usize,
    /// `zset-max-listpack-entries`: the most members a packed sorted set has.
    pub zset_entries_max: usize,
    /// `zset-max-listpack-value`: the longest member a packed sorted set has.
    pub zset_member_bytes_max: usize,
}

impl Default for PackedLimits {
    fn default() -> PackedLimits {
        PackedLimits {
            hash_fields_max: 512,
            hash_text_bytes_max: 64,
            intset_members_max: 512,
            zset_entries_max: 128,
            zset_member_bytes_max: 64,
        }
    }
}
