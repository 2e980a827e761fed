//! The arithmetic of linear hashing (Litwin, 1980): which page a hash belongs to, and
//! which page is split or merged next.
//!
//! Owns the count of pages and nothing of what they are: buckets of an index, pages of
//! packed rows. Invariant: with `count` pages and `mask` = 2^k − 1,
//! `mask/2 < count ≤ mask + 1`; a hash belongs to page `hash & mask` if that exists,
//! else to `hash & (mask >> 1)`.
//!
//! A scan cursor is a position in the order of bit-reversed hashes. A page covers one
//! interval of that order; splitting or merging pages only refines or coarsens
//! intervals. So whatever was present throughout a scan is returned at least once, as
//! Redis promises, however the pages grew or shrank meanwhile, and two sets of pages
//! can be scanned by one cursor.

/// How many pages there are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addressing {
    count: usize,
    mask: usize,
}

/// A page that was added, and what moves into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Split {
    /// The page whose entries are shared out.
    pub source: usize,
    /// The page that was added.
    pub added: usize,
    /// Entries whose hash has this bit go there.
    pub bit: usize,
}

impl Addressing {
    pub(crate) fn count(self) -> usize {
        self.count
    }

    /// The page of a hash. There must be one.
    #[inline(always)]
    pub(crate) fn of(self, hash: u64) -> usize {
        let fine = hash as usize & self.mask;
        if fine < self.count { fine } else { fine & (self.mask >> 1) }
    }

    /// Adds a page; there is nothing to split if it is the first.
    pub(crate) fn grow(&mut self) -> Option<Split> {
        let added = self.count;
        self.count += 1;
        if added == 0 {
            return None;
        }
        if added > self.mask {
            self.mask = self.mask * 2 + 1;
        }
        let half = self.mask >> 1;
        Some(Split { source: added & half, added, bit: half + 1 })
    }

    /// The page that the next growth shares out. There must be one.
    pub(crate) fn next_source(self) -> usize {
        if self.count > self.mask { 0 } else { self.count & (self.mask >> 1) }
    }

    /// Takes the last page away; returns the one that its entries go to, which is the
    /// same if there was no other.
    pub(crate) fn shrink(&mut self) -> usize {
        self.count -= 1;
        let target = self.count & (self.mask >> 1);
        if self.count == self.mask.div_ceil(2) {
            self.mask >>= 1;
        }
        target
    }

    /// The bits that all hashes of one page share.
    #[inline]
    pub(crate) fn shared_bits(self, page: usize) -> u64 {
        let half = (self.mask >> 1) + 1;
        let is_split = page >= half || page + half < self.count;
        if is_split { self.mask as u64 } else { (self.mask >> 1) as u64 }
    }

    /// The bits that all hashes of the page at a cursor share; none without pages.
    pub(crate) fn shared_bits_at(self, cursor: u64) -> u64 {
        if self.count == 0 { 0 } else { self.shared_bits(self.of(cursor)) }
    }
}

/// Where a scan goes on that has seen all hashes with these bits in common with the
/// cursor; zero at the end.
pub(crate) fn next_cursor(cursor: u64, shared: u64) -> u64 {
    // Step over the interval: add one above the shared bits of the reversed cursor, and
    // drop what lies below them.
    (cursor | !shared).reverse_bits().wrapping_add(1).reverse_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_and_shrinking_are_each_others_reverse() {
        let mut addressing = Addressing::default();
        let mut states = Vec::new();
        for _ in 0..100 {
            states.push(addressing);
            addressing.grow();
        }
        while addressing.count() > 1 {
            let target = addressing.shrink();
            assert_eq!(
                Some(addressing),
                states.pop().filter(|state| state.count() == addressing.count())
            );
            assert!(target < addressing.count());
        }
    }

    #[test]
    fn the_next_source_is_known_before() {
        let mut addressing = Addressing::default();
        addressing.grow();
        for _ in 0..100 {
            let expected = addressing.next_source();
            assert_eq!(addressing.grow().map(|split| split.source), Some(expected));
        }
    }

    #[test]
    fn a_scan_visits_every_page_once() {
        for count in [1, 2, 3, 5, 8, 13, 100] {
            let mut addressing = Addressing::default();
            for _ in 0..count {
                addressing.grow();
            }
            let (mut cursor, mut seen) = (0, Vec::new());
            loop {
                seen.push(addressing.of(cursor));
                cursor = next_cursor(cursor, addressing.shared_bits_at(cursor));
                if cursor == 0 {
                    break;
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }
}
