//! The log of effects as bytes: what the append-only file is given, and those who follow.
//!
//! Owns the form: commands, those of a unit between MULTI and EXEC, with a SELECT wherever
//! the database changes; and, for the file alone, annotations that say which schemas are in
//! force.
//! Not here: what those who follow are told besides (`replication`), where the bytes go (the
//! host).

use keyward_resp::push_request;
use keyward_schema::Persist;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::effects::Effect;

/// Commands that concern more than the database they are sent to.
const CONCERN_ALL: [&[u8]; 3] = [b"FLUSHALL", b"SWAPDB", b"FUNCTION"];

/// Commands that change no row: the file has none of them.
const CHANGE_NOTHING: [&[u8]; 2] = [b"PUBLISH", b"SPUBLISH"];

/// Appends effects as the commands of a stream; `selected` is the database that it has
/// selected. Those of databases that `wants` does not want are left out.
pub(crate) fn push_stream(
    effects: &[Effect],
    selected: &mut Option<usize>,
    wants: impl Fn(&Effect) -> bool,
    stream: &mut Vec<u8>,
) {
    for unit in effects.chunk_by(|one, next| one.unit == next.unit) {
        let count = unit.iter().filter(|effect| wants(effect)).count();
        for (at, effect) in unit.iter().filter(|effect| wants(effect)).enumerate() {
            if selected.replace(effect.db) != Some(effect.db) {
                push_request(stream, ["SELECT", &effect.db.to_string()].iter());
            }
            if at == 0 && count > 1 {
                push_request(stream, ["MULTI"].iter());
            }
            push_request(stream, effect.command.args().iter());
        }
        if count > 1 {
            push_request(stream, ["EXEC"].iter());
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

    /// Records effects, as far as their databases are to be kept change by change.
    pub(crate) fn record(&mut self, effects: &[Effect], keys: &Keyspace) {
        if !self.is_on {
            return;
        }
        let wants = |effect: &Effect| {
            let is_kept = keys.database_at(effect.db).persist() == Persist::Aof;
            (is_kept || is_one_of(effect, &CONCERN_ALL)) && !is_one_of(effect, &CHANGE_NOTHING)
        };
        push_stream(effects, &mut self.selected, wants, &mut self.bytes);
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

fn is_one_of(effect: &Effect, names: &[&[u8]]) -> bool {
    let name = effect.command.args().at(0);
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}
