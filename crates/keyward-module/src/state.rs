//! What the module keeps while it is loaded.
//!
//! Owns the books in force, the routes of commands, what has ended and is still to be followed,
//! the plan and what has changed since it began, and the figures. The server calls from one thread; locks are held for a moment and never while
//! a command runs, since the server calls back then.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use keyward_rules::RuleBook;
use keyward_rules::host::Stored;

use crate::api::Gone;
use crate::figures::Figures;
use crate::plan::Plan;
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
    /// The module came with the server, which has served nobody without it.
    pub(crate) is_from_start: bool,
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
    /// The module came with the server.
    pub(crate) is_from_start: bool,
    is_replica: AtomicBool,
    ended: Mutex<Vec<Ended>>,
    /// The schema files.
    pub(crate) files: Vec<PathBuf>,
    /// It is not decided yet which schemas are in force.
    is_undecided: AtomicBool,
    /// Databases whose schema observes until it is applied.
    guarded: Mutex<BTreeSet<usize>>,
    /// Databases that somebody has told to observe since their schema was in force.
    lapsed: Mutex<BTreeSet<usize>>,
    plan: Mutex<Option<Box<Plan>>>,
    /// What was written since the plan began; none if there is no plan.
    changed: Mutex<Option<Changed>>,
    /// There is something in it; every command asks.
    is_planning: AtomicBool,
}

/// More keys than these are not looked at again: the plan is given up.
const CHANGED_MAX: usize = 200_000;
/// So is one that nobody applies in this time.
const PLAN_KEPT: Duration = Duration::from_secs(3600);

/// The keys of a database that were written since a plan began.
struct Changed {
    db: usize,
    begin: Instant,
    keys: BTreeSet<Vec<u8>>,
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
    pub(crate) fn new(
        books: HashMap<usize, RuleBook>,
        routes: Routes,
        files: Vec<PathBuf>,
        place: Place,
    ) -> State {
        let Place { has_one_database, is_cluster, is_replica, is_from_start } = place;
        let tables = books.iter().map(|(db, book)| (*db, book.schema().keys.len())).collect();
        State {
            books: RwLock::new(books.into_iter().map(|(db, book)| (db, Arc::new(book))).collect()),
            routes,
            figures: Figures::new(tables),
            has_one_database,
            is_cluster,
            is_from_start,
            is_replica: AtomicBool::new(is_replica),
            ended: Mutex::new(Vec::new()),
            files,
            is_undecided: AtomicBool::new(true),
            guarded: Mutex::default(),
            lapsed: Mutex::default(),
            plan: Mutex::default(),
            changed: Mutex::default(),
            is_planning: AtomicBool::new(false),
        }
    }

    /// Whether it is not decided yet which schemas are in force.
    pub(crate) fn is_undecided(&self) -> bool {
        self.is_undecided.load(Ordering::Relaxed)
    }

    /// The same; who asks so decides.
    pub(crate) fn take_undecided(&self) -> bool {
        self.is_undecided() && self.is_undecided.swap(false, Ordering::Relaxed)
    }

    /// Whether the schema of a database observes until it is applied.
    pub(crate) fn is_guarded(&self, db: usize) -> bool {
        self.guarded.lock().unwrap_or_else(PoisonError::into_inner).contains(&db)
    }

    pub(crate) fn set_guarded(&self, db: usize, is_guarded: bool) {
        let mut guarded = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        match is_guarded {
            true => guarded.insert(db),
            false => guarded.remove(&db),
        };
    }

    /// Whether the rows of a database were not kept for some time, since somebody had it observe.
    pub(crate) fn is_lapsed(&self, db: usize) -> bool {
        self.lapsed.lock().unwrap_or_else(PoisonError::into_inner).contains(&db)
    }

    pub(crate) fn set_lapsed(&self, db: usize) {
        self.lapsed.lock().unwrap_or_else(PoisonError::into_inner).insert(db);
    }

    fn plan(&self) -> MutexGuard<'_, Option<Box<Plan>>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) -> MutexGuard<'_, Option<Changed>> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a plan that begins, in the place of the one before.
    pub(crate) fn begin_plan(&self, plan: Plan) {
        let keys = BTreeSet::new();
        *self.changed() = Some(Changed { db: plan.db, begin: Instant::now(), keys });
        *self.plan() = Some(Box::new(plan));
        self.is_planning.store(true, Ordering::Relaxed);
    }

    /// Whether a plan is being made.
    pub(crate) fn is_plan_begun(&self) -> bool {
        self.plan().as_ref().is_some_and(|plan| plan.told.is_none())
    }

    /// Whether there is a plan for which changes are kept in mind.
    pub(crate) fn is_planning(&self) -> bool {
        self.is_planning.load(Ordering::Relaxed)
    }

    /// Takes the plan, to go on with it: commands run meanwhile.
    pub(crate) fn take_plan(&self) -> Option<Box<Plan>> {
        self.plan().take()
    }

    /// Keeps it again.
    pub(crate) fn keep_plan(&self, plan: Box<Plan>) {
        *self.plan() = Some(plan);
    }

    /// Has a look at the plan.
    pub(crate) fn with_plan<T>(&self, look: impl FnOnce(Option<&Plan>) -> T) -> T {
        look(self.plan().as_deref())
    }

    /// Forgets the plan.
    pub(crate) fn end_plan(&self) {
        (*self.plan(), *self.changed()) = (None, None);
        self.is_planning.store(false, Ordering::Relaxed);
    }

    /// Keeps in mind that a key was written. Of a plan that is given up nothing is.
    pub(crate) fn note_changed(&self, db: usize, key: &[u8]) {
        let mut changed = self.changed();
        let Some(of_plan) = changed.as_mut().filter(|changed| changed.db == db) else { return };
        of_plan.keys.insert(key.to_vec());
        if of_plan.keys.len() > CHANGED_MAX || of_plan.begin.elapsed() > PLAN_KEPT {
            *changed = None;
            self.is_planning.store(false, Ordering::Relaxed);
        }
    }

    /// What has changed since this was asked before, or the plan began.
    pub(crate) fn take_changed(&self) -> BTreeSet<Vec<u8>> {
        let mut changed = self.changed();
        changed.as_mut().map(|changed| std::mem::take(&mut changed.keys)).unwrap_or_default()
    }

    /// Puts another schema in the place of that of a database.
    pub(crate) fn put_in_force(&self, db: usize, book: Arc<RuleBook>) {
        let before = self.book(db);
        self.figures.take_over(db, before.as_deref(), &book);
        let mut books = self.books.write().unwrap_or_else(PoisonError::into_inner);
        books.insert(db, book);
        self.lapsed.lock().unwrap_or_else(PoisonError::into_inner).remove(&db);
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

    /// Whether any book would have to do with a key that comes to be, or a plan has.
    pub(crate) fn concerns(&self, key: &[u8]) -> bool {
        let is_planned = |plan: Option<&Plan>| plan.is_some_and(|plan| plan.concerns(key));
        if self.is_planning() && self.with_plan(is_planned) {
            return true;
        }
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
