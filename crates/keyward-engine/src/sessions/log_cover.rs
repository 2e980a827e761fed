//! Which databases the append-only file has: where the next start finds their rows.
//!
//! What a schema says of a database (`persist`) and what the files have of it are two things: the
//! schema may change in an instant, the files follow by being written. So the files remember by
//! themselves, beside the schemas (`governed::memory`), which databases are not in the append-only
//! file, and a start goes by that, whatever schema it is going to serve.
//!
//! ```text
//! keyward-unlogged   "<db> <persist> <db> <persist> …"   an AUX field of every base
//! #keyward-unlogged:<db> <persist>                       from here on it is not in the file
//! #keyward-unlogged:                                     all that was not named is in the file
//! ```
//!
//! `persist` is `rdb` where the last snapshot has the rows, `none` where nothing has. The last
//! form stands before schemas in a file whose base does not tell, since an earlier version wrote
//! it, or another server; of such a base the schema that it remembers says which databases it has.
//!
//! Owns how each database stands:
//! - one that is to leave the file stays in it until a snapshot has been written that has its rows;
//! - one that is to come back is in the file only with a new base that has its rows. What
//!   increments have of it before is dropped by a start, for it follows nothing.
//!
//! Invariant: at every instant the files, loaded by what they remember, have all that was promised
//! by the last state that they remember.
//! Not here: who writes files (the host), which effects there are (`stream`).

use keyward_schema::Persist;
use keyward_store::keyspace::Keyspace;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The name of the AUX field.
pub(crate) const FACT: &str = "keyward-unlogged";
/// What annotations begin with.
pub(crate) const LINE: &[u8] = b"#keyward-unlogged:";

/// Databases that the append-only file does not have, and what has their rows.
pub(crate) type Unlogged = BTreeMap<usize, Persist>;

/// How a database stands to the append-only file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    /// It is in it.
    Logged,
    /// It is in it until a snapshot has its rows; the one that is being written does, if it
    /// `is_captured`.
    Leaving { is_captured: bool },
    /// It is not in it.
    Left(Persist),
    /// It is not in it, and is to be; the base that is being written has it, if it `is_captured`.
    Awaited { kept: Persist, is_captured: bool },
}

/// What a file has told so far.
#[derive(Debug, Default)]
struct Heard {
    /// Databases that are not named are in it.
    is_told: bool,
    unlogged: Unlogged,
}

/// Which databases the append-only file has.
#[derive(Debug, Default)]
pub(crate) struct LogCover {
    /// Those that are not here are in it.
    stands: BTreeMap<usize, Stand>,
    heard: Heard,
    /// The file says so, as far as it is to.
    is_told: bool,
}

/// What the schema of each database says now.
fn wanted(keys: &Keyspace) -> impl Iterator<Item = (usize, Persist)> {
    keys.databases().enumerate().map(|(db, database)| (db, database.persist()))
}

/// Databases that a base without a log is to leave out: those of which a schema says so.
fn unwanted(keys: &Keyspace) -> Unlogged {
    wanted(keys).filter(|(_, persist)| *persist != Persist::Aof).collect()
}

impl LogCover {
    #[inline]
    fn stand(&self, db: usize) -> Stand {
        self.stands.get(&db).copied().unwrap_or(Stand::Logged)
    }

    fn set(&mut self, db: usize, stand: Stand) {
        match stand {
            Stand::Logged => self.stands.remove(&db),
            stand => self.stands.insert(db, stand),
        };
    }

    /// Whether changes of a database are logged.
    #[inline]
    pub(crate) fn is_logged(&self, db: usize) -> bool {
        match self.stand(db) {
            Stand::Logged | Stand::Leaving { .. } => true,
            Stand::Left(_) => false,
            Stand::Awaited { is_captured, .. } => is_captured,
        }
    }

    /// Where a start would find the rows of a database.
    pub(crate) fn place(&self, db: usize) -> Persist {
        match self.stand(db) {
            Stand::Logged | Stand::Leaving { .. } => Persist::Aof,
            Stand::Left(kept) | Stand::Awaited { kept, .. } => kept,
        }
    }

    /// Whether all databases are in the file.
    pub(crate) fn is_whole(&self) -> bool {
        self.stands.is_empty()
    }

    /// Whether a database is to be in the file, and is not yet.
    pub(crate) fn awaits(&self) -> bool {
        self.stands.values().any(|stand| matches!(stand, Stand::Awaited { .. }))
    }

    /// A file begins, with a base of what is wanted; or there is none any more.
    pub(crate) fn begin(&mut self, keys: &Keyspace, is_on: bool) {
        self.is_told = true;
        let unlogged = if is_on { unwanted(keys) } else { Unlogged::new() };
        self.stands = unlogged.into_iter().map(|(db, kept)| (db, Stand::Left(kept))).collect();
    }

    /// What the base of a file says that is loaded; whether it can be read.
    pub(crate) fn hear_base(&mut self, text: &[u8]) -> bool {
        let Some(unlogged) = read(text) else { return false };
        self.heard = Heard { is_told: true, unlogged };
        true
    }

    /// An annotation, without what it begins with; whether it can be read.
    pub(crate) fn hear_line(&mut self, text: &[u8]) -> bool {
        let Some(mut unlogged) = read(text.trim_ascii_end()) else { return false };
        self.heard.is_told |= unlogged.is_empty();
        self.heard.unlogged.append(&mut unlogged);
        true
    }

    /// All of a file is loaded: how databases stand, under the schemas that it remembers.
    pub(crate) fn end_hearing(&mut self, keys: &Keyspace) {
        let Heard { is_told, unlogged } = std::mem::take(&mut self.heard);
        self.is_told = is_told;
        let mut stands = if is_told { Unlogged::new() } else { unwanted(keys) };
        stands.extend(unlogged);
        self.stands = stands.into_iter().map(|(db, kept)| (db, Stand::Left(kept))).collect();
    }

    /// A file that was loaded is to remember schemas. One whose base did not tell what it has does
    /// so first.
    pub(crate) fn tell(&mut self, lines: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        for (db, stand) in &self.stands {
            if let Stand::Left(kept) = stand {
                push_line(*db, *kept, lines);
            }
        }
        lines.extend_from_slice(LINE);
        lines.extend_from_slice(b"\r\n");
    }

    /// Schemas may say something else than before. What leaves the file with that is told.
    pub(crate) fn follow(&mut self, keys: &Keyspace, lines: &mut Vec<u8>) {
        for (db, wanted) in wanted(keys) {
            let stand = match (self.stand(db), wanted) {
                (Stand::Logged | Stand::Leaving { .. }, Persist::Aof) => Stand::Logged,
                (Stand::Logged, Persist::Rdb) => Stand::Leaving { is_captured: false },
                (same @ Stand::Leaving { .. }, Persist::Rdb) => same,
                // From now on a snapshot may have what nothing had.
                (Stand::Left(Persist::None), Persist::Aof) => {
                    push_line(db, Persist::Rdb, lines);
                    Stand::Awaited { kept: Persist::Rdb, is_captured: false }
                }
                (Stand::Left(kept), Persist::Aof) => Stand::Awaited { kept, is_captured: false },
                (same @ Stand::Awaited { .. }, Persist::Aof) => same,
                (same @ Stand::Left(kept), wanted) if kept == wanted => same,
                (_, wanted) => {
                    push_line(db, wanted, lines);
                    Stand::Left(wanted)
                }
            };
            self.set(db, stand);
        }
    }

    /// A base of the file is captured, between two commands.
    pub(crate) fn capture_base(&mut self, keys: &Keyspace) {
        for (db, wanted) in wanted(keys) {
            if let (Stand::Left(kept) | Stand::Awaited { kept, .. }, Persist::Aof) =
                (self.stand(db), wanted)
            {
                self.set(db, Stand::Awaited { kept, is_captured: true });
            }
        }
    }

    /// What a base leaves out: while a file is written, what is not in that.
    pub(crate) fn left_out(&self, keys: &Keyspace, is_log_on: bool) -> Unlogged {
        if !is_log_on {
            return unwanted(keys);
        }
        let left_out = self.stands.keys().filter(|db| !self.is_logged(**db));
        left_out.map(|db| (*db, self.place(*db))).collect()
    }

    /// The base is what the file begins with now, or could not be written; which databases came
    /// into the file with it. Whether a base that failed is there in spite of that, nobody knows.
    pub(crate) fn end_base(&mut self, is_written: bool, lines: &mut Vec<u8>) -> Vec<usize> {
        let is_captured = |(_, stand): &(&usize, &Stand)| {
            matches!(stand, Stand::Awaited { is_captured: true, .. })
        };
        let captured: Vec<usize> =
            self.stands.iter().filter(is_captured).map(|(db, _)| *db).collect();
        for db in &captured {
            let kept = self.place(*db);
            if is_written {
                self.set(*db, Stand::Logged);
            } else {
                push_line(*db, kept, lines);
                self.set(*db, Stand::Awaited { kept, is_captured: false });
            }
        }
        self.is_told |= is_written;
        if is_written { captured } else { Vec::new() }
    }

    /// A snapshot of this instant begins.
    pub(crate) fn capture_snapshot(&mut self) {
        self.each_leaving(|is_captured| {
            *is_captured = true;
            None
        });
    }

    /// It is written, or could not be.
    pub(crate) fn end_snapshot(&mut self, is_written: bool, lines: &mut Vec<u8>) {
        let left = self.each_leaving(|is_captured| {
            let has_left = std::mem::take(is_captured) && is_written;
            has_left.then_some(Stand::Left(Persist::Rdb))
        });
        left.into_iter().for_each(|db| push_line(db, Persist::Rdb, lines));
    }

    /// Looks at databases that are to leave the file; those that come to stand otherwise.
    fn each_leaving(&mut self, mut look: impl FnMut(&mut bool) -> Option<Stand>) -> Vec<usize> {
        let mut changed = Vec::new();
        for (db, stand) in &mut self.stands {
            if let Stand::Leaving { is_captured } = stand
                && let Some(other) = look(is_captured)
            {
                *stand = other;
                changed.push(*db);
            }
        }
        changed
    }
}

/// The value of the AUX field.
pub(crate) fn in_words(unlogged: &Unlogged) -> String {
    let mut text = String::new();
    for (db, kept) in unlogged {
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{space}{db} {}", kept.name());
    }
    text
}

fn push_line(db: usize, kept: Persist, lines: &mut Vec<u8>) {
    lines.extend_from_slice(LINE);
    lines.extend_from_slice(format!("{db} {}\r\n", kept.name()).as_bytes());
}

/// What such words say, if they are ours.
fn read(text: &[u8]) -> Option<Unlogged> {
    let mut words = std::str::from_utf8(text).ok()?.split_ascii_whitespace();
    let mut unlogged = Unlogged::new();
    while let Some(db) = words.next() {
        let kept = Persist::named(words.next()?).filter(|kept| *kept != Persist::Aof)?;
        unlogged.insert(db.parse().ok()?, kept);
    }
    Some(unlogged)
}
