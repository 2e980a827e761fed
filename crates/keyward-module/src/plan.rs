//! `keyward.schema PLAN` and `APPLY`: the files read anew, and what becomes of the rows.
//!
//! Owns a plan while it is made and until it is applied. All keys are met some at a time, while
//! others are served; what is written meanwhile is looked at again. APPLY concludes by the rows as
//! they are then and carries it out at once, in one unit, if it is of the kinds that the plan has
//! told.
//! Invariants: one plan at a time; on a replica nothing is carried out, its primary does that.
//! Not here: what rows need (`keyward_rules::Survey`), whether a schema observes at first
//! (`guard`).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use keyward_rules::{Conclusion, Findings, Ground, Report, RuleBook, Survey, compare};

use crate::api::{Ctx, Loudness, Run, Waiting};
use crate::guard;
use crate::live::Live;
use crate::state::State;

/// How long one step takes.
const STEP: Duration = Duration::from_millis(1);
/// Keys that are met, or rows that are concluded, between two looks at the clock.
const AT_ONCE: usize = 50;

/// A figure of a pattern.
type Figure = (&'static str, fn(&Findings) -> u64);

/// What a plan tells of each pattern, in the words of KEYWARD SCHEMA PLAN.
pub(crate) const FIGURES: [Figure; 12] = [
    ("keys", |found| found.rows),
    ("moved", |found| found.moved),
    ("misfits", |found| found.misfits),
    ("conflicts", |found| found.conflicts),
    ("overlong", |found| found.overlong),
    ("redated", |found| found.redated),
    ("dated", |found| found.dated),
    ("shortened", |found| found.shortened),
    ("built", |found| found.built),
    ("destroyed", |found| found.destroyed),
    ("cut_later", |found| found.cut_later),
    ("shortened_later", |found| found.shortened_later),
];

/// A schema that may come into force in a database.
pub(crate) struct Plan {
    pub(crate) db: usize,
    book: Arc<RuleBook>,
    /// What kept the rows until now.
    before: Option<Arc<RuleBook>>,
    survey: Survey,
    /// Where SCAN goes on; `None` once all keys are met.
    cursor: Option<Vec<u8>>,
    conclusion: Option<Conclusion>,
    asker: Option<Waiting>,
    /// Once it is made.
    pub(crate) told: Option<Told>,
}

/// What a plan says.
pub(crate) struct Told {
    pub(crate) name: String,
    pub(crate) changes: Vec<String>,
    pub(crate) destroys: u64,
    pub(crate) patterns: Vec<(String, Findings)>,
    kinds: Vec<Kinds>,
}

/// Whether rows of a pattern are destroyed, shortened, dated, given a later end or none, built,
/// cut by their next write, given a nearer end by their next use.
type Kinds = [bool; 7];

fn kinds_of(report: &Report) -> impl Iterator<Item = Kinds> {
    report.tables.iter().map(|found| {
        let undated = found.redated - found.dated - found.shortened;
        let (destroyed, shortened, dated) = (found.destroyed, found.shortened, found.dated);
        let later = [found.cut_later, found.shortened_later];
        [destroyed, shortened, dated, undated, found.built, later[0], later[1]]
            .map(|count| count > 0)
    })
}

impl Plan {
    /// Begins a plan that this book comes into force.
    pub(crate) fn begin(state: &State, db: usize, book: RuleBook, asker: Waiting) -> Plan {
        // What only observed has kept nothing.
        let before = state.book(db).filter(|_| !state.is_guarded(db));
        if let Some(before) = &before {
            book.inherit_modes(before);
        }
        let survey = Survey::new(&book, before.as_deref(), |_| false);
        Plan {
            db,
            book: Arc::new(book),
            before,
            survey,
            cursor: Some(b"0".to_vec()),
            conclusion: None,
            asker: Some(asker),
            told: None,
        }
    }

    /// Whether a key would have a pattern.
    pub(crate) fn concerns(&self, key: &[u8]) -> bool {
        self.book.table_of(key).is_some()
    }

    /// Concludes some more; whether that is over.
    fn conclude_some(&self, ctx: Ctx<'_>, conclusion: &mut Conclusion) -> bool {
        let view = Live::new(ctx, &self.book);
        let ground = Ground { book: &self.book, before: self.before.as_deref(), view: &view };
        let is_over = conclusion.step(&self.survey, ground, AT_ONCE);
        is_over.expect("the server shows all it has at once")
    }

    /// Goes on for one step; whether it is made.
    fn advance(&mut self, ctx: Ctx<'_>) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < STEP {
            if self.cursor.is_some() {
                self.meet_some(ctx);
                continue;
            }
            let mut conclusion =
                self.conclusion.take().unwrap_or_else(|| self.survey.begin_conclusion());
            let is_over = self.conclude_some(ctx, &mut conclusion);
            // Nothing is going to be done about it now.
            conclusion.report().commands.clear();
            if is_over {
                let report = conclusion.into_report();
                self.told = Some(self.told_of(&report));
                return true;
            }
            self.conclusion = Some(conclusion);
        }
        false
    }

    fn meet_some(&mut self, ctx: Ctx<'_>) {
        let cursor = self.cursor.take().unwrap_or_default();
        let count = AT_ONCE.to_string();
        let words: [&[u8]; 4] = [b"SCAN", &cursor, b"COUNT", count.as_bytes()];
        let reply = ctx.call(Run::Read, words.into_iter());
        let mut parts = reply.elements();
        let next = parts.next().and_then(|cursor| cursor.bytes().map(<[u8]>::to_vec));
        let view = Live::new(ctx, &self.book);
        let ground = Ground { book: &self.book, before: self.before.as_deref(), view: &view };
        for keys in parts {
            for key in keys.elements() {
                let Some(key) = key.bytes() else { continue };
                if let Some(row) = view.find(key) {
                    let met = self.survey.meet(ground, key, row);
                    met.expect("the server shows all it has at once");
                }
            }
        }
        self.cursor = next.filter(|cursor| cursor != b"0");
    }

    /// Looks again at what has changed, and concludes by the rows as they are.
    fn conclude_now(&mut self, ctx: Ctx<'_>, changed: BTreeSet<Vec<u8>>) -> Report {
        for key in changed {
            let view = Live::new(ctx, &self.book);
            let ground = Ground { book: &self.book, before: self.before.as_deref(), view: &view };
            let looked = self.survey.look_again(ground, &key);
            looked.expect("the server shows all it has at once");
        }
        let mut conclusion = self.survey.begin_conclusion();
        while !self.conclude_some(ctx, &mut conclusion) {}
        conclusion.into_report()
    }

    fn told_of(&self, report: &Report) -> Told {
        let schema = self.book.schema();
        let texts = schema.keys.iter().map(|key| key.pattern.text().to_owned());
        let names = std::iter::once(String::new()).chain(texts);
        let kinds: Vec<Kinds> = kinds_of(report).collect();
        let changes = self.before.as_ref().map_or_else(Vec::new, |before| {
            let differences = compare(before.declared(), self.book.declared());
            differences.iter().map(keyward_rules::Difference::in_words).collect()
        });
        let patterns =
            names.zip(&report.tables).filter(|(_, found)| **found != Findings::default());
        let patterns = patterns.map(|(name, found)| (name, *found)).collect();
        let name = format!("{}{}", &guard::digest(schema)[..8], digits(&kinds));
        Told { name, changes, destroys: report.destroyed(), patterns, kinds }
    }
}

/// A few digits that tell kinds of change apart.
fn digits(kinds: &[Kinds]) -> String {
    let bits = kinds.iter().flatten();
    let hash =
        bits.fold(7_u32, |hash, bit| hash.wrapping_mul(31).wrapping_add(u32::from(*bit) + 1));
    format!("{:04x}", hash & 0xffff)
}

/// Goes on with the plan that is being made; whether there is more to do.
pub(crate) fn advance(ctx: Ctx<'_>, state: &State) -> bool {
    let Some(mut plan) = state.take_plan() else { return false };
    if plan.told.is_some() {
        state.keep_plan(plan);
        return false;
    }
    if !ctx.select(plan.db) || !state.is_planning() {
        let asker = plan.asker.take();
        state.end_plan();
        asker.into_iter().for_each(Waiting::release);
        return false;
    }
    let is_made = plan.advance(ctx);
    let asker = plan.asker.take_if(|_| is_made);
    state.keep_plan(plan);
    asker.into_iter().for_each(Waiting::release);
    !is_made
}

/// Puts the schema of the plan of this name in force in a database, if so many rows and entries
/// may be destroyed.
///
/// # Errors
/// Says why not; nothing has changed then.
pub(crate) fn apply(ctx: Ctx<'_>, state: &State, name: &[u8], most: u64) -> Result<(), String> {
    let db = ctx.db();
    let is_meant = |told: &Told| told.name.as_bytes().eq_ignore_ascii_case(name);
    let Some(mut plan) = state.take_plan() else {
        return Err("ERR there is no plan of that name: keyward.schema PLAN".to_owned());
    };
    if plan.db != db || !plan.told.as_ref().is_some_and(is_meant) {
        state.keep_plan(plan);
        return Err("ERR there is no plan of that name: keyward.schema PLAN".to_owned());
    }
    if ctx.is_paused() {
        state.keep_plan(plan);
        return Err("ERR clients are paused".to_owned());
    }
    if !state.is_planning() {
        state.end_plan();
        return Err("ERR too much was written since: keyward.schema PLAN".to_owned());
    }
    let report = plan.conclude_now(ctx, state.take_changed());
    let destroyed = report.destroyed();
    let told = plan.told.as_ref().map_or(&[][..], |told| &told.kinds);
    let has_told = kinds_of(&report)
        .zip(told)
        .all(|(now, told)| now.iter().zip(told).all(|(is_there, was_told)| !is_there || *was_told));
    let refusal = if destroyed > most {
        let these = if destroyed == 1 {
            "row or entry of a derived key"
        } else {
            "rows and entries of derived keys"
        };
        Some(format!(
            "SCHEMA this plan destroys {destroyed} {these}, not {most}; if that is meant, say DESTROY {destroyed}"
        ))
    } else if !has_told {
        plan.told = Some(plan.told_of(&report));
        let name = plan.told.as_ref().map_or("", |told| &told.name);
        let text = "SCHEMA rows came since that this plan did not tell of; if that is meant, say";
        let destroys = if destroyed == 0 { String::new() } else { format!(" DESTROY {destroyed}") };
        Some(format!("{text} keyward.schema APPLY {name}{destroys}"))
    } else {
        None
    };
    if let Some(refusal) = refusal {
        state.keep_plan(plan);
        return Err(refusal);
    }
    state.end_plan();
    carry_out(ctx, state, *plan, &report);
    Ok(())
}

fn carry_out(ctx: Ctx<'_>, state: &State, plan: Plan, report: &Report) {
    let Plan { db, book, .. } = plan;
    state.put_in_force(db, Arc::clone(&book));
    state.set_guarded(db, false);
    let mut failed = 0_usize;
    let commands = report.commands.len();
    if !ctx.is_replica() {
        for command in &report.commands {
            failed += usize::from(ctx.call(Run::Own, command.args().iter()).is_error());
        }
    }
    guard::mark_in_force(ctx, state);
    let names: Vec<&str> = book.schema().keyspaces().map(|own| &*own.name).collect();
    let text =
        format!("database {db}: {} is in force; {commands} commands ran for it", names.join(", "));
    ctx.log(Loudness::Notice, &text);
    if failed > 0 {
        ctx.log(Loudness::Warning, &format!("{failed} of them failed: see keyward.misfits"));
    }
}
