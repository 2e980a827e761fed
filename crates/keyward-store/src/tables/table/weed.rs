//! Taking what consumers that went have left out of the groups of a stream.
//!
//! Not here: which streams have such entries (`keyspace::weeding`).

use super::Table;
use crate::values::footprint::HeapBytes;
use crate::values::hasher::Key;
use crate::values::stream::Stream;
use crate::values::value::Collection;

impl Table {
    /// Weeds so many leaves of a stream; whether there is more. What a snapshot has yet to
    /// capture stays the same for it.
    pub(crate) fn weed(&mut self, key: Key<'_>, leaves: usize) -> bool {
        let Some(spot) = self.rows.locate(key.hash, |row| row.key() == key.bytes) else {
            return false;
        };
        let bytes_before = self.rows.at(spot).heap_bytes();
        let stream = self.rows.at_mut(spot).object_mut().and_then(Stream::of_mut);
        let has_more = stream.is_some_and(|stream| stream.weed(leaves));
        self.resized(spot, bytes_before);
        has_more
    }
}
