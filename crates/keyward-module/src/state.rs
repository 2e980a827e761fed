//! What the module keeps while it is loaded.
//!
//! Owns the books in force, the routes of commands, what has ended and is still to be followed,
//! and the figures. The server calls from one thread; locks are held for a moment and never while
//! a command runs, since the server calls back then.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use keyward_rules::RuleBook;
use keyward_rules::host::Stored;

use crate::api::Gone;
use crate::figures::Figures;
use crate::routes::Routes;

/// A row that went by itself, as it was.
pub(crate) struct Ended {
    pub(crate) db: usize,
    pub(crate) key: Vec<u8>,
    pub(crate) row: Stored,
    pub(crate) gone: Gone,
}

/// What kind of server it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) has_one_database: bool,
    pub(crate) is_cluster: bool,
    pub(crate) is_replica: bool,
}

/// All that the module keeps.
pub(crate) struct State {
    /// The book of each governed database.
    books: RwLock<HashMap<usize, Arc<RuleBook>>>,
    pub(crate) routes: Routes,
    pub(crate) figures: Figures,
    /// The server has one database: a filter knows then which one a command is for.
    pub(crate) has_one_database: bool,
    /// The server is a node of a cluster.
    pub(crate) is_cluster: bool,
    is_replica: AtomicBool,
    ended: Mutex<Vec<Ended>>,
}

static STATE: RwLock<Option<Arc<State>>> = RwLock::new(None);

/// What the module keeps, while it is loaded.
pub(crate) fn state() -> Option<Arc<State>> {
    STATE.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Begins, or ends, to keep anything.
pub(crate) fn keep(state: Option<State>) {
    *STATE.write().unwrap_or_else(PoisonError::into_inner) = state.map(Arc::new);
}

impl State {
    pub(crate) fn new(books: HashMap<usize, RuleBook>, routes: Routes, place: Place) -> State {
        let Place { has_one_database, is_cluster, is_replica } = place;
        let tables = books.iter().map(|(db, book)| (*db, book.schema().keys.len())).collect();
        State {
            books: RwLock::new(books.into_iter().map(|(db, book)| (db, Arc::new(book))).collect()),
            routes,
            figures: Figures::new(tables),
            has_one_database,
            is_cluster,
            is_replica: AtomicBool::new(is_replica),
            ended: Mutex::new(Vec::new()),
        }
    }

    /// The book of a database.
    pub(crate) fn book(&self, db: usize) -> Option<Arc<RuleBook>> {
        self.books.read().unwrap_or_else(PoisonError::into_inner).get(&db).cloned()
    }

    /// The numbers and books of all governed databases, in order.
    pub(crate) fn books(&self) -> Vec<(usize, Arc<RuleBook>)> {
        let books = self.books.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = books.iter().map(|(db, book)| (*db, Arc::clone(book))).collect();
        all.sort_by_key(|(db, _)| *db);
        all
    }

    /// Whether any book would have to do with a key that comes to be.
    pub(crate) fn concerns(&self, key: &[u8]) -> bool {
        let books = self.books.read().unwrap_or_else(PoisonError::into_inner);
        books.values().any(|book| {
            book.table_of(key).is_some() || book.unknown() != keyward_schema::Unknown::Allow
        })
    }

    /// Puts another book in the place of one.
    pub(crate) fn replace_book(&self, db: usize, book: RuleBook) {
        let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
        books.insert(db, Arc::new(book));
    }

    pub(crate) fn is_replica(&self) -> bool {
        self.is_replica.load(Ordering::Relaxed)
    }

    pub(crate) fn set_role(&self, is_replica: bool) {
        self.is_replica.store(is_replica, Ordering::Relaxed);
    }

    fn ended(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps in mind that a row has ended; whether it is the first.
    pub(crate) fn push_ended(&self, ended: Ended) -> bool {
        let mut all = self.ended();
        all.push(ended);
        all.len() == 1
    }

    /// What has ended and was not followed yet.
    pub(crate) fn take_ended(&self) -> Vec<Ended> {
        std::mem::take(&mut *self.ended())
    }
}
