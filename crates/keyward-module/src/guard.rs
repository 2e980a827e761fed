//! The guard: a schema that meets data which it has not governed observes until APPLY.
//!
//! Owns the decision, which is made once the server has loaded its data, and what it goes by: the
//! mark, a file beside the snapshot that says which schemas the rows were kept by
//! (`dump.rdb.keyward`). A server that starts without rows, or with those that the mark's schema
//! has governed, has its schema in force at once; so has a replica, whose primary answers for
//! them.
//! Invariant: nothing of the mark is in the data or in the stream; without it the guard asks, and
//! never changes a row by itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use keyward_rules::RuleBook;
use keyward_schema::{Mode, Schema, meaning_of};

use crate::api::{Ctx, Loudness, Run};
use crate::state::State;

/// Why a database observes, and what to do about it.
pub(crate) const OBSERVES: &str = "rows are there that this schema has not governed: it observes \
                                   until keyward.schema APPLY; keyward.schema PLAN tells what \
                                   becomes of them";

/// What a schema means, in a few digits: the same for texts that mean the same.
pub(crate) fn digest(schema: &Schema) -> String {
    // FNV-1a: it has to be the same on all nodes, whatever they were built by.
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let parts = match schema.parts.is_empty() {
        true => std::slice::from_ref(schema),
        false => &schema.parts[..],
    };
    let mut hash = BASIS;
    for part in parts {
        let meaning = meaning_of(part.source.whole_text());
        let text = format!("{} {} {meaning}", part.keyspace.name, meaning.len());
        for byte in text.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }
    format!("{hash:016x}")
}

/// Decides for every database whether its schema is in force; once, when its data is loaded.
pub(crate) fn decide(ctx: Ctx<'_>, state: &State) {
    if !state.take_undecided() {
        return;
    }
    let mark = Mark::read(ctx);
    let selected = ctx.db();
    for (db, book) in state.books() {
        // Into a server that runs already the module comes after a time without it.
        let is_marked =
            state.is_from_start && mark.governed.get(&db) == Some(&digest(book.declared()));
        if ctx.is_replica() || is_marked || !has_rows(ctx, db) {
            continue;
        }
        let observes = observing(&book);
        state.replace_book(db, observes);
        state.set_guarded(db, true);
        ctx.log(Loudness::Warning, &format!("database {db}: {OBSERVES}"));
    }
    ctx.select(selected);
    mark_in_force(ctx, state);
}

fn has_rows(ctx: Ctx<'_>, db: usize) -> bool {
    let words: [&[u8]; 1] = [b"DBSIZE"];
    ctx.select(db) && ctx.call(Run::Read, words.into_iter()).integer() != Some(0)
}

/// The book of the same schema, of which everything observes.
fn observing(book: &RuleBook) -> RuleBook {
    let schema = book.declared().clone();
    let modes = vec![Some(Mode::Observe); schema.keyspaces().count()];
    RuleBook::overruled(schema, &modes)
}

/// Has the mark say which schemas are in force. If it cannot be written, the next start asks.
pub(crate) fn mark_in_force(ctx: Ctx<'_>, state: &State) {
    let mut mark = Mark::read(ctx);
    let before = mark.governed.clone();
    for (db, book) in state.books() {
        match state.is_guarded(db) || state.is_lapsed(db) {
            true => mark.governed.remove(&db),
            false => mark.governed.insert(db, digest(book.declared())),
        };
    }
    if mark.governed == before {
        return;
    }
    if let Err(error) = mark.write() {
        let place = mark.path.display();
        let text = format!("{place}: {error}; the next start with rows will only observe");
        ctx.log(Loudness::Warning, &text);
    }
}

/// Which schema the rows of each database were kept by.
struct Mark {
    path: PathBuf,
    governed: BTreeMap<usize, String>,
}

impl Mark {
    fn read(ctx: Ctx<'_>) -> Mark {
        let setting = |name: &[u8]| {
            let words: [&[u8]; 3] = [b"CONFIG", b"GET", name];
            let reply = ctx.call(Run::Read, words.into_iter());
            let value = reply.elements().nth(1).and_then(|value| value.bytes().map(<[u8]>::to_vec));
            String::from_utf8_lossy(&value.unwrap_or_default()).into_owned()
        };
        let name = format!("{}.keyward", setting(b"dbfilename"));
        let path = PathBuf::from(setting(b"dir")).join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let line = |line: &str| {
            let (db, digest) = line.split_once(' ')?;
            Some((db.parse().ok()?, digest.to_owned()))
        };
        Mark { path, governed: text.lines().filter_map(line).collect() }
    }

    fn write(&self) -> std::io::Result<()> {
        let lines = self.governed.iter().map(|(db, digest)| format!("{db} {digest}\n"));
        let aside = self.path.with_extension("keyward.new");
        let mut file = File::create(&aside)?;
        file.write_all(lines.collect::<String>().as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&aside, &self.path)
    }
}
