//! What the stream of a primary tells of schemas.
//!
//! Owns the way from the text to the books: reading and compiling it takes far longer for a long
//! text than a step may, so a [`Told`] holds all that is needed and the host may read it on any
//! thread (`Host::read_told`). Meanwhile the stream waits, and clients are told to.
//!
//! What cannot be read, or is not taken by this version, changes no schema: those in force stay
//! and only observe.
//! Not here: putting it in force (`replicated`), rows on their way to other tables (`settlement`),
//! carrying out the stream (`engine::primary`).

use super::arrival::{Arrival, Expected};
use super::memory::{Memory, parts};
use keyward_rules::RuleBook;
use keyward_schema::Mode;
use std::sync::Arc;

/// A book for a database, or none.
pub(super) type Governing = (usize, Option<Arc<RuleBook>>);

/// What a primary tells of schemas, to be read.
#[derive(Debug)]
pub struct Told {
    /// How often the primary has told of schemas.
    pub(super) number: u64,
    pub(super) text: Vec<u8>,
    pub(super) expected: Arc<Expected>,
    /// What governs each database now.
    pub(super) now: Vec<Governing>,
}

/// What a primary tells of schemas, read.
#[derive(Debug)]
pub struct Heard {
    pub(super) number: u64,
    pub(super) text: String,
    /// What it says; `None` if it cannot be read.
    pub(super) memory: Option<Memory>,
    /// What is to govern each database.
    pub(super) books: Vec<Governing>,
}

impl Told {
    /// Reads and compiles it. Takes long for a long text.
    pub fn read(self) -> Heard {
        let Told { number, text, expected, now } = self;
        let arrival = Memory::read(&text).ok();
        let arrival = arrival.map(|memory| Arrival { memory, expected, ..Arrival::default() });
        let read = arrival.and_then(|arrival| {
            let books = now.iter().map(|(db, _)| {
                let is_told = arrival.memory.in_force.contains_key(db);
                let book = arrival.remembered(*db).map(|book| Arc::new(arrival.as_told(*db, book)));
                // This version does not take it.
                (book.is_some() || !is_told).then_some((*db, book))
            });
            Some((books.collect::<Option<Vec<Governing>>>()?, arrival.memory))
        });
        let (books, memory) = match read {
            Some((books, memory)) => (books, Some(memory)),
            None => (now.into_iter().map(observing).collect(), None),
        };
        let text = String::from_utf8_lossy(&text).into_owned();
        Heard { number, text, memory, books }
    }
}

/// What governs a database, which only observes from now on.
pub(super) fn observing((db, book): Governing) -> Governing {
    let book = book.map(|book| match book.observes_all() {
        true => book,
        false => {
            let modes = vec![Some(Mode::Observe); parts(book.declared()).len()];
            Arc::new(RuleBook::overruled(book.declared().clone(), &modes))
        }
    });
    (db, book)
}
