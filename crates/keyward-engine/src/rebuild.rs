//! Rows that no command was judged by: from a snapshot, or older than the schema.
//!
//! Owns showing them to a survey of the rule book, bucket by bucket, and carrying
//! out what it says they need: what does not fit is kept, counted and some of it
//! named in the log.
//! Not here: what they need (`keyward_rules::Survey`), who wants to know (`keyward`).

use crate::governed::follow_up;
use crate::hasher::TableIndex;
use crate::host::Host;
use crate::keyspace::Keyspace;
use crate::script::LogLevel;
use crate::session::Session;
use crate::shared::Shared;
use keyward_rules::{Findings, Ground, Report, RuleBook, Survey};
use keyward_schema::KeyId;
use std::sync::Arc;

/// How far a survey has come in the tables of a database.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    table: usize,
    cursor: u64,
}

/// Begins a survey of a database as it would be under a book.
pub(crate) fn begin(keys: &Keyspace, db: usize, book: &RuleBook) -> Survey {
    let database = keys.database_at(db);
    let before = database.book().map(Arc::as_ref);
    Survey::new(book, before, |table| {
        let is_computed = before.is_some_and(|before| before.traits(table).is_computed);
        let table = &database.tables()[usize::from(TableIndex::of(table).0)];
        !is_computed || table.stats.misfits == 0
    })
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
        if survey.meets(database.pattern(TableIndex(walk.table as u16))) {
            // An empty bucket is work too.
            seen += 1;
            walk.cursor = table.scan(walk.cursor, |row| {
                if !keys.is_due(row) {
                    seen += 1;
                    let met = survey.meet(ground, row.key(), row);
                    met.expect("the engine shows all it has at once");
                }
            });
        }
        walk.table += usize::from(walk.cursor == 0);
    }
    true
}

/// What the rows of a database need to be as a book says, by all that its survey has
/// seen. Tables that are not concerned are counted as they are.
pub(crate) fn conclude(keys: &Keyspace, db: usize, book: &RuleBook, survey: &Survey) -> Report {
    let database = keys.database_at(db);
    let ground = Ground { book, before: database.book().map(Arc::as_ref), view: &keys.sight(db) };
    let report = survey.conclude(ground);
    let mut report = report.expect("the engine shows all it has at once");
    let kept = |heir: Option<KeyId>, tells: fn(&Survey, KeyId) -> bool, count| {
        heir.filter(|heir| !tells(survey, *heir)).map_or(0, |_| count)
    };
    for (index, table) in database.tables().iter().enumerate() {
        let pattern = database.pattern(TableIndex(index as u16));
        if let Some(heir) = survey.heir(pattern) {
            let found = &mut report.tables[heir.map_or(0, |heir| heir.index() + 1)];
            let is_met = survey.meets(pattern);
            found.rows += if is_met { 0 } else { table.len() as u64 };
            found.misfits += kept(heir, Survey::judges, table.stats.misfits);
            found.conflicts += kept(heir, Survey::relates, table.stats.conflicts);
        }
    }
    report
}

/// Does what a report about a database says. The database is under the book that
/// was surveyed by.
pub(crate) fn carry_out(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    db: usize,
    report: &Report,
) {
    let selected = keys.selected();
    for command in &report.commands {
        let outcome = follow_up(keys, shared, session, host, db, command.args());
        debug_assert!(outcome.is_ok(), "what a survey says fits the keyspace");
    }
    keys.select(selected);
    keys.note_faults(db, report);
    let count = |of: fn(&Findings) -> u64| report.tables.iter().map(of).sum::<u64>();
    let (misfits, conflicts) = (count(|table| table.misfits), count(|table| table.conflicts));
    if misfits + conflicts > 0 {
        let line = format!(
            "Database {db}: {misfits} rows do not fit the schema and {conflicts} claim what \
             another has; all are kept. Some of them:"
        );
        host.log(LogLevel::Warning, line.as_bytes());
    }
    for problem in &report.problems {
        host.log(LogLevel::Warning, problem.text().as_bytes());
    }
}

/// Makes every database under a schema what that says, after rows were loaded, and
/// before anybody is served. Nobody is told and nothing is logged as an effect:
/// whoever loads the same rows again comes to the same.
pub(crate) fn after_load(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
) {
    let (dirty, effects, news) = (keys.changes.dirty, keys.effects.len(), keys.changes.news.len());
    for db in 0..keys.database_count() {
        if let Some(book) = keys.book_of(db).cloned() {
            let mut survey = Survey::new(&book, None, |_| false);
            let all = advance(keys, db, &book, &mut survey, &mut Walk::default(), usize::MAX);
            debug_assert!(all, "there is no budget");
            let report = conclude(keys, db, &book, &survey);
            keys.forget_faults(db);
            carry_out(keys, shared, session, host, db, &report);
        }
    }
    keys.changes.dirty = dirty;
    keys.effects.truncate(effects);
    keys.changes.news.truncate(news);
}
