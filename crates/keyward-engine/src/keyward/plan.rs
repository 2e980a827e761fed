//! KEYWARD SCHEMA: the schema in force, and the way to another one.
//!
//! Owns the plan that was made last and putting it in force. A plan is a survey of
//! the rows as they are, and so is applying it: what a plan says is what happens,
//! unless rows change in between. Nothing is destroyed that was not announced: the
//! number that the client repeats must be the number at that moment.
//!
//! Nobody waits while a plan is made but who asked for it: rows are met some at a
//! time, by ticks, and those that change are looked at again, until the plan is
//! applied or given up. Applying it then takes the time of what there is to do: rows
//! that are written, and those that come to another table.
//! Invariants: a plan is forgotten once any schema is planned or applied, so a plan
//! always starts from the schema in force; there is one at a time.
//! Not here: how rows are judged (`keyward_rules::Survey`), meeting them (`rebuild`).

use super::book;
use crate::context::{Ctx, Mode, Outcome};
use crate::governed::{follow_ended, follow_up};
use crate::keyspace::Keyspace;
use crate::rebuild::{self, Walk};
use crate::script::sha1_hex;
use crate::session::ClientId;
use crate::shared::Shared;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::{ArgBuf, ReplyWriter};
use keyward_rules::{Findings, Report, RuleBook, Survey, compare};
use keyward_schema::{Checked, Level, check, escape};
use std::sync::Arc;

/// What messages call a schema that came over the wire, where none was before.
const FILE_NAME: &str = "keyward.toml";
/// Digits of a plan's name: enough that nobody applies another by mistake.
const ID_DIGITS: usize = 12;
/// Rows a survey meets per tick at most: about a millisecond of work.
const ROWS_PER_TICK: usize = 1_000;
/// A plan that nobody applies is given up after so long: until then every write is
/// looked at by its survey too.
const PLAN_MS: i64 = 60 * 60 * 1000;

const VOID: WireError = WireError::Err(
    "the rows were emptied, swapped or loaded since this plan was begun; make another one",
);

/// A schema that may come into force.
#[derive(Debug)]
pub(crate) struct Plan {
    id: Box<[u8]>,
    db: usize,
    book: RuleBook,
    survey: Survey,
    /// How far the survey has come, and who waits for it; `None` once it is made.
    under_way: Option<(Walk, ClientId)>,
    /// When it is given up, in milliseconds since the epoch.
    until_ms: i64,
}

/// What came of going on.
#[derive(Debug)]
pub(crate) enum Progressed {
    /// There is nothing to do.
    Rests,
    /// There is more to do.
    Halfway,
    /// The survey has seen all; this client waits for it.
    Done(ClientId),
}

impl Plan {
    /// Whether its survey has not seen all rows.
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Has the survey look again at what changed, and meet some more rows; whether it
    /// has seen all.
    fn advance(&mut self, keys: &mut Keyspace, budget: usize) -> bool {
        keys.bring_up_to_date(&mut self.survey, &self.book);
        let Some((walk, _)) = &mut self.under_way else { return true };
        rebuild::advance(keys, self.db, &self.book, &mut self.survey, walk, budget)
    }
}

impl Shared {
    /// Goes on with the plan, if there is one.
    pub(crate) fn go_on_planning(&mut self, keys: &mut Keyspace) -> Progressed {
        let Some(mut plan) = self.plan.take() else { return Progressed::Rests };
        let asker = plan.under_way.as_ref().map(|(_, client)| *client);
        let session = asker.and_then(|client| self.sessions.get(client));
        let is_awaited = session.is_some_and(|session| session.blocked.is_some());
        if asker.is_some() != is_awaited || plan.until_ms < keys.now_ms() {
            keys.end_survey();
            return Progressed::Rests;
        }
        let is_done = plan.advance(keys, ROWS_PER_TICK);
        self.plan = Some(plan);
        match asker {
            None => Progressed::Rests,
            Some(client) if is_done => Progressed::Done(client),
            Some(_) => Progressed::Halfway,
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
    plan.under_way = None;
    if !ctx.keys.bring_up_to_date(&mut plan.survey, &plan.book) {
        ctx.keys.end_survey();
        return Err(VOID);
    }
    let old = ctx.keys.book_of(plan.db);
    let changes = old.map_or(Vec::new(), |old| compare(old.schema(), plan.book.schema()));
    let report = rebuild::conclude(ctx.keys, plan.db, &plan.book, &plan.survey);
    ctx.reply.map(4);
    ctx.reply.bulk(b"plan");
    ctx.reply.bulk(&plan.id);
    ctx.reply.bulk(b"changes");
    ctx.reply.array(changes.len());
    changes.iter().for_each(|change| ctx.reply.bulk(change.in_words().as_bytes()));
    reply_report(&mut ctx.reply, &plan.book, &report);
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
    ctx.shared.plan = Some(Plan {
        id: sha1_hex(&origin)[..ID_DIGITS].into(),
        db,
        survey: rebuild::begin(ctx.keys, db, &book),
        book,
        under_way: Some((Walk::default(), ctx.session.id)),
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

fn apply(ctx: &mut Ctx<'_>) -> Outcome {
    let mut options = Options::new(ctx.args, 3);
    let id = options.value()?;
    let announced = match options.next() {
        None => 0,
        Some(word) if args::is(word, "DESTROY") => args::non_negative(options.value()?)?,
        Some(_) => return Err(WireError::Syntax),
    };
    if options.left() > 0 {
        return Err(WireError::Syntax);
    }
    if ctx.keys.is_expiry_held {
        return Err(WireError::Err("a schema cannot be applied while clients are paused"));
    }
    let db = ctx.keys.selected();
    let is_it = |plan: &mut Plan| *plan.id == *id && plan.db == db && !plan.is_under_way();
    let Some(mut plan) = ctx.shared.plan.take_if(is_it) else {
        return Err(WireError::Err("no such plan of this database; KEYWARD SCHEMA PLAN makes one"));
    };
    // Rows whose time is over take what was derived from them along.
    ctx.keys.sweep(usize::MAX);
    follow_ended(ctx.keys, ctx.shared, ctx.session, ctx.host);
    ctx.keys.look_at_suspects();
    if !ctx.keys.bring_up_to_date(&mut plan.survey, &plan.book) {
        ctx.keys.end_survey();
        return Err(VOID);
    }
    let mut report = rebuild::conclude(ctx.keys, db, &plan.book, &plan.survey);
    let destroyed = report.destroyed();
    if destroyed != announced {
        ctx.shared.plan = Some(plan);
        let text = format!(
            "SCHEMA this plan destroys {destroyed} rows and entries of derived keys, not \
             {announced}; if that is meant, say DESTROY {destroyed}"
        );
        return Err(WireError::Line(text.into_bytes().into()));
    }
    load_functions(ctx, db)?;
    let Plan { mut book, survey, .. } = plan;
    book.set_mode(ctx.keys.book_of(db).and_then(|old| old.mode()));
    let book = Arc::new(book);
    ctx.keys.end_survey();
    let persist = ctx.keys.database_at(db).persist();
    ctx.keys.govern(db, Arc::clone(&book), &survey);
    if ctx.shared.log.is_on && ctx.keys.database_at(db).persist() != persist {
        // The file has rows that it is not to have, or lacks some.
        ctx.host.rewrite_log(true);
    }
    let Ctx { keys, shared, session, host, .. } = ctx;
    for (found, table) in report.tables.iter_mut().zip(keys.database_at(db).tables()) {
        found.rows = table.len() as u64;
    }
    rebuild::carry_out(keys, shared, session, *host, db, &report);
    // What was computed by patterns that are gone did not stay.
    report.tables[0].rows = keys.database_at(db).tables()[0].len() as u64;
    // What was done to rows is logged, each by itself.
    ctx.keys.effects.suppress();
    ctx.reply.map(2);
    reply_report(&mut ctx.reply, &book, &report);
    Ok(())
}

/// Loads the libraries of functions that belong to the schema of a database, each in
/// place of what there is of it: all, or none if one cannot be.
fn load_functions(ctx: &mut Ctx<'_>, db: usize) -> Outcome {
    let refused = |problem: &str| {
        let text = format!("SCHEMA the functions of the schema cannot be loaded: {problem}");
        WireError::Line(escape(&text).into_owned().into_bytes().into())
    };
    let libraries = ctx.host.libraries(db).map_err(|problem| refused(&problem))?;
    if libraries.is_empty() {
        return Ok(());
    }
    let sources = libraries.iter().map(|library| &library.code[..]);
    let payload = keyward_rdb::write_libraries(sources, false);
    let restore = [b"FUNCTION".as_slice(), b"RESTORE", &payload, b"REPLACE"];
    let restore: ArgBuf = restore.iter().collect();
    let Ctx { keys, shared, session, host, .. } = ctx;
    let outcome = follow_up(keys, shared, session, *host, db, restore.args());
    outcome.map_err(|problem| refused(&String::from_utf8_lossy(&problem.text())))
}

/// Two pairs of a map: what is destroyed, and the figures of each pattern. Keys
/// without a pattern come first, under an empty one.
fn reply_report(reply: &mut ReplyWriter<'_>, book: &RuleBook, report: &Report) {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    reply.bulk(b"destroys");
    reply.integer(count(report.destroyed()));
    reply.bulk(b"patterns");
    reply.array(report.tables.len());
    let patterns = book.schema().keys.iter().map(|key| key.pattern.text());
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
