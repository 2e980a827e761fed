//! KEYWARD SCHEMA: the schema in force, and planning another one.
//!
//! Owns the plan that was made last. A plan is a survey of the rows as they are, and so
//! is applying it: what a plan says is what happens, unless rows change in between.
//!
//! Nobody waits while a plan is made but who asked for it: rows are met some at a
//! time, by ticks, and those that change are looked at again, until the plan is
//! applied or given up. What is told of a row is how it was when its turn came.
//! Invariants: a plan is forgotten once any schema is planned or applied, so a plan
//! always starts from the schema in force; there is one at a time.
//! Not here: putting it in force (`changeover`), how rows are judged
//! (`keyward_rules::Survey`), meeting them (`rebuild`).

use super::book;
use super::changeover::apply;
use crate::context::{Ctx, Mode, Outcome};
use crate::keyspace::Keyspace;
use crate::rebuild::{self, Walk};
use crate::script::sha1_hex;
use crate::session::ClientId;
use crate::shared::Shared;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::ReplyWriter;
use keyward_rules::{Conclusion, Findings, Report, RuleBook, Survey, compare};
use keyward_schema::{Checked, Level, Schema, check, escape};

/// What messages call a schema that came over the wire, where none was before.
const FILE_NAME: &str = "keyward.toml";
/// Digits of a plan's name: enough that nobody applies another by mistake.
const ID_DIGITS: usize = 12;
/// Rows that are met, concluded, moved or changed per tick at most: about half a
/// millisecond of work.
pub(super) const ROWS_PER_TICK: usize = 50;
/// A plan that nobody applies is given up after so long: until then every write is
/// looked at by its survey too.
const PLAN_MS: i64 = 60 * 60 * 1000;

pub(super) const VOID: WireError = WireError::Err(
    "the rows were emptied, swapped or loaded since this plan was begun; make another one",
);

/// A schema that may come into force.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) id: Box<[u8]>,
    pub(super) db: usize,
    pub(super) book: RuleBook,
    pub(super) survey: Survey,
    /// What is left to do; `None` once it is made.
    under_way: Option<Making>,
    /// When it is given up, in milliseconds since the epoch.
    until_ms: i64,
}

/// A plan in the making.
#[derive(Debug)]
struct Making {
    /// Who waits for it.
    asker: ClientId,
    walk: Walk,
    /// Once all rows are met.
    conclusion: Option<Conclusion>,
    /// Once all is concluded.
    report: Option<Report>,
}

/// What plans leave behind, which is too much to be freed at once.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    surveys: Vec<Survey>,
    reports: Vec<Report>,
}

impl Remains {
    /// Takes a survey that nobody needs any more.
    pub(super) fn survey(&mut self, survey: Survey) {
        self.surveys.push(survey);
    }

    /// Takes a report that nobody needs any more.
    pub(super) fn report(&mut self, report: Report) {
        self.reports.push(report);
    }

    /// Whether there is something to be freed.
    pub(crate) fn is_busy(&self) -> bool {
        !(self.surveys.is_empty() && self.reports.is_empty())
    }

    /// Frees as much of it as a tick may.
    pub(crate) fn shed(&mut self) {
        self.surveys.retain_mut(|survey| survey.shed(ROWS_PER_TICK));
        self.reports.retain_mut(|report| report.shed(ROWS_PER_TICK));
    }
}

impl Plan {
    /// Whether it is not made yet.
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Has the survey look again at what changed, meets some more rows or concludes
    /// about them; whether there is nothing left but to tell.
    fn advance(&mut self, keys: &mut Keyspace, budget: usize) -> bool {
        keys.bring_up_to_date(&mut self.survey, &self.book);
        let Plan { db, book, survey, .. } = self;
        let Some(making) = &mut self.under_way else { return true };
        if making.report.is_some() {
            return true;
        }
        let conclusion = match &mut making.conclusion {
            Some(conclusion) => conclusion,
            None => {
                if !rebuild::advance(keys, *db, book, survey, &mut making.walk, budget) {
                    return false;
                }
                making.conclusion.insert(survey.begin_conclusion())
            }
        };
        let is_over = rebuild::conclude(keys, *db, book, survey, conclusion, budget);
        // Nothing is going to be done about it now.
        conclusion.report().commands.clear();
        making.report = making.conclusion.take_if(|_| is_over).map(Conclusion::into_report);
        is_over
    }
}

impl Shared {
    /// Goes on with the plan, if there is one; answers who waits for it once it is done.
    pub(crate) fn go_on_planning(&mut self, keys: &mut Keyspace) -> Option<ClientId> {
        let mut plan = self.plan.take()?;
        let asker = plan.under_way.as_ref().map(|making| making.asker);
        let is_awaited = asker.is_some_and(|asker| self.awaits(asker));
        if asker.is_some() != is_awaited || plan.until_ms < keys.now_ms() {
            self.give_up(keys, plan);
            return None;
        }
        let is_done = plan.advance(keys, ROWS_PER_TICK);
        self.plan = Some(plan);
        asker.filter(|_| is_done)
    }

    /// Whether a client still waits for something.
    pub(super) fn awaits(&self, client: ClientId) -> bool {
        self.sessions.get(client).is_some_and(|session| session.blocked.is_some())
    }

    /// Nobody wants a plan any more.
    pub(super) fn give_up(&mut self, keys: &mut Keyspace, plan: Plan) {
        keys.end_survey();
        self.remains.survey(plan.survey);
        if let Some(making) = plan.under_way {
            let concluded = making.conclusion.map(Conclusion::into_report);
            self.remains.reports.extend(making.report.or(concluded));
        }
    }
}

pub(crate) fn schema(ctx: &mut Ctx<'_>) -> Outcome {
    let mut options = Options::new(ctx.args, 2);
    match options.next() {
        None => show(ctx),
        Some(word) if args::is(word, "SHOW") && options.left() == 0 => show(ctx),
        Some(word) if args::is(word, "PLAN") && options.left() == 1 => plan(ctx),
        Some(word) if args::is(word, "APPLY") && options.left() > 0 => apply(ctx),
        Some(_) => Err(WireError::Syntax),
    }
}

fn show(ctx: &mut Ctx<'_>) -> Outcome {
    let book = book(ctx)?;
    ctx.reply.bulk(book.schema().source.text.as_bytes());
    Ok(())
}

fn plan(ctx: &mut Ctx<'_>) -> Outcome {
    if !matches!(ctx.mode, Mode::Woken(_)) {
        if ctx.shared.changeover.is_some() {
            return Err(WireError::Err("another schema is being applied; try again later"));
        }
        if ctx.shared.plan.as_ref().is_some_and(Plan::is_under_way) {
            return Err(WireError::Err("another schema is being planned; try again later"));
        }
        begin(ctx)?;
    }
    let Some(mut plan) = ctx.shared.plan.take() else { return Err(VOID) };
    if !plan.advance(ctx.keys, ROWS_PER_TICK) {
        ctx.shared.plan = Some(plan);
        ctx.block_in_vain(0);
        return Ok(());
    }
    if !ctx.keys.bring_up_to_date(&mut plan.survey, &plan.book) {
        ctx.shared.give_up(ctx.keys, plan);
        return Err(VOID);
    }
    let report = plan.under_way.take().and_then(|making| making.report);
    let report = report.expect("it is all concluded");
    let old = ctx.keys.book_of(plan.db);
    let changes = old.map_or(Vec::new(), |old| compare(old.schema(), plan.book.schema()));
    ctx.reply.map(4);
    ctx.reply.bulk(b"plan");
    ctx.reply.bulk(&plan.id);
    ctx.reply.bulk(b"changes");
    ctx.reply.array(changes.len());
    changes.iter().for_each(|change| ctx.reply.bulk(change.in_words().as_bytes()));
    reply_report(&mut ctx.reply, plan.book.schema(), &report);
    ctx.shared.remains.report(report);
    ctx.shared.plan = Some(plan);
    Ok(())
}

/// Begins to plan the schema of a call.
fn begin(ctx: &mut Ctx<'_>) -> Outcome {
    let text = ctx.args.at(3);
    let db = ctx.keys.selected();
    let old = ctx.keys.book_of(db);
    let name = old.map_or(FILE_NAME, |book| &book.schema().source.name);
    let mut checked = check(name, text);
    let Some(schema) = checked.schema.take() else { return Err(unsound(&checked)) };
    let book = RuleBook::new(schema);
    let version = ctx.keys.schema_version();
    let origin = [format!("{db} {version} ").as_bytes(), text].concat();
    ctx.keys.look_at_suspects();
    if let Some(plan) = ctx.shared.plan.take() {
        ctx.shared.give_up(ctx.keys, plan);
    }
    ctx.shared.plan = Some(Plan {
        id: sha1_hex(&origin)[..ID_DIGITS].into(),
        db,
        survey: rebuild::begin(ctx.keys, db, &book),
        book,
        under_way: Some(Making {
            asker: ctx.session.id,
            walk: Walk::default(),
            conclusion: None,
            report: None,
        }),
        until_ms: ctx.keys.now_ms().saturating_add(PLAN_MS),
    });
    ctx.keys.begin_survey(db);
    Ok(())
}

/// The first thing that is wrong, and how many there are.
fn unsound(checked: &Checked) -> WireError {
    let mut errors = checked.diagnostics.iter().filter(|found| found.rule.level == Level::Error);
    let first = errors.next().map_or(String::new(), |found| {
        let line = checked.source.line(found.primary.span);
        format!("{}: {} (line {line})", found.rule.code, found.message)
    });
    let more = match errors.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let text = format!("SCHEMA the text is not sound: {first}{more}");
    WireError::Line(escape(&text).into_owned().into_bytes().into())
}

/// Two pairs of a map: what is destroyed, and the figures of each pattern. Keys
/// without a pattern come first, under an empty one.
pub(super) fn reply_report(reply: &mut ReplyWriter<'_>, schema: &Schema, report: &Report) {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    reply.bulk(b"destroys");
    reply.integer(count(report.destroyed()));
    reply.bulk(b"patterns");
    reply.array(report.tables.len());
    let patterns = schema.keys.iter().map(|key| key.pattern.text());
    for (pattern, found) in std::iter::once("").chain(patterns).zip(&report.tables) {
        let figures = figures(found);
        reply.map(figures.len() + 1);
        reply.bulk(b"pattern");
        reply.bulk(pattern.as_bytes());
        for (name, figure) in figures {
            reply.bulk(name.as_bytes());
            reply.integer(count(figure));
        }
    }
}

fn figures(found: &Findings) -> [(&'static str, u64); 8] {
    [
        ("keys", found.rows),
        ("moved", found.moved),
        ("misfits", found.misfits),
        ("conflicts", found.conflicts),
        ("overlong", found.overlong),
        ("redated", found.redated),
        ("built", found.built),
        ("destroyed", found.destroyed),
    ]
}
