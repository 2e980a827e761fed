//! Rows that no command was judged by: from a snapshot, or older than the schema.
//!
//! Owns carrying out what a survey of the rule book says they need, counting what
//! does not fit, and naming some of it in the log.
//! Not here: what they need (`keyward_rules::Survey`).

use crate::governed::follow_up;
use crate::host::Host;
use crate::keyspace::Keyspace;
use crate::script::LogLevel;
use crate::session::Session;
use crate::shared::Shared;
use keyward_rules::{RuleBook, Survey};

/// Surveys a database as it would be under a book.
pub(crate) fn survey(keys: &Keyspace, db: usize, book: &RuleBook) -> Survey {
    let before = keys.book_of(db).map(AsRef::as_ref);
    let before = before.filter(|before| !std::ptr::eq(*before, book));
    book.survey(&keys.sight(db), before).expect("the engine shows all it has at once")
}

/// Does what a survey of a database says. The database is under the book that
/// surveyed it.
pub(crate) fn carry_out(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    db: usize,
    survey: &Survey,
) {
    let selected = keys.selected();
    for command in &survey.commands {
        let outcome = follow_up(keys, shared, session, host, db, command.args());
        debug_assert!(outcome.is_ok(), "what a survey says fits the keyspace");
    }
    keys.select(selected);
    keys.note_findings(db, &survey.tables);
    let count = |of: fn(&keyward_rules::Findings) -> u64| survey.tables.iter().map(of).sum::<u64>();
    let (misfits, conflicts) = (count(|table| table.misfits), count(|table| table.conflicts));
    if misfits + conflicts > 0 {
        let line = format!(
            "Database {db}: {misfits} rows do not fit the schema and {conflicts} claim what \
             another has; all are kept. Some of them:"
        );
        host.log(LogLevel::Warning, line.as_bytes());
    }
    for problem in &survey.problems {
        host.log(LogLevel::Warning, problem.text().as_bytes());
    }
}

/// Makes every database under a schema what that says, after rows were loaded.
/// Nobody is told and nothing is logged as an effect: whoever loads the same rows
/// again comes to the same.
pub(crate) fn after_load(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
) {
    let (dirty, effects, news) = (keys.changes.dirty, keys.effects.len(), keys.changes.news.len());
    for db in 0..keys.database_count() {
        if let Some(book) = keys.book_of(db).cloned() {
            let survey = survey(keys, db, &book);
            carry_out(keys, shared, session, host, db, &survey);
        }
    }
    keys.changes.dirty = dirty;
    keys.effects.truncate(effects);
    keys.changes.news.truncate(news);
}
