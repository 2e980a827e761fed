//! KEYWARD SCHEMA: the schema in force, and the way to another one.
//!
//! Owns the plan that was made last and putting it in force. A plan is a survey of
//! the rows as they are, and so is applying it: what a plan says is what happens,
//! unless rows change in between. Nothing is destroyed that was not announced: the
//! number that the client repeats must be the number at that moment.
//! Invariant: a plan is forgotten once any schema is planned or applied, so a plan
//! always starts from the schema in force.
//! Not here: how rows are judged (`keyward_rules::Survey`).

use super::book;
use crate::context::{Ctx, Outcome};
use crate::rebuild;
use crate::script::sha1_hex;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::ReplyWriter;
use keyward_rules::{Findings, RuleBook, Survey, compare};
use keyward_schema::{Checked, Level, check, escape};
use std::sync::Arc;

/// What messages call a schema that came over the wire, where none was before.
const FILE_NAME: &str = "keyward.toml";
/// Digits of a plan's name: enough that nobody applies another by mistake.
const ID_DIGITS: usize = 12;

/// A schema that may come into force.
#[derive(Debug)]
pub(crate) struct Plan {
    id: Box<[u8]>,
    db: usize,
    book: RuleBook,
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
    let text = ctx.args.at(3);
    let db = ctx.keys.selected();
    let old = ctx.keys.book_of(db);
    let name = old.map_or(FILE_NAME, |book| &book.schema().source.name);
    let mut checked = check(name, text);
    let Some(schema) = checked.schema.take() else { return Err(unsound(&checked)) };
    let changes = match old {
        Some(old) => compare(old.schema(), &schema),
        None => Vec::new(),
    };
    let mut book = RuleBook::new(schema);
    book.set_mode(old.and_then(|old| old.mode()));
    let survey = rebuild::survey(ctx.keys, db, &book);
    let version = ctx.keys.schema_version();
    let origin = [format!("{db} {version} ").as_bytes(), text].concat();
    let id = &sha1_hex(&origin)[..ID_DIGITS];
    ctx.reply.map(4);
    ctx.reply.bulk(b"plan");
    ctx.reply.bulk(id);
    ctx.reply.bulk(b"changes");
    ctx.reply.array(changes.len());
    changes.iter().for_each(|change| ctx.reply.bulk(change.in_words().as_bytes()));
    reply_survey(&mut ctx.reply, &book, &survey);
    ctx.shared.plan = Some(Plan { id: id.into(), db, book });
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
    let Some(plan) = ctx.shared.plan.take_if(|plan| *plan.id == *id && plan.db == db) else {
        return Err(WireError::Err("no such plan of this database; KEYWARD SCHEMA PLAN makes one"));
    };
    let survey = rebuild::survey(ctx.keys, db, &plan.book);
    let destroyed = survey.destroyed();
    if destroyed != announced {
        ctx.shared.plan = Some(plan);
        let text = format!(
            "SCHEMA this plan destroys {destroyed} rows and entries of derived keys, not \
             {announced}; if that is meant, say DESTROY {destroyed}"
        );
        return Err(WireError::Line(text.into_bytes().into()));
    }
    let book = Arc::new(plan.book);
    ctx.keys.govern(db, Arc::clone(&book));
    let Ctx { keys, shared, session, host, .. } = ctx;
    rebuild::carry_out(keys, shared, session, *host, db, &survey);
    // What was done to rows is logged, each by itself.
    ctx.keys.effects.suppress();
    ctx.reply.map(2);
    reply_survey(&mut ctx.reply, &book, &survey);
    Ok(())
}

/// Two pairs of a map: what is destroyed, and the figures of each pattern. Keys
/// without a pattern come first, under an empty one.
fn reply_survey(reply: &mut ReplyWriter<'_>, book: &RuleBook, survey: &Survey) {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    reply.bulk(b"destroys");
    reply.integer(count(survey.destroyed()));
    reply.bulk(b"patterns");
    reply.array(survey.tables.len());
    let patterns = book.schema().keys.iter().map(|key| key.pattern.text());
    for (pattern, found) in std::iter::once("").chain(patterns).zip(&survey.tables) {
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

fn figures(found: &Findings) -> [(&'static str, u64); 7] {
    [
        ("keys", found.rows),
        ("moved", found.moved),
        ("misfits", found.misfits),
        ("conflicts", found.conflicts),
        ("redated", found.redated),
        ("built", found.built),
        ("destroyed", found.destroyed),
    ]
}
