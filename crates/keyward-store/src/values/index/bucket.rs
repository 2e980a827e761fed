//! One cache line of the index: six entries and a byte of hash for each.
//!
//! Owns finding, adding and taking entries within one bucket and its overflow
//! chain. Invariants: an entry's tag is never zero, a free slot's tag always is;
//! an overflow bucket exists only behind a full one, and is never empty.
//! Not here: which bucket a hash belongs to (`index`).
//!
//! ```text
//!  0        6      8                                      56          64
//!  | tags×6 | 0 0  | slot 0 | slot 1 | ... | slot 5       | overflow   |
//! ```

/// Entries per bucket: what fits beside the tags and the overflow pointer.
pub(super) const SLOTS: usize = 6;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
/// The high bit of each byte that has a slot.
const SLOT_HIGH_BITS: u64 = 0x0000_8080_8080_8080;

/// Six slots, their tags and the way to more.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Bucket<T> {
    tags: [u8; 8],
    slots: [Option<T>; SLOTS],
    overflow: Option<Box<Bucket<T>>>,
}

/// The byte of a hash that a bucket keeps, above the bits that choose the bucket unless
/// there are very many, and within the lowest 32. Zero is reserved for free slots.
#[inline(always)]
pub(super) fn tag_of(hash: u64) -> u8 {
    ((hash >> 24) as u8).max(1)
}

impl<T> Default for Bucket<T> {
    fn default() -> Bucket<T> {
        Bucket { tags: [0; 8], slots: [const { None }; SLOTS], overflow: None }
    }
}

impl<T> Bucket<T> {
    /// Which slots may hold `tag`, one high bit per byte. A false positive is
    /// possible next to a true one, so callers compare the entry too.
    #[inline(always)]
    fn candidates(&self, tag: u8) -> u64 {
        let difference = u64::from_le_bytes(self.tags) ^ (LOW_BITS * u64::from(tag));
        difference.wrapping_sub(LOW_BITS) & !difference & SLOT_HIGH_BITS
    }

    #[inline(always)]
    fn position(&self, tag: u8, is_it: &mut impl FnMut(&T) -> bool) -> Option<usize> {
        let mut candidates = self.candidates(tag);
        while candidates != 0 {
            let slot = (candidates.trailing_zeros() / 8) as usize;
            if self.slots[slot].as_ref().is_some_and(&mut *is_it) {
                return Some(slot);
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// The first entry of this bucket and its chain that `is_it` accepts.
    #[inline(always)]
    pub(super) fn find(&self, tag: u8, mut is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        let mut bucket = self;
        loop {
            if let Some(slot) = bucket.position(tag, &mut is_it) {
                return bucket.slots[slot].as_ref();
            }
            bucket = bucket.overflow.as_deref()?;
        }
    }

    /// Where in the chain the entry is that `is_it` accepts.
    #[inline(always)]
    pub(super) fn locate(&self, tag: u8, mut is_it: impl FnMut(&T) -> bool) -> Option<usize> {
        let mut bucket = self;
        let mut before = 0;
        loop {
            if let Some(slot) = bucket.position(tag, &mut is_it) {
                return Some(before + slot);
            }
            bucket = bucket.overflow.as_deref()?;
            before += SLOTS;
        }
    }

    /// The entry at a position that `locate` returned.
    #[inline(always)]
    pub(super) fn at(&self, position: usize) -> &T {
        let mut bucket = self;
        for _ in 0..position / SLOTS {
            bucket = bucket.overflow.as_deref().expect("the chain is as long as when located");
        }
        bucket.slots[position % SLOTS].as_ref().expect("a located slot is occupied")
    }

    /// As `at`, for changing the entry in place.
    #[inline(always)]
    pub(super) fn at_mut(&mut self, position: usize) -> &mut T {
        let mut bucket = self;
        for _ in 0..position / SLOTS {
            bucket = bucket.overflow.as_deref_mut().expect("the chain is as long as when located");
        }
        bucket.slots[position % SLOTS].as_mut().expect("a located slot is occupied")
    }

    /// Moves what hangs on the bucket to other allocations: each entry by `gather`, the
    /// chain by itself.
    pub(super) fn gather(&mut self, gather: &mut impl FnMut(&mut T)) {
        let mut bucket = self;
        loop {
            bucket.slots.iter_mut().flatten().for_each(&mut *gather);
            let Some(next) = &mut bucket.overflow else { return };
            let moved = Box::new(std::mem::take(&mut **next));
            bucket = bucket.overflow.insert(moved);
        }
    }

    /// Adds an entry to the first free slot of the chain, lengthening it if needed.
    /// Here and below, `overflows` counts the overflow buckets of all chains.
    pub(super) fn add(&mut self, tag: u8, entry: T, overflows: &mut usize) {
        match self.slots.iter().position(Option::is_none) {
            Some(slot) => {
                self.tags[slot] = tag;
                self.slots[slot] = Some(entry);
            }
            None => {
                let next = self.overflow.get_or_insert_with(|| {
                    *overflows += 1;
                    Box::default()
                });
                next.add(tag, entry, overflows);
            }
        }
    }

    /// Takes out the entry that `is_it` accepts. The hole is filled from the end
    /// of the chain, so that entries stay in the first cache line where possible.
    pub(super) fn take(
        &mut self,
        tag: u8,
        is_it: &mut impl FnMut(&T) -> bool,
        overflows: &mut usize,
    ) -> Option<T> {
        let Some(slot) = self.position(tag, is_it) else {
            let taken = self.overflow.as_deref_mut()?.take(tag, is_it, overflows);
            self.drop_empty_overflow(overflows);
            return taken;
        };
        let taken = self.slots[slot].take();
        self.tags[slot] = 0;
        if let Some(overflow) = &mut self.overflow {
            let (tag, entry) = overflow.pop(overflows);
            self.tags[slot] = tag;
            self.slots[slot] = Some(entry);
            self.drop_empty_overflow(overflows);
        }
        taken
    }

    /// Removes the last entry of the chain. The bucket must not be empty.
    fn pop(&mut self, overflows: &mut usize) -> (u8, T) {
        if let Some(overflow) = &mut self.overflow {
            let popped = overflow.pop(overflows);
            self.drop_empty_overflow(overflows);
            return popped;
        }
        let slot = self.slots.iter().rposition(Option::is_some);
        let slot = slot.expect("an overflow bucket is never empty");
        let entry = self.slots[slot].take().expect("the slot was found occupied");
        (std::mem::take(&mut self.tags[slot]), entry)
    }

    /// Empties the chain, handing each entry with its tag to `receive`.
    pub(super) fn drain(&mut self, mut receive: impl FnMut(u8, T)) {
        let mut chain = std::mem::take(self);
        loop {
            for (tag, slot) in chain.tags.iter().zip(chain.slots) {
                if let Some(entry) = slot {
                    receive(*tag, entry);
                }
            }
            match chain.overflow {
                Some(next) => chain = *next,
                None => return,
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.tags == [0; 8]
    }

    fn drop_empty_overflow(&mut self, overflows: &mut usize) {
        if self.overflow.as_ref().is_some_and(|overflow| overflow.is_empty()) {
            self.overflow = None;
            *overflows -= 1;
        }
    }

    /// Every entry of the chain.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        let mut next = Some(self);
        std::iter::from_fn(move || {
            let bucket = next?;
            next = bucket.overflow.as_deref();
            Some(bucket)
        })
        .flat_map(|bucket| bucket.slots.iter().flatten())
    }

    /// Visits every entry of the chain, for changing it in place.
    pub(super) fn each_mut(&mut self, visit: &mut impl FnMut(&mut T)) {
        let mut next = Some(self);
        while let Some(bucket) = next {
            bucket.slots.iter_mut().flatten().for_each(&mut *visit);
            next = bucket.overflow.as_deref_mut();
        }
    }

    /// The entries of the first cache line whose tag matches, for prefetching.
    #[inline(always)]
    pub(super) fn each_candidate(&self, tag: u8, mut visit: impl FnMut(&T)) {
        let mut candidates = self.candidates(tag);
        while candidates != 0 {
            let slot = (candidates.trailing_zeros() / 8) as usize;
            if let Some(entry) = &self.slots[slot] {
                visit(entry);
            }
            candidates &= candidates - 1;
        }
    }

    /// How many overflow buckets are behind this one.
    pub(super) fn overflows(&self) -> usize {
        self.overflow.as_ref().map_or(0, |next| 1 + next.overflows())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_of_pointers_is_one_cache_line() {
        assert_eq!(size_of::<Bucket<Box<u8>>>(), 64);
    }

    #[test]
    fn a_hole_is_filled_from_the_overflow() {
        let (mut bucket, mut overflows) = (Bucket::default(), 0);
        for entry in 0..9u32 {
            bucket.add(7, entry, &mut overflows);
        }
        assert_eq!((bucket.overflows(), overflows), (1, 1));
        for entry in 0..3 {
            assert_eq!(bucket.take(7, &mut |e| *e == entry, &mut overflows), Some(entry));
        }
        assert_eq!((bucket.overflows(), overflows), (0, 0));
        let mut left: Vec<u32> = bucket.iter().copied().collect();
        left.sort_unstable();
        assert_eq!(left, [3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_tag_next_to_another_by_one_bit_is_told_apart() {
        let mut bucket = Bucket::default();
        bucket.add(2, 'a', &mut 0);
        bucket.add(3, 'b', &mut 0);
        assert_eq!(bucket.find(3, |_| true), Some(&'b'));
        assert_eq!(bucket.find(1, |_| false), None);
    }
}
