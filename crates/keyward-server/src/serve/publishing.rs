//! Publishing figures for those who observe the server (`keyward-http`).
//!
//! Owns which counter becomes which word. Done between rounds, at most ten times a second and
//! only if somebody has asked since: a copy of counters into a buffer that is there, without
//! allocating, locking or freeing anything. Only when other schemas have come into force are
//! buffers made anew.
//! Not here: what the figures are called (`keyward_http`).

use crate::serve::core::Core;
use crate::settings::table::Id;
use keyward_engine::{Engine, Host as _, LATENCY_LEVELS, Latencies, Onlooker, TableFigures};
use keyward_http::{LEVELS_US, PatternFigure, Publisher, Writer};
use std::fmt::Write as _;

const _: () = assert!(LEVELS_US.len() == LATENCY_LEVELS, "the steps are those of the engine");

/// What publishing needs.
#[derive(Debug)]
pub(crate) struct Publishing {
    publisher: Publisher,
    onlooker: Onlooker,
}

impl Publishing {
    pub(crate) fn new(publisher: Publisher) -> Publishing {
        Publishing { publisher, onlooker: Onlooker::default() }
    }
}

/// Tells those who observe which schemas are in force.
pub(crate) fn tell_schemas(core: &Core) {
    if let Some(publishing) = &core.publishing {
        publishing.publisher.tell_generation(core.engine.schema_version());
    }
}

/// Publishes figures if somebody wants some.
#[inline]
pub(crate) fn publish_if_due(core: &mut Core) {
    if core.publishing.as_ref().is_some_and(|publishing| publishing.publisher.is_due()) {
        publish(core);
    }
}

#[cold]
fn publish(core: &mut Core) {
    let Core { engine, host, publishing, .. } = core;
    let Some(Publishing { publisher, onlooker }) = publishing else { return };
    engine.set_time(host.clock.now_us());
    let generation = engine.schema_version();
    if publisher.is_outdated(generation) {
        let books = engine.books().map(|(db, book)| (db, book.clone())).collect();
        match publisher.govern(generation, books) {
            Some(before) => host.discard(before),
            // Somebody reads at this moment: the next time, then.
            None => return,
        }
    }
    publisher.publish(|writer| {
        engine.write_published(host, onlooker, writer.text);
        let is_protected = host.settings.is_on(Id::ProtectedMode) && engine.needs_no_password();
        // Writing to a string cannot fail.
        let is_open = engine.needs_no_password();
        let _ = write!(
            writer.text,
            "protected:{}\r\nopen:{}\r\n",
            u8::from(is_protected),
            u8::from(is_open)
        );
        write_tables(engine, writer);
        write_latencies(engine, writer);
    });
}

/// The words of each table of each database under a schema.
fn write_tables(engine: &Engine, writer: &mut Writer<'_>) {
    for (db, _) in engine.books() {
        for (_, figures) in engine.tables(db) {
            let words: [u64; PatternFigure::COUNT] =
                std::array::from_fn(|at| word(&figures, PatternFigure::ALL[at]));
            writer.words(&words);
            writer.words(figures.stats.refused.counts());
            writer.words(figures.stats.warned.counts());
        }
    }
}

fn word(table: &TableFigures, figure: PatternFigure) -> u64 {
    let stats = &table.stats;
    match figure {
        PatternFigure::Keys => table.keys,
        PatternFigure::Bytes => table.bytes,
        PatternFigure::EvictableBytes => table.evictable_bytes,
        // The schema has it.
        PatternFigure::Expected => 0,
        PatternFigure::Expiring => table.expiring,
        PatternFigure::RemainingMs => table.remaining_ms,
        PatternFigure::Hits => stats.hits,
        PatternFigure::Misses => stats.misses,
        PatternFigure::Reads => stats.hits + stats.misses,
        PatternFigure::Writes => stats.writes,
        PatternFigure::Expired => stats.expired,
        PatternFigure::Evicted => stats.evicted,
        PatternFigure::WouldRefuse => stats.would_refuse,
        PatternFigure::WouldDate => stats.would_date,
        PatternFigure::WouldDerive => stats.would_derive,
        PatternFigure::WouldRemove => stats.would_remove,
        PatternFigure::Misfits => stats.misfits,
        PatternFigure::Conflicts => stats.conflicts,
        PatternFigure::Told => stats.told,
        PatternFigure::Stored => stats.stored,
        PatternFigure::DeadLetters => stats.dead_letters,
        PatternFigure::Waiting => table.waiting,
        PatternFigure::LagMs => table.lag_ms,
    }
}

/// The words of each command, zeros for those that have not run.
fn write_latencies(engine: &Engine, writer: &mut Writer<'_>) {
    let mut next = 0;
    for Latencies { command, calls, ns, levels } in engine.latencies() {
        (next..command).for_each(|_| writer.words(&[0; 2 + LATENCY_LEVELS]));
        writer.words(&[calls, ns]);
        writer.words(&levels);
        next = command + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_of_latencies_are_those_of_the_engine() {
        let steps: Vec<u64> = (0..LATENCY_LEVELS).map(keyward_engine::latency_level_us).collect();
        assert_eq!(steps, LEVELS_US);
    }
}
