//! Whether two replies agree.

use crate::step::{Check, Unordered};
use keyward_resp::Frame;
use keyward_testkit::Reply;

/// The result of combining sets is a hash table in Redis if it has more members than
/// this, the lowest limit that rounds set.
const INTSET_ENTRIES_MAX: usize = 4;
/// How far apart a lifetime may be on both servers. The generator draws lifetimes so
/// thinly that two different ones are hardly ever this close.
const LIFETIME_DIFFERENCE_MAX: u64 = 100_000;
/// Below this a number is a code (no lifetime, no key), not a lifetime.
const LIFETIME_MIN: i64 = 100;

/// Whether the replies agree. `is_hashed` tells whether one of the keys that an
/// unordered reply comes from is a hash table in Redis.
pub(crate) fn agree(check: &Check, is_hashed: bool, ours: &Reply, theirs: &Reply) -> bool {
    ours.bytes == theirs.bytes || frames_agree(check, is_hashed, &ours.frame, &theirs.frame)
}

/// Whether the replies of a transaction agree, each by the check of its command.
pub(crate) fn agree_each(checks: &[Check], ours: &Reply, theirs: &Reply) -> bool {
    if ours.bytes == theirs.bytes {
        return true;
    }
    let (Frame::Array(ours), Frame::Array(theirs)) = (&ours.frame, &theirs.frame) else {
        return false;
    };
    ours.len() == theirs.len()
        && ours.len() == checks.len()
        && checks.iter().zip(ours.iter().zip(theirs)).all(|(check, (ours, theirs))| {
            encoded(ours) == encoded(theirs) || frames_agree(check, true, ours, theirs)
        })
}

fn frames_agree(check: &Check, is_hashed: bool, ours: &Frame, theirs: &Frame) -> bool {
    match check {
        Check::Exact => false,
        Check::AnyOrder(unordered) => {
            let is_combined = unordered.sources.as_ref().is_some_and(|keys| keys.len() > 1);
            let count = theirs.as_elements().map_or(0, <[_]>::len);
            let may_differ = is_hashed || (is_combined && count > INTSET_ENTRIES_MAX);
            may_differ && same_elements(unordered, ours, theirs)
        }
        Check::Lifetime => match (ours, theirs) {
            (Frame::Integer(ours), Frame::Integer(theirs)) => {
                *ours.min(theirs) > LIFETIME_MIN && ours.abs_diff(*theirs) < LIFETIME_DIFFERENCE_MAX
            }
            _ => false,
        },
    }
}

/// Whether both hold the same elements. Groups count where fields and values alternate
/// in one array; nested arrays, as scripts make them, are put in order too.
fn same_elements(unordered: &Unordered, ours: &Frame, theirs: &Frame) -> bool {
    match (ours, theirs) {
        (Frame::Array(ours), Frame::Array(theirs)) | (Frame::Set(ours), Frame::Set(theirs)) => {
            sorted_groups(unordered.group, ours) == sorted_groups(unordered.group, theirs)
        }
        (Frame::Map(ours), Frame::Map(theirs)) => sorted_pairs(ours) == sorted_pairs(theirs),
        _ => false,
    }
}

fn sorted_groups(group: usize, elements: &[Frame]) -> Vec<Vec<u8>> {
    let mut groups: Vec<Vec<u8>> =
        elements.chunks(group).map(|chunk| chunk.iter().flat_map(in_order).collect()).collect();
    groups.sort();
    groups
}

fn sorted_pairs(pairs: &[(Frame, Frame)]) -> Vec<Vec<u8>> {
    let mut pairs: Vec<Vec<u8>> =
        pairs.iter().map(|(key, value)| [encoded(key), encoded(value)].concat()).collect();
    pairs.sort();
    pairs
}

/// The bytes of a frame whose nested elements stand in order.
fn in_order(frame: &Frame) -> Vec<u8> {
    match frame {
        Frame::Array(elements) | Frame::Set(elements) => sorted_groups(1, elements).concat(),
        Frame::Map(pairs) => sorted_pairs(pairs).concat(),
        other => encoded(other),
    }
}

pub(crate) fn encoded(frame: &Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(frame: Frame) -> Reply {
        Reply { bytes: encoded(&frame), frame }
    }

    fn array(texts: &[&str]) -> Reply {
        reply(Frame::Array(
            texts.iter().map(|text| Frame::Bulk(text.as_bytes().to_vec())).collect(),
        ))
    }

    #[test]
    fn order_counts_unless_it_is_that_of_a_hash_table() {
        let check = Check::AnyOrder(Unordered { group: 1, sources: None });
        let (ours, theirs) = (array(&["a", "b"]), array(&["b", "a"]));
        assert!(agree(&check, true, &ours, &theirs));
        assert!(!agree(&check, false, &ours, &theirs));
        assert!(!agree(&Check::Exact, true, &ours, &theirs));
        assert!(!agree(&check, true, &ours, &array(&["b", "b"])));
    }

    #[test]
    fn a_field_keeps_its_value_in_any_order() {
        let check = Check::AnyOrder(Unordered { group: 2, sources: None });
        let ours = array(&["a", "1", "b", "2"]);
        assert!(agree(&check, true, &ours, &array(&["b", "2", "a", "1"])));
        assert!(!agree(&check, true, &ours, &array(&["b", "1", "a", "2"])));
    }

    #[test]
    fn lifetimes_may_be_apart_but_not_missing() {
        let number = |number| reply(Frame::Integer(number));
        assert!(agree(&Check::Lifetime, false, &number(5_000_000), &number(5_000_020)));
        assert!(!agree(&Check::Lifetime, false, &number(5_000_000), &number(-1)));
        assert!(!agree(&Check::Lifetime, false, &number(-2), &number(-1)));
    }

    #[test]
    fn replies_of_a_transaction_are_each_compared_in_their_way() {
        let any = Check::AnyOrder(Unordered { group: 1, sources: None });
        let pair =
            |a: &Reply, b: &Reply| reply(Frame::Array(vec![a.frame.clone(), b.frame.clone()]));
        let (ab, ba) = (array(&["a", "b"]), array(&["b", "a"]));
        let (ours, theirs) = (pair(&ab, &ab), pair(&ab, &ba));
        assert!(agree_each(&[Check::Exact, any.clone()], &ours, &theirs));
        assert!(!agree_each(&[any, Check::Exact], &ours, &theirs));
    }
}
