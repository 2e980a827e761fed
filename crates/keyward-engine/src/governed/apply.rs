//! KEYWARD SCHEMA APPLY: putting another schema in force.
//!
//! Owns the way there, in steps of bounded work by ticks; who asked for it is answered
//! at the end. Rows must not change while what they need is concluded and done: so
//! commands that would change rows which the new schema concerns are held meanwhile
//! (`hold`), and, from the moment at which it is in force, all commands on those. Every
//! other command is served. The time stands still for the rows, as it was when the first
//! command was held: what ends later ends when all is done.
//!
//! The stages: a snapshot that is being taken is over first, and due rows are gone; the
//! survey is concluded; the new schema comes into force, with whole tables where that can
//! be; other rows are brought to their tables; what rows need is done.
//! Invariants: nothing is destroyed that was not announced: the number that the client
//! repeats must be the number at that moment, or no less where a part of it is an estimate. Until the schema is in force nothing has
//! happened, and if its client goes nothing does; from then on it is carried to its end.
//! Not here: how rows are judged (`keyward_rules`), meeting them (`survey`).

use super::announcement;
use super::changeover::{Announced, Changeover, Stage};
use super::hold::Hold;
use super::libraries::Restoration;
use super::losses;
use super::memory::{Replaced, parts};
use super::plan::{Plan, ROWS_PER_TICK};
use super::planning::{RELOADING, VOID};
use super::survey;
use super::telling::{Listener, Telling, Told};
use crate::engine::context::{Ctx, Mode, Outcome};
use crate::engine::shared::Shared;
use crate::governed::{follow_ended, follow_up, rebuild};
use crate::host::{Host, Library};
use crate::sessions::session::Session;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_lua::LogLevel;
use keyward_resp::ArgBuf;
use keyward_rules::{Conclusion, RuleBook};
use keyward_schema::escape;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::{Keyspace, Surveyor};
use std::sync::Arc;

pub(crate) fn apply(ctx: &mut Ctx<'_>) -> Outcome {
    if !matches!(ctx.mode, Mode::Woken(_)) {
        begin(ctx)?;
    }
    if let Some(telling) = go_on(ctx)? {
        ctx.reply.append(telling.into_bytes());
    }
    Ok(())
}

/// Goes on with the changeover that a client asked for; what is told of it once it is done.
/// Until then the client waits.
pub(crate) fn go_on(ctx: &mut Ctx<'_>) -> Result<Option<Box<Telling>>, WireError> {
    let Some(mut changeover) = ctx.shared.changeover.take() else { return Err(VOID) };
    let Ctx { keys, shared, session, host, .. } = ctx;
    // The way of one with little to do is short.
    let is_done = changeover.advance(keys, shared, session, *host);
    // What was done to rows is logged, each by itself.
    ctx.keys.effects.suppress();
    if !is_done {
        ctx.shared.changeover = Some(changeover);
        ctx.block_in_vain(0);
        return Ok(None);
    }
    ctx.shared.release(ctx.keys, changeover.hold);
    let Stage::Tell(outcome) = changeover.stage else { unreachable!("it is at its end") };
    outcome.map(Some)
}

/// Begins to apply the plan of a call.
fn begin(ctx: &mut Ctx<'_>) -> Outcome {
    let mut options = Options::new(ctx.args, 3);
    let id = options.value()?;
    let destroyed = match options.next() {
        None => 0,
        Some(word) if args::is(word, "DESTROY") => args::non_negative(options.value()?)?,
        Some(_) => return Err(WireError::Syntax),
    };
    if options.left() > 0 {
        return Err(WireError::Syntax);
    }
    if ctx.shared.pause.is_some() {
        return Err(WireError::Err("a schema cannot be applied while clients are paused"));
    }
    if ctx.must_not_wait() {
        let text = "a schema cannot be applied inside a transaction or a script";
        return Err(WireError::Err(text));
    }
    if ctx.shared.changeover.is_some() {
        return Err(WireError::Err("another schema is being applied; try again later"));
    }
    if ctx.shared.reloading.is_some() {
        return Err(RELOADING);
    }
    let db = ctx.db;
    let is_it = |plan: &mut Plan| *plan.id == *id && plan.db == db && !plan.is_under_way();
    let Some(plan) = ctx.shared.plan.take_if(is_it) else {
        return Err(WireError::Err("no such plan of this database; KEYWARD SCHEMA PLAN makes one"));
    };
    begin_plan(ctx, plan, destroyed);
    Ok(())
}

/// Begins to apply a plan that is made, and is to destroy so much.
pub(crate) fn begin_plan(ctx: &mut Ctx<'_>, plan: Plan, destroyed: u64) {
    let (db, keyspace) = (plan.db, plan.keyspace);
    let announced = Announced { plan: Box::new(plan), destroyed };
    let stage = Stage::Await(announced);
    let asker = ctx.session.id;
    let listener = Listener { protocol: ctx.reply.protocol(), reads_all: ctx.may_read_all() };
    let (before, hold) = (None, None);
    ctx.shared.changeover = Some(Changeover { db, asker, listener, keyspace, before, stage, hold });
}

impl Shared {
    /// A schema takes the place of another one by itself: the files remember which text of a
    /// file it replaced, so that a start with that one goes on with this.
    fn note_replaced(&mut self, db: usize, old: Option<&RuleBook>, new: &RuleBook) {
        let old = old.map_or(&[][..], |old| parts(old.declared()));
        for (place, new) in parts(new.declared()).iter().enumerate() {
            let (new, old) = (new.source.whole_text(), old.get(place));
            let old = old.map(|old| old.source.whole_text());
            if old == Some(new) {
                continue;
            }
            let replaced = self.replaced.entry((db, place));
            let replaced = replaced.or_insert_with(|| Replaced::by_apply(old));
            replaced.has_come = false;
            if replaced.is_of(new) {
                self.replaced.remove(&(db, place));
            }
        }
    }

    /// What is held for a schema that comes into force.
    #[inline]
    pub(crate) fn hold(&self) -> Option<&Hold> {
        let changeover = self.changeover.as_ref().and_then(|changeover| changeover.hold.as_ref());
        changeover.or_else(|| self.reloading.as_ref()?.hold.as_ref())
    }

    /// The same, to be added to.
    pub(crate) fn hold_mut(&mut self) -> Option<&mut Hold> {
        let changeover = self.changeover.as_mut().and_then(|changeover| changeover.hold.as_mut());
        changeover.or_else(|| self.reloading.as_mut()?.hold.as_mut())
    }

    /// Whether a schema is coming into force because this client asked for it.
    pub(crate) fn is_changing_over_for(&self, client: ClientId) -> bool {
        self.changeover.as_ref().is_some_and(|changeover| changeover.asker == client)
    }

    /// Whether commands may have to wait for the end of a pause, for a schema, or for
    /// another server.
    #[inline(always)]
    pub(crate) fn may_hold(&self) -> bool {
        self.pause.is_some()
            || self.changeover.is_some()
            || self.reloading.is_some()
            || !self.migrating.is_empty()
    }

    /// Whether there is something to do at once about schemas that are planned or come
    /// into force.
    pub(crate) fn is_at_schemas(&self, keys: &Keyspace) -> bool {
        let is_changing = self.changeover.as_ref().is_some_and(|changeover| {
            let awaits = matches!(changeover.stage, Stage::Await(_));
            self.pause.is_none() && !(awaits && keys.snapshot_progress().is_some())
        });
        let is_reloading = self.is_reloading_now(keys);
        is_changing
            || is_reloading
            || self.strangers.is_some()
            || self.remains.is_busy()
            || self.plan.as_ref().is_some_and(Plan::is_under_way)
    }

    /// Goes on with putting a schema in force, if one is on the way; returns who waits for
    /// it once it is done.
    pub(crate) fn go_on_changing_over(
        &mut self,
        keys: &mut Keyspace,
        host: &mut dyn Host,
    ) -> Option<ClientId> {
        if self.pause.is_some() {
            return None;
        }
        let mut changeover = self.changeover.take()?;
        let asker = changeover.asker;
        if !self.awaits(asker) && changeover.can_be_given_up() {
            self.release(keys, changeover.hold);
            if let Stage::Await(announced) | Stage::Conclude { announced, .. } = changeover.stage {
                self.give_up(keys, *announced.plan);
            }
            return None;
        }
        let mut nobody = Session::new(ClientId(0), keys.now_ms(), true);
        let is_done = changeover.advance(keys, self, &mut nobody, host);
        if is_done && !self.awaits(asker) {
            self.release(keys, changeover.hold);
            return None;
        }
        self.changeover = Some(changeover);
        is_done.then_some(asker)
    }

    /// Lets go on what was held.
    pub(crate) fn release(&mut self, keys: &mut Keyspace, hold: Option<Hold>) {
        if let Some(hold) = hold {
            keys.is_expiry_held = false;
            keys.changes.waiting.ready_where(|_, _| true);
            self.let_go_on(hold.clients);
        }
    }
}

impl Changeover {
    /// Whether nothing has happened yet.
    fn can_be_given_up(&self) -> bool {
        matches!(self.stage, Stage::Await(_) | Stage::Conclude { .. })
    }

    /// Goes on by about as much as a tick may take; whether all is done but to tell.
    fn advance(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
    ) -> bool {
        loop {
            let nothing = Stage::Tell(Err(VOID));
            let (stage, goes_on) = match std::mem::replace(&mut self.stage, nothing) {
                Stage::Await(announced) => {
                    self.conclude_when(keys, shared, session, host, announced)
                }
                Stage::Conclude { announced, conclusion, at_ms } => {
                    self.conclude(keys, shared, session, host, (announced, conclusion, at_ms))
                }
                Stage::Bring { survey, mut report, at_ms } => {
                    if keys.bring_over(&survey, ROWS_PER_TICK) {
                        // Nobody else has it now, and freeing a large one takes long.
                        self.before.take().into_iter().for_each(|old| host.discard(Box::new(old)));
                        for (found, table) in
                            report.tables.iter_mut().zip(keys.database_at(self.db).tables())
                        {
                            found.rows = table.len() as u64;
                        }
                        (Stage::CarryOut { survey, report, at_ms }, true)
                    } else {
                        (Stage::Bring { survey, report, at_ms }, false)
                    }
                }
                Stage::CarryOut { survey, mut report, at_ms } => {
                    let present = keys.now_ms();
                    keys.set_now_ms(at_ms);
                    let what = (self.db, &mut *report);
                    let is_done =
                        rebuild::carry_out(keys, shared, session, host, what, ROWS_PER_TICK);
                    keys.set_now_ms(present);
                    if is_done {
                        let book = keys.book_of(self.db).expect("a schema came into force");
                        let by = "the schema that was applied";
                        rebuild::tell(host, (self.db, book), by, &report);
                        // What was computed by patterns that are gone did not stay.
                        let plain = &keys.database_at(self.db).tables()[0];
                        report.tables[0].rows = plain.len() as u64;
                        shared.remains.survey(survey);
                        shared.begins_histories = true;
                        let Listener { protocol, .. } = self.listener;
                        let told = Told::of(book.schema(), &report, self.keyspace, self.listener);
                        let telling = Telling::new(protocol, told, &report, |reply| reply.map(2));
                        (Stage::Write { report, telling: Box::new(telling) }, true)
                    } else {
                        (Stage::CarryOut { survey, report, at_ms }, false)
                    }
                }
                // Who is told can rely on it that a start remembers.
                Stage::Write { report, telling } if host.is_remembering() => {
                    (Stage::Write { report, telling }, false)
                }
                Stage::Write { report, mut telling } => {
                    let book = keys.book_of(self.db).expect("a schema came into force");
                    if telling.advance(book.schema(), &report) {
                        shared.remains.report(*report);
                        (Stage::Tell(Ok(telling)), true)
                    } else {
                        (Stage::Write { report, telling }, false)
                    }
                }
                Stage::Tell(outcome) => {
                    self.stage = Stage::Tell(outcome);
                    return true;
                }
            };
            self.stage = stage;
            if !goes_on {
                return false;
            }
        }
    }

    /// Begins to conclude once no snapshot is being taken and no row is due.
    fn conclude_when(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
        mut announced: Announced,
    ) -> (Stage, bool) {
        // Rows whose time is over take what was derived from them along.
        let is_sweeping = keys.sweep(ROWS_PER_TICK);
        follow_ended(keys, shared, session, host);
        let is_exact = keys.look_at_suspects();
        let plan = &mut announced.plan;
        let is_good =
            keys.bring_up_to_date((plan.db, Surveyor::Plan), &mut plan.survey, &plan.book);
        if !is_good {
            shared.give_up(keys, *announced.plan);
            return (Stage::Tell(Err(VOID)), true);
        }
        let is_busy = is_sweeping || keys.has_pending() || !is_exact;
        if is_busy || keys.snapshot_progress().is_some() {
            return (Stage::Await(announced), false);
        }
        let mut hold = Hold::default();
        hold.add(keys, self.db, &plan.book, &plan.survey);
        self.hold = Some(hold);
        let conclusion = Box::new(plan.survey.begin_conclusion());
        (Stage::Conclude { announced, conclusion, at_ms: keys.now_ms() }, true)
    }

    /// Concludes what is to be done, and puts the schema in force if that was announced.
    fn conclude(
        &mut self,
        keys: &mut Keyspace,
        shared: &mut Shared,
        session: &mut Session,
        host: &mut dyn Host,
        (announced, mut conclusion, at_ms): (Announced, Box<Conclusion>, i64),
    ) -> (Stage, bool) {
        if keys.has_pending() {
            // They are of the schema before.
            return (Stage::Conclude { announced, conclusion, at_ms }, false);
        }
        let present = keys.now_ms();
        keys.set_now_ms(at_ms);
        let Plan { book, survey, .. } = &*announced.plan;
        let is_over = survey::conclude(keys, self.db, book, survey, &mut conclusion, ROWS_PER_TICK);
        keys.set_now_ms(present);
        if !is_over {
            return (Stage::Conclude { announced, conclusion, at_ms }, false);
        }
        let report = Box::new(conclusion.into_report());
        let destroyed = report.destroyed();
        // Rows end and come while a plan is read: there may be fewer than were announced.
        if report.destroyed_at_least() > announced.destroyed {
            let text = format!(
                "SCHEMA this plan destroys {destroyed} {}, not {}; if that is meant, say DESTROY \
                 {destroyed}",
                match destroyed {
                    1 => "row or entry of a derived key",
                    _ => "rows and entries of derived keys",
                },
                announced.destroyed
            );
            shared.remains.report(*report);
            shared.plan = Some(*announced.plan);
            return (Stage::Tell(Err(WireError::Line(text.into_bytes().into()))), true);
        }
        if !announced.plan.has_told(&report) {
            let mut plan = announced.plan;
            plan.rename(&report);
            let id = String::from_utf8_lossy(&plan.id).into_owned();
            let destroys = match destroyed {
                0 => String::new(),
                _ => format!(" DESTROY {destroyed}"),
            };
            let text = format!(
                "SCHEMA rows came since that this plan did not tell of: {}; if that is meant, say \
                 KEYWARD SCHEMA APPLY {id}{destroys}",
                announcement::changes_by_pattern(&plan.book, &report).join("; ")
            );
            shared.remains.report(*report);
            shared.plan = Some(*plan);
            return (Stage::Tell(Err(WireError::Line(text.into_bytes().into()))), true);
        }
        if let Err(refusal) = load_functions(keys, shared, session, host, self.db) {
            shared.remains.report(*report);
            shared.give_up(keys, *announced.plan);
            return (Stage::Tell(Err(refusal)), true);
        }
        let Plan { id, book, survey, is_of_modes, .. } = *announced.plan;
        let old = keys.book_of(self.db).cloned();
        if !is_of_modes {
            old.iter().for_each(|old| book.inherit_modes(old));
        }
        shared.note_replaced(self.db, old.as_deref(), &book);
        shared.observed.remove(&self.db);
        keys.end_survey(Surveyor::Plan);
        self.before = old;
        let persist = keys.database_at(self.db).persist();
        if let Some(unkept) = losses::unkept_in_words(&book, &report) {
            let line = format!("Database {}: {unkept}", self.db);
            host.log(LogLevel::Warning, line.as_bytes());
        }
        host.governed(self.db, book.schema());
        if !book.observes_all() {
            shared.observing_since_promotion.remove(&self.db);
        }
        keys.govern(self.db, Arc::new(book), &survey);
        // What the files remember is no longer so.
        keys.changes.dirty += 1;
        if !is_of_modes {
            let memory = shared.memory(keys);
            shared.applied.add(&id, announced.destroyed, memory);
            host.remember_applied(shared.applied.text().into_bytes(), keys.changes.dirty);
        }
        if shared.log.is_on && keys.database_at(self.db).persist() != persist {
            // The file has rows that it is not to have, or lacks some.
            host.renew_files();
        }
        if let Some(hold) = &mut self.hold {
            hold.switch(self.db);
        }
        (Stage::Bring { survey, report, at_ms }, true)
    }
}

/// Loads the libraries of functions that belong to the schema of a database, each in
/// place of what there is of it: all, or none if one cannot be.
fn load_functions(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    db: usize,
) -> Outcome {
    let libraries = host.libraries(db).map_err(|problem| unloadable(&problem))?;
    restore_functions(keys, shared, session, host, (db, &libraries))
}

fn unloadable(problem: &str) -> WireError {
    let text = format!("SCHEMA the functions of the schema cannot be loaded: {problem}");
    WireError::Line(escape(&text).into_owned().into_bytes().into())
}

/// Loads libraries of functions, each in place of what there is of it: all, or none.
pub(crate) fn restore_functions(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    (db, libraries): (usize, &[Library]),
) -> Outcome {
    if libraries.is_empty() {
        return Ok(());
    }
    let restoration = Restoration::of(shared, libraries);
    let words = [b"FUNCTION", &b"RESTORE"[..], &restoration.payload, restoration.policy];
    let restore: ArgBuf = words.iter().collect();
    let outcome = follow_up(keys, shared, session, host, db, restore.args());
    if let Err(error) = outcome {
        return Err(unloadable(&restoration.problem(shared, host, &error.text())));
    }
    restoration.tell(host);
    Ok(())
}
