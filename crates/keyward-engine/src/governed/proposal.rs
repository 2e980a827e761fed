//! The text of a schema, on its way to a plan.
//!
//! Owns everything about a text that does not need the rows: reading and checking it,
//! compiling it, comparing it with the schema in force. For a large or hostile text that
//! takes far longer than a tick may, so a [`Proposal`] holds all that is needed and the host
//! may read it on any thread (`Host::read_schema`); reading is a pure function.
//! Invariant: a [`Draft`] is used only if what it was compared with is still in force
//! ([`Draft::is_current`]).
//! Not here: meeting the rows (`plan`, `reload`).

use super::in_force::schema_at;
use super::memory::{FILE_NAME, applied_name};
use crate::host::Host;
use keyward_commands::WireError;
use keyward_rules::{RuleBook, Survey, compare};
use keyward_schema::{
    Checked, Files, KeyId, Level, Mode, Schema, Source, check, check_file, conflicts, escape,
};
use keyward_store::keyspace::Keyspace;
use keyward_store::values::hasher::TableIndex;
use std::path::Path;
use std::sync::Arc;

/// A text that is to be read, and what it is to be compared with.
#[derive(Debug)]
pub struct Proposal {
    name: String,
    text: Vec<u8>,
    /// The place of its keyspace among those of the database.
    keyspace: usize,
    /// If it is no text, but other modes of the schema in force.
    modes: Option<Vec<Option<Mode>>>,
    ground: Ground,
}

/// What a text is compared with.
#[derive(Debug)]
struct Ground {
    db: usize,
    version: u64,
    before: Option<Arc<RuleBook>>,
    /// By the table of that book: whether it holds what it demands.
    is_true: Vec<bool>,
}

/// A text that was read.
#[derive(Debug)]
pub struct Draft {
    ground: Ground,
    outcome: Result<Box<Sound>, Box<Unsound>>,
}

/// What is wrong with a text, which may be long.
#[derive(Debug)]
pub(crate) struct Unsound {
    /// Of each text.
    checked: Vec<Checked>,
    refusal: WireError,
}

impl Unsound {
    /// What its client is told; the host frees the rest.
    pub(crate) fn into_refusal(self: Box<Unsound>, host: &mut dyn Host) -> WireError {
        let refusal = self.refusal.clone();
        host.discard(self);
        refusal
    }
}

/// What came of a sound text.
#[derive(Debug)]
pub(crate) struct Sound {
    pub(crate) book: RuleBook,
    /// A survey that has met no row.
    pub(crate) survey: Survey,
    /// How it differs from the schema in force, in lines.
    pub(crate) changes: Vec<String>,
    /// Whether it is the schema in force, with other modes.
    pub(crate) is_of_modes: bool,
    /// The place of the keyspace that it is about, if it is about one of several.
    pub(crate) keyspace: Option<usize>,
}

impl Ground {
    fn of(keys: &Keyspace, db: usize) -> Ground {
        let database = keys.database_at(db);
        let before = database.book().cloned();
        let is_true = before.iter().flat_map(|book| {
            book.schema().ids().map(|table| {
                let misfits = database.tables()[usize::from(TableIndex::of(table).0)].stats.misfits;
                !book.traits(table).is_computed || misfits == 0
            })
        });
        let is_true = is_true.collect();
        Ground { db, version: keys.schema_version(), before, is_true }
    }

    fn survey(&self, book: &RuleBook) -> Survey {
        let before = self.before.as_deref();
        Survey::new(book, before, |table| self.is_true[table.index()])
    }
}

impl Proposal {
    /// A text that may come into force in a keyspace of a database.
    pub(crate) fn new(keys: &Keyspace, (db, keyspace): (usize, usize), text: &[u8]) -> Proposal {
        let ground = Ground::of(keys, db);
        let source = ground.before.as_ref().map(|book| &schema_at(book, keyspace).source);
        let name = match source {
            // Its lines are those that they were.
            Some(source)
                if source.whole_text() == source.text && source.text.as_bytes() == text =>
            {
                source.name.clone()
            }
            Some(source) => applied_name(&source.name),
            None => applied_name(FILE_NAME),
        };
        Proposal { name, text: text.to_vec(), keyspace, modes: None, ground }
    }

    /// The schema that a database is under, with other modes.
    pub(crate) fn of_modes(keys: &Keyspace, db: usize, modes: Vec<Option<Mode>>) -> Proposal {
        Proposal { modes: Some(modes), ..Proposal::of_files(keys, db) }
    }

    /// The texts of all files of a database, which are still to be fetched.
    pub(crate) fn of_files(keys: &Keyspace, db: usize) -> Proposal {
        Proposal {
            name: String::new(),
            text: Vec::new(),
            keyspace: 0,
            modes: None,
            ground: Ground::of(keys, db),
        }
    }

    /// Reads, checks and compares the text, which includes nothing. Takes long for a long
    /// one.
    pub fn read(self) -> Draft {
        let Proposal { name, text, keyspace, modes, ground } = self;
        if let Some((modes, before)) = modes.zip(ground.before.as_ref()) {
            let book = RuleBook::overruled(before.declared().clone(), &modes);
            let sound = Sound { is_of_modes: true, ..Sound::of(&ground, book) };
            return Draft { ground, outcome: Ok(Box::new(sound)) };
        }
        let mut own = check(&name, &text);
        let parts = ground.before.as_ref().map_or(&[][..], |book| &book.declared().parts[..]);
        let others = parts.iter().enumerate().filter(|(place, _)| *place != keyspace);
        let others: Vec<Schema> = others.map(|(_, part)| part.clone()).collect();
        // The others agree with each other: what is wrong is wrong with this one.
        let mut found = Vec::new();
        if let Some(schema) = &own.schema {
            let all: Vec<(usize, &Schema)> =
                others.iter().chain([schema]).map(|schema| (0, schema)).collect();
            found.extend(conflicts(&all).into_iter().map(|(_, found)| found));
        }
        if !found.is_empty() {
            own.schema = None;
            own.diagnostics.append(&mut found);
        }
        let Some(schema) = own.schema.take() else { return Draft::unsound(vec![own], ground) };
        let mut all = others;
        all.insert(keyspace.min(all.len()), schema);
        let is_shared = all.len() > 1;
        // Whatever the server overruled: applying a schema is the end of observing it.
        let mut draft = Proposal::compare(Schema::join(all), ground, Observing::Ends);
        if let Ok(sound) = &mut draft.outcome {
            sound.keyspace = is_shared.then_some(keyspace);
        }
        draft
    }

    /// The same for the texts of all files of the database, by their paths, and what they
    /// include.
    pub fn read_files(self, texts: &[(&Path, Vec<u8>)], files: &dyn Files) -> Draft {
        let check = |(path, text): &(&Path, Vec<u8>)| check_file(path, text, files);
        let mut checked: Vec<Checked> = texts.iter().map(check).collect();
        let sound: Option<Vec<(usize, &Schema)>> =
            checked.iter().map(|file| Some((0, file.schema.as_ref()?))).collect();
        let found = sound.map_or(Vec::new(), |sound| conflicts(&sound));
        for (place, found) in found {
            checked[place].diagnostics.push(found);
            checked[place].schema = None;
        }
        match checked.iter_mut().all(|file| file.schema.is_some()) {
            true => {
                let schemas = checked.into_iter().filter_map(|file| file.schema).collect();
                Proposal::compare(Schema::join(schemas), self.ground, Observing::GoesOn)
            }
            false => Draft::unsound(checked, self.ground),
        }
    }

    fn compare(schema: Schema, ground: Ground, observing: Observing) -> Draft {
        let before = ground.before.as_deref();
        let mut modes = before.map_or(Vec::new(), |before| before.modes_for(&schema));
        if observing == Observing::Ends {
            modes.iter_mut().for_each(|mode| *mode = mode.filter(|mode| *mode != Mode::Observe));
        }
        let sound = Sound::of(&ground, RuleBook::overruled(schema, &modes));
        Draft { ground, outcome: Ok(Box::new(sound)) }
    }
}

/// What becomes of observing that the server was told, where another text comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observing {
    Ends,
    GoesOn,
}

impl Sound {
    /// What may come into force in a database whose tables hold what the book before demanded, but
    /// for what is known to be wrong with them and those that are doubted.
    pub(crate) fn meeting(
        keys: &Keyspace,
        db: usize,
        book: RuleBook,
        is_doubted: impl Fn(KeyId) -> bool,
    ) -> Sound {
        let mut ground = Ground::of(keys, db);
        if let Some(before) = &ground.before {
            for id in before.schema().ids().filter(|id| is_doubted(*id)) {
                ground.is_true[id.index()] = false;
            }
        }
        Sound::of(&ground, book)
    }

    fn of(ground: &Ground, book: RuleBook) -> Sound {
        let old = ground.before.as_deref();
        let differences = old.map_or(Vec::new(), |old| compare(old.declared(), book.declared()));
        let mut changes: Vec<String> =
            differences.iter().map(|difference| difference.in_words()).collect();
        let count = |book: &RuleBook| book.schema().ids().filter(|id| book.observes(*id)).count();
        let (observed, observes) = (old.map_or(0, count), count(&book));
        if observed != observes {
            changes.push(format!("patterns that observe: {observed} -> {observes}"));
        }
        let survey = ground.survey(&book);
        Sound { book, survey, changes, is_of_modes: false, keyspace: None }
    }
}

impl Draft {
    fn unsound(checked: Vec<Checked>, ground: Ground) -> Draft {
        let refusal = unsound(&checked);
        Draft { ground, outcome: Err(Box::new(Unsound { checked, refusal })) }
    }

    /// The database it is for.
    pub fn db(&self) -> usize {
        self.ground.db
    }

    /// The databases that the texts themselves name, if they are sound.
    pub fn dbs_named(&self) -> Vec<usize> {
        let keyspaces = self.outcome.iter().flat_map(|sound| sound.book.schema().keyspaces());
        keyspaces.map(|keyspace| usize::from(keyspace.db)).collect()
    }

    /// What is wrong with the texts, if anything is.
    pub fn problems(&self) -> &[Checked] {
        self.outcome.as_ref().err().map_or(&[], |unsound| &unsound.checked)
    }

    /// Whether the schema in force has the same texts.
    pub fn is_in_force(&self) -> bool {
        self.is_like(|before, own| before.has_same_texts(own))
    }

    /// Whether the schema in force says the same, even if it came in other files.
    pub fn says_the_same(&self) -> bool {
        self.is_like(|before, own| before.whole_text() == own.whole_text())
    }

    fn is_like(&self, is_like: impl Fn(&Source, &Source) -> bool) -> bool {
        let before = self.ground.before.as_deref();
        let sound = self.outcome.as_ref().ok();
        before.zip(sound).is_some_and(|(before, sound)| {
            is_like(&before.schema().source, &sound.book.schema().source)
        })
    }

    /// Whether the schema it was compared with is in force.
    pub(crate) fn is_current(&self, keys: &Keyspace) -> bool {
        self.ground.version == keys.schema_version()
    }

    /// What came of it, by the tables as they are now, or what is wrong with a text that is
    /// not sound.
    pub(crate) fn into_sound(self, keys: &Keyspace) -> Result<Box<Sound>, Box<Unsound>> {
        let mut sound = self.outcome?;
        let now = Ground::of(keys, self.ground.db);
        if now.is_true != self.ground.is_true {
            // Rare: somebody wrote to derived rows while the text was read.
            sound.survey = now.survey(&sound.book);
        }
        Ok(sound)
    }
}

/// The first thing that is wrong, and how many there are.
fn unsound(checked: &[Checked]) -> WireError {
    let all = checked.iter().flat_map(|file| file.diagnostics.iter().map(move |it| (file, it)));
    let mut errors = all.filter(|(_, found)| found.rule.level == Level::Error);
    let first = errors.next().map_or(String::new(), |(file, found)| {
        let line = file.source.line(found.primary.span);
        format!("{}: {} (line {line})", found.rule.code, found.message)
    });
    let more = match errors.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let text = format!("SCHEMA the text is not sound: {first}{more}");
    WireError::Line(escape(&text).into_owned().into_bytes().into())
}
