//! MEMORY: what keys take, and how memory as a whole stands.
//!
//! Owns the replies. What a key takes the engine counts by its own allocations;
//! the rest the host knows (`MemoryReport`).

mod doctor;

pub(crate) use doctor::doctor;

use crate::engine::context::{Ctx, Outcome};
use keyward_commands::{WireError, args};

pub(crate) fn usage(ctx: &mut Ctx<'_>) -> Outcome {
    check_samples(ctx)?;
    let key = ctx.key(2);
    match ctx.keys.usage(key) {
        Some(bytes) => ctx.reply.count(bytes),
        None => ctx.reply.null(),
    }
    Ok(())
}

/// SAMPLES is understood, but nothing is estimated: values know their bytes.
fn check_samples(ctx: &Ctx<'_>) -> Outcome {
    let mut options = ctx.args.from(3).iter();
    while let Some(option) = options.next() {
        let value = options.next().filter(|_| args::is(option, "SAMPLES"));
        let count = args::integer(value.ok_or(WireError::Syntax)?)?;
        usize::try_from(count).map_err(|_| WireError::Syntax)?;
    }
    Ok(())
}

/// A value of MEMORY STATS.
enum Figure {
    Bytes(i64),
    Ratio(f64),
    /// What a database takes besides its rows.
    Database {
        index_bytes: usize,
        deadline_bytes: usize,
    },
}

pub(crate) fn stats(ctx: &mut Ctx<'_>) -> Outcome {
    let figures = figures(ctx);
    ctx.reply.map(figures.len());
    for (name, figure) in figures {
        ctx.reply.bulk(name.as_bytes());
        match figure {
            Figure::Bytes(bytes) => ctx.reply.integer(bytes),
            Figure::Ratio(ratio) => ctx.reply.double(ratio),
            Figure::Database { index_bytes, deadline_bytes } => {
                ctx.reply.map(3);
                ctx.reply.bulk(b"overhead.hashtable.main");
                ctx.reply.count(index_bytes);
                ctx.reply.bulk(b"overhead.hashtable.expires");
                ctx.reply.count(deadline_bytes);
                ctx.reply.bulk(b"overhead.hashtable.slot-to-keys");
                ctx.reply.integer(0);
            }
        }
    }
    Ok(())
}

/// The figures under Redis's names and in its order.
fn figures(ctx: &mut Ctx<'_>) -> Vec<(String, Figure)> {
    let report = ctx.host.memory();
    let facts = ctx.shared.facts(ctx.keys);
    let keys: usize = ctx.keys.databases().map(|database| database.len()).sum();
    let databases = ctx.keys.databases().enumerate().filter(|(_, database)| !database.is_empty());
    let databases = databases.map(|(db, database)| {
        let (index_bytes, deadline_bytes) = (database.index_bytes(), database.deadline_bytes());
        (format!("db.{db}"), Figure::Database { index_bytes, deadline_bytes })
    });
    let bytes = |name: &str, bytes: u64| (name.to_owned(), Figure::Bytes(bytes as i64));
    let beyond = |name: &str, more: u64, less: u64| {
        (name.to_owned(), Figure::Bytes(more.cast_signed() - less.cast_signed()))
    };
    let ratio = |name: &str, ratio: f64| (name.to_owned(), Figure::Ratio(ratio));
    let part = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let mut figures = vec![
        bytes("peak.allocated", report.peak),
        bytes("total.allocated", report.used),
        bytes("startup.allocated", report.startup),
        bytes("replication.backlog", facts.backlog_bytes as u64),
        bytes("clients.slaves", report.replicas),
        bytes("clients.normal", report.clients + facts.client_bytes as u64),
        bytes("cluster.links", 0),
        bytes("aof.buffer", report.log),
        bytes("lua.caches", facts.scripts.script_bytes as u64),
        bytes("functions.caches", facts.scripts.library_bytes as u64),
    ];
    figures.extend(databases);
    figures.extend([
        bytes("overhead.total", report.overhead(&facts)),
        bytes("keys.count", keys as u64),
        bytes("keys.bytes-per-key", report.net().checked_div(keys as u64).unwrap_or(0)),
        bytes("dataset.bytes", report.dataset(&facts)),
        ratio("dataset.percentage", report.dataset_percent(&facts)),
        ratio("peak.percentage", report.peak_percent()),
        bytes("allocator.allocated", report.allocated),
        bytes("allocator.active", report.active),
        bytes("allocator.resident", report.mapped),
        ratio("allocator-fragmentation.ratio", part(report.active, report.allocated)),
        beyond("allocator-fragmentation.bytes", report.active, report.allocated),
        ratio("allocator-rss.ratio", part(report.mapped, report.active)),
        beyond("allocator-rss.bytes", report.mapped, report.active),
        ratio("rss-overhead.ratio", part(report.resident, report.mapped)),
        beyond("rss-overhead.bytes", report.resident, report.mapped),
        ratio("fragmentation", part(report.resident, report.used)),
        beyond("fragmentation.bytes", report.resident, report.used),
    ]);
    figures
}

pub(crate) fn malloc_stats(ctx: &mut Ctx<'_>) -> Outcome {
    let text = ctx.host.allocator_statistics();
    ctx.reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

pub(crate) fn purge(ctx: &mut Ctx<'_>) -> Outcome {
    if !ctx.host.purge_memory() {
        return Err(WireError::Err("Error purging dirty pages"));
    }
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "DOCTOR",
        "    Return memory problems reports.",
        "MALLOC-STATS",
        "    Return internal statistics report from the memory allocator.",
        "PURGE",
        "    Attempt to purge dirty pages for reclamation by the allocator.",
        "STATS",
        "    Return information about the memory usage of the server.",
        "USAGE <key> [SAMPLES <count>]",
        "    Return memory in bytes used by <key> and its value. Nested values are",
        "    sampled up to <count> times (default: 5, 0 means sample all).",
    ]);
    Ok(())
}
