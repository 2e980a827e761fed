//! How many things are asked for at once: as many as their size lets.
//!
//! What is not known before it is read is guessed from what was read last: few at first, twice as
//! many as long as they are small, and fewer at once where they are large.

/// About so many bytes are asked for at once.
pub(crate) const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;
/// How many are asked for first, when nothing is known of their size.
const AT_FIRST: usize = 16;

/// How many are asked for next.
pub(crate) struct Pace {
    /// The number of them.
    pub(crate) count: usize,
    most: usize,
}

impl Pace {
    /// A few at first, and never more than this.
    pub(crate) fn up_to(most: usize) -> Pace {
        Pace { count: AT_FIRST.min(most), most }
    }

    /// Asks for more or fewer next time, by how many came and how large they are.
    pub(crate) fn adapt(&mut self, came: usize, bytes: usize) {
        if bytes > BYTES_AT_ONCE {
            // As many as are as large together.
            let fit = came * BYTES_AT_ONCE / bytes;
            self.count = fit.min(self.count / 2).max(1);
        } else if came == self.count && bytes < BYTES_AT_ONCE / 2 {
            self.count = (self.count * 2).min(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_is_asked_for_a_few_at_a_time() {
        let mut pace = Pace::up_to(5_000);
        for _ in 0..10 {
            pace.adapt(pace.count, pace.count * 100);
        }
        assert_eq!(pace.count, 5_000);
        for _ in 0..10 {
            pace.adapt(pace.count, pace.count * 50_000);
        }
        assert_eq!(pace.count, 83);
        pace.adapt(3, 300);
        assert_eq!(pace.count, 83, "a short page says nothing");
        pace.adapt(83, 83 * 5_000_000);
        assert_eq!(pace.count, 1);
    }
}
