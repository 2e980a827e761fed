//! Changing entries and groups of a stream.
//!
//! What is undone by itself is the commonest change, an entry that was added. Before any
//! other the journal keeps a copy of the stream, which shares all that does not change: it
//! costs a count for some 25,000 entries, and who changes a node copies it.

use super::{Edit, Place};
use crate::keyspace::Keyspace;
use crate::keyspace::journal::row_of;
use crate::tables::reclaim::Freeing;
use crate::values::stream::{Body, Fields, Group, NodeLimits, Stream, StreamId, TooLong, Trim};

impl Edit<'_, Stream> {
    /// Adds an entry: names and values in turn. Its id lies behind that of all others.
    ///
    /// # Errors
    /// If it is too long for any node; nothing is changed then.
    pub fn append<'t>(
        &mut self,
        id: StreamId,
        limits: &NodeLimits,
        texts: impl Fields<'t>,
    ) -> Result<(), TooLong> {
        let before = *self.facts();
        if let Err(too_long) = self.collection_mut().append(id, limits, texts.clone()) {
            self.place.settle();
            return Err(too_long);
        }
        let Place { key, ref mut space, .. } = self.place;
        if space.journal.is_on() {
            space.journal.entry_added(key, before, texts);
        }
        Ok(())
    }

    /// Removes an entry; whether it was there.
    pub fn remove(&mut self, id: StreamId) -> bool {
        if self.get(id).is_none() {
            return false;
        }
        self.record();
        self.collection_mut().remove(id)
    }

    /// Removes entries from the first one on; returns how many.
    pub fn trim(&mut self, trim: &Trim) -> u64 {
        self.record();
        let (count, gone) = self.collection_mut().trim(trim);
        self.free(gone);
        count
    }

    /// Says what is told of the entries: XSETID.
    pub fn set_last_id(
        &mut self,
        last_id: StreamId,
        added: Option<u64>,
        removed: Option<StreamId>,
    ) {
        self.record();
        self.collection_mut().set_last_id(last_id, added, removed);
    }

    /// Adds a group; whether there was none of this name.
    pub fn add_group(&mut self, name: &[u8], group: Group) -> bool {
        if self.group(name).is_some() {
            return false;
        }
        self.record();
        self.collection_mut().add_group(name, group)
    }

    /// Takes a group out; whether it was there.
    pub fn remove_group(&mut self, name: &[u8]) -> bool {
        if self.group(name).is_none() {
            return false;
        }
        self.record();
        let gone = self.collection_mut().remove_group(name);
        gone.into_iter().for_each(|gone| self.free(gone));
        true
    }

    /// Takes a consumer out of a group with all that it has; returns how much that was.
    pub fn remove_consumer(&mut self, name: &[u8], consumer: &[u8]) -> Option<usize> {
        self.group(name)?.find(consumer)?;
        self.record();
        let (removed, gone) = self.collection_mut().remove_consumer(name, consumer)?;
        self.free(gone);
        if self.has_weeds() {
            let Place { key, ref mut space, .. } = self.place;
            space.weeding.add(key);
        }
        Some(removed)
    }

    /// Changes a group, with a look at the entries; none if it is not there.
    pub fn edit_group<R>(
        &mut self,
        name: &[u8],
        edit: impl FnOnce(&Body, &mut Group) -> R,
    ) -> Option<R> {
        self.group(name)?;
        self.record();
        self.collection_mut().edit_group(name, edit)
    }

    /// Has the journal keep the stream as it is, once for all that this edit does.
    fn record(&mut self) {
        if self.place.space.journal.is_on() && !self.place.is_kept {
            let before = Stream::clone(&**self);
            let Place { key, ref mut space, ref mut is_kept, .. } = self.place;
            space.journal.stream_changed(key, before);
            *is_kept = true;
        }
    }

    /// Frees what was taken out, in steps if it is much.
    fn free(&mut self, gone: Stream) {
        self.place.space.reclaim.row(row_of(gone), Freeing::AtOnce);
    }
}

impl Keyspace {
    /// Has the journal forget the copy of a stream that it took last: nothing was changed.
    pub(super) fn take_back_kept(&mut self) {
        if let Some(stream) = self.journal.stream_unchanged() {
            self.reclaim.row(row_of(stream), Freeing::AtOnce);
        }
    }
}
