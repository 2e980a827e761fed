//! Nodes of files and payloads, after a look at all of them.
//!
//! Owns what must be true of a node before any other code reads it: nothing is taken on
//! trust, and whatever is read later lies within its bytes.

use super::id::StreamId;
use super::node::{BYTES_MAX, DEAD, FIXED_ELEMENTS, Node, SAME_FIELDS};

/// What is wrong with a node that is loaded.
pub(super) type Damage = &'static str;

impl Node {
    /// A node of a file, after a look at all of it: every entry is whole, and everything
    /// that is told of it is true. Also the ids of its first and last live entry.
    pub(super) fn checked(
        id: StreamId,
        listpack: &[u8],
    ) -> Result<(Node, Option<[StreamId; 2]>), Damage> {
        let mut elements = Elements { all: keyward_rdb::listpack(listpack)? };
        if listpack.len() > BYTES_MAX {
            return Err("a node of a stream that is longer than any");
        }
        let (live, dead) = (elements.count()?, elements.count()?);
        let fields = elements.count()?;
        elements.skip(fields)?;
        if elements.number()? != 0 {
            return Err("a node of a stream without an end of its names");
        }
        let mut found = [0, 0];
        let mut span: Option<[StreamId; 2]> = None;
        while let Some(flags) = elements.next_number()? {
            let (ms, seq) = (elements.number()?, elements.number()?);
            let id = StreamId {
                ms: id.ms.wrapping_add(ms.cast_unsigned()),
                seq: id.seq.wrapping_add(seq.cast_unsigned()),
            };
            let flags = u8::try_from(flags).ok().filter(|flags| *flags <= DEAD | SAME_FIELDS);
            let flags = flags.ok_or("an entry of a stream with unknown flags")?;
            let own = if flags & SAME_FIELDS != 0 { fields } else { 1 + 2 * elements.count()? };
            let has_own_count = usize::from(flags & SAME_FIELDS == 0);
            elements.skip(own - has_own_count)?;
            if elements.count()? != FIXED_ELEMENTS + own {
                return Err("an entry of a stream of another length than it says");
            }
            let is_dead = flags & DEAD != 0;
            found[usize::from(is_dead)] += 1;
            if !is_dead {
                if span.is_some_and(|[_, last]| last >= id) {
                    return Err("entries of a stream in disorder");
                }
                span = Some([span.map_or(id, |[first, _]| first), id]);
            }
        }
        if found != [live, dead] || live + dead == 0 {
            return Err("a node of a stream with another number of entries than it says");
        }
        Ok((Node::closed(listpack), span))
    }
}

/// The elements of a listpack that is looked at.
struct Elements<I> {
    all: I,
}

impl<'a, I: Iterator<Item = Result<keyward_rdb::Element<'a>, Damage>>> Elements<I> {
    fn next_number(&mut self) -> Result<Option<i64>, Damage> {
        match self.all.next().transpose()? {
            Some(keyward_rdb::Element::Int(number)) => Ok(Some(number)),
            Some(keyward_rdb::Element::Bytes(_)) => {
                Err("a text where a number belongs in a stream")
            }
            None => Ok(None),
        }
    }

    fn number(&mut self) -> Result<i64, Damage> {
        self.next_number()?.ok_or(CUT_OFF)
    }

    /// A number of things that are all there: one that is longer than the longest node is
    /// not looked for.
    fn count(&mut self) -> Result<usize, Damage> {
        let count = usize::try_from(self.number()?).ok().filter(|count| *count < BYTES_MAX);
        count.ok_or("a number of entries or fields beyond any in a stream")
    }

    fn skip(&mut self, count: usize) -> Result<(), Damage> {
        for _ in 0..count {
            self.all.next().ok_or(CUT_OFF)??;
        }
        Ok(())
    }
}

const CUT_OFF: Damage = "an entry of a stream that is cut off";
