//! What a primary tells of schemas, by its stream, or that it tells of none.
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
    /// What it says; `None` of a primary that tells of no schemas.
    pub(super) text: Option<Vec<u8>>,
    pub(super) expected: Arc<Expected>,
    /// What governs each database now.
    pub(super) now: Vec<Governing>,
}

/// What a primary tells of schemas, read.
#[derive(Debug)]
pub struct Heard {
    pub(super) number: u64,
    pub(super) said: Said,
    /// What is to govern each database.
    pub(super) books: Vec<Governing>,
}

/// What a primary says of schemas.
#[derive(Debug)]
pub(super) enum Said {
    /// Which are in force, and the text that says so.
    Schemas(Memory, String),
    /// What cannot be read.
    Unreadable,
    /// Nothing.
    Nothing,
}

impl Told {
    /// Reads and compiles it. Takes long for a long text, and for long schemas.
    pub fn read(self) -> Heard {
        let Told { number, text, expected, now } = self;
        let Some(text) = text else {
            let arrival = Arrival { expected, ..Arrival::default() };
            let books = now.into_iter().map(|(db, book)| match arrival.observing(db) {
                Some(own) => (db, Some(Arc::new(own))),
                None => observing((db, book)),
            });
            return Heard { number, said: Said::Nothing, books: books.collect() };
        };
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
        let text = String::from_utf8_lossy(&text).into_owned();
        let (books, said) = match read {
            Some((books, memory)) => (books, Said::Schemas(memory, text)),
            None => (now.into_iter().map(observing).collect(), Said::Unreadable),
        };
        Heard { number, said, books }
    }
}

/// What governs a database, which only observes from now on.
fn observing((db, book): Governing) -> Governing {
    let book = book.map(|book| match book.observes_all() {
        true => book,
        false => {
            let modes = vec![Some(Mode::Observe); parts(book.declared()).len()];
            Arc::new(RuleBook::overruled(book.declared().clone(), &modes))
        }
    });
    (db, book)
}
