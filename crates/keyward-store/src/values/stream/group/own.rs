//! The pending entries of one consumer, with what its group knows of them.
//!
//! Owns walking through both lists at once (a merge join): the consumer has ids alone, and what
//! is known of them is in the list of the group. Of that neighbours are passed over that were all
//! given later than is asked for, and so are the ids that the consumer has among them.

use super::{Group, Pending};
use crate::values::stream::id::StreamId;
use crate::values::stream::id_map::IdMap;

/// Entries of a consumer that were given up to a time, in order.
pub(super) struct OwnEntries<'g> {
    own: &'g IdMap<()>,
    list: &'g IdMap<Pending>,
    up_to_ms: i64,
    /// The next id to look at.
    ids: Box<dyn Iterator<Item = StreamId> + 'g>,
    next: Option<StreamId>,
    /// The neighbours that are looked at, and where the next ones begin.
    neighbours: &'g [(StreamId, Pending)],
    behind: Option<StreamId>,
}

impl<'g> OwnEntries<'g> {
    pub(super) fn new(
        group: &'g Group,
        own: &'g IdMap<()>,
        from: StreamId,
        up_to_ms: i64,
    ) -> OwnEntries<'g> {
        let mut entries = OwnEntries {
            own,
            list: &group.pending,
            up_to_ms,
            ids: Box::new(std::iter::empty()),
            next: None,
            neighbours: &[],
            behind: Some(StreamId::MIN),
        };
        entries.go_to(from);
        entries
    }

    /// Goes on with the first own id from this one on.
    fn go_to(&mut self, id: StreamId) {
        let own = self.own;
        self.ids = Box::new(own.from(id).map(|(id, ())| id));
        self.next = self.ids.next();
    }

    /// Comes to the neighbours that an id is among, or behind it; whether there are any.
    fn turn_to(&mut self, id: StreamId) -> bool {
        let Some(found) = self.list.neighbours_dated(id, self.up_to_ms) else { return false };
        (self.neighbours, self.behind) = (found.entries, found.behind);
        if id < found.first {
            self.go_to(found.first);
        }
        true
    }
}

impl<'g> Iterator for OwnEntries<'g> {
    type Item = (StreamId, &'g Pending);

    fn next(&mut self) -> Option<(StreamId, &'g Pending)> {
        loop {
            let id = self.next?;
            if self.behind.is_some_and(|behind| behind <= id) {
                if !self.turn_to(id) {
                    self.next = None;
                }
                continue;
            }
            self.next = self.ids.next();
            let at = self.neighbours.partition_point(|(other, _)| *other < id);
            self.neighbours = &self.neighbours[at..];
            if let Some((other, pending)) = self.neighbours.first()
                && *other == id
                && pending.delivered_ms <= self.up_to_ms
            {
                return Some((id, pending));
            }
        }
    }
}
