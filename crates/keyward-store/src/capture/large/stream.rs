//! What is left of a large stream: a copy of it, which shares all that nobody has changed.
//!
//! Owns the copy, of the instant at which the row was captured, and how far it is written.
//! Nobody needs to tell of changes: who makes one copies the node, or the part of a pending
//! list, that it is about to change. So nodes, groups and pending lists are of one instant.

use super::sure;
use crate::capture::content::{facts_of, read_of};
use crate::values::stream::{ConsumerNumber, Group, Stream, StreamId};
use keyward_rdb::{ConsumerHead, GroupHead, OpenRow};

/// What visiting a pending entry costs besides its bytes.
const PENDING_EFFORT: usize = 8;

/// What is left of a stream.
#[derive(Debug)]
pub(super) struct StreamRest {
    stream: Stream,
    next: Next,
}

/// What is written next.
#[derive(Debug, Clone, Copy)]
enum Next {
    /// The node of this number.
    Node(usize),
    /// What is told of the entries.
    Facts,
    /// The group of this number.
    Group(usize),
    /// What is pending in it from an id on; `None` behind the last one.
    Pending(usize, Option<StreamId>),
    /// The consumer of this number, in the order of names, of a group.
    Consumer(usize, usize),
    /// What that one has from an id on.
    Owned(usize, usize, Option<StreamId>),
    /// Nothing.
    End,
}

impl StreamRest {
    /// All of it.
    pub(super) fn new(stream: &Stream) -> StreamRest {
        StreamRest { stream: stream.clone(), next: Next::Node(0) }
    }

    /// The copy, for freeing it.
    pub(super) fn into_stream(self) -> Stream {
        self.stream
    }

    /// Writes some of it; whether that was all.
    pub(super) fn step(&mut self, part: &mut OpenRow, effort: usize) -> bool {
        let (start, mut visited) = (part.bytes(), 0);
        while visited + part.bytes() - start < effort {
            let left = effort - (visited + part.bytes() - start);
            self.next = match self.next {
                Next::Node(number) => self.nodes(part, number, left),
                Next::Facts => {
                    let facts = facts_of(self.stream.facts());
                    sure(part.output().stream_facts(&facts, self.stream.group_count()));
                    Next::Group(0)
                }
                Next::Group(number) => self.group(part, number),
                Next::Pending(number, from) => self.pending(part, number, from, left),
                Next::Consumer(number, consumer) => self.consumer(part, number, consumer),
                Next::Owned(number, consumer, from) => {
                    self.owned(part, (number, consumer), from, left)
                }
                Next::End => return true,
            };
            visited += PENDING_EFFORT;
        }
        matches!(self.next, Next::End)
    }

    fn nodes(&self, part: &mut OpenRow, first: usize, effort: usize) -> Next {
        let (start, mut number) = (part.bytes(), first);
        for (id, listpack) in self.stream.nodes_from(first) {
            sure(part.output().stream_node((id.ms, id.seq), &listpack));
            number += 1;
            if part.bytes() - start >= effort {
                break;
            }
        }
        if number == self.stream.node_count() { Next::Facts } else { Next::Node(number) }
    }

    fn group_of(&self, number: usize) -> Option<(&[u8], &Group)> {
        self.stream.groups().nth(number)
    }

    fn group(&self, part: &mut OpenRow, number: usize) -> Next {
        let Some((name, group)) = self.group_of(number) else { return Next::End };
        let head = GroupHead {
            name,
            last_id: (group.last_id.ms, group.last_id.seq),
            read: read_of(group),
            pending: group.pending().len(),
        };
        sure(part.output().stream_group(head));
        Next::Pending(number, Some(StreamId::MIN))
    }

    fn pending(
        &self,
        part: &mut OpenRow,
        number: usize,
        from: Option<StreamId>,
        effort: usize,
    ) -> Next {
        let Some((_, group)) = self.group_of(number) else { return Next::End };
        let start = part.bytes();
        for (id, pending) in from.into_iter().flat_map(|from| group.pending().from(from)) {
            if part.bytes() - start >= effort {
                return Next::Pending(number, Some(id));
            }
            let (ms, count) = (pending.delivered_ms, pending.deliveries);
            sure(part.output().stream_pending((id.ms, id.seq), ms, count));
        }
        part.output().stream_consumers(group.consumers().len());
        Next::Consumer(number, 0)
    }

    fn consumer(&self, part: &mut OpenRow, number: usize, at: usize) -> Next {
        let Some((_, group)) = self.group_of(number) else { return Next::End };
        let Some((_, consumer)) = group.consumers().nth(at) else {
            return Next::Group(number + 1);
        };
        let (name, seen_ms) = (consumer.name(), consumer.seen_ms());
        let head = ConsumerHead { name, seen_ms, owned: consumer.pending().len() };
        sure(part.output().stream_consumer(head));
        Next::Owned(number, at, Some(StreamId::MIN))
    }

    fn owned(
        &self,
        part: &mut OpenRow,
        (number, at): (usize, usize),
        from: Option<StreamId>,
        effort: usize,
    ) -> Next {
        let consumer = self.group_of(number).and_then(|(_, group)| group.consumers().nth(at));
        let start = part.bytes();
        let owned = consumer.zip(from).into_iter();
        for (id, ()) in owned.flat_map(|((_, consumer), from): ((ConsumerNumber, _), _)| {
            consumer.pending().from(from)
        }) {
            if part.bytes() - start >= effort {
                return Next::Owned(number, at, Some(id));
            }
            sure(part.output().stream_owned((id.ms, id.seq)));
        }
        Next::Consumer(number, at + 1)
    }
}
