//! The schemas of a replica.
//!
//! Owns which schemas its rows are under while it follows another server, and what becomes of
//! them when it leads. The schemas that govern a primary's rows come with its snapshot (the AUX
//! field of `memory`) and, when others come into force there, in its stream; the rows of the
//! replica are in their tables, and no rule of them is asked. A primary that tells of no schema
//! is a plain one: then the replica's own schemas are in force, and only observe. So they are from
//! its start on, where its files remember no other, until a primary has told; a database that has
//! no row when the replica leads is under its own schema as any server's. A history that goes on
//! with a primary which does not say that it tells of schemas (`sessions::replicas`) is such a one
//! from there on: what comes was held against none.
//!
//! Where another schema comes by the stream, rows are brought to its tables in steps; until that
//! is done clients are told to wait, and the stream waits too.
//! Only what was told last comes into force, and nothing that a snapshot has overtaken.
//! Invariants: a promotion always succeeds and changes no row; what came with the data rules on.
//! Not here: carrying out the stream (`engine::primary`).

use super::arrival::{Arrival, Expected, is_like};
use super::memory::{Replaced, ReplacedTexts, parts};
use super::reloading::IS_REPLICA;
use super::told::{Heard, Said, Told};
use crate::engine::Engine;
use crate::engine::shared::Shared;
use crate::host::Host;
use keyward_lua::LogLevel;
use keyward_rules::{RuleBook, Survey};
use keyward_schema::{Mode, Schema, escape};
use keyward_store::keyspace::Keyspace;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Arrival {
    /// The schemas that a server has which follows another from now on.
    fn of(keys: &Keyspace) -> Arrival {
        let governed = (0..keys.database_count()).filter_map(|db| {
            let book = keys.book_of(db)?;
            Some((db, parts(book.declared()).to_vec()))
        });
        let expected = Expected { schemas: governed.collect(), ..Expected::default() };
        // Who led knows what its rows are under.
        Arrival { is_untold: false, ..Arrival::new(expected) }
    }

    /// The primary tells of schemas, or does not.
    pub(crate) fn note_telling(&mut self, tells_schemas: bool) {
        self.is_untold = !tells_schemas;
    }

    /// Forgets what files or a primary told of schemas.
    fn forget_told(&mut self) {
        (self.memory, self.text) = Default::default();
        self.is_unread = false;
    }

    /// Puts the own schemas of a database in force as they are, where no primary has told of
    /// others and there is no row that could change by it.
    fn govern_empty(&self, keys: &mut Keyspace, host: &mut dyn Host, db: usize) {
        let came = self.memory.in_force.contains_key(&db) && !self.memory.untold.contains(&db);
        let came = self.is_unread || came;
        let is_free = keys.book_of(db).is_none_or(|now| now.observes_all());
        if came || !is_free || !keys.database_at(db).is_empty() {
            return;
        }
        let Some(target) = self.target(db) else { return };
        let target = target.without_rows(&self.expected);
        let book = RuleBook::overruled(target.schema, &target.modes);
        if keys.book_of(db).is_some_and(|now| is_like(now, &book)) {
            return;
        }
        host.governed(db, book.schema());
        let survey = Survey::new(&book, None, |_| false);
        keys.govern(db, Arc::new(book), &survey);
        keys.bring_unjudged(usize::MAX);
    }

    /// Whether what is in force is what a primary which tells of no schemas leaves: the own schemas
    /// of a database, or else those that are there, which only observe.
    fn is_observing(&self, db: usize, now: Option<&Arc<RuleBook>>) -> bool {
        let is_own = |now: &RuleBook, own: &Vec<Schema>| {
            let parts = parts(now.declared());
            let is_same = |(one, other): (&Schema, &Schema)| {
                one.keyspace.name == other.keyspace.name
                    && one.source.whole_text() == other.source.whole_text()
            };
            parts.len() == own.len() && parts.iter().zip(own).all(is_same)
        };
        match (now, self.expected.schemas.get(&db)) {
            (Some(now), own) => now.observes_all() && own.is_none_or(|own| is_own(now, own)),
            (None, own) => own.is_none(),
        }
    }

    /// The own schemas of a database, which only observe. Compiling them takes long.
    pub(super) fn observing(&self, db: usize) -> Option<RuleBook> {
        let own = self.expected.schemas.get(&db)?;
        let modes = vec![Some(Mode::Observe); own.len()];
        Some(RuleBook::overruled(Schema::join(own.clone()), &modes))
    }
}

impl Shared {
    /// Keeps the own schemas for when this server leads.
    pub(crate) fn put_schemas_aside(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        if let Some(plan) = self.plan.take() {
            self.give_up(keys, plan);
        }
        if let Some(reloading) = self.reloading.take() {
            self.end_reload(keys, host, *reloading);
            host.reloaded(Err(IS_REPLICA.to_owned()));
        }
        if self.arrival.is_none() {
            self.arrival = Some(Box::new(Arrival::of(keys)));
        }
    }

    /// A replica has loaded its files: where those remember no schema the own ones are to come
    /// (`bring_recalled`), and only observe.
    pub(crate) fn observe_unremembered(&mut self, keys: &Keyspace, host: &mut dyn Host) {
        let Some(arrival) = &mut self.arrival else { return };
        for db in (0..keys.database_count()).filter(|db| keys.book_of(*db).is_none()) {
            if let Some(book) = arrival.observing(db) {
                host.governed(db, book.schema());
                arrival.coming.push_back((db, Some(Arc::new(book))));
            }
        }
    }

    /// All rows have gone, and a snapshot is next: until it tells of others, the own schemas are
    /// in force and observe.
    pub(crate) fn observe_replicated(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        let Some(arrival) = &mut self.arrival else { return };
        arrival.forget_told();
        arrival.is_untold = true;
        for db in 0..keys.database_count() {
            let now = keys.book_of(db);
            let is_there = now.is_some() && arrival.expected.schemas.contains_key(&db);
            if is_there && arrival.is_observing(db, now) {
                keys.bring_unjudged(usize::MAX);
                continue;
            }
            let book = arrival.observing(db);
            match (keys.book_of(db), book) {
                (Some(now), Some(book)) if is_like(now, &book) => {}
                (_, Some(book)) => {
                    host.governed(db, book.schema());
                    let survey = Survey::new(&book, None, |_| false);
                    keys.govern(db, Arc::new(book), &survey);
                }
                (Some(_), None) => keys.release(db),
                (None, None) => {}
            }
            // There are no rows.
            keys.bring_unjudged(usize::MAX);
        }
    }

    /// What is here goes on at a primary that does not tell of schemas: no schema is known to hold
    /// for what comes, so the own ones, or else those in force, only observe from now on.
    pub(crate) fn observe_untold(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        let (Some(arrival), Some(primary)) = (&mut self.arrival, &mut self.primary) else {
            return;
        };
        let was_told = !std::mem::replace(&mut arrival.is_untold, true);
        arrival.forget_told();
        self.origin = None;
        arrival.coming.clear();
        let is_observing =
            (0..keys.database_count()).all(|db| arrival.is_observing(db, keys.book_of(db)));
        primary.is_reading = false;
        primary.is_bringing = arrival.is_bringing;
        self.is_loading = primary.is_bringing;
        if was_told {
            if !is_observing {
                host.log(
                    LogLevel::Warning,
                    b"The primary tells of no schemas: those here only observe from now on, since \
                      nobody holds what comes against them",
                );
            }
            // The files are to remember it, and those who follow this server have to hear of it.
            self.log.forget_version();
            self.close_replicas();
        }
        if !is_observing {
            self.begin_hearing(keys, host, None);
        }
    }

    /// Whether this server tells those who follow it of the schemas that its history is under.
    pub(crate) fn tells_schemas(&self) -> bool {
        self.primary.is_none() || self.arrival.as_ref().is_some_and(|arrival| !arrival.is_untold)
    }

    /// Whether somebody who does not know which schemas govern the rows here lacks something.
    pub(crate) fn has_told_schemas(&self, keys: &Keyspace) -> bool {
        let untold = self.untold(keys);
        let is_told = |db: usize| keys.book_of(db).is_some() && !untold.contains(&db);
        self.tells_schemas() && (0..keys.database_count()).any(is_told)
    }

    /// Databases whose rows came from a server that told of no schemas, where a schema only
    /// observes them for that reason.
    pub(crate) fn untold(&self, keys: &Keyspace) -> BTreeSet<usize> {
        match (&self.primary, &self.arrival) {
            (Some(_), Some(arrival)) if arrival.is_untold => (0..keys.database_count()).collect(),
            (Some(_), Some(arrival)) => arrival.memory.untold.clone(),
            _ => self.observing_since_promotion.clone(),
        }
    }

    /// Whether all schemas that a replica is under only observe: they count what comes.
    pub(crate) fn observes(&self, keys: &Keyspace) -> bool {
        keys.has_schemas()
            && keys.databases().filter_map(|database| database.book()).all(|it| it.observes_all())
    }

    /// What the schemas in force of a replica took the place of: where they are not those of its
    /// own files, a start that follows nobody goes on with them.
    fn replaced_by_told(&self, keys: &Keyspace, arrival: &Arrival) -> ReplacedTexts {
        let mut all = ReplacedTexts::new();
        for db in 0..keys.database_count() {
            let Some(book) = keys.book_of(db) else { continue };
            let files = arrival.expected.schemas.get(&db);
            let told = arrival.memory.in_force.get(&db);
            for (place, part) in parts(book.declared()).iter().enumerate() {
                // What this server had in force when it led may have been no file's either.
                let before = self.replaced.get(&(db, place));
                let file = files.and_then(|files| files.get(place));
                let file = file.map(|file| file.source.whole_text());
                if before.is_none() && file == Some(part.source.whole_text()) {
                    continue;
                }
                let file = Replaced::by_apply(file);
                let Replaced { file, .. } = before.cloned().unwrap_or(file);
                let told = match told {
                    Some(told) => told.get(place).and_then(|own| own.replaced.as_ref()),
                    None => before,
                };
                let has_come = told.is_none_or(|told| told.has_come);
                let replaced = Replaced { file, has_come };
                if !replaced.is_of(part.source.whole_text()) {
                    all.insert((db, place), replaced);
                }
            }
        }
        all
    }

    /// What the schemas in force took the place of, for the files.
    pub(crate) fn replaced_texts(&self, keys: &Keyspace) -> Cow<'_, ReplacedTexts> {
        match (&self.primary, &self.arrival) {
            (Some(_), Some(arrival)) => Cow::Owned(self.replaced_by_told(keys, arrival)),
            _ => Cow::Borrowed(&self.replaced),
        }
    }

    /// This server leads from now on: what came with the data rules, and the log says where that
    /// is not what its files say.
    pub(crate) fn inherit_schemas(&mut self, keys: &mut Keyspace, host: &mut dyn Host) {
        let Some(arrival) = self.arrival.take() else { return };
        for db in 0..keys.database_count() {
            arrival.govern_empty(keys, host, db);
        }
        self.replaced = self.replaced_by_told(keys, &arrival);
        self.observing_since_promotion.clear();
        for db in 0..keys.database_count() {
            let own = arrival.expected.schemas.get(&db);
            let now = keys.book_of(db);
            let is_own = match (own, now) {
                (Some(own), Some(now)) => {
                    let texts = |all: &[Schema]| -> Vec<String> {
                        all.iter().map(|part| part.source.whole_text().to_owned()).collect()
                    };
                    texts(own) == texts(parts(now.declared()))
                }
                (None, None) => true,
                _ => false,
            };
            let came = arrival.memory.in_force.contains_key(&db)
                && !arrival.memory.untold.contains(&db)
                && !arrival.is_unread;
            if arrival.is_unread && now.is_some_and(|now| now.observes_all()) {
                self.observing_since_promotion.insert(db);
                let line = format!(
                    "Database {db}: the schema that its primary told of last could not be read; \
                     the one before only observes: NOTHING OF IT IS ENFORCED until KEYWARD MODE \
                     ENFORCE, or KEYWARD SCHEMA APPLY where that would change rows"
                );
                host.log(LogLevel::Warning, line.as_bytes());
                continue;
            }
            if let Some(own) = own.filter(|_| !is_own) {
                let files: Vec<_> =
                    own.iter().map(|part| escape(&part.source.name).into_owned()).collect();
                let line = format!(
                    "Database {db}: the schema that came with the data stays in force; {} says \
                     something else, see KEYWARD SCHEMA PLAN and put it in force by KEYWARD \
                     SCHEMA APPLY",
                    files.join(", ")
                );
                host.log(LogLevel::Warning, line.as_bytes());
            }
            if now.is_some_and(|now| now.observes_all()) && !came {
                self.go_on_observing(host, db);
            }
        }
        self.log.forget_version();
    }

    /// The schema of a database only observes, since its rows came from a server that told of none.
    pub(super) fn go_on_observing(&mut self, host: &mut dyn Host, db: usize) {
        self.observing_since_promotion.insert(db);
        let line = format!(
            "Database {db}: its rows come from a server without this schema, which only observes: \
             NOTHING OF IT IS ENFORCED until KEYWARD MODE ENFORCE, or KEYWARD SCHEMA APPLY where \
             that would change rows"
        );
        host.log(LogLevel::Warning, line.as_bytes());
    }

    /// How many databases observe because their rows came from a server without their schema.
    pub(crate) fn observing_since_promotion(&self, keys: &Keyspace) -> usize {
        let observes = |db: &&usize| keys.book_of(**db).is_some_and(|book| book.observes_all());
        self.observing_since_promotion.iter().filter(observes).count()
    }
}

impl Engine {
    /// Hears from the stream which schemas govern the primary's rows; whether what follows has to
    /// wait.
    pub(crate) fn hear_schemas(&mut self, host: &mut dyn Host, text: &[u8]) -> bool {
        self.shared.begin_hearing(&mut self.keys, host, Some(text.to_vec()))
    }

    /// What the stream told of schemas is read: it comes into force.
    pub fn schemas_heard(&mut self, host: &mut dyn Host, heard: Heard) {
        let Engine { keys, shared, .. } = self;
        let number = shared.primary.as_ref().filter(|it| it.is_reading).map(|it| it.told);
        if number != Some(heard.number) {
            return host.discard(Box::new(heard));
        }
        if !shared.take_heard(keys, host, heard) {
            let client = shared.primary.as_ref().and_then(|primary| primary.client);
            shared.let_go_on(client.into_iter().collect());
        }
    }
}

impl Shared {
    /// Has what a primary tells of schemas read, or that it tells of none; whether what follows
    /// of its stream has to wait.
    fn begin_hearing(
        &mut self,
        keys: &mut Keyspace,
        host: &mut dyn Host,
        text: Option<Vec<u8>>,
    ) -> bool {
        let (Some(arrival), Some(primary)) = (&self.arrival, &mut self.primary) else {
            return false;
        };
        primary.told += 1;
        primary.is_reading = true;
        self.is_loading = true;
        let book_of = |db: usize| (db, keys.book_of(db).cloned());
        let told = Told {
            number: primary.told,
            text,
            expected: Arc::clone(&arrival.expected),
            now: (0..keys.database_count()).map(book_of).collect(),
        };
        match host.read_told(told) {
            None => true,
            Some(told) => self.take_heard(keys, host, told.read()),
        }
    }

    /// Puts in force what was told; whether rows have to be brought to other tables.
    fn take_heard(&mut self, keys: &mut Keyspace, host: &mut dyn Host, heard: Heard) -> bool {
        let Heard { said, books, .. } = heard;
        let (Some(arrival), Some(primary)) = (&mut self.arrival, &mut self.primary) else {
            return false;
        };
        primary.is_reading = false;
        let tells_none = matches!(said, Said::Nothing);
        match said {
            Said::Schemas(memory, text) => {
                (arrival.is_unread, arrival.is_untold) = (false, false);
                self.origin = Some(memory.clone());
                (arrival.memory, arrival.text) = (memory, text);
            }
            Said::Unreadable => {
                arrival.is_unread = true;
                host.log(
                    LogLevel::Warning,
                    b"The schemas that the primary tells of cannot be read: those in force stay, \
                      and only observe",
                );
            }
            Said::Nothing => {}
        }
        arrival.coming.clear();
        for (db, book) in books {
            let modes = match (keys.book_of(db), &book) {
                (None, None) => continue,
                (Some(now), Some(book))
                    if is_like(now, book) && (tells_none || now.modes() == book.modes()) =>
                {
                    continue;
                }
                // No key comes to another table by it.
                (Some(now), Some(book)) if is_like(now, book) => book.modes(),
                _ => {
                    if let Some(book) = book.as_ref().filter(|_| tells_none) {
                        host.governed(db, book.schema());
                    }
                    arrival.coming.push_back((db, book));
                    continue;
                }
            };
            for (keyspace, mode) in modes.into_iter().enumerate() {
                keys.set_schema_mode(db, keyspace, mode);
            }
        }
        primary.is_bringing = arrival.is_bringing || !arrival.coming.is_empty();
        self.is_loading = primary.is_bringing;
        primary.is_bringing
    }
}
