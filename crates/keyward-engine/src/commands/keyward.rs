//! KEYWARD: what Redis has no command for.
//!
//! Owns the answers about schemas and patterns. Every figure is a counter that
//! its table keeps; only MISFITS and UNKNOWN look at rows, some at a call.
//! Not here: planning another schema and putting it in force (`governed`).

mod expiring;
mod misfits;
mod mode;
mod refusals;
mod wanted;

pub(crate) use crate::governed::walking::unknown;
pub(crate) use expiring::expiring;
pub(crate) use misfits::misfits;
pub(crate) use mode::mode;
pub(crate) use refusals::refusals;

use crate::engine::context::{Ctx, Outcome};
use crate::engine::pressure::WARNED_PERCENT;
use crate::governed;
use crate::governed::changefeed::Waiting;
use crate::governed::in_force::book;
use keyward_commands::WireError;
use keyward_resp::ReplyWriter;
use keyward_schema::{Key, KeyId, Schema};
use keyward_store::tables::eviction::{Share, Usage};
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
    ctx.check_explained(command, args)?;
    let lines = governed::explain(ctx, &book, command, args);
    ctx.reply.array(lines.len());
    lines.iter().for_each(|line| ctx.reply.bulk(line.as_bytes()));
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
    let (tables, usages) = (keys.database_at(*db).tables(), keys.usages(*db));
    let declared = book.schema().ids().map(Some);
    let meant: Vec<_> = std::iter::once(None)
        .chain(declared)
        .zip(tables)
        .enumerate()
        .filter(|(_, (id, _))| wanted.has(*id))
        .map(|(at, (id, table))| {
            let name = id.map_or(Named::default(), |id| Named::of(book.schema(), id));
            (name, table, usages.iter().find(|usage| usage.share.tables.contains(&at)))
        })
        .collect();
    if !matches!(wanted, Wanted::One(_) | Wanted::OfKey(..)) {
        reply.array(meant.len());
    }
    for (name, table, usage) in meant {
        let figures = figures(table, &name, keys.now_ms());
        reply_table(reply, &name, figures.into_iter().chain(of_keyspace(usage)).collect());
    }
    Ok(())
}

/// Counts what was stored elsewhere, as whoever stored it says.
pub(crate) fn stored(ctx: &mut Ctx<'_>) -> Outcome {
    let book = book(ctx)?;
    let word = ctx.args.at(2);
    let is_named = |id: &KeyId| {
        let key = book.schema().key(*id);
        key.sink.is_some() && key.pattern.text().as_bytes() == word
    };
    let found = book.schema().ids().find(is_named);
    let id = found.ok_or(WireError::Err("no such pattern with a sink"))?;
    let count = |at: usize| -> Result<u64, WireError> {
        let text = std::str::from_utf8(ctx.args.at(at)).ok();
        text.and_then(|text| text.parse().ok()).ok_or(WireError::NotInteger)
    };
    let (rows, dead_letters) = (count(3)?, count(4)?);
    if ctx.args.len() > 6 {
        return Err(WireError::Syntax);
    }
    let clocks_apart_ms = (ctx.args.len() > 5).then(|| count(5)).transpose()?;
    let stats = ctx.keys.table_stats(ctx.db, Some(id));
    stats.stored = stats.stored.saturating_add(rows);
    stats.dead_letters = stats.dead_letters.saturating_add(dead_letters);
    stats.clocks_apart_ms = clocks_apart_ms.unwrap_or(stats.clocks_apart_ms);
    ctx.reply.ok();
    Ok(())
}

/// What a table is called, and whose it is; nothing where no pattern speaks for its keys.
#[derive(Default)]
struct Named<'s> {
    pattern: &'s str,
    keyspace: &'s str,
    owner: &'s str,
    expected: Option<u64>,
    key: Option<&'s Key>,
}

impl<'s> Named<'s> {
    fn of(schema: &'s Schema, id: KeyId) -> Named<'s> {
        Named {
            pattern: schema.key(id).pattern.text(),
            keyspace: &schema.keyspace_of(id).name,
            owner: schema.owner_of(id).unwrap_or_default(),
            expected: schema.key(id).expect,
            key: Some(schema.key(id)),
        }
    }
}

/// The figures of one table as a map. The plain table's pattern is empty.
fn reply_table(
    reply: &mut ReplyWriter<'_>,
    named: &Named<'_>,
    figures: Vec<(&'static str, Figure)>,
) {
    let texts = [("pattern", named.pattern), ("keyspace", named.keyspace), ("owner", named.owner)];
    reply.map(figures.len() + texts.len());
    for (name, text) in texts {
        reply.bulk(name.as_bytes());
        reply.bulk(text.as_bytes());
    }
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
fn figures(table: &Table, named: &Named<'_>, now_ms: i64) -> [(&'static str, Figure); 27] {
    let (expected, waiting) = (named.expected, Waiting::of(table, named.key, now_ms));
    let stats = table.stats;
    let reads = stats.hits + stats.misses;
    let ratio = if reads == 0 { 0.0 } else { stats.hits as f64 / reads as f64 };
    let remaining_ms = table.mean_deadline().map_or(0, |mean| (mean - now_ms).max(0));
    [
        ("keys", Figure::Count(table.len() as u64)),
        ("bytes", Figure::Count(table.heap_bytes() as u64)),
        ("evictable_bytes", Figure::Count(table.evictable_bytes() as u64)),
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
        ("refused", Figure::Count(stats.refused.total())),
        ("warned", Figure::Count(stats.warned.total())),
        ("would_refuse", Figure::Count(stats.would_refuse)),
        ("would_date", Figure::Count(stats.would_date)),
        ("would_derive", Figure::Count(stats.would_derive)),
        ("would_remove", Figure::Count(stats.would_remove)),
        ("misfits", Figure::Count(stats.misfits)),
        ("conflicts", Figure::Count(stats.conflicts)),
        ("told", Figure::Count(stats.told)),
        ("stored", Figure::Count(stats.stored)),
        ("dead_letters", Figure::Count(stats.dead_letters)),
        ("clocks_apart_ms", Figure::Count(stats.clocks_apart_ms)),
        ("waiting", Figure::Count(waiting.entries)),
        ("lag_ms", Figure::Count(waiting.lag_ms)),
    ]
}

/// What the keyspace of a table takes, and may take: zero without a limit.
fn of_keyspace(usage: Option<&Usage>) -> [(&'static str, Figure); 2] {
    let bytes = usage.map_or(0, |usage| usage.bytes);
    let bytes_max = usage.and_then(|usage| usage.bytes_max).unwrap_or(0);
    [("keyspace_bytes", Figure::Count(bytes)), ("keyspace_max_memory", Figure::Count(bytes_max))]
}

/// How near a keyspace is to its limit, in a word.
fn state(usage: &Usage, full: &[Share]) -> &'static str {
    let is_high = |percent: Option<f64>| percent.is_some_and(|it| it >= WARNED_PERCENT);
    if full.contains(&usage.share) {
        "full"
    } else if is_high(usage.unevictable_percent()) {
        "unevictable"
    } else if is_high(usage.percent()) {
        "high"
    } else {
        "ok"
    }
}

/// A line of INFO for each keyspace of a database.
fn keyspace_lines(ctx: &Ctx<'_>, db: usize, schema: &Schema, text: &mut String) {
    for usage in ctx.keys.usages(db) {
        let index = usage.share.keyspace;
        let _ = write!(
            text,
            "db{db}_keyspace{index}:keyspace={},bytes={},max_memory={},percent={:.2},\
             evictable_bytes={},unevictable_percent={:.2},state={}\r\n",
            schema.keyspace_at(index).name,
            usage.bytes,
            usage.bytes_max.unwrap_or(0),
            usage.percent().unwrap_or(0.0),
            usage.evictable_bytes,
            usage.unevictable_percent().unwrap_or(0.0),
            state(&usage, &ctx.shared.relief.full),
        );
    }
}

/// INFO's section of patterns: what failed, and a line for each keyspace and each of its
/// patterns, over all databases.
pub(crate) fn info(ctx: &mut Ctx<'_>, text: &mut String) {
    ctx.keys.look_at_suspects();
    let _ = write!(text, "follow_ups_failed:{}\r\n", ctx.shared.stats.failures.count());
    for db in 0..ctx.keys.database_count() {
        let database = ctx.keys.database_at(db);
        let Some(book) = database.book() else { continue };
        let (schema, now_ms) = (book.schema(), ctx.keys.now_ms());
        keyspace_lines(ctx, db, schema, text);
        let mut line = |name: &str, of: &Named<'_>, table: &Table| {
            let figures = figures(table, of, now_ms);
            let figures = figures.map(|(name, figure)| format!("{name}={figure}")).join(",");
            let (pattern, keyspace) = (of.pattern, of.keyspace);
            // Writing to a string cannot fail.
            let _ =
                write!(text, "db{db}_{name}:pattern={pattern},{figures},keyspace={keyspace}\r\n");
        };
        let (strangers, declared) = database.tables().split_first().expect("there is one");
        for (index, (id, table)) in schema.ids().zip(declared).enumerate() {
            line(&format!("pattern{index}"), &Named::of(schema, id), table);
        }
        line("unknown", &Named::default(), strangers);
    }
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "EXPIRING [<pattern>|<key>|<glob>]",
        "    Tell how many keys end within the next minutes, hours and days, and what they take.",
        "EXPLAIN <command> [<arg> ...]",
        "    Tell what the command would do under the schema, and why. Nothing is done.",
        "MATCH <key>",
        "    Tell which pattern the key belongs to, and what the schema says of it.",
        "MISFITS [<pattern>|<key>|<glob>] [COUNT <count>] [CURSOR <cursor>]",
        "    List rows that do not fit the schema and are kept, with the reasons, as SCAN does.",
        "MODE [OBSERVE|WARN|ENFORCE|SCHEMA [<keyspace>]]",
        "    Count what the schema would do and do nothing of it, let what breaks it pass with",
        "    a warning, refuse that, or do as the schema says (SCHEMA). Without an argument: tell",
        "    which of these was said; `schema` where the modes of the schema itself hold.",
        "    Where keyspaces share the database, one of them is named. Observing ends only where",
        "    no row changes by that: otherwise the reply names the plan to apply.",
        "REFUSALS [<pattern>|<key>|<glob>] [COUNT <count>]",
        "    List the last commands that broke the schema, the newest first.",
        "SCHEMA [SHOW [<keyspace>]]",
        "    Return the text of the schema.",
        "SCHEMA PLAN [<keyspace>] <text>",
        "    Tell how the schema differs from this one, and what would become of the rows.",
        "SCHEMA APPLY <plan> [DESTROY <count>]",
        "    Put the planned schema in force. What a plan destroys must be said. The schema's",
        "    file is not written: a start with that file goes on with the applied schema.",
        "STATS [<pattern>|<key>|<glob>]",
        "    Return the figures of each pattern, of one, or of those that a glob names.",
        "STORED <pattern> <rows> <dead-letters>",
        "    Count rows that were stored in PostgreSQL, and items that it refused.",
        "UNKNOWN [COUNT <count>]",
        "    Group keys without a pattern by their apparent form, those of most keys first.",
    ]);
    Ok(())
}
