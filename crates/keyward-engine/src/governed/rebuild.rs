//! Rows that no command was judged by: from a snapshot, or older than the schema.
//!
//! Owns carrying out what a survey of the rule book says they need: what does not fit is kept, counted and some of it
//! named in the log. All of it goes in steps of bounded work.
//! Not here: showing rows to it (`survey`), what they need (`keyward_rules::Survey`), who wants to know (`keyward`).

use super::announcement::{self, Origin};
use super::arrival::Acceptance;
use super::failures;
use super::survey::{Walk, advance, conclude};
use super::{ends, plan};
use crate::engine::shared::Shared;
use crate::governed::follow_up;
use crate::host::Host;
use crate::sessions::session::Session;
use keyward_lua::LogLevel;
use keyward_rules::{Conclusion, Report, RuleBook, Survey};
use keyward_schema::{KeyId, Schema};
use keyward_store::keyspace::Keyspace;
use std::collections::{BTreeMap, BTreeSet};

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
    let is_done = carry_out_some(keys, shared, session, host, (db, report), budget);
    let left = report.commands.len() + report.faults.len() + report.contradictions.len();
    shared.stats.rebuilt.left = left as u64;
    is_done
}

fn carry_out_some(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    (db, report): (usize, &mut Report),
    budget: usize,
) -> bool {
    let mut done = 0;
    while done < budget
        && let Some(command) = report.commands.pop_front()
    {
        done += command.args().len();
        shared.stats.rebuilt.commands += 1;
        let outcome = follow_up(keys, shared, session, host, db, command.args());
        failures::look_at(keys, shared, host, (db, command.args()), outcome);
    }
    while done < budget
        && let Some((key, faults)) = report.faults.pop_first()
    {
        done += 1;
        keys.set_faults(db, &key, faults);
    }
    let Some(book) = keys.book_of(db).cloned() else { return done < budget };
    while done < budget
        && let Some(mut first) = report.contradictions.first_entry()
    {
        let members = std::iter::from_fn(|| first.get_mut().pop_first()).take(budget - done);
        let members: Vec<Vec<u8>> = members.collect();
        done += members.len().max(1);
        if let Some(table) = book.table_of(first.key()) {
            keys.contradict(db, book.judging(table), (table, first.key()), members);
        }
        if first.get().is_empty() {
            first.remove();
        }
    }
    done < budget
}

/// Tells the log what was done to the rows of a database by what, in all and by pattern, and
/// what is wrong with those that are kept.
pub(crate) fn tell(host: &mut dyn Host, (db, book): (usize, &RuleBook), by: &str, report: &Report) {
    if let Some(changes) = announcement::changes(report) {
        let line = format!("Database {db}, by {by}: {changes}");
        host.log(LogLevel::Warning, line.as_bytes());
        for line in announcement::changes_by_pattern(book, report) {
            host.log(LogLevel::Warning, format!("Database {db}, {line}").as_bytes());
        }
    }
    tell_kept(host, (db, book), report);
}

/// Tells the log what is wrong with rows that are kept.
fn tell_kept(host: &mut dyn Host, (db, book): (usize, &RuleBook), report: &Report) {
    if let Some(kept) = announcement::kept(report) {
        let is_listed = report.tables.iter().any(|found| found.misfits + found.conflicts > 0);
        let is_one = announcement::kept_count(report) == 1;
        let some = match report.problems.is_empty() {
            true if is_listed && is_one => "KEYWARD MISFITS lists it",
            true if is_listed => "KEYWARD MISFITS lists them",
            true if is_one => "SCAN and PTTL find it",
            true => "SCAN and PTTL find them",
            false if is_one => "That is:",
            false => "Some of them:",
        };
        let derived = derived_misfits(book, report);
        let line = format!("Database {db}: {kept}{derived}. {some}");
        host.log(LogLevel::Warning, line.as_bytes());
    }
    // Where a schema has secrets, what was found may have come from one, and whoever reads a log
    // may not be one of those who read the key. Without it several rows have the same line.
    let mut told = BTreeSet::new();
    for problem in &report.problems {
        let problem = match book.has_secrets() {
            true => problem.clone().discreet(),
            false => problem.clone(),
        };
        let line = problem.text().to_owned();
        if !told.contains(&line) {
            host.log(LogLevel::Warning, line.as_bytes());
            told.insert(line);
        }
    }
}

/// How many of the rows that do not fit are derived keys of a schema that only observes: a plan
/// tells of those by the entries that it would take out.
fn derived_misfits(book: &RuleBook, report: &Report) -> String {
    let observed = book.schema().ids().filter(|id| book.compared_by(*id).is_some());
    match observed.map(|id| report.tables[id.index() + 1].misfits).sum::<u64>() {
        0 => String::new(),
        count => {
            format!(" (derived keys among them, which a plan counts by their entries: {count})")
        }
    }
}

/// Tells the log what a schema that only observes would do to rows: the table that a start
/// prints which it would change rows at.
pub(super) fn tell_observed(
    host: &mut dyn Host,
    (db, book): (usize, &RuleBook),
    (origin, differences): (Origin, &[String]),
    report: &Report,
) {
    if report.changes_rows() {
        let table = announcement::table(db, origin, book, report, differences);
        table.lines().for_each(|line| host.log(LogLevel::Warning, line.as_bytes()));
        let line = format!("Database {db}: the schema only observes, and none of this was done");
        host.log(LogLevel::Warning, line.as_bytes());
    }
    // Where the schema itself says so, another text is needed, whose plan has another name.
    if report.changes_what_is_there() && !book.is_told_to_observe() {
        let plan = String::from_utf8_lossy(&plan::name(db, book, report)).into_owned();
        let accepted = Acceptance { plan, destroys_max: report.destroyed() };
        let line = format!(
            "Database {db}: to have it done, start without --observe and with --accept {accepted}"
        );
        host.log(LogLevel::Warning, line.as_bytes());
    }
}

/// Rows were loaded: every database under a schema is made what that says, before
/// anybody is served. Nobody is told. At a start all of it is in the log, if that goes on: it has
/// what is served; whoever loads the same rows again comes to the same. Rows of a file that remembers another schema, or none,
/// come from elsewhere: what is done to those is told as a start tells it.
#[derive(Debug, Default)]
pub(crate) struct AfterLoad {
    /// The databases before this one are as their schemas say.
    db: usize,
    /// How far this one is.
    survey: Option<(Survey, Part)>,
    /// Databases that another schema comes to next: nothing is done to their rows and nothing
    /// told, so that what is planned for them begins with the rows as they were.
    pub(crate) replaced: Vec<usize>,
    /// By database of those, the tables that lack something which their sources demand.
    pub(crate) lacking: BTreeMap<usize, BTreeSet<KeyId>>,
    /// By database of those, how many rows live longer than they may.
    pub(crate) overlong: BTreeMap<usize, Overlong>,
    /// Databases that nothing is to be found out of, or told.
    pub(crate) passed_over: Vec<usize>,
    /// Databases of which it is told already what the schema, which only observes, would do.
    pub(crate) told: Vec<usize>,
}

/// How many rows live longer than they may, by table, for who judges some of them only. Tables
/// count what else is wrong with rows.
#[derive(Debug, Default)]
pub(crate) struct Overlong(Vec<(KeyId, u64)>);

impl Overlong {
    fn of(schema: &Schema, report: &Report) -> Overlong {
        let counts = schema.ids().map(|id| (id, report.tables[id.index() + 1].overlong));
        Overlong(counts.filter(|(_, count)| *count > 0).collect())
    }

    /// Those of tables whose rows a survey does not judge anew, by its tables.
    pub(crate) fn beside(&self, survey: &Survey) -> Overlong {
        let heir = |table: KeyId| {
            let heir = survey.heir(Some(table)).flatten();
            heir.filter(|heir| !survey.judges(*heir))
        };
        Overlong(self.0.iter().filter_map(|(id, count)| Some((heir(*id)?, *count))).collect())
    }

    /// Adds them to what is told of rows.
    pub(crate) fn add_to(self, report: &mut Report) {
        for (table, count) in self.0 {
            report.tables[table.index() + 1].overlong += count;
        }
    }
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

/// What governed the rows of a database that were loaded, which is under a schema that only
/// observes.
fn origin_of(keys: &Keyspace, shared: &Shared, db: usize) -> Origin {
    let is_remembered =
        shared.origin.as_ref().is_some_and(|origin| origin.in_force.contains_key(&db));
    match is_remembered {
        true if returns(keys, shared, db) => Origin::Observed,
        true => Origin::Another,
        false => Origin::Elsewhere,
    }
}

/// Whether the rows of a database that were loaded were governed by the schema it is under.
fn returns(keys: &Keyspace, shared: &Shared, db: usize) -> bool {
    let now = shared.memory(keys);
    shared.origin.as_ref().is_some_and(|origin| origin.means_the_same(&now, db))
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
        if keys.has_pending() {
            // What was going when the log ended goes first. That is in the log, if it goes on:
            // what is written later may be of what is gone by then, and would bring it back.
            keys.effects.begin_unit();
            ends::advance(keys, shared, session, host, budget);
            keys.effects.keep_from(marks.1);
            keys.changes.dirty = marks.0;
            keys.changes.news.truncate(marks.2);
            return false;
        }
        keys.effects.begin_unit();
        let is_done = self.go_on(keys, shared, session, host, budget);
        if keys.changes.dirty != marks.0 {
            // Replicas are not sent what a start changes: they get everything.
            shared.replication.forget_history();
        }
        keys.changes.dirty = marks.0;
        match shared.is_loading && shared.log.is_on {
            true => keys.effects.keep_from(marks.1),
            false => keys.effects.truncate(marks.1),
        }
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
            let book = keys.book_of(db).filter(|_| !self.passed_over.contains(&db)).cloned();
            let Some(book) = book else {
                self.db += 1;
                continue;
            };
            let is_replaced = self.replaced.contains(&db);
            // Where all observes, what would be done is found out and told.
            let observes = book.observes_all();
            let by = if observes { book.declared_book() } else { &*book };
            let (mut survey, part) = self.survey.take().unwrap_or_else(|| {
                keys.forget_faults(db);
                // One that observes has not kept anything: all of it would come.
                let survey = match !observes && returns(keys, shared, db) {
                    true => Survey::of_return(by),
                    false => Survey::new(by, None, |_| false),
                };
                (survey, Part::Meet(Walk::default()))
            });
            let (part, is_over) = match part {
                Part::Meet(mut walk) => {
                    match advance(keys, db, by, &mut survey, &mut walk, budget) {
                        true => (Part::Conclude(Box::new(survey.begin_conclusion())), true),
                        false => (Part::Meet(walk), false),
                    }
                }
                Part::Conclude(mut conclusion) => {
                    match conclude(keys, db, by, &survey, &mut conclusion, budget) {
                        true => {
                            let report = conclusion.into_report();
                            if is_replaced {
                                let lacks = |id: &KeyId| report.tables[id.index() + 1].built > 0;
                                let lacking = by.schema().ids().filter(lacks).collect();
                                self.lacking.insert(db, lacking);
                                self.overlong.insert(db, Overlong::of(by.schema(), &report));
                            } else if observes && self.told.contains(&db) {
                                tell_kept(host, (db, by), &report);
                            } else if observes {
                                let origin = origin_of(keys, shared, db);
                                tell_observed(host, (db, by), (origin, &[]), &report);
                                tell_kept(host, (db, by), &report);
                            } else if report.changes_rows() && !returns(keys, shared, db) {
                                let origin = Origin::Elsewhere;
                                let table = announcement::table(db, origin, &book, &report, &[]);
                                let lines = table.lines();
                                lines.for_each(|line| host.log(LogLevel::Warning, line.as_bytes()));
                            }
                            (Part::CarryOut(Box::new(report)), true)
                        }
                        false => (Part::Conclude(conclusion), false),
                    }
                }
                Part::CarryOut(mut report) => {
                    if (observes || is_replaced) && !report.commands.is_empty() {
                        let left = report.commands.len().saturating_sub(budget);
                        report.commands.truncate(left);
                        self.survey = Some((survey, Part::CarryOut(report)));
                        return false;
                    }
                    let what = (db, &mut *report);
                    let is_done = carry_out(keys, shared, session, host, what, budget);
                    if is_done && !observes {
                        let by = match returns(keys, shared, db) {
                            true => "the schema that governed these rows",
                            false => "rows that come from elsewhere",
                        };
                        if !is_replaced {
                            tell(host, (db, &book), by, &report);
                        }
                        if let Some(ending) = announcement::ending(&report) {
                            let line = format!("Database {db}: {ending}");
                            host.log(LogLevel::Notice, line.as_bytes());
                        }
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
