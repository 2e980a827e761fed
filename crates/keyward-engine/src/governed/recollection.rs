//! What the files of a start say of schemas, as they are read.
//!
//! Owns how it comes to the arrival: the text that a snapshot or annotations of the append-only
//! file have, what was applied and accepted since, that another server wrote something; and rows on
//! their way to the tables of what is remembered.
//! Not here: what the text is (`memory`), what follows from it (`arrival`, `settlement`).

use super::arrival::is_like;
use super::memory::{Applied, Damaged, Memory};
use crate::engine::shared::Shared;
use crate::sessions::log_cover::{self, LogCover};
use keyward_rules::Survey;
use keyward_store::keyspace::Keyspace;
use std::sync::Arc;

impl Shared {
    /// The files say which schemas governed the rows that follow. Where that cannot be read,
    /// the rows are taken for ones from elsewhere.
    pub(crate) fn recall(&mut self, keys: &Keyspace, text: Result<&[u8], Damaged>) {
        let read = text.and_then(|text| Ok((Memory::read(text)?, text)));
        self.origin = read.as_ref().ok().map(|(memory, _)| memory.clone());
        let Some(arrival) = &mut self.arrival else { return };
        arrival.is_continued = false;
        arrival.is_damaged |= read.is_err();
        // What is in force stays where a primary tells what cannot be read.
        let is_following = self.primary.is_some();
        arrival.is_unread = is_following && read.is_err();
        if arrival.is_unread {
            return;
        }
        let (memory, text) = read.unwrap_or_default();
        // Who was told of any schema knows all of its history.
        arrival.is_untold = memory.in_force.keys().all(|db| memory.untold.contains(db));
        arrival.memory = memory;
        arrival.text = String::from_utf8_lossy(text).into_owned();
        for db in 0..keys.database_count() {
            let book = match is_following {
                true => arrival.remembered(db).map(|book| arrival.as_told(db, book)),
                false => arrival.governing(db),
            };
            let book = book.map(Arc::new);
            if is_following && book.is_none() && arrival.memory.in_force.contains_key(&db) {
                arrival.is_unread = true;
                continue;
            }
            arrival.coming.push_back((db, book));
        }
    }

    /// The same of annotations, some lines of them.
    pub(crate) fn recall_annotations(&mut self, keys: &Keyspace, lines: &[u8]) {
        for line in lines.split(|byte| *byte == b'\n') {
            // What DEBUG LOADAOF loads again the file has still.
            if let Some(text) = line.strip_prefix(log_cover::LINE).filter(|_| self.is_loading) {
                self.hear_cover(|cover| cover.hear_line(text));
            }
            if let Some(text) = self.annotations.read(line) {
                self.recall(keys, text.as_deref().map_err(|damaged| *damaged));
            }
        }
    }

    /// The append-only file says which databases it has; what cannot be read is told.
    pub(crate) fn hear_cover(&mut self, hear: impl FnOnce(&mut LogCover) -> bool) {
        let is_read = hear(&mut self.log_cover);
        if let Some(arrival) = &mut self.arrival {
            arrival.is_damaged |= !is_read;
        }
    }

    /// What was applied since a snapshot; whether it can be read. If that is not the one which was
    /// loaded, nothing of it counts as accepted: it was of other rows.
    pub(crate) fn recall_applied(&mut self, text: &[u8], is_of_loaded: bool) -> bool {
        let mut applied = Applied::read(text);
        let is_read = applied.is_ok();
        if let Ok(applied) = &mut applied
            && !is_of_loaded
        {
            applied.plans.clear();
        }
        if let Some(arrival) = &mut self.arrival {
            arrival.applied = applied.ok();
        }
        is_read
    }

    /// The same beside an append-only file: only what was accepted counts, of rows that the file
    /// leaves to the snapshot which was loaded, and that were under another schema then.
    pub(crate) fn recall_accepted(&mut self, text: &[u8], is_of_loaded: bool) -> bool {
        let applied = Applied::read(text);
        let is_read = applied.is_ok();
        if let Some(arrival) = &mut self.arrival
            && is_of_loaded
            && !arrival.logged.is_empty()
        {
            arrival.accepted = applied.ok();
        }
        is_read
    }

    /// Whether the append-only file leaves rows to the snapshot which was loaded that were under
    /// another schema then.
    pub(crate) fn has_rows_since_snapshot(&self) -> bool {
        self.arrival.as_ref().is_some_and(|arrival| !arrival.logged.is_empty())
    }

    /// The append-only file leaves the rows of a database to a snapshot, which says that another
    /// schema governed them then than the file remembers: the rows are under that one, and the one
    /// that came later meets them as it did then.
    pub(crate) fn recall_saved(&mut self, db: usize, saved: &Memory) {
        // A replica is what its primary is.
        let Some(arrival) = self.arrival.as_mut().filter(|_| self.primary.is_none()) else {
            return;
        };
        let is_same = saved.means_the_same(&arrival.memory, db)
            && saved.observed.get(&db) == arrival.memory.observed.get(&db)
            && saved.observing(db) == arrival.memory.observing(db);
        if is_same {
            return;
        }
        let was = arrival.memory.in_force.remove(&db).unwrap_or_default();
        arrival.logged.insert(db, was);
        arrival.memory.observed.remove(&db);
        for (all, saved) in [
            (&mut arrival.memory.in_force, &saved.in_force),
            (&mut arrival.memory.observed, &saved.observed),
        ] {
            all.extend(saved.get(&db).map(|own| (db, own.clone())));
        }
        let book = arrival.governing(db).map(Arc::new);
        arrival.coming.push_back((db, book));
        self.origin = Some(arrival.memory.clone());
    }

    /// Another server went on with the append-only file: what it wrote was judged by no schema.
    /// Which schema was applied stays known; what governed the rows does not matter any more.
    #[cold]
    pub(crate) fn note_continued(&mut self) {
        self.origin = None;
        if let Some(arrival) = &mut self.arrival {
            arrival.is_continued = true;
        }
    }

    /// The rows of a database are of a snapshot that another server wrote: no schema governed them.
    #[cold]
    pub(crate) fn note_foreign(&mut self, db: usize) {
        if let Some(origin) = &mut self.origin {
            origin.in_force.remove(&db);
        }
        if let Some(arrival) = &mut self.arrival {
            arrival.foreign.insert(db);
        }
    }

    /// Brings about `budget` rows more to the tables of schemas that the files remember;
    /// whether all are there.
    pub(crate) fn bring_recalled(&mut self, keys: &mut Keyspace, budget: usize) -> bool {
        let Some(arrival) = &mut self.arrival else { return true };
        if arrival.is_bringing {
            arrival.is_bringing = !keys.bring_unjudged(budget);
            return false;
        }
        let Some((db, book)) = arrival.coming.pop_front() else { return true };
        match (keys.book_of(db), book) {
            (None, None) => return arrival.coming.is_empty(),
            (Some(now), Some(book)) if is_like(now, &book) => {
                let (now, modes) = (now.modes(), book.modes());
                // No key comes to another table by it.
                for (keyspace, mode) in modes.iter().enumerate().filter(|_| now != modes) {
                    keys.set_schema_mode(db, keyspace, *mode);
                }
                return arrival.coming.is_empty();
            }
            (_, Some(book)) => {
                let survey = Survey::new(&book, None, |_| false);
                keys.govern(db, book, &survey);
            }
            (Some(_), None) => keys.release(db),
        }
        arrival.is_bringing = true;
        false
    }
}
