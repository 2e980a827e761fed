//! What is combined: sorted sets, and sets, whose members all score one.

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::WireError;
use keyward_store::keyspace::Keyspace;
use keyward_store::values::hasher::Key;
use keyward_store::values::packed::Item;
use keyward_store::values::row::Row;
use keyward_store::values::set::Set;
use keyward_store::values::text::Text;
use keyward_store::values::value::{ObjectRef, Value};
use keyward_store::values::zset::ZSet;
use std::borrow::Cow;

/// A member of a source; the numbers of a set are written out.
pub(super) type Member<'a> = Cow<'a, [u8]>;

/// The score of every member of a set.
const SET_SCORE: f64 = 1.0;

/// One input and its weight.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    input: Input<'a>,
    pub(super) weight: f64,
}

#[derive(Clone, Copy)]
enum Input<'a> {
    Nothing,
    Set(&'a Set),
    ZSet(&'a ZSet),
}

impl<'a> Input<'a> {
    /// What a row holds; `None` if it cannot be combined.
    fn of(row: &'a Row) -> Option<Input<'a>> {
        match row.value() {
            Value::Object(ObjectRef::Set(set)) => Some(Input::Set(set)),
            Value::Object(ObjectRef::ZSet(zset)) => Some(Input::ZSet(zset)),
            _ => None,
        }
    }
}

impl<'a> Source<'a> {
    /// Looks the key at a position up, so that it counts as read, a due one is
    /// gone and a wrong type is told.
    pub(super) fn check(ctx: &mut Ctx<'_>, position: usize) -> Outcome {
        let key = ctx.key(position);
        match ctx.keys.read(key) {
            Some(row) if Input::of(row).is_none() => Err(WireError::WrongType),
            _ => Ok(()),
        }
    }

    /// The input under a key that `check` has looked at.
    pub(super) fn find(keys: &'a Keyspace, key: Key<'_>, weight: f64) -> Source<'a> {
        let row = keys.table(key).find_loose(key);
        Source { input: row.and_then(Input::of).unwrap_or(Input::Nothing), weight }
    }

    pub(super) fn len(&self) -> usize {
        match self.input {
            Input::Nothing => 0,
            Input::Set(set) => set.len(),
            Input::ZSet(zset) => zset.len(),
        }
    }

    /// The score of a member.
    pub(super) fn score(&self, member: &[u8]) -> Option<f64> {
        match self.input {
            Input::Nothing => None,
            Input::Set(set) => set.contains(Item::of(member)).then_some(SET_SCORE),
            Input::ZSet(zset) => zset.score(member),
        }
    }

    /// The members and their scores.
    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = (Member<'a>, f64)> + 'a> {
        match self.input {
            Input::Nothing => Box::new(std::iter::empty()),
            Input::Set(set) => Box::new(set.iter().map(|item| (written(item), SET_SCORE))),
            Input::ZSet(zset) => {
                Box::new(zset.iter(0..zset.len()).map(|(m, score)| (Cow::Borrowed(m), score)))
            }
        }
    }
}

fn written(item: Item<'_>) -> Member<'_> {
    match item.text() {
        Text::Bytes(bytes) => Cow::Borrowed(bytes),
        number => Cow::Owned(number.as_bytes().to_vec()),
    }
}
