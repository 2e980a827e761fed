//! A stream that is made of what a file or a payload says.
//!
//! Owns the checks of everything that could not have been written: nothing is taken on
//! trust. Nodes and pending entries may come in any order.
//! Not here: the bytes of files (`keyward-rdb`).

use super::checked::Damage;
use super::group::{ConsumerNumber, EntriesRead, Group, Pending};
use super::id::StreamId;
use super::id_map::{Dated, IdMap};
use super::node::Node;
use super::{Facts, Stream};

/// What is wrong with a group that names a consumer twice.
pub const CONSUMER_TWICE: Damage = "a consumer that is there twice";

/// When an entry was given last that has no consumer yet, and how often.
#[derive(Debug, Clone, Copy)]
struct Unowned(i64, u64);

impl Dated for Unowned {
    const IS_DATED: bool = false;

    fn date_ms(&self) -> i64 {
        i64::MAX
    }
}

/// A stream on its way.
#[derive(Debug, Default)]
pub struct StreamLoad {
    stream: Stream,
    /// How many live entries there are.
    length: u64,
    /// The nodes that have live entries: their ids, and those of their first and last ones.
    spans: Vec<(StreamId, [StreamId; 2])>,
    /// The group that is being read, and its name.
    group: Option<(Vec<u8>, Group)>,
    /// Entries that are pending and have no consumer yet.
    unowned: IdMap<Unowned>,
    consumer: Option<ConsumerNumber>,
}

impl StreamLoad {
    /// The next node.
    pub fn node(&mut self, id: StreamId, listpack: &[u8]) -> Result<(), Damage> {
        let (node, span) = Node::checked(id, listpack)?;
        self.length += node.counts()[0] as u64;
        self.spans.extend(span.map(|span| (id, span)));
        let is_new = self.stream.content.body.nodes.insert(id, node);
        if is_new { Ok(()) } else { Err("two nodes of a stream with the same id") }
    }

    /// What is told of the entries, behind all nodes. What older files do not say follows
    /// from them.
    pub fn facts(&mut self, facts: Facts, is_complete: bool) -> Result<(), Damage> {
        let body = &mut self.stream.content.body;
        let (length, mut spans) = (self.length, std::mem::take(&mut self.spans));
        spans.sort_unstable();
        if spans.windows(2).any(|pair| pair[0].1[1] >= pair[1].1[0]) {
            return Err("nodes of a stream in disorder");
        }
        if length != facts.length {
            return Err("a stream of another length than it says");
        }
        if spans.last().is_some_and(|(_, [_, last])| *last > facts.last_id) {
            return Err("a stream with entries behind its last one");
        }
        body.facts = facts;
        body.find_first();
        if !is_complete {
            body.facts.removed_id = StreamId::MIN;
            body.facts.added = length;
        }
        Ok(())
    }

    /// The next group. Where a file does not say how much it has read, that is worked out.
    pub fn group(
        &mut self,
        name: &[u8],
        last_id: StreamId,
        read: Option<EntriesRead>,
    ) -> Result<(), Damage> {
        self.end_group()?;
        let read = read.unwrap_or_else(|| self.stream.added_up_to(last_id));
        self.group = Some((name.to_vec(), Group::new(last_id, read)));
        Ok(())
    }

    /// The next entry that is pending in the group.
    pub fn pending(&mut self, id: StreamId, delivered_ms: i64, count: u64) -> Result<(), Damage> {
        let is_new = self.unowned.insert(id, Unowned(delivered_ms, count));
        if is_new { Ok(()) } else { Err("an entry that is pending twice") }
    }

    /// The next consumer of the group.
    pub fn consumer(&mut self, name: &[u8], seen_ms: i64) -> Result<(), Damage> {
        let (_, group) = self.group.as_mut().ok_or("a consumer without a group")?;
        self.consumer = group.add_consumer(name, seen_ms);
        if self.consumer.is_some() { Ok(()) } else { Err(CONSUMER_TWICE) }
    }

    /// The next entry that the consumer has.
    pub fn owned(&mut self, id: StreamId) -> Result<(), Damage> {
        let (Some((_, group)), Some(consumer)) = (&mut self.group, self.consumer) else {
            return Err("a pending entry without a consumer");
        };
        let pending = self.unowned.remove(id);
        let Unowned(delivered_ms, deliveries) =
            pending.ok_or("an entry that a consumer has and its group has not")?;
        group.give(id, Pending { delivered_ms, deliveries, consumer });
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Damage> {
        if !self.unowned.is_empty() {
            return Err("a pending entry that no consumer has");
        }
        self.consumer = None;
        let Some((name, group)) = self.group.take() else { return Ok(()) };
        let is_new = self.stream.add_group(&name, group);
        if is_new { Ok(()) } else { Err("a group that is there twice") }
    }

    /// The stream.
    pub fn end(mut self) -> Result<Stream, Damage> {
        self.end_group()?;
        Ok(self.stream)
    }
}
