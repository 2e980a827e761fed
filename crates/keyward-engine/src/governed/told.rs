//! What the stream of a primary tells of schemas.
//!
//! Owns the way from the text to the books: reading and compiling it takes far longer for a long
//! text than a step may, so a [`Told`] holds all that is needed and the host may read it on any
//! thread (`Host::read_told`). Meanwhile the stream waits, and clients are told to.
//!
//! What cannot be read, or is not taken by this version, changes no schema: those in force stay
//! and only observe, and the log says so.
//! Invariant: only what was told last comes into force, and nothing that a snapshot has overtaken.
//! Not here: rows on their way to other tables (`settlement`), carrying out the stream
//! (`engine::primary`).

use super::arrival::{Arrival, Expected, is_like};
use super::memory::{Memory, parts};
use crate::engine::Engine;
use crate::engine::shared::Shared;
use crate::host::Host;
use keyward_lua::LogLevel;
use keyward_rules::RuleBook;
use keyward_schema::Mode;
use keyward_store::keyspace::Keyspace;
use std::sync::Arc;

/// A book for a database, or none.
type Governing = (usize, Option<Arc<RuleBook>>);

/// What a primary tells of schemas, to be read.
#[derive(Debug)]
pub struct Told {
    number: u64,
    text: Vec<u8>,
    expected: Arc<Expected>,
    /// What governs each database now.
    now: Vec<Governing>,
}

/// What a primary tells of schemas, read.
#[derive(Debug)]
pub struct Heard {
    number: u64,
    text: String,
    /// What it says; `None` if it cannot be read.
    memory: Option<Memory>,
    /// What is to govern each database.
    books: Vec<Governing>,
}

impl Told {
    /// Reads and compiles it. Takes long for a long text.
    pub fn read(self) -> Heard {
        let Told { number, text, expected, now } = self;
        let arrival = Memory::read(&text).ok();
        let arrival = arrival.map(|memory| Arrival { memory, expected, ..Arrival::default() });
        let read = arrival.and_then(|arrival| {
            let books = now.iter().map(|(db, _)| {
                let is_told = arrival.memory.0.contains_key(db);
                let book = arrival.remembered(*db).map(Arc::new);
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

impl Engine {
    /// Hears from the stream which schemas govern the primary's rows; whether what follows has to
    /// wait.
    pub(crate) fn hear_schemas(&mut self, host: &mut dyn Host, text: &[u8]) -> bool {
        let Engine { keys, shared, .. } = self;
        let (Some(arrival), Some(primary)) = (&shared.arrival, &mut shared.primary) else {
            return false;
        };
        primary.told += 1;
        primary.is_reading = true;
        shared.is_loading = true;
        let book_of = |db: usize| (db, keys.book_of(db).cloned());
        let told = Told {
            number: primary.told,
            text: text.to_vec(),
            expected: Arc::clone(&arrival.expected),
            now: (0..keys.database_count()).map(book_of).collect(),
        };
        match host.read_told(told) {
            None => true,
            Some(told) => shared.take_heard(keys, host, told.read()),
        }
    }

    /// What the stream told of schemas is read: it comes into force.
    pub fn schemas_heard(&mut self, host: &mut dyn Host, heard: Heard) {
        let Engine { keys, shared, .. } = self;
        let number = shared.primary.as_ref().filter(|it| it.is_reading).map(|it| it.told);
        if number != Some(heard.number) {
            return host.discard(Box::new(heard));
        }
        if !shared.take_heard(keys, host, heard) {
            let client = shared.primary.as_ref().and_then(|primary| primary.client);
            shared.let_go_on(client.into_iter().collect());
        }
    }
}

impl Shared {
    /// Puts in force what was told; whether rows have to be brought to other tables.
    fn take_heard(&mut self, keys: &Keyspace, host: &mut dyn Host, heard: Heard) -> bool {
        let Heard { text, memory, books, .. } = heard;
        let (Some(arrival), Some(primary)) = (&mut self.arrival, &mut self.primary) else {
            return false;
        };
        primary.is_reading = false;
        arrival.is_unread = memory.is_none();
        match memory {
            Some(memory) => {
                self.origin = Some(memory.clone());
                (arrival.memory, arrival.text) = (memory, text);
            }
            None => host.log(
                LogLevel::Warning,
                b"The schemas that the primary tells of cannot be read: those in force stay, and \
                  only observe",
            ),
        }
        let is_new = |(db, book): &Governing| match (keys.book_of(*db), book) {
            (None, None) => false,
            (Some(now), Some(book)) => !is_like(now, book),
            _ => true,
        };
        arrival.coming = books.into_iter().filter(is_new).collect();
        primary.is_bringing = !arrival.coming.is_empty();
        self.is_loading = primary.is_bringing;
        primary.is_bringing
    }
}
