//! How many nodes a radix tree of ids would have.
//!
//! XINFO STREAM tells how many nodes Redis's tree of a stream has. There is none here; the
//! number follows from the ids: a node for each end, for each place where ids part, and for
//! each stretch of bytes between two of these that no parting holds.
//!
//! Cost: some nanoseconds for each id, of which there is one for a hundred entries.

use super::id::StreamId;

/// Bytes of an id.
const DEPTH: u32 = 16;

/// The nodes of a radix tree of these ids, which are in order and all different.
pub(super) fn node_count(ids: impl Iterator<Item = StreamId>) -> usize {
    let mut count = 0;
    // The depths at which the path to the last id parts from others.
    let mut partings: Vec<u32> = Vec::new();
    let mut before: Option<u128> = None;
    for id in ids.map(StreamId::number) {
        if let Some(before) = before {
            let parting = (before ^ id).leading_zeros() / 8;
            // The id before this one ends here, and so does what parts below this place.
            let mut below = DEPTH;
            while let Some(depth) = partings.pop_if(|depth| *depth > parting) {
                count += nodes_between(Some(depth), below);
                below = depth;
            }
            count += nodes_between(Some(parting), below);
            if partings.last() != Some(&parting) {
                partings.push(parting);
            }
        }
        before = Some(id);
    }
    if before.is_none() {
        return 1;
    }
    let mut below = DEPTH;
    while let Some(depth) = partings.pop() {
        count += nodes_between(Some(depth), below);
        below = depth;
    }
    count + nodes_between(None, below)
}

/// The node at a depth, and that of the bytes between it and the parting above, if there
/// are any; above all is the root.
fn nodes_between(above: Option<u32>, depth: u32) -> usize {
    1 + usize::from(depth > above.map_or(0, |above| above + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What redis-server 7.0.15 tells of streams with nodes of such ids
    /// (`stream-node-max-entries 1`).
    #[test]
    fn the_count_is_redis_s() {
        let check = |ids: &[(u64, u64)], expected: usize| {
            let ids = ids.iter().map(|(ms, seq)| StreamId::new(*ms, *seq));
            assert_eq!(node_count(ids), expected);
        };
        check(&[], 1);
        check(&[(1, 0)], 2);
        check(&[(1, 0), (1, 1)], 4);
        check(&[(1, 0), (2, 0)], 6);
        check(&[(1, 0), (1, 1), (1, 2)], 5);
    }
}
