//! How somebody else has a connection served although its socket is silent (wake-up).
//!
//! Owns the list of those who were woken, and the bell by which each comes to be on it once.
//! Not here: who serves them (`serve/turn.rs`).

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Connections to be served although their sockets are silent, by their places.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    places: RefCell<Vec<usize>>,
}

impl Woken {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.places.borrow().is_empty()
    }

    pub(crate) fn add(&self, place: usize) {
        self.places.borrow_mut().push(place);
    }

    /// Those there are. Who is woken afterwards is next.
    pub(crate) fn take(&self) -> Vec<usize> {
        self.places.take()
    }

    /// Takes back the empty list that [`Woken::take`] gave, to use its memory again.
    pub(crate) fn recycle(&self, places: Vec<usize>) {
        let mut woken = self.places.borrow_mut();
        if woken.is_empty() {
            *woken = places;
        }
    }
}

/// How somebody else has a connection served.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    woken: Rc<Woken>,
    place: usize,
    has_rung: Cell<bool>,
}

impl Bell {
    /// That of the connection at a place.
    pub(crate) fn new(woken: &Rc<Woken>, place: usize) -> Bell {
        Bell { woken: Rc::clone(woken), place, has_rung: Cell::new(false) }
    }

    /// The connection is served soon.
    pub(crate) fn ring(&self) {
        if !self.has_rung.replace(true) {
            self.woken.add(self.place);
        }
    }

    /// The connection is being served.
    pub(crate) fn heard(&self) {
        self.has_rung.set(false);
    }
}
