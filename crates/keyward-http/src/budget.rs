//! Memory of responses: made one at a time, and few bytes of them at once.
//!
//! Owns the bound on what is made and not yet sent. A text belongs to the budget until the
//! last one who sends it is done; those who ask for the same figures share a text. Its memory
//! is then used for the next one: threads come and go, and what each of them frees would lie
//! around in an arena of its own.
//! Invariant: texts take no more than [`BYTES_MAX`] together, one that is larger by itself aside.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of all texts that are kept or being sent.
const BYTES_MAX: usize = 5 << 20;
/// How long somebody waits for others to be done.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
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

    /// Keeps the memory of a text for the next one of its kind.
    pub(crate) fn keep(&self, kind: Kind, text: String) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = spare.get_mut(kind as usize) {
            *place = Some(text);
        }
    }

    /// Has a text count if there is room for it; gives it back if not.
    pub(crate) fn take(
        self: &Arc<Budget>,
        kind: Kind,
        mut text: String,
    ) -> Result<Arc<Text>, String> {
        // What grew by doubling takes no more than it needs, and a little for the next one.
        text.shrink_to(text.len() + text.len() / 16);
        let bytes = text.capacity();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !fits(*used, bytes) {
            return Err(text);
        }
        *used += bytes;
        drop(used);
        Ok(Arc::new(Text { text, kind, bytes, of: Arc::clone(self) }))
    }

    /// Whether there is room for a text that is to be made.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        fits(*self.used.lock().unwrap_or_else(PoisonError::into_inner), bytes)
    }

    /// Waits until there is room; whether there is. `hurry` sends those away who are slow.
    /// Whoever waits here holds nothing that others need.
    pub(crate) fn wait(&self, bytes: usize, until: Instant, hurry: impl Fn()) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while !fits(*used, bytes) {
            if Instant::now() >= until {
                return false;
            }
            hurry();
            let waited = self.freed.wait_timeout(used, LOOK_EVERY);
            used = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Instant::now() < until
    }
}

fn fits(used: usize, bytes: usize) -> bool {
    used == 0 || used + bytes <= BYTES_MAX
}

impl Drop for Text {
    fn drop(&mut self) {
        let mut used = self.of.used.lock().unwrap_or_else(PoisonError::into_inner);
        *used = used.saturating_sub(self.bytes);
        drop(used);
        self.of.keep(self.kind, std::mem::take(&mut self.text));
        self.of.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_wait_for_one_another_and_a_large_one_is_alone() {
        let budget: Arc<Budget> = Arc::default();
        let take = |bytes: usize| budget.take(Kind::Other, "x".repeat(bytes)).ok();
        let large = take(BYTES_MAX * 2).expect("it is alone");
        assert!(take(10).is_none(), "there is no room");
        drop(large);
        let half = take(BYTES_MAX / 2).expect("there is room");
        let other = take(BYTES_MAX / 2).expect("there is room");
        assert!(take(1).is_none(), "there is no room");
        let soon = Instant::now() + Duration::from_millis(50);
        assert!(!budget.wait(1, soon, || ()), "nobody is done");
        let waiting = std::thread::spawn({
            let budget = Arc::clone(&budget);
            move || budget.wait(1, Instant::now() + Duration::from_secs(60), || ())
        });
        drop(half);
        assert!(waiting.join().expect("no panic"), "somebody is done");
        assert!(take(1).is_some(), "there is room again");
        drop(other);
        assert_eq!(*budget.used.lock().expect("nobody panicked"), 0);
    }

    #[test]
    fn a_text_takes_little_more_than_it_has() {
        let budget: Arc<Budget> = Arc::default();
        let mut text = String::with_capacity(1 << 20);
        text.push_str(&"x".repeat(1000));
        let text = budget.take(Kind::Metrics, text).expect("there is room");
        assert!((1000..2000).contains(&text.bytes), "{}", text.bytes);
    }
}
