//! Which streams have entries in the lists of groups that consumers left when they went, and
//! taking them out in steps (incremental free).
//!
//! Owns when that is done; the queue of their keys is `tables::weeding`. Nobody sees those entries
//! (`values::stream::group::pending`), so weeding changes nothing that a client, a snapshot or
//! the log could tell: no capture, no mark of use, no event.
//!
//! Invariant: a stream that is in a database and has such entries is in the queue, whichever key
//! it has come to. One that is in the queue need not be there any more.

use super::Keyspace;
use crate::values::hasher::Key;
use crate::values::row::Row;
use crate::values::value::{ObjectRef, Value};

/// Leaves of lists looked through at a time, of up to 128 entries each: about a tenth of a
/// millisecond.
const LEAVES_PER_STEP: usize = 32;

impl Keyspace {
    /// Whether memory is to be freed in steps.
    pub fn is_freeing(&self) -> bool {
        self.reclaim.is_busy() || !self.weeding.is_empty()
    }

    /// Weeds some of a stream; whether there was something to do.
    pub fn weed(&mut self) -> bool {
        let Some((db, bytes)) = self.weeding.first() else { return false };
        let key = self.key_in(db, bytes);
        if !self.databases[db].table_mut(key).weed(key, LEAVES_PER_STEP) {
            self.weeding.drop_first();
        }
        true
    }

    /// A row has come to a key.
    pub(super) fn note_weeds(&mut self, key: Key<'_>, row: &Row) {
        if let Value::Object(ObjectRef::Stream(stream)) = row.value()
            && stream.has_weeds()
        {
            self.weeding.add(key);
        }
    }
}
