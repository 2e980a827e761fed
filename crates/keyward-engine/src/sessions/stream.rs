//! The log of effects as bytes: what the append-only file is given, and those who follow.
//!
//! Owns the form: commands, those of a unit between MULTI and EXEC, with a SELECT wherever
//! the database changes; and, for the file alone, annotations that say which schemas are in
//! force.
//!
//! The file shows who wrote it: its SELECTs are spelled [`OWN_SELECT`], which every server reads
//! and no other writes. Redis and Valkey begin what they append with a `SELECT`, whatever the file
//! has selected before, so nothing of theirs comes to rows unnoticed ([`is_foreign_select`]); and
//! since the mark is in the command itself, a file that ends anywhere never tells of others than
//! those who wrote it.
//! Not here: what those who follow are told besides (`replication`), where the bytes go (the
//! host).

use crate::sessions::log_cover::LogCover;
use keyward_resp::push_request;
use keyward_store::keyspace::effects::{EffectLog, Recorded};

/// Commands that concern more than the database they are sent to.
const CONCERN_ALL: [&[u8]; 3] = [b"FLUSHALL", b"SWAPDB", b"FUNCTION"];

/// Commands that change no row: the file has none of them.
const CHANGE_NOTHING: [&[u8]; 2] = [b"PUBLISH", b"SPUBLISH"];

/// How the append-only file spells the command that selects a database.
const OWN_SELECT: &str = "Select";

/// How those who follow are told.
pub(crate) const PLAIN_SELECT: &str = "SELECT";

/// Whether a command of the append-only file selects a database and another server wrote it.
#[inline]
pub(crate) fn is_foreign_select(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(OWN_SELECT.as_bytes()) && name != OWN_SELECT.as_bytes()
}

/// Where the bytes of a stream go.
pub(crate) trait Sink {
    /// Adds bytes at the end.
    fn push(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Appends effects as the commands of a stream; `selected` is the database that it has
/// selected, `select` how that command is spelled. Those that `wants` does not want are left out.
pub(crate) fn push_stream(
    effects: &EffectLog,
    (selected, select): (&mut Option<usize>, &str),
    wants: impl Fn(&Recorded) -> bool,
    stream: &mut impl Sink,
) {
    let mut rest = effects.commands();
    while let Some((first, behind)) = rest.split_first() {
        // Most units are one command.
        let more = behind.iter().take_while(|recorded| recorded.unit == first.unit).count();
        let (unit, others) = rest.split_at(1 + more);
        rest = others;
        let count = match more {
            0 => 1,
            _ => unit.iter().filter(|recorded| wants(recorded)).count(),
        };
        for (at, recorded) in unit.iter().filter(|recorded| wants(recorded)).enumerate() {
            if selected.replace(recorded.db) != Some(recorded.db) {
                let mut request = Vec::new();
                push_request(&mut request, [select, &recorded.db.to_string()].iter());
                stream.push(&request);
            }
            if at == 0 && count > 1 {
                stream.push(b"*1\r\n$5\r\nMULTI\r\n");
            }
            stream.push(effects.request(recorded));
        }
        if count > 1 {
            stream.push(b"*1\r\n$4\r\nEXEC\r\n");
        }
    }
}

/// What is to be appended to the append-only file.
#[derive(Debug, Default)]
pub(crate) struct AppendLog {
    pub(crate) is_on: bool,
    /// The database that the file has selected; `None` if it is new.
    pub(crate) selected: Option<usize>,
    /// The schemas that the file remembers, and the version of schemas that they are of.
    schemas: String,
    pub(crate) schema_version: u64,
    bytes: Vec<u8>,
}

impl AppendLog {
    /// The log of a file that is new, and remembers these schemas.
    pub(crate) fn new(is_on: bool, schemas: String) -> AppendLog {
        // No version has this number: what is in force is compared with it first.
        AppendLog { is_on, schemas, schema_version: u64::MAX, ..AppendLog::default() }
    }

    /// Schemas of this version are in force, which the file is to remember; `annotate` writes
    /// that.
    pub(crate) fn remember(
        &mut self,
        version: u64,
        schemas: String,
        annotate: impl FnOnce(&str, &mut Vec<u8>),
    ) {
        self.schema_version = version;
        if self.is_on && self.schemas != schemas {
            annotate(&schemas, &mut self.bytes);
            self.schemas = schemas;
        }
    }

    /// What is to be remembered of the schemas in force may be something else by now.
    pub(crate) fn forget_version(&mut self) {
        self.schema_version = u64::MAX;
    }

    /// Adds annotations.
    pub(crate) fn annotate(&mut self, annotate: impl FnOnce(&mut Vec<u8>)) {
        if self.is_on {
            annotate(&mut self.bytes);
        }
    }

    /// Records effects, as far as the file has their databases.
    pub(crate) fn record(&mut self, effects: &EffectLog, cover: &LogCover) {
        if !self.is_on {
            return;
        }
        let is_one_of = |recorded: &Recorded, names: &[&[u8]]| {
            let name = effects.name(recorded);
            names.iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        let wants = |recorded: &Recorded| {
            let is_kept = cover.is_logged(recorded.db);
            (is_kept || is_one_of(recorded, &CONCERN_ALL)) && !is_one_of(recorded, &CHANGE_NOTHING)
        };
        push_stream(effects, (&mut self.selected, OWN_SELECT), wants, &mut self.bytes);
    }

    /// Whether everything that was recorded is taken.
    pub(crate) fn is_taken(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of the buffer of what was recorded.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Takes what was recorded.
    pub(crate) fn take(&mut self, out: &mut Vec<u8>) {
        if out.is_empty() {
            std::mem::swap(out, &mut self.bytes);
        } else {
            out.append(&mut self.bytes);
        }
    }
}
