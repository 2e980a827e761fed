//! KEYWARD: what Redis has no command for.
//!
//! Owns the answers about schemas and patterns. Every figure is a counter that
//! its table keeps: nothing here looks at rows, but for planning another schema
//! and
//! applying it (`plan`, `changeover`).

mod misfits;
mod refusals;
mod wanted;

pub(crate) use misfits::misfits;
pub(crate) use refusals::refusals;

use crate::engine::context::{Ctx, Outcome};
use crate::governed;
use crate::governed::in_force::book;
use keyward_commands::WireError;
use keyward_commands::args::{self, Options};
use keyward_resp::ReplyWriter;
use keyward_schema::Mode;
use keyward_store::tables::table::Table;
use std::fmt::{self, Write as _};
use wanted::Wanted;

pub(crate) fn match_key(ctx: &mut Ctx<'_>) -> Outcome {
    let about = book(ctx)?.about(ctx.args.at(2));
    ctx.reply.map(about.len());
    for (heading, lines) in about {
        ctx.reply.bulk(heading.as_bytes());
        ctx.reply.array(lines.len());
        lines.iter().for_each(|line| ctx.reply.bulk(line.as_bytes()));
    }
    Ok(())
}

pub(crate) fn explain(ctx: &mut Ctx<'_>) -> Outcome {
    let book = book(ctx)?;
    let args = ctx.args.from(2);
    let command = ctx.shared.names.resolve(args)?;
    let lines = governed::explain(ctx, &book, command, args);
    ctx.reply.array(lines.len());
    lines.iter().for_each(|line| ctx.reply.bulk(line.as_bytes()));
    Ok(())
}

pub(crate) fn mode(ctx: &mut Ctx<'_>) -> Outcome {
    let book = book(ctx)?;
    let mut options = Options::new(ctx.args, 2);
    let Some(word) = options.next() else {
        let mode = match book.mode() {
            None => "schema",
            Some(Mode::Warn) => "warn",
            Some(Mode::Enforce) => "enforce",
        };
        ctx.reply.bulk(mode.as_bytes());
        return Ok(());
    };
    let mode = if args::is(word, "WARN") {
        Some(Mode::Warn)
    } else if args::is(word, "ENFORCE") {
        Some(Mode::Enforce)
    } else if args::is(word, "SCHEMA") {
        None
    } else {
        return Err(WireError::Syntax);
    };
    if options.next().is_some() {
        return Err(WireError::Syntax);
    }
    drop(book);
    ctx.keys.set_schema_mode(ctx.db, mode);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn stats(ctx: &mut Ctx<'_>) -> Outcome {
    let book = book(ctx)?;
    let wanted = ctx.args.get(2);
    if ctx.args.len() > 3 {
        return Err(WireError::Syntax);
    }
    let wanted = wanted.map_or(Ok(Wanted::All), |word| Wanted::named(&book, word))?;
    let Ctx { keys, db, reply, .. } = ctx;
    keys.look_at_suspects();
    let tables = keys.database_at(*db).tables();
    let declared = book.schema().ids().map(Some);
    let meant: Vec<_> = std::iter::once(None)
        .chain(declared)
        .zip(tables)
        .filter(|(id, _)| wanted.has(*id))
        .map(|(id, table)| {
            let key = id.map(|id| book.schema().key(id));
            let name = key.map_or(("", None), |key| (key.pattern.text(), key.expect));
            (name, table)
        })
        .collect();
    if !matches!(wanted, Wanted::One(_)) {
        reply.array(meant.len());
    }
    meant.into_iter().for_each(|(name, table)| reply_table(reply, name, table, keys.now_ms()));
    Ok(())
}

/// The figures of one table as a map. The plain table's pattern is empty.
fn reply_table(
    reply: &mut ReplyWriter<'_>,
    (pattern, expected): (&str, Option<u64>),
    table: &Table,
    now_ms: i64,
) {
    let figures = figures(table, expected, now_ms);
    reply.map(figures.len() + 1);
    reply.bulk(b"pattern");
    reply.bulk(pattern.as_bytes());
    for (name, figure) in figures {
        reply.bulk(name.as_bytes());
        match figure {
            Figure::Count(count) => reply.integer(i64::try_from(count).unwrap_or(i64::MAX)),
            Figure::Ratio(_) => reply.bulk(figure.to_string().as_bytes()),
        }
    }
}

/// A figure of a table.
enum Figure {
    Count(u64),
    Ratio(f64),
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Count(count) => count.fmt(f),
            Figure::Ratio(ratio) => write!(f, "{ratio:.4}"),
        }
    }
}

/// Every figure of a table, by the name that KEYWARD STATS and INFO give it.
fn figures(table: &Table, expected: Option<u64>, now_ms: i64) -> [(&'static str, Figure); 16] {
    let stats = table.stats;
    let reads = stats.hits + stats.misses;
    let ratio = if reads == 0 { 0.0 } else { stats.hits as f64 / reads as f64 };
    let remaining_ms = table.mean_deadline().map_or(0, |mean| (mean - now_ms).max(0));
    [
        ("keys", Figure::Count(table.len() as u64)),
        ("bytes", Figure::Count(table.heap_bytes() as u64)),
        ("expected", Figure::Count(expected.unwrap_or(0))),
        ("expires", Figure::Count(table.expiring() as u64)),
        ("avg_ttl", Figure::Count(remaining_ms as u64)),
        ("reads", Figure::Count(reads)),
        ("hits", Figure::Count(stats.hits)),
        ("misses", Figure::Count(stats.misses)),
        ("hit_ratio", Figure::Ratio(ratio)),
        ("writes", Figure::Count(stats.writes)),
        ("expired", Figure::Count(stats.expired)),
        ("evicted", Figure::Count(stats.evicted)),
        ("refused", Figure::Count(stats.refused)),
        ("warned", Figure::Count(stats.warned)),
        ("misfits", Figure::Count(stats.misfits)),
        ("conflicts", Figure::Count(stats.conflicts)),
    ]
}

/// INFO's section of patterns: a line for each, over all databases.
pub(crate) fn info(ctx: &mut Ctx<'_>, text: &mut String) {
    ctx.keys.look_at_suspects();
    for db in 0..ctx.keys.database_count() {
        let database = ctx.keys.database_at(db);
        let Some(book) = database.book() else { continue };
        let now_ms = ctx.keys.now_ms();
        let mut line = |name: &str, (pattern, expected): (&str, Option<u64>), table: &Table| {
            let figures = figures(table, expected, now_ms);
            let figures = figures.map(|(name, figure)| format!("{name}={figure}")).join(",");
            // Writing to a string cannot fail.
            let _ = write!(text, "db{db}_{name}:pattern={pattern},{figures}\r\n");
        };
        let (strangers, declared) = database.tables().split_first().expect("there is one");
        for (index, (key, table)) in book.schema().keys.iter().zip(declared).enumerate() {
            line(&format!("pattern{index}"), (key.pattern.text(), key.expect), table);
        }
        line("unknown", ("", None), strangers);
    }
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "EXPLAIN <command> [<arg> ...]",
        "    Tell what the command would do under the schema, and why. Nothing is done.",
        "MATCH <key>",
        "    Tell which pattern the key belongs to, and what the schema says of it.",
        "MISFITS [<pattern>|<key>|<glob>] [COUNT <count>] [CURSOR <cursor>]",
        "    List rows that do not fit the schema and are kept, with the reasons, as SCAN does.",
        "MODE [WARN|ENFORCE|SCHEMA]",
        "    Let what breaks the schema pass with a warning, refuse it, or do as the schema",
        "    says. Without an argument: tell which.",
        "REFUSALS [<pattern>|<key>|<glob>] [COUNT <count>]",
        "    List the last commands that broke the schema, the newest first.",
        "SCHEMA [SHOW]",
        "    Return the text of the schema.",
        "SCHEMA PLAN <text>",
        "    Tell how the schema differs from this one, and what would become of the rows.",
        "SCHEMA APPLY <plan> [DESTROY <count>]",
        "    Put the planned schema in force. What a plan destroys must be said. The schema's",
        "    file is not written: replace it before the next start.",
        "STATS [<pattern>|<key>|<glob>]",
        "    Return the figures of each pattern, of one, or of those that a glob names.",
    ]);
    Ok(())
}
