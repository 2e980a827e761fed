//! Schemas on the way to the rows of a start: what is served, and what the files remember.
//!
//! Owns the decision what is to govern each database, and which schema its rows are loaded
//! under: the one that the files remember (`memory`). A file that KEYWARD SCHEMA APPLY replaced
//! gives way to what was applied.
//! Not here: putting it in force (`settlement`).

use super::memory::{Applied, Keyspaces, Memory, Remembered, book_of, parts};
use keyward_rules::RuleBook;
use keyward_schema::{Mode, Persist, Schema, escape, means_the_same};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;

/// What is to govern the rows that a start loads.
#[derive(Debug, Default)]
pub struct Expected {
    /// The schemas of each database, in the order of their files.
    pub schemas: BTreeMap<usize, Vec<Schema>>,
    /// Whether all of them only observe.
    pub observes: bool,
    /// The plans that may be carried out.
    pub accepted: Vec<Acceptance>,
}

/// A plan that may be carried out, as KEYWARD SCHEMA APPLY is told it: `PLAN DESTROY 20`, or only
/// the name of one that destroys nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// The plan's name.
    pub plan: String,
    /// How many rows and entries of derived keys it may destroy.
    pub destroys_max: u64,
}

impl Acceptance {
    /// The plans that words name, each with what it may destroy behind it.
    pub fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<Acceptance> {
        let mut read: Vec<Acceptance> = Vec::new();
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let count = match word.eq_ignore_ascii_case("destroy") {
                true => words.peek().and_then(|count| count.parse().ok()),
                false => None,
            };
            match (read.last_mut(), count) {
                (Some(last), Some(count)) => {
                    last.destroys_max = count;
                    words.next();
                }
                _ => read.push(Acceptance { plan: word.to_owned(), destroys_max: 0 }),
            }
        }
        read
    }

    /// What stands behind a DESTROY of such words and is no number.
    pub fn unread<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
        let mut words = words.into_iter().peekable();
        let mut unread = Vec::new();
        while let Some(word) = words.next() {
            if word.eq_ignore_ascii_case("destroy") {
                let count = words.peek().copied().unwrap_or_default();
                unread.extend(count.parse::<u64>().is_err().then_some(count));
            }
        }
        unread
    }

    /// Whether a plan of this name may be carried out that destroys so much. It may be less than
    /// was told: rows end meanwhile.
    fn admits(&self, plan: &str, destroyed: u64) -> bool {
        self.plan == plan && destroyed <= self.destroys_max
    }
}

impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.destroys_max {
            0 => f.write_str(&self.plan),
            count => write!(f, "{} DESTROY {count}", self.plan),
        }
    }
}

/// What admits a plan of this name that destroys so much, if anything does.
pub(super) fn admitting<'a>(
    accepted: &'a [Acceptance],
    plan: &str,
    destroyed: u64,
) -> Option<&'a Acceptance> {
    accepted.iter().find(|own| own.admits(plan, destroyed))
}

/// What these say, as [`Acceptance::read`] reads it.
pub(crate) fn in_words(accepted: &[Acceptance]) -> String {
    accepted.iter().map(Acceptance::to_string).collect::<Vec<String>>().join(" ")
}

/// Why a start ends: it would change rows, and nobody has accepted that.
#[derive(Debug)]
pub struct Unaccepted {
    /// What would become of the rows, as tables for people.
    pub tables: String,
    /// The plans, as `accept` takes them.
    pub plans: Vec<Acceptance>,
    /// What was accepted, which is not all of that.
    pub given: Vec<Acceptance>,
}

impl Unaccepted {
    /// How what was accepted differs from the plans; none if nothing was.
    fn difference(&self) -> Option<String> {
        let of_given = self.given.iter().filter_map(|given| {
            let name = escape(&given.plan);
            let Some(plan) = self.plans.iter().find(|plan| plan.plan == given.plan) else {
                return Some(format!("no plan here is called {name}"));
            };
            let (destroys, most) = (plan.destroys_max, given.destroys_max);
            (destroys > most).then(|| match most {
                0 => format!("{name} destroys {destroys}, and no DESTROY stands behind it"),
                _ => format!("{name} destroys {destroys}, which is more than {most}"),
            })
        });
        let is_unnamed =
            |plan: &&Acceptance| self.given.iter().all(|given| given.plan != plan.plan);
        let unnamed = self.plans.iter().filter(is_unnamed);
        let of_plans = unnamed.map(|plan| format!("{} was not accepted", plan.plan));
        let all: Vec<String> = of_given.chain(of_plans).collect();
        let given = escape(&in_words(&self.given)).into_owned();
        (!self.given.is_empty())
            .then(|| format!("What was accepted, {given}, is not this: {}\n", all.join("; ")))
    }
}

impl fmt::Display for Unaccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plans = in_words(&self.plans);
        let difference = self.difference().unwrap_or_default();
        write!(
            f,
            "the schemas would change rows that are there, so nothing was started and nothing \
             changed.\n{}{difference}To have it done, start with --accept {plans}\nTo look at it first, \
             start with --observe, which changes nothing",
            self.tables
        )
    }
}

/// Schemas on the way to the rows of a start.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    pub(super) expected: Arc<Expected>,
    /// What the files remember, as far as they are read, and the text that says so.
    pub(super) memory: Memory,
    pub(crate) text: String,
    /// What was applied since the snapshot that was loaded.
    pub(super) applied: Option<Applied>,
    /// Whether something that the files remember could not be read.
    pub(crate) is_damaged: bool,
    /// Whether another server went on with the append-only file behind what it remembers.
    pub(crate) is_continued: bool,
    /// Databases whose rows are of a snapshot beside the append-only file which another server
    /// wrote.
    pub(super) foreign: BTreeSet<usize>,
    /// What the append-only file remembers of databases whose rows are of a snapshot from before
    /// that; `memory` has what that one remembers of them.
    pub(super) logged: Keyspaces,
    /// What was accepted since that snapshot.
    pub(super) accepted: Option<Applied>,
    /// Books that the files remember, which rows are to be brought to.
    pub(super) coming: VecDeque<(usize, Option<Arc<RuleBook>>)>,
    pub(super) is_bringing: bool,
    /// What a primary told last could not be read: what was in force before observes.
    pub(super) is_unread: bool,
    /// Nobody has told which schemas the rows of a replica are under: what is in force observes.
    pub(super) is_untold: bool,
}

/// What is to govern a database.
pub(super) struct Target {
    pub(super) schema: Schema,
    pub(super) modes: Vec<Option<Mode>>,
    /// The places of keyspaces that go on with what was applied.
    pub(super) applied: Vec<usize>,
    /// Whether it goes on observing, since the rows came from a server that told of no schemas.
    pub(super) is_untold: bool,
}

impl Target {
    /// The same for a database without rows: there is nothing that nobody judged.
    pub(super) fn without_rows(self, expected: &Expected) -> Target {
        let modes = vec![expected.overruling(); self.modes.len()];
        Target { modes, is_untold: false, ..self }
    }
}

impl Expected {
    /// What overrules the modes of all schemas.
    fn overruling(&self) -> Option<Mode> {
        self.observes.then_some(Mode::Observe)
    }
}

impl Arrival {
    pub(crate) fn new(expected: Expected) -> Arrival {
        Arrival { expected: Arc::new(expected), is_untold: true, ..Arrival::default() }
    }

    /// Whether this server has schemas of its own.
    pub(crate) fn has_schemas(&self) -> bool {
        !self.expected.schemas.is_empty()
    }

    /// Whether what a primary told last could not be read.
    pub(crate) fn is_unread(&self) -> bool {
        self.is_unread
    }

    /// Whether the rows of a database come from elsewhere, whatever the files remember.
    pub(super) fn is_foreign(&self, db: usize) -> bool {
        self.is_continued || self.foreign.contains(&db)
    }

    /// What is to govern a database, by what is served and what the files remember.
    pub(super) fn target(&self, db: usize) -> Option<Target> {
        let remembered = self.last(db);
        let Some(served) = self.expected.schemas.get(&db) else {
            // One that was applied where no file was goes on.
            let is_ours = |own: &Remembered| own.replaced.is_some();
            let is_applied = !remembered.is_empty() && remembered.iter().all(is_ours);
            let book = book_of(remembered, |own| own.name_of_text(None)).filter(|_| is_applied)?;
            let applied = (0..remembered.len()).collect();
            return Some(self.in_its_mode(db, book.declared().clone(), applied));
        };
        let mut applied = Vec::new();
        let chosen = served.iter().enumerate().map(|(place, own)| {
            let is_one = served.len() == 1 && remembered.len() == 1;
            let is_it = |other: &&Remembered| is_one || *other.name == *own.keyspace.name;
            let before = remembered.iter().find(is_it);
            let before = before.filter(|before| before.replaces(own.source.whole_text()));
            let schema = |it: &Remembered| it.schema(&it.name_of_text(Some(&own.source.name)));
            let Some(schema) = before.and_then(schema) else {
                return own.clone();
            };
            applied.push(place);
            schema
        });
        let schemas: Vec<Schema> = chosen.collect();
        Some(self.in_its_mode(db, Schema::join(schemas), applied))
    }

    /// A schema that is to govern a database. Where it observes the rows of a server that told of
    /// none it goes on to, until what it would change is accepted.
    fn in_its_mode(&self, db: usize, schema: Schema, applied: Vec<usize>) -> Target {
        let own = parts(&schema);
        let is_same = |(own, other): (&Schema, &Remembered)| {
            *own.keyspace.name == *other.name
                && means_the_same(own.source.whole_text(), &other.text)
        };
        let (last, memory) = (self.last(db), self.last_memory(db));
        let is_untold = memory.untold.contains(&db)
            && self.expected.accepted.is_empty()
            && own.len() == last.len()
            && own.iter().zip(last).all(is_same);
        let mode = is_untold.then_some(Mode::Observe).or(self.expected.overruling());
        let modes = vec![mode; own.len()];
        Target { schema, modes, applied, is_untold }
    }

    /// Where the schemas that are to govern a database have its rows kept; none if none is to.
    pub(crate) fn persist_to_come(&self, db: usize) -> Option<Persist> {
        self.expected.schemas.get(&db)?.first().map(|schema| schema.keyspace.persist)
    }

    /// What was in force last in a database: what was applied since, or what the files remember,
    /// the append-only file before a snapshot.
    pub(super) fn last(&self, db: usize) -> &[Remembered] {
        let applied = self.applied.as_ref().and_then(|applied| applied.memory.in_force.get(&db));
        let logged = applied.or_else(|| self.logged.get(&db));
        logged.or_else(|| self.memory.in_force.get(&db)).map_or(&[], |last| last)
    }

    /// The memory that says of what was in force last whether its rows were told of.
    fn last_memory(&self, db: usize) -> &Memory {
        let applied = self.applied.as_ref().map(|applied| &applied.memory);
        applied.filter(|memory| memory.in_force.contains_key(&db)).unwrap_or(&self.memory)
    }

    /// What there is to say of keyspaces of a database that KEYWARD SCHEMA APPLY put in force, and
    /// that give way to a file which says something else than the one it replaced, given the places
    /// of those that do not: lines for the log.
    pub(super) fn no_longer_applied(&self, db: usize, applied: &[usize]) -> Vec<String> {
        let served = self.expected.schemas.get(&db).into_iter().flatten().enumerate();
        let given_way = served.filter(|(place, _)| !applied.contains(place)).filter(|(_, own)| {
            let was_applied =
                |it: &Remembered| it.replaced.as_ref().is_some_and(|own| !own.has_come);
            let is_it = |it: &&Remembered| *it.name == *own.keyspace.name && was_applied(it);
            let before = self.last(db).iter().find(is_it);
            before.is_some_and(|it| !means_the_same(&it.text, own.source.whole_text()))
        });
        let in_words = |(_, own): (usize, &Schema)| {
            format!(
                "Database {db}, {}: KEYWARD SCHEMA APPLY had put another schema in force; the file \
                 was edited since, and takes its place",
                escape(&own.source.name)
            )
        };
        given_way.map(in_words).collect()
    }

    /// What there is to say of the keyspaces that the files remember and that are not served,
    /// given what is to govern each database: lines for the log.
    pub(super) fn left_out(&self, served: &BTreeMap<usize, Schema>) -> Vec<String> {
        let of_served = |(db, schema): (&usize, &Schema)| {
            let names = parts(schema).iter().map(|part| part.keyspace.name.to_string());
            (*db, names.collect::<Vec<String>>())
        };
        let served: BTreeMap<usize, Vec<String>> = served.iter().map(of_served).collect();
        let of_remembered = |(db, all): (&usize, &Vec<Remembered>)| {
            (*db, all.iter().map(|own| own.name.clone()).collect::<Vec<String>>())
        };
        let remembered: BTreeMap<usize, Vec<String>> =
            self.memory.in_force.iter().map(of_remembered).collect();
        let is_served = |name: &String| served.values().flatten().any(|other| other == name);
        let mut known = remembered.values().flatten().peekable();
        if known.peek().is_some() && !known.any(is_served) {
            return vec![strangers(&remembered, &served)];
        }
        let mut lines = Vec::new();
        for (db, names) in &remembered {
            let here = served.get(db).map_or(&[][..], |here| here);
            for name in names.iter().filter(|name| !here.contains(name)) {
                let name = escape(name);
                lines.push(match (&names[..], here) {
                    // It may have got another name.
                    ([_], [other]) => format!(
                        "Database {db}: the files remember the keyspace {name}, and {} is \
                         served: its rows are that one's now",
                        escape(other)
                    ),
                    _ => format!(
                        "Database {db}: the files remember the keyspace {name}, which is not \
                         served: its keys have no pattern, unless another one has one for them"
                    ),
                });
            }
        }
        lines
    }

    /// The book that the files remember of a database. If it says what is to govern the
    /// database, it is that one, which knows its files.
    pub(super) fn remembered(&self, db: usize) -> Option<RuleBook> {
        self.book(db, self.memory.in_force.get(&db)?, is_like)
    }

    /// A book in the modes that a primary told of, whatever those of a file here are.
    pub(super) fn as_told(&self, db: usize, book: RuleBook) -> RuleBook {
        let told = self.memory.in_force.get(&db).into_iter().flatten();
        let modes: Vec<Option<Mode>> = told.map(|own| own.mode).collect();
        match book.modes() == modes {
            true => book,
            false => RuleBook::overruled(book.declared().clone(), &modes),
        }
    }

    /// The book that governed the rows of a database last: where the one that the files remember
    /// only observes, the one before that.
    pub(super) fn governing(&self, db: usize) -> Option<RuleBook> {
        let book = |all: &Vec<Remembered>| self.book(db, all, gives_way_to);
        let observed = self.memory.observed.get(&db).and_then(book);
        observed.or_else(|| self.memory.in_force.get(&db).and_then(book))
    }

    /// What that book is made of.
    pub(super) fn governed(&self, db: usize) -> Option<&Vec<Remembered>> {
        self.memory.observed.get(&db).or_else(|| self.memory.in_force.get(&db))
    }

    /// Whether nothing was kept of a schema that governed the rows of a database before.
    pub(super) fn is_observed(&self, db: usize) -> bool {
        self.memory.observed.contains_key(&db)
    }

    /// The book of keyspaces that the files remember, or the one that is to govern the database if
    /// it is that one.
    fn book(
        &self,
        db: usize,
        remembered: &[Remembered],
        is_it: fn(&RuleBook, &RuleBook) -> bool,
    ) -> Option<RuleBook> {
        let book = book_of(remembered, |own| {
            let mut served = self.expected.schemas.get(&db).into_iter().flatten();
            let file = served.find(|served| *served.keyspace.name == *own.name);
            own.name_of_text(file.map(|served| &*served.source.name))
        });
        let target =
            self.target(db).map(|target| RuleBook::overruled(target.schema, &target.modes));
        match (book, target) {
            (Some(book), Some(target)) if is_it(&book, &target) => Some(target),
            (book, _) => book,
        }
    }
}

/// What is said if the files have none of the keyspaces that are served.
fn strangers(
    remembered: &BTreeMap<usize, Vec<String>>,
    served: &BTreeMap<usize, Vec<String>>,
) -> String {
    let in_words = |all: &BTreeMap<usize, Vec<String>>| {
        let names = all.iter().flat_map(|(db, names)| {
            names.iter().map(move |name| format!("{} (database {db})", escape(name)))
        });
        names.collect::<Vec<String>>().join(", ")
    };
    let theirs = in_words(remembered);
    match served.values().flatten().next() {
        Some(_) => format!(
            "The data directory is that of other keyspaces: its files remember {theirs}, and \
             what is served is {}. Look at the setting dir if that is not meant",
            in_words(served)
        ),
        None => format!(
            "The files remember {theirs}, and no schema is served: nothing that one says is \
             kept, and its keys are plain ones"
        ),
    }
}

/// Whether two books say the same in the same words, and of the same keys only to observe.
pub(super) fn is_like(one: &RuleBook, other: &RuleBook) -> bool {
    say_alike(one, other, |own, other| own == other) && observing(one) == observing(other)
}

/// Whether rows that the first book governed are rows of the other one as they are: both mean the
/// same, and of the same keys only to observe, or the other one of some more than where the modes
/// were overruled. Who ceases to keep what is said of a key changes no row. Where all observes, the
/// next start is to know what governed the rows before.
fn gives_way_to(before: &RuleBook, book: &RuleBook) -> bool {
    let (own, others) = (observing(before), observing(book));
    let observes_more = || own.iter().zip(&others).all(|(own, other)| own <= other);
    say_alike(before, book, means_the_same)
        && (own == others || !book.observes_all() && observes_more())
}

fn say_alike(one: &RuleBook, other: &RuleBook, is_same: fn(&str, &str) -> bool) -> bool {
    let [own, others] = [one, other].map(|book| parts(book.declared()));
    let is_same = |(own, other): (&Schema, &Schema)| {
        own.keyspace.name == other.keyspace.name
            && is_same(own.source.whole_text(), other.source.whole_text())
    };
    own.len() == others.len() && own.iter().zip(others).all(is_same)
}

/// By key, whether a book only observes it.
fn observing(book: &RuleBook) -> Vec<bool> {
    book.schema().ids().map(|id| book.observes(id)).collect()
}
