//! INFO and TIME.
//!
//! Owns which sections a call means and in which order they come. The engine
//! writes what it knows (the keyspace, commands, errors), the host the rest.

use crate::commands::keyward;
use crate::commands::server::role;
use crate::engine::context::{Ctx, Outcome};
use crate::host::Section;
use keyward_commands::args;
use std::fmt::Write as _;

/// The sections, in Redis's order: name on the wire, title, whether INFO without
/// arguments shows it.
const SECTIONS: [(&str, &str, Section, bool); 14] = [
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
    ("patterns", "Patterns", Section::Patterns, true),
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
        // Where there is no schema, INFO is Redis's.
        if section == Section::Patterns && !ctx.keys.has_schemas() {
            continue;
        }
        let words = ctx.args.from(1);
        if !(words.is_empty() && by_default || words.iter().any(wanted)) {
            continue;
        }
        if !text.is_empty() {
            text.push_str("\r\n");
        }
        write_section(ctx, (title, section), &mut text);
    }
    ctx.reply.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

/// Appends these sections, each under its title; without a line between them.
pub(crate) fn write_sections(ctx: &mut Ctx<'_>, wanted: &[Section], text: &mut String) {
    for (_, title, section, _) in SECTIONS {
        if wanted.contains(&section) {
            write_section(ctx, (title, section), text);
        }
    }
}

/// Appends a section under its title.
fn write_section(ctx: &mut Ctx<'_>, (title, section): (&str, Section), text: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(text, "# {title}\r\n");
    match section {
        Section::Keyspace => keyspace(ctx, text),
        Section::Replication => role::info(ctx, text),
        Section::Patterns => keyward::info(ctx, text),
        Section::CommandStats => command_stats(ctx, text),
        Section::ErrorStats => error_stats(ctx, text),
        Section::LatencyStats => latency_stats(ctx, text),
        section => {
            let facts = ctx.shared.facts(ctx.keys);
            ctx.host.info(section, &facts, text);
        }
    }
}

fn command_stats(ctx: &Ctx<'_>, text: &mut String) {
    for (command, counters) in ctx.shared.stats.calls.iter().filter(|(_, it)| it.is_used()) {
        let (calls, us) = (counters.calls, counters.ns / 1000);
        let mean = counters.ns as f64 / 1000.0 / calls.max(1) as f64;
        let _ = write!(
            text,
            "cmdstat_{}:calls={calls},usec={us},usec_per_call={mean:.2},rejected_calls={},failed_calls={}\r\n",
            command.name, counters.rejected, counters.failed
        );
    }
}

fn error_stats(ctx: &Ctx<'_>, text: &mut String) {
    for (code, count) in ctx.shared.stats.errors.iter() {
        text.push_str("errorstat_");
        for chunk in code.utf8_chunks() {
            let is_told = |sign: &char| !matches!(sign, '#' | ':' | '\n' | '\r');
            text.extend(
                chunk.valid().chars().map(|sign| Some(sign).filter(is_told).unwrap_or('_')),
            );
            text.extend((!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER));
        }
        let _ = write!(text, ":count={count}\r\n");
    }
}

fn latency_stats(ctx: &Ctx<'_>, text: &mut String) {
    let stats = &ctx.shared.stats;
    for (command, counters) in stats.calls.iter().filter(|_| stats.is_tracking) {
        let Some(histogram) = counters.latencies() else { continue };
        let _ = write!(text, "latency_percentiles_usec_{}:", command.name);
        let percentiles = &ctx.shared.tunables.latency_percentiles;
        for (place, percentile) in percentiles.iter().enumerate() {
            let us = histogram.at_percentile(*percentile) as f64 / 1000.0;
            let comma = if place > 0 { "," } else { "" };
            let _ = write!(text, "{comma}p{}={us:.3}", f64::from(*percentile) / 1e6);
        }
        text.push_str("\r\n");
    }
}

fn keyspace(ctx: &Ctx<'_>, text: &mut String) {
    for db in 0..ctx.keys.database_count() {
        let database = ctx.keys.database_at(db);
        if database.is_empty() {
            continue;
        }
        let mean = database.mean_deadline().map_or(0, |at| (at - ctx.keys.now_ms()).max(0));
        let (keys, expires) = (database.len(), database.expiring());
        let _ = write!(text, "db{db}:keys={keys},expires={expires},avg_ttl={mean}\r\n");
    }
}

pub(crate) fn time(ctx: &mut Ctx<'_>) -> Outcome {
    // As in Redis 7.0 it goes on within a unit, unlike the time that rows end by.
    let now_us = ctx.host.time_us().unwrap_or(ctx.shared.now_us);
    ctx.reply.array(2);
    ctx.reply.bulk_integer(now_us / 1_000_000);
    ctx.reply.bulk_integer(now_us % 1_000_000);
    Ok(())
}
