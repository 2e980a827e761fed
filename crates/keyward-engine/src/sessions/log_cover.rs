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
//! Where it remembers none either, Keyward 0.1 or another server wrote it ([`Doubt`]): a database
//! that it says nothing of and the snapshot has rows of is left to that, if the schema to come or
//! the one that the snapshot remembers leaves it to snapshots, or the snapshot is the newer one;
//! what cannot be known so ends the start.
//!
//! Owns how each database stands:
//! - one that is to leave the file stays in it until a snapshot has been written that has its rows;
//! - one that is to come back is in the file only with a new base that has its rows. What
//!   increments have of it before is dropped by a start, for it follows nothing;
//! - what another server appended to it follows what that server had, which is nothing of the
//!   snapshot: both are served together, and a new base has both before anybody is served.
//!
//! Invariant: at every instant the files, loaded by what they remember, have all that was promised
//! by the last state that they remember.
//! Not here: who writes files (the host), which effects there are (`stream`).

use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, Group};
use keyward_resp::Args;
use keyward_schema::Persist;
use keyward_store::keyspace::Keyspace;
use std::collections::{BTreeMap, BTreeSet};
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
    /// Another server appended rows to it, which are served with those of the snapshot: whatever
    /// the schema says, a base is to have both. The one that is being written does, if it
    /// `is_captured`.
    Joined { is_captured: bool },
}

/// What a file has told so far.
#[derive(Debug, Default)]
struct Heard {
    /// Databases that are not named are in it.
    is_told: bool,
    unlogged: Unlogged,
    /// Those that it does not have, and that another server has written to since.
    foreign: BTreeSet<usize>,
    /// Of a file that has not told: databases whose rows its commands change, and when its base was
    /// made, in seconds since the epoch.
    changed: BTreeSet<usize>,
    base_s: Option<i64>,
}

/// A file that was loaded does not tell which databases it has, and remembers no schema.
#[derive(Debug)]
struct Doubt {
    /// Databases that it has rows of, or had.
    told: BTreeSet<usize>,
    /// When its base was made, in seconds since the epoch.
    base_s: Option<i64>,
}

/// What is known of a database that the snapshot beside a file in doubt has rows of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    pub(crate) db: usize,
    /// Whether a schema leaves it to snapshots: the one to come, or the one that the snapshot
    /// remembers.
    pub(crate) is_left: bool,
    /// When the snapshot was made, in seconds since the epoch.
    pub(crate) made_s: Option<i64>,
}

/// Which of two files has the rows of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Log,
    Snapshot,
    /// Both have some, and nobody knows which has all.
    Both,
    /// Only the snapshot has some, which may have ended since.
    Neither,
}

/// Which databases the append-only file has.
#[derive(Debug, Default)]
pub(crate) struct LogCover {
    /// Those that are not here are in it.
    stands: BTreeMap<usize, Stand>,
    heard: Heard,
    /// The file says so, as far as it is to.
    is_told: bool,
    /// While a start loads: what the file has not told, and the databases that it does not have and
    /// another server appended rows of.
    doubt: Option<Doubt>,
    foreign: BTreeSet<usize>,
    /// While no file is written: databases that the last one had, and no snapshot has had since;
    /// those that the snapshot has which is being written.
    unsaved: BTreeSet<usize>,
    captured: BTreeSet<usize>,
}

/// What the schema of each database says now.
fn wanted(keys: &Keyspace) -> impl Iterator<Item = (usize, Persist)> {
    keys.databases().enumerate().map(|(db, database)| (db, database.persist()))
}

/// Databases of which a schema says that the file is not to have them.
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
            Stand::Awaited { is_captured, .. } | Stand::Joined { is_captured } => is_captured,
        }
    }

    /// Where a start would find the rows of a database.
    pub(crate) fn place(&self, db: usize) -> Persist {
        match self.stand(db) {
            Stand::Logged | Stand::Leaving { .. } => Persist::Aof,
            Stand::Left(kept) | Stand::Awaited { kept, .. } => kept,
            Stand::Joined { .. } => Persist::Rdb,
        }
    }

    /// Whether any database is left to snapshots.
    pub(crate) fn leaves_to_snapshots(&self) -> bool {
        self.stands.keys().any(|db| self.place(*db) == Persist::Rdb)
    }

    /// Whether all databases are in the file.
    pub(crate) fn is_whole(&self) -> bool {
        self.stands.is_empty()
    }

    /// Whether a database is to be in the file, and is not yet.
    pub(crate) fn awaits(&self) -> bool {
        let awaits = |stand: &Stand| matches!(stand, Stand::Awaited { .. } | Stand::Joined { .. });
        self.stands.values().any(awaits)
    }

    /// Whether rows of a database come from two files, so that a base is to have them.
    pub(crate) fn is_joined(&self, db: usize) -> bool {
        matches!(self.stand(db), Stand::Joined { .. })
    }

    /// A file begins, with a base of what is wanted; or there is none any more. Rows that were in
    /// the one before are left to snapshots only once there is one that has them.
    pub(crate) fn begin(&mut self, keys: &Keyspace, is_on: bool) {
        self.is_told = true;
        let unlogged = if is_on { self.left_out(keys, false) } else { Unlogged::new() };
        self.unsaved = match is_on {
            true => BTreeSet::new(),
            false => (0..keys.database_count()).filter(|db| self.is_logged(*db)).collect(),
        };
        self.stands = unlogged.into_iter().map(|(db, kept)| (db, Stand::Left(kept))).collect();
    }

    /// What the base of a file says that is loaded; whether it can be read.
    pub(crate) fn hear_base(&mut self, text: &[u8]) -> bool {
        let Some(unlogged) = read(text) else { return false };
        self.heard = Heard { is_told: true, unlogged, ..Heard::default() };
        true
    }

    /// When the base of a file was made that is loaded, in its words.
    pub(crate) fn hear_time(&mut self, text: &[u8]) {
        self.heard.base_s = seconds(text);
    }

    /// An annotation, without what it begins with; whether it can be read.
    pub(crate) fn hear_line(&mut self, text: &[u8]) -> bool {
        let Some(mut unlogged) = read(text.trim_ascii_end()) else { return false };
        self.heard.is_told |= unlogged.is_empty();
        // What others appended before is not in the file, either.
        self.heard.foreign.retain(|db| !unlogged.contains_key(db));
        self.heard.unlogged.append(&mut unlogged);
        true
    }

    /// Whether a file that is loaded has yet to tell what it has.
    #[inline]
    pub(crate) fn is_silent(&self) -> bool {
        !self.heard.is_told
    }

    /// A file that has not told has a command for a database.
    pub(crate) fn hear_command(
        &mut self,
        keys: &Keyspace,
        db: usize,
        (command, args): (&Command, Args<'_>),
    ) {
        let number = |place: usize| -> Option<usize> {
            std::str::from_utf8(args.get(place)?).ok()?.parse().ok()
        };
        match command.id {
            // It is logged whichever databases the file has: those that it had rows of.
            CommandId::FlushAll => {
                let has_rows = |db: &usize| !keys.database_at(*db).is_empty();
                self.heard.changed.extend((0..keys.database_count()).filter(has_rows));
            }
            CommandId::SwapDb => self.heard.changed.extend([1, 2].into_iter().filter_map(number)),
            CommandId::Eval | CommandId::EvalSha | CommandId::FCall => {
                self.heard.changed.insert(db);
            }
            _ if command.group == Group::Scripting || !command.flags.has(Flag::Write) => {}
            _ => {
                self.heard.changed.insert(db);
            }
        }
    }

    /// Another server went on with the file that is loaded, under the schemas that it remembers so
    /// far. Returns databases that it does not have, once: what it had told of them is dropped.
    pub(crate) fn hear_foreign(&mut self, keys: &Keyspace) -> Vec<usize> {
        let silent = if self.heard.is_told { Unlogged::new() } else { unwanted(keys) };
        let unlogged = silent.keys().chain(self.heard.unlogged.keys()).copied();
        let is_new = |db: &usize| !self.heard.foreign.contains(db);
        let begun: Vec<usize> = unlogged.filter(is_new).collect();
        self.heard.foreign.extend(&begun);
        begun
    }

    /// All of a file is loaded: how databases stand, under the schemas that it remembers.
    pub(crate) fn end_hearing(&mut self, keys: &Keyspace) {
        let Heard { is_told, unlogged, foreign, changed, base_s } = std::mem::take(&mut self.heard);
        self.is_told = is_told;
        let mut stands = if is_told { Unlogged::new() } else { unwanted(keys) };
        stands.extend(unlogged);
        self.stands = stands.into_iter().map(|(db, kept)| (db, Stand::Left(kept))).collect();
        let has_rows = |db: &usize| !keys.database_at(*db).is_empty();
        if !is_told && !keys.databases().any(|database| database.book().is_some()) {
            let told = changed.into_iter().chain((0..keys.database_count()).filter(has_rows));
            self.doubt = Some(Doubt { told: told.collect(), base_s });
        }
        let known = |db: &usize| *db < keys.database_count() && self.stands.contains_key(db);
        self.foreign = foreign.into_iter().filter(known).filter(has_rows).collect();
        for db in &self.foreign {
            match self.stand(*db) {
                Stand::Left(Persist::Rdb) => {
                    self.stands.insert(*db, Stand::Joined { is_captured: false });
                }
                // The file is to say again that it does not have it.
                _ => self.is_told = false,
            }
        }
    }

    /// Whether rows of a database that the file does not have are those of another server, which
    /// appended them.
    pub(crate) fn is_foreign(&self, db: usize) -> bool {
        self.foreign.contains(&db)
    }

    /// Whether it is to be found out which file has the rows of a database.
    pub(crate) fn is_in_doubt(&self, db: usize) -> bool {
        self.doubt.is_some() && !self.stands.contains_key(&db)
    }

    /// Whether it is to be found out of any.
    pub(crate) fn has_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// Which file has the rows of a database in doubt that the snapshot has some of. If that is the
    /// snapshot, the database stands so from now on.
    pub(crate) fn resolve(&mut self, Beside { db, is_left, made_s }: Beside) -> Holder {
        let Some(doubt) = &self.doubt else { return Holder::Log };
        let is_newer = doubt.base_s.zip(made_s).is_some_and(|(base_s, made_s)| made_s >= base_s);
        let holder = match (doubt.told.contains(&db), is_left) {
            (true, true) => Holder::Both,
            (true, false) => Holder::Log,
            (false, is_left) if is_left || is_newer => Holder::Snapshot,
            (false, _) => Holder::Neither,
        };
        if holder == Holder::Snapshot {
            self.stands.insert(db, Stand::Left(Persist::Rdb));
        }
        holder
    }

    /// All is loaded.
    pub(crate) fn end_loading(&mut self) {
        (self.doubt, self.foreign) = (None, BTreeSet::new());
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
                (same @ Stand::Joined { .. }, Persist::Aof | Persist::Rdb) => same,
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
            match (self.stand(db), wanted) {
                (Stand::Left(kept) | Stand::Awaited { kept, .. }, Persist::Aof) => {
                    self.set(db, Stand::Awaited { kept, is_captured: true });
                }
                (Stand::Joined { .. }, _) => self.set(db, Stand::Joined { is_captured: true }),
                _ => {}
            }
        }
    }

    /// What a base leaves out: while a file is written, what is not in that.
    pub(crate) fn left_out(&self, keys: &Keyspace, is_log_on: bool) -> Unlogged {
        if !is_log_on {
            let mut left_out = unwanted(keys);
            left_out.retain(|db, kept| *kept != Persist::Rdb || !self.unsaved.contains(db));
            return left_out;
        }
        let left_out = self.stands.keys().filter(|db| !self.is_logged(**db));
        left_out.map(|db| (*db, self.place(*db))).collect()
    }

    /// The base is what the file begins with now, or could not be written; which databases came
    /// into the file with it. Whether a base that failed is there in spite of that, nobody knows.
    pub(crate) fn end_base(&mut self, is_written: bool, lines: &mut Vec<u8>) -> Vec<usize> {
        let is_captured = |(_, stand): &(&usize, &Stand)| {
            matches!(
                stand,
                Stand::Awaited { is_captured: true, .. } | Stand::Joined { is_captured: true }
            )
        };
        let captured: Vec<usize> =
            self.stands.iter().filter(is_captured).map(|(db, _)| *db).collect();
        for db in &captured {
            let kept = self.place(*db);
            if is_written {
                self.set(*db, Stand::Logged);
            } else if self.is_joined(*db) {
                // A start does not go on without it.
                self.set(*db, Stand::Joined { is_captured: false });
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
        self.captured.clone_from(&self.unsaved);
        self.each_leaving(|is_captured| {
            *is_captured = true;
            None
        });
    }

    /// It is written, or could not be.
    pub(crate) fn end_snapshot(&mut self, is_written: bool, lines: &mut Vec<u8>) {
        let captured = std::mem::take(&mut self.captured);
        self.unsaved.retain(|db| !(is_written && captured.contains(db)));
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

/// When a file was made, in its words.
pub(crate) fn seconds(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
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
