//! Memory of responses: made one at a time, and few bytes of them at once.
//!
//! Owns the bound on what is made and not yet sent. A text belongs to the budget until the
//! last one who sends it is done; those who ask for the same figures share a text. Its memory
//! is then used for the next one: threads come and go, and what each of them frees would lie
//! around in an arena of its own.
//! Invariant: texts take no more than [`BYTES_MAX`] together, one that is larger by itself aside.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of all texts that are kept or being sent.
const BYTES_MAX: usize = 5 << 20;
/// How long somebody waits for others to be done.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often those who are slow are looked for meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What a text is about: each kind has memory of its own that is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What Prometheus scrapes.
    Metrics,
    /// What the dashboard begins with.
    Overview,
    /// Anything else, which is small.
    Other,
}

/// What is made and not yet sent.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    used: Mutex<usize>,
    /// Memory that is free for the next text of a kind.
    spare: Mutex<[Option<String>; 2]>,
    freed: Condvar,
}

/// A text that counts.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    kind: Kind,
    /// The memory that it takes.
    pub(crate) bytes: usize,
    of: Arc<Budget>,
}

impl Budget {
    /// An empty text to write into.
    pub(crate) fn empty(&self, kind: Kind) -> String {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = spare.get_mut(kind as usize).and_then(Option::take).unwrap_or_default();
        text.clear();
        text
    }

    fn keep(&self, kind: Kind, text: String) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = spare.get_mut(kind as usize) {
            *place = Some(text);
        }
    }

    /// Has a text count, once there is room; nothing if others take too long. `hurry` sends
    /// somebody away who is slow.
    pub(crate) fn take(
        self: &Arc<Budget>,
        kind: Kind,
        text: String,
        hurry: impl Fn(),
    ) -> Option<Arc<Text>> {
        let bytes = text.capacity();
        let mut used = self.room(bytes, hurry)?;
        *used += bytes;
        drop(used);
        Some(Arc::new(Text { text, kind, bytes, of: Arc::clone(self) }))
    }

    /// Waits until there is room for a text that is to be made.
    pub(crate) fn room(&self, bytes: usize, hurry: impl Fn()) -> Option<MutexGuard<'_, usize>> {
        let until = Instant::now() + PATIENCE;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > BYTES_MAX {
            if Instant::now() >= until {
                return None;
            }
            hurry();
            let waited = self.freed.wait_timeout(used, LOOK_EVERY);
            used = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Some(used)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let mut used = self.of.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(self.bytes);
        drop(used);
        self.of.keep(self.kind, std::mem::take(&mut self.text));
        self.of.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_wait_for_one_another_and_a_large_one_is_alone() {
        let budget: Arc<Budget> = Arc::default();
        let take = |bytes: usize| budget.take(Kind::Other, "x".repeat(bytes), || ());
        let large = take(BYTES_MAX * 2).expect("it is alone");
        assert!(take(10).is_none(), "there is no room");
        drop(large);
        let half = take(BYTES_MAX / 2).expect("there is room");
        let other = take(BYTES_MAX / 2).expect("there is room");
        assert!(take(1).is_none(), "there is no room");
        drop(half);
        assert!(take(1).is_some(), "there is room again");
        drop(other);
        assert_eq!(*budget.used.lock().expect("nobody panicked"), 0);
    }
}
