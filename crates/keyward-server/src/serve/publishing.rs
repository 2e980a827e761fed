//! Publishing figures for those who observe the server (`keyward-http`).
//!
//! Owns which counter becomes which word. Done between rounds, at most ten times a second and
//! only if somebody has asked since: a copy of counters into a buffer that is there, without
//! allocating, locking or freeing anything, in steps of [`TABLES_PER_STEP`] tables, so that a
//! schema of thousands of patterns holds nobody up. Only when other schemas have come into force are
//! buffers made anew.
//! Not here: what the figures are called (`keyward_http`).

use crate::serve::core::Core;
use crate::settings::table::Id;
use keyward_engine::{Engine, Host as _, LATENCY_LEVELS, Latencies, Onlooker, TableFigures};
use keyward_http::{LEVELS_US, PatternFigure, Publisher, Writer};
use std::fmt::Write as _;

const _: () = assert!(LEVELS_US.len() == LATENCY_LEVELS, "the steps are those of the engine");

/// Tables whose figures are written at a time: some 100 µs.
const TABLES_PER_STEP: usize = 128;

/// What publishing needs.
#[derive(Debug)]
pub(crate) struct Publishing {
    publisher: Publisher,
    onlooker: Onlooker,
    /// Tables whose figures are written, of a publication under way.
    tables_done: usize,
}

impl Publishing {
    pub(crate) fn new(publisher: Publisher) -> Publishing {
        Publishing { publisher, onlooker: Onlooker::default(), tables_done: 0 }
    }
}

/// Tells those who observe which schemas are in force.
pub(crate) fn tell_schemas(core: &Core) {
    if let Some(publishing) = &core.publishing {
        publishing.publisher.tell_generation(core.engine.schema_version());
    }
}

/// Whether a publication is to go on before anything is waited for.
pub(crate) fn is_under_way(core: &Core) -> bool {
    core.publishing.as_ref().is_some_and(|publishing| publishing.publisher.is_under_way())
}

/// Tells those who remember what users may that these have changed.
#[inline]
pub(crate) fn note_users(core: &Core) {
    if let Some(publishing) = &core.publishing {
        publishing.publisher.note_users(core.engine.users_version());
    }
}

/// Publishes figures if somebody wants some, or goes on with that.
#[inline]
pub(crate) fn publish_if_due(core: &mut Core) {
    if core.publishing.as_ref().is_some_and(|publishing| publishing.publisher.is_due()) {
        publish(core);
    }
}

#[cold]
fn publish(core: &mut Core) {
    let Core { engine, host, publishing, .. } = core;
    let Some(Publishing { publisher, onlooker, tables_done }) = publishing else { return };
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
    if publisher.is_under_way() {
        let mut is_done = false;
        publisher.go_on(|writer| is_done = write_tables(engine, tables_done, writer));
        if is_done {
            publisher.go_on(|writer| write_latencies(engine, writer));
            publisher.end();
        }
        return;
    }
    *tables_done = 0;
    publisher.begin();
    publisher.go_on(|writer| {
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
    });
}

/// The words of some more tables of databases under a schema; whether those were the last.
fn write_tables(engine: &Engine, done: &mut usize, writer: &mut Writer<'_>) -> bool {
    let (mut first, mut left) = (*done, TABLES_PER_STEP);
    for (db, book) in engine.books() {
        let count = 1 + book.schema().keys.len();
        for (_, figures) in engine.tables(db, first).take(left) {
            let words: [u64; PatternFigure::COUNT] =
                std::array::from_fn(|at| word(&figures, PatternFigure::ALL[at]));
            writer.words(&words);
            writer.words(figures.stats.refused.counts());
            writer.words(figures.stats.warned.counts());
            *done += 1;
            left -= 1;
        }
        first = first.saturating_sub(count);
    }
    left > 0
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
        PatternFigure::ClocksApartMs => stats.clocks_apart_ms,
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
