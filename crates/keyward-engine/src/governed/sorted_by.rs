//! The keys that SORT reads without naming them: what BY and GET make of each element.
//!
//! Owns how a pattern and an element make a key. Pending ends have yet to remove something of
//! such keys as of any other, and they are finished before the command runs.
//! Not here: the command (`commands::generic::sort`).

use keyward_resp::Args;
use keyward_store::keyspace::Keyspace;
use keyward_store::values::packed::Item;
use keyward_store::values::value::{ObjectRef, Value};

/// The key that a pattern names for an element, and the field of a hash after `->`; none if
/// the pattern has no place for an element.
pub(crate) fn named<'p>(pattern: &'p [u8], element: &[u8]) -> Option<(Vec<u8>, Option<&'p [u8]>)> {
    let star = pattern.iter().position(|byte| *byte == b'*')?;
    let (before, behind) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = behind.windows(2).position(|two| two == b"->");
    let (behind, field) = match arrow.map(|at| (&behind[..at], &behind[at + 2..])) {
        Some((behind, field)) if !field.is_empty() => (behind, Some(field)),
        _ => (behind, None),
    };
    Some(([before, element, behind].concat(), field))
}

/// The keys that a call of SORT reads, and perhaps some more: every word with a star is taken
/// for a pattern.
pub(super) fn keys_read(keys: &Keyspace, db: usize, args: Args<'_>) -> Vec<Vec<u8>> {
    let mut read = Vec::new();
    let row = args.get(1).and_then(|key| keys.database_at(db).find(key));
    let Some(Value::Object(object)) = row.as_deref().map(|row| row.value()) else { return read };
    let mut add = |element: &[u8]| {
        let patterns = args.from(2);
        read.extend(patterns.iter().filter_map(|it| named(it, element)).map(|(key, _)| key));
    };
    let mut add_item = |item: Item<'_>| add(item.text().as_bytes());
    match object {
        ObjectRef::List(list) => list.forward(0).for_each(&mut add_item),
        ObjectRef::Set(set) => set.iter().for_each(&mut add_item),
        ObjectRef::ZSet(zset) => zset.iter(0..zset.len()).for_each(|(member, _)| add(member)),
        ObjectRef::Hash(_) | ObjectRef::Stream(_) => {}
    }
    read
}
