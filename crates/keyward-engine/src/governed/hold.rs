//! Who waits while a schema comes into force.
//!
//! Owns which tables are concerned and whose commands are held. A table is concerned if
//! its rows were met by the survey, go to other tables, or depend on rows that are
//! concerned, or those on them. Before the new schema is in force commands are held that
//! could change such rows, by renewing or ending them too; from then on, all on them.
//! Commands that reach rows which their arguments do not tell count among those.
//! Not here: which commands reach which rows (`policy`), keeping the commands
//! (`Engine::accept`).

use crate::sessions::session::Session;
use crate::sessions::transaction;
use keyward_commands::Command;
use keyward_resp::Args;
use keyward_rules::host::policy::{self, Rows};
use keyward_rules::{RuleBook, Survey};
use keyward_schema::KeyId;
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::values::hasher::TableIndex;
use std::sync::Arc;

/// What is held.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    /// Of each database that comes under another schema.
    parts: Vec<Part>,
    /// Who has a command that is held.
    pub(crate) clients: Vec<ClientId>,
}

/// What is held of one database.
#[derive(Debug)]
struct Part {
    db: usize,
    /// By the index of the table.
    concerned: Vec<bool>,
    /// The same of the new schema, until that is in force.
    concerned_then: Option<Vec<bool>>,
}

impl Hold {
    /// Holds also what is to be held while a database comes under another book, by the
    /// survey of it.
    pub(crate) fn add(&mut self, keys: &Keyspace, db: usize, book: &RuleBook, survey: &Survey) {
        let database = keys.database_at(db);
        let patterns: Vec<Option<KeyId>> = (0..database.tables().len())
            .map(|table| database.pattern(TableIndex(table as u16)))
            .collect();
        let is_met = |old: &Option<KeyId>| survey.meets(*old) || !survey.goes_whole(*old);
        let mut now: Vec<bool> = patterns.iter().map(is_met).collect();
        let heirs: Vec<Option<usize>> = patterns
            .iter()
            .map(|old| survey.heir(*old).map(|heir| heir.map_or(0, |heir| heir.index() + 1)))
            .collect();
        let mut then = vec![true; book.schema().keys.len() + 1];
        for (old, heir) in heirs.iter().enumerate() {
            if let Some(heir) = heir {
                then[*heir] = now[old];
            }
        }
        // What depends on what differs between the two.
        loop {
            let mut has_spread = spread(&mut then, Some(book));
            has_spread |= spread(&mut now, database.book().map(Arc::as_ref));
            for (old, heir) in heirs.iter().enumerate() {
                if let Some(heir) = heir {
                    has_spread |= now[old] != then[*heir];
                    now[old] |= then[*heir];
                    then[*heir] |= now[old];
                }
            }
            if !has_spread {
                break;
            }
        }
        self.parts.push(Part { db, concerned: now, concerned_then: Some(then) });
    }

    /// The new schema of a database is in force.
    pub(crate) fn switch(&mut self, db: usize) {
        for part in self.parts.iter_mut().filter(|part| part.db == db) {
            if let Some(concerned) = part.concerned_then.take() {
                part.concerned = concerned;
            }
        }
    }

    /// Whether a client's command is to be held.
    pub(crate) fn holds(
        &self,
        keys: &Keyspace,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        if session.is_monitor || session.is_replica || transaction::queues(session, command) {
            return false;
        }
        match &session.transaction {
            Some(transaction) if policy::runs_queue(command) => {
                transaction.queue.iter().any(|(command, args)| {
                    policy::leaves_database(command)
                        || self.reaches(
                            keys,
                            session.db,
                            command,
                            args.args(),
                            Some(Reach::Reading),
                        )
                })
            }
            _ => self.concerns(keys, session.db, command, args),
        }
    }

    /// Whether a command by itself is to be held.
    pub(crate) fn concerns(
        &self,
        keys: &Keyspace,
        db: usize,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        self.reaches(keys, db, command, args, None)
    }

    /// Whether a command uses rows that are held: so, or as what it is counts.
    fn reaches(
        &self,
        keys: &Keyspace,
        db: usize,
        command: &Command,
        args: Args<'_>,
        reach: Option<Reach>,
    ) -> bool {
        let part = self.parts.iter().find(|part| part.db == db);
        match policy::rows_reached(command) {
            Rows::None => false,
            Rows::All => true,
            Rows::OfDatabase => part.is_some(),
            Rows::OfKeys => part.is_some_and(|part| {
                let reach = reach.unwrap_or_else(|| part.reach_of(command));
                part.is_reached(keys, command, args, reach)
            }),
        }
    }
}

impl Part {
    /// Which use of rows has a command wait.
    fn reach_of(&self, command: &Command) -> Reach {
        let is_in_force = self.concerned_then.is_none();
        match is_in_force || policy::waits_for_all_it_reads(command) {
            true => Reach::Reading,
            false => Reach::Changing,
        }
    }

    fn is_reached(&self, keys: &Keyspace, command: &Command, args: Args<'_>, reach: Reach) -> bool {
        let database = keys.database_at(self.db);
        command.keys_in(args).any(|key| {
            let table = database.table_of(args.at(key.index));
            let traits = database.pattern(table).zip(database.book());
            let traits = traits.map(|(pattern, book)| book.traits(pattern));
            let depends = traits.is_some_and(|traits| !traits.due_first.is_empty());
            let renews = traits.is_some_and(|traits| traits.renews_on_read);
            let is_reached = reach == Reach::Reading || renews;
            (self.concerned[usize::from(table.0)] && is_reached)
                // Rows that are due would have to go first, wherever they are.
                || (depends && keys.has_due_source())
        })
    }
}

/// Whether a command may reach rows that its keys do not tell.
pub(crate) fn reaches_beyond_keys(command: &Command) -> bool {
    matches!(policy::rows_reached(command), Rows::All | Rows::OfDatabase)
}

/// Which use of a row counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Any.
    Reading,
    /// Only one that may change rows.
    Changing,
}

/// Tables that depend on concerned ones, or those on them, are concerned too; whether
/// there were such.
fn spread(concerned: &mut [bool], book: Option<&RuleBook>) -> bool {
    let Some(book) = book else { return false };
    let mut has_spread = false;
    let mut goes_on = true;
    while goes_on {
        goes_on = false;
        for id in book.schema().ids() {
            let traits = book.traits(id);
            for other in traits.source.into_iter().chain(traits.leader) {
                let (one, other) = (id.index() + 1, other.index() + 1);
                if concerned[one] != concerned[other] {
                    (concerned[one], concerned[other]) = (true, true);
                    goes_on = true;
                }
            }
        }
        has_spread |= goes_on;
    }
    has_spread
}
