//! A start: the schemas that are served meet the rows that were loaded.
//!
//! Owns the guard. What the files remember (`memory`) decides what is asked:
//! - rows under the schema that governed them are loaded into its tables, and stay as they are:
//!   derived rows get what they lack, and what they hold in spite of their sources is told;
//! - a file that KEYWARD SCHEMA APPLY replaced gives way to what was applied;
//! - rows of an append-only file that another server went on with come from elsewhere;
//! - any other schema is planned, as KEYWARD SCHEMA PLAN does. Only what changes no row, or
//!   builds derived rows where there are none, comes into force by itself; whatever else must have
//!   been accepted by the plan's name, or the start ends with nothing done.
//!
//! Observing is never asked: nothing is changed by it. It is planned and told in the same way, and
//! the files remember what governed the rows before, so that the guard stays until something is
//! accepted. All of it goes in steps. Where a log goes on it has what completes rows, the rest of
//! large ends and what was accepted, and remembers the schema that came behind all of it: who loads
//! half of it is asked again.
//! Invariants: all databases are planned before anything is put in force in one of them; rows
//! are loaded by the tables of the schema that the files remember.
//! Not here: what the files say (`recollection`), what is to govern which database (`arrival`), files, options, who is told (the
//! host), meeting rows (`survey`, `rebuild`).

use super::announcement::{self, Origin};
use super::arrival::{Acceptance, Arrival, Target, Unaccepted, admitting, is_like};
use super::losses;
use super::memory::{Damaged, book_of};
use super::plan;
use super::proposal::Sound;
use super::rebuild::{self, AfterLoad, Overlong};
use super::survey::{self, Walk};
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use keyward_lua::LogLevel;
use keyward_rules::{Conclusion, Findings, Report, RuleBook, Survey};
use keyward_schema::{KeyId, Schema, escape};
use keyward_store::keyspace::Keyspace;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far the rows that were loaded are what their schemas say.
#[derive(Debug, Default)]
pub(crate) struct Settlement {
    stage: Stage,
    after: AfterLoad,
    parts: Vec<Part>,
    accepted: Vec<Acceptance>,
    /// Those among them that the start was given.
    given: Vec<Acceptance>,
    /// By database, how many keys had a pattern under the schema before, and have none.
    strays: BTreeMap<usize, u64>,
    /// Whether the files are behind: a schema that came has changed rows, or says of others
    /// that they outlive a restart.
    pub(crate) needs_files: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// What is to come is compared with what is in force.
    #[default]
    Begin,
    /// Databases that no schema is served for any more lose theirs, from this one on, and so do
    /// all where another server went on with the log.
    Release(usize),
    /// What the books in force say of rows is completed, where no other ones come.
    Complete,
    /// What the books to come say of them is found out.
    Plan(usize),
    /// Books that only observe come into force, from this part on.
    Observe(usize),
    /// What does not fit those is found out.
    Settle,
    /// It is carried out.
    Govern(usize),
    Bring(usize),
    CarryOut(usize),
    Over,
}

/// A database that another schema comes to.
#[derive(Debug)]
struct Part {
    db: usize,
    /// Until it is in force; of a schema that only observes, the one that it would be.
    book: Option<RuleBook>,
    /// The book that only observes, until it is in force.
    observing: Option<RuleBook>,
    /// Whether nothing was kept of the book before since it governed the rows.
    is_unjudged: bool,
    survey: Option<Survey>,
    differences: Vec<String>,
    walk: Walk,
    is_met: bool,
    conclusion: Option<Conclusion>,
    report: Option<Report>,
    /// How many rows live too long that the schema before has judged, and this one judges alike.
    overlong: Overlong,
}

/// Who takes part in a step.
pub(crate) struct Stand<'a> {
    pub(crate) keys: &'a mut Keyspace,
    pub(crate) shared: &'a mut Shared,
    pub(crate) session: &'a mut Session,
    pub(crate) host: &'a mut dyn Host,
}

impl Settlement {
    /// Goes on by about `budget` rows; whether all is done.
    ///
    /// # Errors
    /// If rows would change, and nobody has accepted that.
    pub(crate) fn step(
        &mut self,
        stand: &mut Stand<'_>,
        budget: usize,
    ) -> Result<bool, Box<Unaccepted>> {
        let keys = &mut *stand.keys;
        let marks = (keys.changes.dirty, keys.effects.len(), keys.changes.news.len());
        // A stage that is over has left the next one its time.
        let outcome = loop {
            let stage = self.stage;
            let was_asked = self.is_carrying_out();
            match self.go_on(stand, budget) {
                // The host may want to log what comes.
                Ok(false) if was_asked != self.is_carrying_out() => break Ok(false),
                Ok(false) if self.stage != stage => {}
                outcome => break outcome,
            }
        };
        let keys = &mut *stand.keys;
        if keys.changes.dirty != marks.0 {
            // Replicas are not sent all that a start changes: they get everything.
            stand.shared.replication.forget_history();
        }
        keys.changes.dirty = marks.0;
        if !(self.is_carrying_out() && stand.shared.log.is_on) {
            keys.effects.undo(marks.1);
        }
        keys.changes.news.truncate(marks.2);
        outcome
    }

    /// Whether all is accepted, and rows change from now on.
    pub(crate) fn is_carrying_out(&self) -> bool {
        use Stage::*;
        matches!(self.stage, Govern(_) | Bring(_) | CarryOut(_) | Over)
    }

    fn go_on(&mut self, stand: &mut Stand<'_>, budget: usize) -> Result<bool, Box<Unaccepted>> {
        self.stage = match self.stage {
            Stage::Begin => self.begin(stand),
            Stage::Release(db) => release(stand, db, budget),
            Stage::Observe(place) => self.observe(stand, place, budget),
            Stage::Complete => {
                let Stand { keys, shared, session, host } = stand;
                match self.after.step(keys, shared, session, *host, budget) {
                    true => Stage::Plan(0),
                    false => Stage::Complete,
                }
            }
            Stage::Plan(place) => match self.parts.get_mut(place) {
                Some(part) => match part.plan(stand.keys, &self.after, budget) {
                    true => Stage::Plan(place + 1),
                    false => Stage::Plan(place),
                },
                None => {
                    self.ask(stand.keys)?;
                    self.after = AfterLoad::default();
                    Stage::Observe(0)
                }
            },
            Stage::Settle => {
                let Stand { keys, shared, session, host } = stand;
                match self.after.step(keys, shared, session, *host, budget) {
                    true => Stage::Govern(0),
                    false => Stage::Settle,
                }
            }
            Stage::Govern(place) => self.govern(stand, place),
            Stage::Bring(place) => {
                let survey = self.parts[place].survey.as_ref().expect("it is being brought");
                match stand.keys.bring_over(survey, budget) {
                    true => Stage::CarryOut(place),
                    false => Stage::Bring(place),
                }
            }
            Stage::CarryOut(place) => self.carry_out(stand, place, budget),
            Stage::Over => Stage::Over,
        };
        Ok(matches!(self.stage, Stage::Over))
    }

    /// Finds out what is to come to which database.
    fn begin(&mut self, stand: &mut Stand<'_>) -> Stage {
        let Stand { keys, shared, host, .. } = stand;
        if std::mem::take(&mut shared.annotations).is_amid_text() {
            shared.recall(keys, Err(Damaged));
            while !shared.bring_recalled(keys, usize::MAX) {}
        }
        let Some(arrival) = shared.arrival.take() else { return Stage::Complete };
        tell_unreadable(*host, &arrival);
        let targets = (0..keys.database_count()).filter_map(|db| {
            let target = arrival.target(db)?;
            Some((
                db,
                match keys.database_at(db).is_empty() {
                    true => target.without_rows(&arrival.expected),
                    false => target,
                },
            ))
        });
        let targets: Vec<(usize, Target)> = targets.collect();
        let served = targets.iter().map(|(db, target)| (*db, target.schema.clone())).collect();
        for line in arrival.left_out(&served) {
            host.log(LogLevel::Warning, line.as_bytes());
        }
        for (db, Target { schema, modes, applied, is_untold }) in targets {
            if is_untold {
                shared.go_on_observing(*host, db);
            }
            for line in arrival.no_longer_applied(db, &applied) {
                host.log(LogLevel::Warning, line.as_bytes());
            }
            for place in applied {
                let own = arrival.last(db).get(place);
                let Some(replaced) = own.and_then(|own| own.replaced.clone()) else { continue };
                let served = arrival.expected.schemas.get(&db).and_then(|all| all.get(place));
                let line = going_on(db, served, replaced.has_come);
                host.log(LogLevel::Warning, line.as_bytes());
                shared.replaced.insert((db, place), replaced);
            }
            let book = RuleBook::overruled(schema, &modes);
            let is_in_force = keys.book_of(db).is_some_and(|now| is_like(now, &book));
            let is_unjudged = arrival.is_observed(db);
            if is_in_force && !arrival.is_foreign(db) && !is_unjudged {
                continue;
            }
            let observes = arrival.expected.observes || book.observes_all();
            let (book, observing) = match observes {
                true => (RuleBook::carried_out(book.declared().clone()), Some(book)),
                false => (book, None),
            };
            self.after.replaced.push(db);
            self.after.passed_over.extend(is_unjudged.then_some(db));
            self.parts.push(Part {
                db,
                book: Some(book),
                observing,
                is_unjudged,
                survey: None,
                differences: Vec::new(),
                walk: Walk::default(),
                is_met: false,
                conclusion: None,
                report: None,
                overlong: Overlong::default(),
            });
        }
        self.accepted.clone_from(&arrival.expected.accepted);
        self.given.clone_from(&self.accepted);
        if let Some(applied) = &arrival.applied {
            // It was accepted when it was applied.
            self.accepted.extend(applied.plans.iter().cloned());
            shared.applied = applied.clone();
        }
        if let Some(accepted) = &arrival.accepted {
            self.accepted.extend(accepted.plans.iter().cloned());
            shared.applied = accepted.clone();
        }
        shared.arrival = Some(arrival);
        Stage::Release(0)
    }

    /// Puts a book in force that only observes: no row changes by it, and what it would do is
    /// told.
    fn observe(&mut self, stand: &mut Stand<'_>, place: usize, budget: usize) -> Stage {
        let Some(part) = self.parts.get_mut(place) else {
            let is_told = |db: &usize| self.after.told.contains(db);
            let others = (0..stand.keys.database_count()).filter(|db| !is_told(db));
            self.after.passed_over = others.collect();
            return Stage::Settle;
        };
        if let Some(book) = part.observing.take() {
            let Stand { keys, shared, host, .. } = stand;
            let db = part.db;
            let before = keys.book_of(db).map(Arc::as_ref);
            let origin = Origin::before_change(before);
            let is_governed = before.is_some_and(|before| !before.observes_all());
            if let Some((report, planned)) = part.report.take().zip(part.book.take()) {
                let about = (origin, &part.differences[..]);
                rebuild::tell_observed(*host, (db, &planned), about, &report);
                shared.remains.report(report);
                shared.remains.book(planned);
            }
            part.survey.take().into_iter().for_each(|survey| shared.remains.survey(survey));
            let database = keys.database_at(db);
            let (persist, has_rows) = (database.persist(), !database.is_empty());
            // The next start is to ask as this one would have.
            let governed = shared.arrival.as_ref().and_then(|arrival| arrival.governed(db));
            if let Some(governed) = governed.filter(|_| is_governed && has_rows).cloned() {
                shared.observed.insert(db, governed);
            }
            let survey = Survey::new(&book, None, |_| false);
            host.governed(db, book.schema());
            keys.govern(db, Arc::new(book), &survey);
            self.needs_files |= has_rows && keys.database_at(db).persist() != persist;
            self.after.told.push(db);
        }
        match stand.keys.bring_unjudged(budget) {
            true => Stage::Observe(place + 1),
            false => Stage::Observe(place),
        }
    }

    /// Whether all that would change rows is accepted.
    fn ask(&self, keys: &Keyspace) -> Result<(), Box<Unaccepted>> {
        let (mut tables, mut plans, mut all_accepted) = (String::new(), Vec::new(), true);
        for part in &self.parts {
            let (Some(report), Some(book)) = (&part.report, &part.book) else { continue };
            if part.observing.is_some() || !report.changes_what_is_there() {
                continue;
            }
            let before = keys.book_of(part.db).map(Arc::as_ref);
            let name = plan::name(part.db, book, report);
            let name = String::from_utf8_lossy(&name).into_owned();
            let accepted = admitting(&self.accepted, &name, report.destroyed_at_least());
            all_accepted &= accepted.is_some();
            let destroyed = report.destroyed();
            let destroyed = accepted.map_or(destroyed, |own| destroyed.min(own.destroys_max));
            let origin = match part.is_unjudged && part.differences.is_empty() {
                true => Origin::Interrupted,
                false => Origin::before_change(before),
            };
            tables += &announcement::table(part.db, origin, book, report, &part.differences);
            plans.push(Acceptance { plan: name, destroys_max: destroyed });
        }
        if all_accepted {
            return Ok(());
        }
        Err(Box::new(Unaccepted { tables, plans, given: self.given.clone() }))
    }

    fn govern(&mut self, stand: &mut Stand<'_>, place: usize) -> Stage {
        let Some(part) = self.parts.get_mut(place) else {
            self.tell_strangers(stand);
            return Stage::Over;
        };
        let Some((book, survey)) = part.book.take().zip(part.survey.as_ref()) else {
            return Stage::Govern(place + 1);
        };
        if let Some(unkept) =
            part.report.as_ref().and_then(|report| losses::unkept_in_words(&book, report))
        {
            let line = format!("Database {}: {unkept}", part.db);
            stand.host.log(LogLevel::Warning, line.as_bytes());
        }
        if let Some(limit) = part.report.as_ref().and_then(losses::limit_in_words) {
            let line = format!("Database {}: {limit}", part.db);
            stand.host.log(LogLevel::Warning, line.as_bytes());
        }
        let database = stand.keys.database_at(part.db);
        let (persist, has_rows) = (database.persist(), !database.is_empty());
        stand.host.governed(part.db, book.schema());
        stand.keys.govern(part.db, Arc::new(book), survey);
        // The files have rows that they are not to have, or lack some.
        self.needs_files |= has_rows && stand.keys.database_at(part.db).persist() != persist;
        Stage::Bring(place)
    }

    /// Tells the log of keys without a pattern, by database.
    fn tell_strangers(&self, stand: &mut Stand<'_>) {
        for db in 0..stand.keys.database_count() {
            let database = stand.keys.database_at(db);
            let Some(book) = database.book() else { continue };
            let unknown = book.declared().keyspace.unknown;
            let count = database.tables()[0].len() as u64;
            let strays = self.strays.get(&db).copied().unwrap_or(0);
            if let Some(line) = announcement::strangers(db, unknown, count, strays) {
                stand.host.log(LogLevel::Warning, line.as_bytes());
            }
        }
    }

    fn carry_out(&mut self, stand: &mut Stand<'_>, place: usize, budget: usize) -> Stage {
        let Stand { keys, shared, session, host } = stand;
        let Part { db, report, survey, overlong, .. } = &mut self.parts[place];
        let report = report.as_mut().expect("it was concluded");
        if !rebuild::carry_out(keys, shared, session, *host, (*db, report), budget) {
            return Stage::CarryOut(place);
        }
        self.needs_files |= report.tables.iter().any(Findings::changes_at_once);
        self.strays.insert(*db, report.tables.first().map_or(0, |plain| plain.moved));
        if report.tables.iter().any(|found| found.rows > 0) {
            std::mem::take(overlong).add_to(report);
            let book = keys.book_of(*db).expect("a schema came into force");
            rebuild::tell(*host, (*db, book), "the schema that came", report);
        }
        survey.take().into_iter().for_each(|survey| shared.remains.survey(survey));
        Stage::Govern(place + 1)
    }
}

impl Part {
    /// Meets some more rows or concludes about them, given what was found out of the book before;
    /// whether all is concluded.
    fn plan(&mut self, keys: &Keyspace, found: &AfterLoad, budget: usize) -> bool {
        let db = self.db;
        if self.survey.is_none()
            && let Some(book) = self.book.take()
        {
            let lacking = found.lacking.get(&db);
            let lacks = |id: KeyId| lacking.is_some_and(|lacking| lacking.contains(&id));
            let is_doubted = |id: KeyId| self.is_unjudged || lacks(id);
            let Sound { book, survey, changes, .. } = Sound::meeting(keys, db, book, is_doubted);
            (self.book, self.survey, self.differences) = (Some(book), Some(survey), changes);
        }
        let Part { book, survey, walk, .. } = self;
        let (Some(book), Some(survey)) = (book, survey) else { return true };
        if !self.is_met {
            self.is_met = survey::advance(keys, db, book, survey, walk, budget);
            if !self.is_met {
                return false;
            }
        }
        let conclusion = self.conclusion.get_or_insert_with(|| survey.begin_conclusion());
        let is_over = survey::conclude(keys, db, book, survey, conclusion, budget);
        if let Some(overlong) = found.overlong.get(&db).filter(|_| is_over) {
            self.overlong = overlong.beside(survey);
        }
        self.report = self.conclusion.take_if(|_| is_over).map(Conclusion::into_report);
        is_over
    }
}

/// What is said of a schema that goes on though no file has it: the one that is served, if there
/// is one, has another.
fn going_on(db: usize, served: Option<&Schema>, has_come: bool) -> String {
    let by = match has_come {
        true => "a primary that this server followed",
        false => "KEYWARD SCHEMA APPLY",
    };
    match served.map(|own| escape(&own.source.name)) {
        Some(file) => format!(
            "Database {db}, {file}: {by} put another schema in force than this file has, and that \
             one stays in force; KEYWARD SCHEMA SHOW has its text"
        ),
        None => format!(
            "Database {db}: the schema that {by} put in force stays in force; no file is served \
             here, and KEYWARD SCHEMA SHOW has its text"
        ),
    }
}

/// Says what the files remember and nobody can read: the rows are taken for ones from elsewhere.
fn tell_unreadable(host: &mut dyn Host, arrival: &Arrival) {
    let mut tell = |line: String| host.log(LogLevel::Warning, line.as_bytes());
    if arrival.is_damaged {
        tell(
            "!!! What the files remember of the schemas in force is damaged. Rows behind that are \
             taken for ones from elsewhere, and a schema that KEYWARD SCHEMA APPLY put in force \
             may be lost: compare KEYWARD SCHEMA SHOW with what was applied !!!"
                .to_owned(),
        );
    }
    for (db, remembered) in &arrival.memory.in_force {
        if book_of(remembered, |own| own.name.clone()).is_none() {
            tell(format!(
                "!!! Database {db}: this version cannot read the schema that the files remember. \
                 The rows are taken for ones from elsewhere, and a schema that KEYWARD SCHEMA \
                 APPLY put in force is not in force !!!"
            ));
        }
    }
}

/// Takes databases out of schemas that are no longer served, or that did not judge all rows.
fn release(stand: &mut Stand<'_>, db: usize, budget: usize) -> Stage {
    let Stand { keys, shared, host, .. } = stand;
    if db == keys.database_count() {
        return Stage::Complete;
    }
    let arrival = shared.arrival.as_ref();
    let is_served = arrival.is_none_or(|arrival| arrival.target(db).is_some());
    let is_foreign = arrival.is_some_and(|arrival| arrival.is_foreign(db));
    let is_of_snapshot = arrival.is_some_and(|arrival| arrival.foreign.contains(&db));
    let name = keys
        .book_of(db)
        .filter(|_| !is_served || is_foreign)
        .map(|book| escape(&book.schema().keyspace.name).into_owned());
    if let Some(name) = name {
        // Where no schema is served at all, one line has told of all databases.
        let is_told = arrival.is_some_and(|arrival| arrival.expected.schemas.is_empty());
        let line = match is_served {
            true if is_of_snapshot => format!(
                "Database {db}: the append-only file leaves its rows to the snapshot, and that \
                 remembers no schema, while the file remembers {name}: they are taken for ones \
                 from elsewhere"
            ),
            true => format!(
                "Database {db}: another server has written to the append-only file since the \
                 schema {name} governed its rows, which are taken for ones from elsewhere"
            ),
            false => format!(
                "Database {db}: the files remember the schema {name}, and none is served: its \
                 rows are served as they are, without one"
            ),
        };
        if is_served || !is_told {
            host.log(LogLevel::Warning, line.as_bytes());
        }
        keys.release(db);
    }
    match keys.bring_unjudged(budget) {
        true => Stage::Release(db + 1),
        false => Stage::Release(db),
    }
}
