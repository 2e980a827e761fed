//! Texts that are made, shared and kept.
//!
//! Owns the last text of each kind of figures. Texts are made one at a time, and count in the
//! [`Budget`] until they are sent. One that is only kept makes room for whatever is sent.
//! Invariant: nobody who waits for room has a lock, or a text of figures that does not count.

use crate::board::{Board, Reading};
use crate::budget::{Budget, Kind, PATIENCE, Text};
use crate::response::{Response, Status};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Figures that are older are told with their age anew.
const SECOND: Duration = Duration::from_secs(1);

/// What is kept and what counts.
#[derive(Default)]
pub(crate) struct Texts {
    /// Locked while figures are made into a text.
    last: Mutex<Last>,
    budget: Arc<Budget>,
}

/// The last texts of figures, and the figures.
#[derive(Default)]
struct Last {
    metrics: Kept,
    overview: Kept,
    /// The last figures, whose memory is used again.
    reading: Option<Reading>,
}

/// A text that is kept for others who ask, until somebody needs its room.
#[derive(Default)]
struct Kept {
    /// When its figures were published, and the text.
    text: Option<(u64, Arc<Text>)>,
    /// How large the last one was.
    bytes: usize,
}

impl Last {
    fn kept(&mut self, kind: Kind) -> &mut Kept {
        if kind == Kind::Metrics { &mut self.metrics } else { &mut self.overview }
    }

    /// Makes room for who needs it: what is being sent takes it anyway.
    fn forget(&mut self) {
        for kept in [&mut self.metrics, &mut self.overview] {
            kept.text.take_if(|(_, text)| Arc::strong_count(text) == 1);
        }
    }
}

/// A text that counts, or how much room there would have to be for it.
pub(crate) type Counted = Result<Arc<Text>, usize>;

impl Texts {
    /// What `make` makes once there is room for it; made anew after each wait. `hurry` sends
    /// those away who are slow.
    pub(crate) fn made(
        &self,
        hurry: &dyn Fn(),
        mut make: impl FnMut() -> Result<Counted, Response>,
    ) -> Result<Arc<Text>, Response> {
        let until = Instant::now() + PATIENCE;
        loop {
            let bytes = match make()? {
                Ok(text) => return Ok(text),
                Err(bytes) => bytes,
            };
            if !self.budget.wait(bytes, until, hurry) {
                return Err(Response::text(Status::Unavailable, "too much is being sent"));
            }
        }
    }

    /// Has a text count, in the room of what is kept where it needs that.
    pub(crate) fn counted(&self, kind: Kind, text: String) -> Counted {
        self.budget.take(kind, text).or_else(|text| {
            self.last.lock().unwrap_or_else(PoisonError::into_inner).forget();
            self.budget.take(kind, text).map_err(|text| text.capacity())
        })
    }

    /// A text of the newest figures. Those who ask at the same time are given the same.
    pub(crate) fn of_figures(
        &self,
        kind: Kind,
        board: &Board,
        hurry: &dyn Fn(),
        render: &dyn Fn(&Reading, String) -> String,
    ) -> Result<Arc<Text>, Response> {
        self.made(hurry, || {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            let words = last.reading.take().map(|reading| reading.words).unwrap_or_default();
            let reading = board.last_in(words).ok_or_else(no_figures)?;
            let counted = self.rendered(kind, &mut last, &reading, render);
            last.reading = Some(reading);
            Ok(counted)
        })
    }

    fn rendered(
        &self,
        kind: Kind,
        last: &mut Last,
        reading: &Reading,
        render: &dyn Fn(&Reading, String) -> String,
    ) -> Counted {
        let kept = last.kept(kind);
        let is_known = |known: &&(u64, Arc<Text>)| known.0 == reading.at_ns && reading.age < SECOND;
        if let Some((_, text)) = kept.text.as_ref().filter(is_known) {
            return Ok(Arc::clone(text));
        }
        kept.text = None;
        let bytes = kept.bytes;
        if !self.budget.has_room(bytes) {
            last.forget();
        }
        if !self.budget.has_room(bytes) {
            return Err(bytes);
        }
        let text = render(reading, self.budget.empty(kind));
        let taken = self.budget.take(kind, text).or_else(|text| {
            last.forget();
            self.budget.take(kind, text)
        });
        let kept = last.kept(kind);
        match taken {
            Ok(text) => {
                kept.bytes = text.bytes;
                kept.text = Some((reading.at_ns, Arc::clone(&text)));
                Ok(text)
            }
            Err(text) => {
                kept.bytes = text.capacity();
                self.budget.keep(kind, text);
                Err(kept.bytes)
            }
        }
    }
}

/// The response while nothing was published.
pub(crate) fn no_figures() -> Response {
    Response::text(Status::Unavailable, "there are no figures yet")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_makes_room_for_the_other_kind_and_for_anything_else() {
        let (board, mut publisher) = Board::new();
        publisher.publish(|writer| writer.text.push_str("role:master\r\n"));
        let texts = Texts::default();
        let large = |_: &Reading, empty: String| empty + &"x".repeat(4 << 20);
        let of = |kind| texts.of_figures(kind, &board, &|| (), &large);
        for kind in [Kind::Metrics, Kind::Overview, Kind::Metrics] {
            assert!(of(kind).is_ok(), "{kind:?}");
        }
        assert!(texts.counted(Kind::Other, "x".repeat(3 << 20)).is_ok());
        // What is being sent does not.
        let sent = of(Kind::Metrics).expect("there is room");
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| of(Kind::Overview).is_ok());
            std::thread::sleep(Duration::from_millis(100));
            assert!(texts.last.try_lock().is_ok(), "nobody who waits has a lock");
            assert!(of(Kind::Metrics).is_ok(), "the same is given to others");
            assert!(!waiting.join().expect("no panic"), "it was sent all the while");
        });
        assert!(begun.elapsed() >= PATIENCE);
        drop(sent);
        assert!(of(Kind::Overview).is_ok());
    }
}
