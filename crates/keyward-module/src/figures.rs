//! What the module counts, and the refusals it remembers.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use keyward_rules::RuleBook;
use keyward_schema::KeyId;

/// How many refusals are remembered.
const REFUSALS_MAX: usize = 128;

/// Something that counts up.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What is counted for a pattern.
#[derive(Debug, Default)]
pub(crate) struct OfTable {
    /// Commands that were judged and ran.
    pub(crate) writes: Counter,
    pub(crate) refused: Counter,
    /// What broke the schema and was let pass.
    pub(crate) warned: Counter,
    pub(crate) expired: Counter,
    pub(crate) evicted: Counter,
    /// What would have been done if nothing observed.
    pub(crate) would_refuse: Counter,
    pub(crate) would_date: Counter,
    pub(crate) would_derive: Counter,
    pub(crate) would_remove: Counter,
    pub(crate) would_trim: Counter,
}

/// What became of a command that broke the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Refused,
    /// The schema only warns.
    Warned,
    /// The schema only observes.
    Observed,
}

impl Told {
    /// `refused`, `warned` or `observed`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Told::Refused => "refused",
            Told::Warned => "warned",
            Told::Observed => "observed",
        }
    }
}

/// A command that was refused, or would have been.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    pub(crate) at_ms: i64,
    pub(crate) db: usize,
    pub(crate) told: Told,
    /// The discreet line: what was found in rows is left out.
    pub(crate) line: String,
}

/// All figures.
#[derive(Debug)]
pub(crate) struct Figures {
    tables: RwLock<HashMap<usize, Vec<Arc<OfTable>>>>,
    pub(crate) judged: Counter,
    pub(crate) refused: Counter,
    pub(crate) warned: Counter,
    pub(crate) observed: Counter,
    pub(crate) follow_ups: Counter,
    pub(crate) follow_ups_failed: Counter,
    pub(crate) undo_failed: Counter,
    pub(crate) panics: Counter,
    remembered: Mutex<VecDeque<Remembered>>,
}

impl Figures {
    /// For so many patterns of each database.
    pub(crate) fn new(tables: Vec<(usize, usize)>) -> Figures {
        let of = |count| std::iter::repeat_with(Arc::default).take(count).collect();
        let tables = tables.into_iter().map(|(db, count)| (db, of(count))).collect();
        Figures {
            tables: RwLock::new(tables),
            judged: Counter::default(),
            refused: Counter::default(),
            warned: Counter::default(),
            observed: Counter::default(),
            follow_ups: Counter::default(),
            follow_ups_failed: Counter::default(),
            undo_failed: Counter::default(),
            panics: Counter::default(),
            remembered: Mutex::new(VecDeque::new()),
        }
    }

    pub(crate) fn table(&self, db: usize, table: KeyId) -> Option<Arc<OfTable>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.get(&db)?.get(table.index()).cloned()
    }

    /// Another book takes the place of one: patterns that both have go on counting.
    pub(crate) fn take_over(&self, db: usize, before: Option<&RuleBook>, book: &RuleBook) {
        let text = |book: &RuleBook, id: KeyId| book.schema().key(id).pattern.text().to_owned();
        let had: HashMap<String, Arc<OfTable>> = before
            .into_iter()
            .flat_map(|before| before.schema().ids().map(move |id| (before, id)))
            .filter_map(|(before, id)| Some((text(before, id), self.table(db, id)?)))
            .collect();
        let own = |id| had.get(&text(book, id)).cloned().unwrap_or_default();
        let own = book.schema().ids().map(own).collect();
        self.tables.write().unwrap_or_else(PoisonError::into_inner).insert(db, own);
    }

    pub(crate) fn remember(&self, refusal: Remembered) {
        let mut all = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REFUSALS_MAX {
            all.pop_front();
        }
        all.push_back(refusal);
    }

    /// The last refusals, the newest first.
    pub(crate) fn remembered(&self, most: usize) -> Vec<Remembered> {
        let all = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().rev().take(most).cloned().collect()
    }
}
