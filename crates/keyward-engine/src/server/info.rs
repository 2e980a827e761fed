//! INFO and TIME.
//!
//! Owns which sections a call means and in which order they come. The engine
//! writes what it knows (`Keyspace`), the host the rest.

use crate::context::{Ctx, Outcome};
use crate::host::Section;
use keyward_commands::args;
use std::fmt::Write as _;

/// The sections, in Redis's order: name on the wire, title, whether INFO without
/// arguments shows it.
const SECTIONS: [(&str, &str, Section, bool); 13] = [
    ("server", "Server", Section::Server, true),
    ("clients", "Clients", Section::Clients, true),
    ("memory", "Memory", Section::Memory, true),
    ("persistence", "Persistence", Section::Persistence, true),
    ("stats", "Stats", Section::Stats, true),
    ("replication", "Replication", Section::Replication, true),
    ("cpu", "CPU", Section::Cpu, true),
    ("modules", "Modules", Section::Modules, true),
    ("commandstats", "Commandstats", Section::CommandStats, false),
    ("errorstats", "Errorstats", Section::ErrorStats, true),
    ("latencystats", "Latencystats", Section::LatencyStats, false),
    ("cluster", "Cluster", Section::Cluster, true),
    ("keyspace", "Keyspace", Section::Keyspace, true),
];

pub(crate) fn info(ctx: &mut Ctx<'_>) -> Outcome {
    let mut text = String::new();
    for (name, title, section, by_default) in SECTIONS {
        let wanted = |word: &[u8]| {
            let everything = args::is(word, "ALL") && section != Section::Modules;
            args::is(word, name)
                || everything
                || args::is(word, "EVERYTHING")
                || (args::is(word, "DEFAULT") && by_default)
        };
        let words = ctx.args.from(1);
        if !(words.is_empty() && by_default || words.iter().any(wanted)) {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "# {title}\r\n");
        match section {
            Section::Keyspace => keyspace(ctx, &mut text),
            section => {
                let facts = ctx.shared.facts(ctx.keys);
                ctx.host.info(section, &facts, &mut text);
            }
        }
    }
    ctx.reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

fn keyspace(ctx: &Ctx<'_>, text: &mut String) {
    for db in 0..ctx.keys.database_count() {
        let database = ctx.keys.database_at(db);
        if database.len() == 0 {
            continue;
        }
        let mean = database.mean_deadline().map_or(0, |at| (at - ctx.keys.now_ms()).max(0));
        let (keys, expires) = (database.len(), database.expiring());
        let _ = write!(text, "db{db}:keys={keys},expires={expires},avg_ttl={mean}\r\n");
    }
}

pub(crate) fn time(ctx: &mut Ctx<'_>) -> Outcome {
    let now_us = ctx.shared.now_us;
    ctx.reply.array(2);
    ctx.reply.bulk_integer(now_us / 1_000_000);
    ctx.reply.bulk_integer(now_us % 1_000_000);
    Ok(())
}
