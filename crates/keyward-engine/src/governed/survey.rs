//! Showing rows to a survey of the rule book, some at a time.
//!
//! Owns how far that has come. Nothing is changed by it.
//! Not here: what rows need (`keyward_rules::Survey`), doing it (`rebuild`).

use super::losses;
use keyward_rules::{Conclusion, Ground, RuleBook, Survey, Weight};
use keyward_schema::KeyId;
use keyward_store::keyspace::Keyspace;
use keyward_store::values::footprint::HeapBytes;
use keyward_store::values::hasher::TableIndex;
use std::sync::Arc;

/// How far a survey has come in the tables of a database.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    table: usize,
    cursor: u64,
}

/// Shows the survey of a database about `budget` more rows; whether it has seen all.
pub(crate) fn advance(
    keys: &Keyspace,
    db: usize,
    book: &RuleBook,
    survey: &mut Survey,
    walk: &mut Walk,
    budget: usize,
) -> bool {
    let database = keys.database_at(db);
    let sight = keys.sight(db);
    let ground = Ground { book, before: database.book().map(Arc::as_ref), view: &sight };
    let mut seen = 0;
    while let Some(table) = database.tables().get(walk.table) {
        if seen >= budget {
            return false;
        }
        let pattern = database.pattern(TableIndex(walk.table as u16));
        if survey.meets(pattern) {
            let is_weighed = losses::is_weighed(survey, pattern);
            // An empty bucket is work too.
            seen += 1;
            walk.cursor = table.scan(walk.cursor, |row| {
                if !keys.is_due(row) {
                    seen += 1;
                    let met = survey.meet(ground, row.key(), row);
                    let heir = met.expect("the engine shows all it has at once");
                    if is_weighed {
                        let expiring = u64::from(row.deadline().is_some());
                        survey.weigh(heir, Weight { bytes: row.heap_bytes() as u64, expiring });
                    }
                }
            });
        }
        walk.table += usize::from(walk.cursor == 0);
    }
    true
}

/// Goes on by about `budget` rows and elements to conclude what the rows of a database
/// need to be as a book says, by all that its survey has seen; whether that is over.
/// Tables that are not concerned are counted as they are then.
pub(crate) fn conclude(
    keys: &Keyspace,
    db: usize,
    book: &RuleBook,
    survey: &Survey,
    conclusion: &mut Conclusion,
    budget: usize,
) -> bool {
    let database = keys.database_at(db);
    let ground = Ground { book, before: database.book().map(Arc::as_ref), view: &keys.sight(db) };
    let is_over = conclusion.step(survey, ground, budget);
    if !is_over.expect("the engine shows all it has at once") {
        return false;
    }
    let kept = |heir: Option<KeyId>, tells: fn(&Survey, KeyId) -> bool, count| {
        heir.filter(|heir| !tells(survey, *heir)).map_or(0, |_| count)
    };
    for (index, table) in database.tables().iter().enumerate() {
        let pattern = database.pattern(TableIndex(index as u16));
        if let Some(heir) = survey.heir(pattern) {
            let found = &mut conclusion.report().tables[heir.map_or(0, |heir| heir.index() + 1)];
            let is_met = survey.meets(pattern);
            found.rows += if is_met { 0 } else { table.len() as u64 };
            found.misfits += kept(heir, Survey::judges, table.stats.misfits);
            found.conflicts += kept(heir, Survey::relates, table.stats.conflicts);
        }
    }
    losses::foresee(keys, db, book, survey, conclusion.report());
    true
}
