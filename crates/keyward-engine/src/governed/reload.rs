//! Putting the files of schemas in force that were read anew (SIGHUP).
//!
//! Owns the way there, in steps of bounded work by ticks. A reload never changes a row,
//! adds no misfit and leaves no row without the pattern it had: a change that would is a
//! matter for KEYWARD SCHEMA PLAN and APPLY, which tell what it does before it is done. All
//! files come into force or none.
//!
//! The stages: other schemas are planned or applied first; the rows are surveyed while
//! everybody is served, and most reloads that must not be are refused then; due rows go and
//! a snapshot ends; the same is concluded once more with commands held that would change
//! rows which are concerned (`hold`), in all databases; functions are loaded, and the books
//! come into force one after the other. From the hold on nobody can see one without the
//! others. Until the functions are loaded nothing has happened.
//! Not here: reading files, telling the outcome (the host).

use super::apply::restore_functions;
use super::hold::Hold;
use super::plan::{Plan, ROWS_PER_TICK};
use super::proposal::{Draft, Sound};
use super::reloading::{Part, Reloading, Stage};
use super::survey::{self, Walk};
use crate::engine::shared::Shared;
use crate::governed::{follow_ended, rebuild};
use crate::host::{Host, Library};
use crate::sessions::session::Session;
use keyward_rules::{Conclusion, Findings};
use keyward_schema::escape;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::{Keyspace, Surveyor};
use std::ops::Bound;
use std::sync::Arc;

/// What the way out of a refusal is.
const WAY_OUT: &str = "see KEYWARD SCHEMA PLAN and apply it by KEYWARD SCHEMA APPLY";

/// Rows with faults that are looked at per tick.
const FAULTS_PER_TICK: usize = 1000;

/// Why nothing came into force.
type Refusal = String;

/// Whether there is more to do.
#[derive(PartialEq, Eq)]
enum Step {
    /// At once.
    GoOn,
    /// At the next tick.
    Later,
    Done,
}

impl Shared {
    /// Whether there is something to do at once about a reload.
    pub(crate) fn is_reloading_now(&self, keys: &Keyspace) -> bool {
        self.reloading.as_ref().is_some_and(|reloading| match reloading.stage {
            Stage::Wait => !self.is_at_other_schemas(),
            Stage::Await => self.pause.is_none() && keys.snapshot_progress().is_none(),
            _ => true,
        })
    }

    fn is_at_other_schemas(&self) -> bool {
        let is_planning = self.plan.as_ref().is_some_and(Plan::is_under_way);
        self.changeover.is_some() || self.reading.is_some() || is_planning
    }

    /// Goes on with a reload, if there is one.
    pub(crate) fn go_on_reloading(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        let Some(mut reloading) = self.reloading.take() else { return };
        let mut nobody = Session::new(ClientId(0), keys.now_ms(), true);
        let outcome = loop {
            match reloading.step(keys, self, &mut nobody, host) {
                Ok(Step::GoOn) => {}
                Ok(Step::Later) => break None,
                Ok(Step::Done) => break Some(Ok(std::mem::take(&mut reloading.remarks))),
                Err(refusal) => break Some(Err(refusal)),
            }
        };
        match outcome {
            None => self.reloading = Some(reloading),
            Some(outcome) => {
                self.end_reload(keys, host, *reloading);
                host.reloaded(outcome);
            }
        }
    }

    pub(super) fn end_reload(
        &mut self,
        keys: &mut Keyspace,
        host: &mut dyn Host,
        reloading: Reloading,
    ) {
        if !reloading.parts.is_empty() {
            keys.end_survey(Surveyor::Reload);
        }
        self.release(keys, reloading.hold);
        for Part { book, survey, conclusion, report, .. } in reloading.parts {
            book.into_iter().for_each(|book| self.remains.book(book));
            self.remains.survey(survey);
            let report = report.or(conclusion.map(Conclusion::into_report));
            report.into_iter().for_each(|report| self.remains.report(report));
        }
        reloading.drafts.into_iter().for_each(|draft| host.discard(Box::new(draft)));
    }
}

impl Reloading {
    /// A reload of files that were read, and of libraries.
    pub(crate) fn new(drafts: Vec<Draft>, libraries: Vec<Library>) -> Reloading {
        Reloading {
            drafts,
            libraries,
            parts: Vec::new(),
            stage: Stage::Wait,
            remarks: Vec::new(),
            hold: None,
        }
    }

    /// Goes on by about as much as a tick may take.
    fn step(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
    ) -> Result<Step, Refusal> {
        match self.stage {
            Stage::Wait => self.begin(keys, shared, session, host),
            Stage::Preview(place) => {
                self.heed_changes(keys)?;
                let Some(part) = self.parts.get_mut(place) else {
                    self.stage = Stage::Await;
                    return Ok(Step::GoOn);
                };
                if !part.conclude(keys) || !part.check(keys)? {
                    return Ok(Step::Later);
                }
                let report = part.report.take();
                report.into_iter().for_each(|report| shared.remains.report(report));
                self.stage = Stage::Preview(place + 1);
                Ok(Step::Later)
            }
            Stage::Await => self.hold_rows(keys, shared, session, host),
            Stage::Conclude(place, at_ms) => {
                let Some(part) = self.parts.get_mut(place) else {
                    self.load_functions(keys, shared, session, host)?;
                    keys.end_survey(Surveyor::Reload);
                    self.void_plan(keys, shared);
                    self.stage = Stage::Govern(0, at_ms);
                    return Ok(Step::GoOn);
                };
                let present = keys.now_ms();
                keys.set_now_ms(at_ms);
                let is_over = part.conclude(keys);
                keys.set_now_ms(present);
                if !is_over || !part.check(keys)? {
                    return Ok(Step::Later);
                }
                self.stage = Stage::Conclude(place + 1, at_ms);
                Ok(Step::Later)
            }
            // They are of the schema before.
            Stage::Govern(..) if keys.has_pending() => Ok(Step::Later),
            Stage::Govern(place, at_ms) => Ok(self.govern(keys, shared, host, place, at_ms)),
            Stage::Bring(place, at_ms) => {
                if !keys.bring_over(&self.parts[place].survey, ROWS_PER_TICK) {
                    return Ok(Step::Later);
                }
                self.stage = Stage::CarryOut(place, at_ms);
                Ok(Step::GoOn)
            }
            Stage::CarryOut(place, at_ms) => {
                let Part { db, report, .. } = &mut self.parts[place];
                let report = report.as_mut().expect("it was concluded");
                let present = keys.now_ms();
                keys.set_now_ms(at_ms);
                let what = (*db, report);
                let is_done = rebuild::carry_out(keys, shared, session, host, what, ROWS_PER_TICK);
                keys.set_now_ms(present);
                if is_done {
                    self.stage = Stage::Govern(place + 1, at_ms);
                }
                Ok(Step::Later)
            }
        }
    }

    /// Begins the surveys once nobody else is at schemas.
    fn begin(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
    ) -> Result<Step, Refusal> {
        if shared.is_at_other_schemas() {
            return Ok(Step::Later);
        }
        if self.drafts.is_empty() {
            self.load_functions(keys, shared, session, host)?;
            return Ok(Step::Done);
        }
        if !self.drafts.iter().all(|draft| draft.is_current(keys)) {
            return Err("another schema came into force meanwhile by KEYWARD SCHEMA APPLY".into());
        }
        if !keys.look_at_suspects() {
            return Ok(Step::Later);
        }
        for draft in self.drafts.drain(..) {
            let db = draft.db();
            let sound = draft.into_sound(keys);
            let sound = sound.map_err(|unsound| {
                String::from_utf8_lossy(&unsound.into_refusal(host).text()).into_owned()
            });
            let Sound { book, survey, .. } = *sound?;
            keys.begin_survey(db, Surveyor::Reload);
            self.parts.push(Part {
                db,
                book: Some(book),
                survey,
                walk: Walk::default(),
                is_met: false,
                conclusion: None,
                report: None,
                looked_at: None,
                misfits: 0,
            });
        }
        self.stage = Stage::Preview(0);
        Ok(Step::GoOn)
    }

    /// Has the surveys look again at rows that changed.
    fn heed_changes(&mut self, keys: &mut Keyspace) -> Result<(), Refusal> {
        for Part { db, book, survey, .. } in &mut self.parts {
            let book = book.as_ref().expect("it is not in force yet");
            if !keys.bring_up_to_date((*db, Surveyor::Reload), survey, book) {
                return Err("the rows were emptied, swapped or loaded meanwhile".to_owned());
            }
        }
        Ok(())
    }

    /// Holds commands and begins to conclude once nothing is left to wait for.
    fn hold_rows(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
    ) -> Result<Step, Refusal> {
        if shared.pause.is_some() {
            self.heed_changes(keys)?;
            return Ok(Step::Later);
        }
        // Rows whose time is over take what was derived from them along.
        let is_sweeping = keys.sweep(ROWS_PER_TICK);
        follow_ended(keys, shared, session, host);
        let is_exact = keys.look_at_suspects();
        self.heed_changes(keys)?;
        if !is_exact || is_sweeping || keys.has_pending() || keys.snapshot_progress().is_some() {
            return Ok(Step::Later);
        }
        let mut hold = Hold::default();
        for Part { db, book, survey, .. } in &self.parts {
            hold.add(keys, *db, book.as_ref().expect("it is not in force yet"), survey);
        }
        self.hold = Some(hold);
        self.stage = Stage::Conclude(0, keys.now_ms());
        Ok(Step::GoOn)
    }

    fn load_functions(
        &self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
    ) -> Result<(), Refusal> {
        let loaded = restore_functions(keys, shared, session, host, (0, &self.libraries));
        loaded.map_err(|error| String::from_utf8_lossy(&error.text()).into_owned())
    }

    /// Forgets a plan that starts from a schema which is about to go. Until here nothing has
    /// happened, and a reload that was refused leaves it.
    fn void_plan(&mut self, keys: &mut Keyspace, shared: &mut Shared) {
        if let Some(plan) = shared.plan.take() {
            let id = String::from_utf8_lossy(&plan.id);
            self.remarks.push(format!("the plan {id} is void, make another one"));
            shared.give_up(keys, plan);
        }
    }

    /// Puts the book of a part in force, if there is such a part.
    fn govern(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        host: &mut dyn Host,
        place: usize,
        at_ms: i64,
    ) -> Step {
        let Some(Part { db, book, survey, .. }) = self.parts.get_mut(place) else {
            return Step::Done;
        };
        let (db, book) = (*db, book.take().expect("it is not in force yet"));
        keys.book_of(db).into_iter().for_each(|old| book.inherit_modes(old));
        shared.replaced.retain(|(of, _), _| *of != db);
        let persist = keys.database_at(db).persist();
        host.governed(db, book.schema());
        keys.govern(db, Arc::new(book), survey);
        let persist_now = keys.database_at(db).persist();
        if persist_now != persist {
            let name =
                keys.book_of(db).map(|book| escape(book.schema().source.names()).into_owned());
            self.remarks.push(format!(
                "persist of {} is {} now, and was {}",
                name.unwrap_or_default(),
                persist_now.name(),
                persist.name()
            ));
            if shared.log.is_on {
                // The file has rows that it is not to have, or lacks some.
                host.renew_files();
            }
        }
        if let Some(hold) = &mut self.hold {
            hold.switch(db);
        }
        self.stage = Stage::Bring(place, at_ms);
        Step::GoOn
    }
}

impl Part {
    /// Meets some more rows or concludes about them; whether all is concluded.
    fn conclude(&mut self, keys: &Keyspace) -> bool {
        if self.report.is_some() {
            return true;
        }
        let Part { db, book, survey, walk, .. } = self;
        let book = book.as_ref().expect("it is not in force yet");
        if !self.is_met {
            self.is_met = survey::advance(keys, *db, book, survey, walk, ROWS_PER_TICK);
            if !self.is_met {
                return false;
            }
        }
        let conclusion = self.conclusion.get_or_insert_with(|| survey.begin_conclusion());
        let is_over = survey::conclude(keys, *db, book, survey, conclusion, ROWS_PER_TICK);
        self.report = self.conclusion.take_if(|_| is_over).map(Conclusion::into_report);
        is_over
    }

    /// Looks at some of what was concluded: refuses what would change rows, or add to those
    /// that something is wrong with. Whether all was looked at.
    fn check(&mut self, keys: &Keyspace) -> Result<bool, Refusal> {
        let (Some(report), Some(book)) = (&self.report, &self.book) else { return Ok(true) };
        let database = keys.database_at(self.db);
        let from = self.looked_at.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut left = report.faults.range::<Vec<u8>, _>((from, Bound::Unbounded));
        let mut last = None;
        for (key, faults) in left.by_ref().take(FAULTS_PER_TICK) {
            let known = database.faults(key).unwrap_or_default();
            let is_new =
                faults.is_misfit && !known.is_misfit || faults.is_conflict && !known.is_conflict;
            self.misfits += u64::from(is_new);
            last = Some(key.clone());
        }
        if left.next().is_some() {
            self.looked_at = last;
            return Ok(false);
        }
        self.looked_at = None;
        let sum = |figure: fn(&Findings) -> u64| report.tables.iter().map(figure).sum::<u64>();
        // Rows that come later are all known by having changed.
        let astray = match report.tables.first().map_or(0, |plain| plain.moved) {
            0 => self.survey.strays(),
            moved => moved,
        };
        let figures = [
            (sum(|found| found.destroyed), "row or entry destroyed", "rows and entries destroyed"),
            (sum(|found| found.redated), "row given another end", "rows given another end"),
            (
                sum(|found| found.built),
                "entry of a derived key built",
                "entries of derived keys built",
            ),
            (
                sum(|found| found.evicted),
                "row or so evicted, beyond max_memory",
                "rows or so evicted, beyond max_memory",
            ),
            (
                sum(|found| found.unkept),
                "row that the next start would be without (persist)",
                "rows that the next start would be without (persist)",
            ),
            (
                sum(|found| found.overlong),
                "row that lives longer than it may",
                "rows that live longer than they may",
            ),
            (
                sum(|found| found.cut_later),
                "row that its next write cuts",
                "rows that their next write cuts",
            ),
            (
                std::mem::take(&mut self.misfits),
                "row that would no longer fit",
                "rows that would no longer fit",
            ),
            (astray, "row that would have no pattern", "rows that would have no pattern"),
        ];
        let told = figures.iter().filter(|(count, ..)| *count > 0);
        let told: Vec<String> = told
            .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
            .collect();
        if told.is_empty() {
            return Ok(true);
        }
        let name = escape(book.schema().source.names());
        Err(format!("{name} would not leave the rows as they are: {}; {WAY_OUT}", told.join(", ")))
    }
}
