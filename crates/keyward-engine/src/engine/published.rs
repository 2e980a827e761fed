//! Figures of the whole engine for who observes it from outside (metrics).
//!
//! Owns what a host reads to publish figures: INFO's lines, the counters of each table, and
//! latencies by command. Reading is a copy of counters: it allocates nothing, waits for
//! nobody, counts as no command, and takes no longer than there are tables and commands.
//! Not here: what the figures are called outside, and who may see them (the host).

use crate::commands::server::info;
use crate::engine::Engine;
use crate::engine::context::{Ctx, Mode, Stage};
use crate::governed::changefeed::Waiting;
use crate::host::{Host, Section};
use crate::sessions::session::Session;
use crate::sessions::stats::histogram;
use keyward_commands::{COMMANDS, Command, CommandId};
use keyward_resp::ArgBuf;
use keyward_rules::RuleBook;
use keyward_schema::{Key, KeyId};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::tables::counters::TableStats;
use keyward_store::tables::table::Table;
use std::fmt::Write as _;
use std::sync::Arc;

/// Rows that may not fit which are judged before figures are read.
const SUSPECTS_AT_ONCE: usize = 64;

/// How many steps a distribution of latencies has.
pub const LATENCY_LEVELS: usize = histogram::LEVELS;

/// The sections of INFO whose lines are published.
pub const PUBLISHED_SECTIONS: &[Section] = &[
    Section::Server,
    Section::Clients,
    Section::Memory,
    Section::Persistence,
    Section::Stats,
    Section::Replication,
    Section::CommandStats,
    Section::ErrorStats,
    Section::LatencyStats,
    Section::Cluster,
    Section::Keyspace,
];

/// The longest duration that a step counts, in microseconds.
pub fn latency_level_us(level: usize) -> u64 {
    histogram::level_us(level)
}

/// The counters of a table.
#[derive(Debug, Clone, Copy)]
pub struct TableFigures {
    /// Rows.
    pub keys: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that may be evicted.
    pub evictable_bytes: u64,
    /// Rows that have a lifetime.
    pub expiring: u64,
    /// How long those have left, on average.
    pub remaining_ms: u64,
    /// Entries of a changefeed that wait to be stored.
    pub waiting: u64,
    /// How long the first of them has waited.
    pub lag_ms: u64,
    /// What was counted.
    pub stats: TableStats,
}

impl TableFigures {
    fn of(table: &Table, key: Option<&Key>, now_ms: i64) -> TableFigures {
        let waiting = Waiting::of(table, key, now_ms);
        TableFigures {
            waiting: waiting.entries,
            lag_ms: waiting.lag_ms,
            keys: table.len() as u64,
            bytes: table.heap_bytes() as u64,
            evictable_bytes: table.evictable_bytes() as u64,
            expiring: table.expiring() as u64,
            remaining_ms: table.mean_deadline().map_or(0, |mean| (mean - now_ms).max(0)) as u64,
            stats: table.stats,
        }
    }
}

/// How long the calls of a command took.
#[derive(Debug, Clone, Copy)]
pub struct Latencies {
    /// Its place in the table of commands.
    pub command: usize,
    /// How many there were.
    pub calls: u64,
    /// How long they took together.
    pub ns: u64,
    /// How many took no longer than each step says.
    pub levels: [u64; LATENCY_LEVELS],
}

/// Somebody who looks at the engine and is no client.
#[derive(Debug)]
pub struct Onlooker {
    session: Session,
    nothing: ArgBuf,
    out: Vec<u8>,
}

impl Default for Onlooker {
    fn default() -> Onlooker {
        let session = Session::new(ClientId(0), 0, true);
        Onlooker { session, nothing: ArgBuf::default(), out: Vec::new() }
    }
}

impl Engine {
    /// Which set of schemas is in force: it changes whenever that does.
    pub fn schema_version(&self) -> u64 {
        self.keys.schema_version()
    }

    /// Which users there are: it changes whenever they or their rights do.
    pub fn users_version(&self) -> u64 {
        self.shared.acl.version()
    }

    /// The databases under a schema, with their books.
    pub fn books(&self) -> impl Iterator<Item = (usize, &Arc<RuleBook>)> {
        let databases = self.keys.databases().enumerate();
        databases.filter_map(|(db, database)| database.book().map(|book| (db, book)))
    }

    /// The functions that schemas declare and no library has, each with the name of its
    /// keyspace. FCALL takes names in any case.
    pub fn functions_absent(&self) -> Vec<(String, String)> {
        let mut absent = Vec::new();
        for (_, book) in self.books() {
            let schema = book.schema();
            let names: Vec<&str> = schema.keyspaces().map(|keyspace| &*keyspace.name).collect();
            for function in &schema.functions {
                if self.shared.scripts.library_with(function.name.as_bytes()).is_none() {
                    let keyspace = names.get(function.keyspace).copied().unwrap_or_default();
                    absent.push((keyspace.to_owned(), function.name.to_string()));
                }
            }
        }
        absent
    }

    /// The functions that libraries have and no schema declares, where there is one.
    pub fn functions_undeclared(&self) -> Vec<String> {
        let books: Vec<_> = self.books().map(|(_, book)| book).collect();
        let declared = |name: &[u8]| {
            let mut functions = books.iter().flat_map(|book| &book.schema().functions);
            functions.any(|function| function.name.as_bytes().eq_ignore_ascii_case(name))
        };
        let names = self.shared.scripts.function_names().filter(|name| !declared(name));
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        if books.is_empty() { Vec::new() } else { names.collect() }
    }

    /// The figures of the tables of a database from one on; the first is that for keys without
    /// a pattern.
    pub fn tables(
        &self,
        db: usize,
        first: usize,
    ) -> impl Iterator<Item = (Option<KeyId>, TableFigures)> {
        let (database, now_ms) = (self.keys.database_at(db), self.keys.now_ms());
        let declared = database.book().into_iter().flat_map(|book| book.schema().ids());
        std::iter::once(None).chain(declared.map(Some)).zip(database.tables()).skip(first).map(
            move |(id, table)| {
                let schema = database.book().map(|book| book.schema());
                let key = id.zip(schema).map(|(id, schema)| schema.key(id));
                (id, TableFigures::of(table, key, now_ms))
            },
        )
    }

    /// The latencies of each command that has run.
    pub fn latencies(&self) -> impl Iterator<Item = Latencies> {
        let stats = &self.shared.stats;
        let tracked = stats.calls.iter().enumerate().filter(|_| stats.is_tracking);
        tracked.filter_map(|(command, (_, counters))| {
            let histogram = counters.latencies()?;
            let (calls, levels) = (histogram.total(), histogram.levels());
            Some(Latencies { command, calls, ns: counters.ns, levels })
        })
    }

    /// Appends the lines of INFO that are published, and a section of what INFO does not
    /// have.
    pub fn write_published(
        &mut self,
        host: &mut dyn Host,
        onlooker: &mut Onlooker,
        text: &mut String,
    ) {
        self.keys.look_at_some_suspects(SUSPECTS_AT_ONCE);
        let Engine { keys, shared, .. } = self;
        let Onlooker { session, nothing, out } = onlooker;
        let stage = Stage { keys, db: 0, session, shared, host };
        let mut ctx = Ctx::new(stage, Mode::Plain, info_command(), nothing.args(), out);
        info::write_sections(&mut ctx, PUBLISHED_SECTIONS, text);
        self.write_own(text);
    }

    /// Appends what INFO does not have.
    fn write_own(&self, text: &mut String) {
        let (stats, keys) = (&self.shared.stats, &self.keys);
        let slow = &stats.slow_log;
        let (last_id, last_us) = slow.iter().next().map_or((0, 0), |last| (last.id, last.us));
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# Keyward\r\nslowlog_length:{}\r\nslowlog_last_id:{last_id}\r\n\
             slowlog_last_usec:{last_us}\r\nslow_commands:{}\r\nlarge_ends_pending:{}\r\n\
             large_ends:{}\r\nfollow_ups_failed:{}\r\nschema_changing:{}\r\nschema_version:{}\r\n\
             rebuild_commands:{}\r\nrebuild_left:{}\r\n",
            slow.len(),
            slow.noted(),
            keys.pending_ends(),
            keys.ends_begun(),
            stats.failures.count(),
            u8::from(self.shared.changeover.is_some() || self.shared.reloading.is_some()),
            keys.schema_version(),
            stats.rebuilt.commands,
            stats.rebuilt.left,
        );
        if let Some(primary) = &self.shared.primary {
            let ping_s = self.shared.tunables.replicating.ping_s;
            let _ = write!(text, "replica_lag_s:{}\r\n", primary.lag_s(keys.now_ms(), ping_s));
        }
        for (event, series) in &stats.latency.events {
            if let Some(last) = series.samples.back() {
                let _ =
                    write!(text, "latency_event_{event}:time={},ms={}\r\n", last.time_s, last.ms);
            }
        }
    }
}

/// The row of INFO.
fn info_command() -> &'static Command {
    &COMMANDS[CommandId::Info as usize]
}
