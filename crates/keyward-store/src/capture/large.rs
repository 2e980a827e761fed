//! A large collection on its way into a snapshot, while commands go on changing it.
//!
//! Owns what is still to be written of a row of which writing all at once would hold
//! everybody up. Its elements are written in steps, as they are; whoever is about to change
//! one that is not written yet tells (`field`, `member`, `score`, `items`), and it is
//! written as it was, out of turn, or kept until it is its turn (`list`). So each element
//! of the instant the snapshot began is written once, as it was then. Of a stream a copy is
//! kept, which costs what changes (`stream`).
//!
//! A row that goes as a whole is kept here (`keep`) and written in steps all the same;
//! only one that goes elsewhere (RENAME, MOVE, undoing) is written to its end at once.
//!
//! The added memory is what was told and not yet handed over, and the names of elements
//! that were changed: what commands touch, never the collection.
//! Not here: which of several comes first (`keyspace::snapshot`).

pub mod list;
pub mod members;
mod stream;

pub(crate) use list::ListStep;

use crate::capture::content;
use crate::values::hash::Hash;
use crate::values::hasher::KeyHasher;
use crate::values::list::List;
use crate::values::packed::Item;
use crate::values::row::{NewValue, Row};
use crate::values::set::Set;
use crate::values::value::{Object, ObjectRef, Value};
use crate::values::zset::ZSet;
use keyward_rdb::{Element, Form, OpenRow, RowHead};
use list::ListRest;
use members::{HashedRest, ScoredRest};
use std::io;
use stream::StreamRest;

/// Collections of more elements, or of more bytes, are large.
const ELEMENTS_MAX: usize = 1024;
const BYTES_MAX: usize = 128 * 1024;
/// What visiting an element costs besides its bytes.
const ELEMENT_EFFORT: usize = 24;

/// A row of which elements are still to be written.
#[derive(Debug)]
pub(crate) struct LargeRow {
    part: OpenRow,
    rest: Rest,
    /// The row itself, once it has left its table.
    kept: Option<Row>,
    /// The copy that was written, on the way to be freed.
    written: Option<Row>,
}

/// Which elements are still to be written.
#[derive(Debug)]
enum Rest {
    List(ListRest),
    Hashed(HashedRest),
    Scored(ScoredRest),
    Stream(StreamRest),
    Nothing,
}

impl LargeRow {
    /// Begins with a row, if it is a large one.
    pub(crate) fn open(
        database: u64,
        row: &Row,
        head: RowHead<'_>,
        hasher: KeyHasher,
    ) -> Option<LargeRow> {
        let Value::Object(object) = row.value() else { return None };
        if object.len() <= ELEMENTS_MAX && object.heap_bytes() <= BYTES_MAX {
            return None;
        }
        let form = match content::form(row.value()) {
            Form::List => Form::PlainList,
            form @ (Form::Set | Form::SortedSet | Form::Hash | Form::Stream) => form,
            // Packed ones are written as one text.
            _ => return None,
        };
        let rest = match object {
            ObjectRef::List(list) => Rest::List(ListRest::new(list.len())),
            ObjectRef::Set(_) | ObjectRef::Hash(_) => Rest::Hashed(HashedRest::new(hasher)),
            ObjectRef::ZSet(_) => Rest::Scored(ScoredRest::new(hasher)),
            ObjectRef::Stream(stream) => Rest::Stream(StreamRest::new(stream)),
        };
        let count = match object {
            ObjectRef::Stream(stream) => stream.node_count(),
            object => object.len(),
        };
        let part = sure(OpenRow::begin(database, head, form, count));
        Some(LargeRow { part, rest, kept: None, written: None })
    }

    /// Keeps the row itself: it has left its table, and nobody will change it.
    pub(crate) fn keep(&mut self, row: Row) {
        self.kept = Some(row);
    }

    /// Whether the row has left its table, so that one of its key is another.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether it is written from a copy, whatever becomes of the row.
    pub(crate) fn is_copied(&self) -> bool {
        matches!(self.rest, Rest::Stream(_)) || self.written.is_some()
    }

    /// What it held, for freeing it: the row, if it was kept, and its copy, if it has one.
    pub(crate) fn into_kept(self) -> impl Iterator<Item = Row> {
        let copy = match self.rest {
            Rest::Stream(rest) => Some(row_of(rest)),
            _ => self.written,
        };
        self.kept.into_iter().chain(copy)
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.part.bytes()
            + match &self.rest {
                Rest::List(rest) => rest.bytes(),
                Rest::Hashed(rest) => rest.bytes(),
                Rest::Scored(rest) => rest.bytes(),
                // What it has alone is counted with the rows that shared it.
                Rest::Stream(_) | Rest::Nothing => 0,
            }
    }

    /// Takes what is written.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        sure(self.part.take())
    }

    /// Writes elements with about so much effort; whether it is written to its end. `row`
    /// is the one in the table, unless it has left it.
    pub(crate) fn step(&mut self, row: Option<&Row>, effort: usize) -> bool {
        let LargeRow { part, rest, kept, written } = self;
        if let Rest::Stream(stream) = rest {
            if stream.step(part, effort)
                && let Rest::Stream(stream) = std::mem::replace(rest, Rest::Nothing)
            {
                *written = Some(row_of(stream));
            }
            return matches!(rest, Rest::Nothing);
        }
        if let (Some(row), false) = (kept.as_ref().or(row), matches!(rest, Rest::Nothing)) {
            let Value::Object(object) = row.value() else {
                unreachable!("a row keeps its type until it is written")
            };
            let is_over = match (&mut *rest, object) {
                (Rest::List(rest), ObjectRef::List(list)) => rest.step(list, part, effort),
                (Rest::Hashed(rest), ObjectRef::Hash(hash)) => rest.step_hash(hash, part, effort),
                (Rest::Hashed(rest), ObjectRef::Set(set)) => rest.step_set(set, part, effort),
                (Rest::Scored(rest), ObjectRef::ZSet(zset)) => rest.step(zset, part, effort),
                _ => unreachable!("a row keeps its type until it is written"),
            };
            if is_over {
                *rest = Rest::Nothing;
            }
        }
        matches!(rest, Rest::Nothing)
    }

    /// A field is about to change or to go, or to come.
    pub(crate) fn field(&mut self, hash: &Hash, field: Item<'_>) {
        let Rest::Hashed(rest) = &mut self.rest else { return };
        if rest.touch(field.text().as_bytes())
            && let Some(value) = hash.get(field)
        {
            sure(self.part.output().field((field.into(), value.into())));
        }
    }

    /// A member of a set is about to go or to come.
    pub(crate) fn member(&mut self, set: &Set, member: Item<'_>) {
        let Rest::Hashed(rest) = &mut self.rest else { return };
        if rest.touch(member.text().as_bytes()) && set.contains(member) {
            sure(self.part.output().member(member.into()));
        }
    }

    /// A member of a sorted set is about to go, to come or to get another score.
    pub(crate) fn score(&mut self, zset: &ZSet, member: &[u8]) {
        let Rest::Scored(rest) = &mut self.rest else { return };
        let score = zset.score(member);
        if rest.touch(member, score)
            && let Some(score) = score
        {
            sure(self.part.output().scored((Element::Bytes(member), score)));
        }
    }

    /// Something is about to be done to the items of a list.
    pub(crate) fn items(&mut self, list: &List, step: &ListStep) {
        if let Rest::List(rest) = &mut self.rest {
            rest.before(list, step);
        }
    }
}

/// A row of nothing but the copy of a stream, for freeing it.
fn row_of(rest: StreamRest) -> Row {
    Row::new(&[], NewValue::Object(Object::Stream(rest.into_stream())), None)
}

/// Memory takes everything.
fn sure<T>(outcome: io::Result<T>) -> T {
    outcome.expect("writing to memory succeeds")
}
