//! Rows that no command was judged by: from a snapshot, or older than the schema.
//!
//! Owns showing them to a survey of the rule book, bucket by bucket, and carrying
//! out what it says they need: what does not fit is kept, counted and some of it
//! named in the log. All of it goes in steps of bounded work.
//! Not here: what they need (`keyward_rules::Survey`), who wants to know (`keyward`).

use crate::engine::shared::Shared;
use crate::governed::follow_up;
use crate::host::Host;
use crate::sessions::session::Session;
use keyward_lua::LogLevel;
use keyward_rules::{Conclusion, Findings, Ground, Report, RuleBook, Survey};
use keyward_schema::KeyId;
use keyward_store::keyspace::Keyspace;
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
    true
}

/// Does about `budget` words more of what a report about a database says; whether all is
/// done. The database is under the book that was surveyed by.
pub(crate) fn carry_out(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    (db, report): (usize, &mut Report),
    budget: usize,
) -> bool {
    let selected = keys.selected();
    let mut done = 0;
    while done < budget
        && let Some(command) = report.commands.pop_front()
    {
        done += command.args().len();
        let outcome = follow_up(keys, shared, session, host, db, command.args());
        debug_assert!(outcome.is_ok(), "what a survey says fits the keyspace");
    }
    keys.select(selected);
    while done < budget
        && let Some((key, faults)) = report.faults.pop_first()
    {
        done += 1;
        keys.set_faults(db, &key, faults);
    }
    done < budget
}

/// Tells the log what was found wrong with the rows of a database.
pub(crate) fn tell(host: &mut dyn Host, db: usize, report: &Report) {
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

/// Rows were loaded: every database under a schema is made what that says, before
/// anybody is served. Nobody is told and nothing is logged as an effect: whoever loads
/// the same rows again comes to the same.
#[derive(Debug, Default)]
pub(crate) struct AfterLoad {
    /// The databases before this one are as their schemas say.
    db: usize,
    /// How far this one is.
    survey: Option<(Survey, Part)>,
}

/// A part of the work on one database.
#[derive(Debug)]
enum Part {
    Meet(Walk),
    Conclude(Box<Conclusion>),
    CarryOut(Box<Report>),
    /// What nobody needs any more goes.
    Clear,
}

impl AfterLoad {
    /// Goes on by about `budget` rows; whether all is done.
    pub(crate) fn step(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
        budget: usize,
    ) -> bool {
        let marks = (keys.changes.dirty, keys.effects.len(), keys.changes.news.len());
        let is_done = self.go_on(keys, shared, session, host, budget);
        keys.changes.dirty = marks.0;
        keys.effects.truncate(marks.1);
        keys.changes.news.truncate(marks.2);
        is_done
    }

    fn go_on(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
        budget: usize,
    ) -> bool {
        while self.db < keys.database_count() {
            let db = self.db;
            let Some(book) = keys.book_of(db).cloned() else {
                self.db += 1;
                continue;
            };
            let (mut survey, part) = self.survey.take().unwrap_or_else(|| {
                keys.forget_faults(db);
                (Survey::new(&book, None, |_| false), Part::Meet(Walk::default()))
            });
            let (part, is_over) = match part {
                Part::Meet(mut walk) => {
                    match advance(keys, db, &book, &mut survey, &mut walk, budget) {
                        true => (Part::Conclude(Box::new(survey.begin_conclusion())), true),
                        false => (Part::Meet(walk), false),
                    }
                }
                Part::Conclude(mut conclusion) => {
                    match conclude(keys, db, &book, &survey, &mut conclusion, budget) {
                        true => (Part::CarryOut(Box::new(conclusion.into_report())), true),
                        false => (Part::Conclude(conclusion), false),
                    }
                }
                Part::CarryOut(mut report) => {
                    let what = (db, &mut *report);
                    let is_done = carry_out(keys, shared, session, host, what, budget);
                    if is_done {
                        tell(host, db, &report);
                    }
                    (if is_done { Part::Clear } else { Part::CarryOut(report) }, is_done)
                }
                Part::Clear if survey.shed(budget) => (Part::Clear, false),
                Part::Clear => {
                    self.db += 1;
                    continue;
                }
            };
            self.survey = Some((survey, part));
            if !is_over {
                return false;
            }
        }
        true
    }
}
