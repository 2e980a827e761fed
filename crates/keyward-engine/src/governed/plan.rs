//! A plan: what becomes of the rows if another schema comes into force.
//!
//! Owns what is kept of it between ticks, how it is made, and what plans leave behind.
//! Invariant: while a plan is kept, its survey looks again at rows that change.
//! Not here: who asks for it (`planning`), putting it in force (`changeover`, `apply`).

use super::losses;
use super::memory::parts;
use super::proposal::Draft;
use super::survey::{Walk, advance, conclude};
use super::telling::{Listener, Telling, Told};
use crate::host::Host;
use keyward_lua::sha1_hex;
use keyward_rules::{Conclusion, Report, RuleBook, Survey};
use keyward_schema::{Mode, meaning_of};
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::keyspace::{Keyspace, Surveyor};

/// Rows that are met, concluded, moved or changed per tick at most: about half a
/// millisecond of work.
pub(crate) const ROWS_PER_TICK: usize = 50;
/// Digits of a plan's name: enough that nobody applies another by mistake.
const NAME_DIGITS: usize = 12;

/// A schema that may come into force.
#[derive(Debug)]
pub(crate) struct Plan {
    /// Its name; empty until it is made.
    pub(crate) id: Box<[u8]>,
    /// The kinds of change that it told, by pattern.
    pub(crate) kinds: Vec<Kinds>,
    pub(crate) db: usize,
    pub(crate) book: RuleBook,
    pub(crate) survey: Survey,
    /// What is left to do; `None` once it is made.
    pub(crate) under_way: Option<Making>,
    /// Whether it is about the modes of the schema in force, which the server is told.
    pub(crate) is_of_modes: bool,
    /// The keyspace whose patterns are told; all of them unless it is one of several.
    pub(crate) keyspace: Option<usize>,
    /// When it is given up, in milliseconds since the epoch.
    pub(crate) until_ms: i64,
}

/// A plan in the making.
#[derive(Debug)]
pub(crate) struct Making {
    /// Who waits for it.
    pub(crate) asker: ClientId,
    pub(crate) listener: Listener,
    /// How it differs from the schema in force, in lines; told first.
    pub(crate) changes: Vec<String>,
    pub(crate) walk: Walk,
    /// Once all rows are met.
    pub(crate) conclusion: Option<Conclusion>,
    /// Once all is concluded: what is to be told, and how far that is written.
    pub(crate) report: Option<(Report, Telling)>,
}

/// A text that the host reads for a client.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) asker: ClientId,
    /// Once it is read.
    pub(crate) draft: Option<Draft>,
}

/// What plans leave behind, which is too much to be freed at once.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    surveys: Vec<Survey>,
    pub(crate) reports: Vec<Report>,
    books: Vec<RuleBook>,
}

impl Remains {
    /// Takes a survey that nobody needs any more.
    pub(crate) fn survey(&mut self, survey: Survey) {
        self.surveys.push(survey);
    }

    /// Takes a book that nobody needs any more.
    pub(crate) fn book(&mut self, book: RuleBook) {
        self.books.push(book);
    }

    /// Takes a report that nobody needs any more.
    pub(crate) fn report(&mut self, report: Report) {
        self.reports.push(report);
    }

    /// Whether there is something to be freed.
    pub(crate) fn is_busy(&self) -> bool {
        !(self.surveys.is_empty() && self.reports.is_empty() && self.books.is_empty())
    }

    /// Frees as much of it as a tick may; the host frees what goes only as a whole.
    pub(crate) fn shed(&mut self, host: &mut dyn Host) {
        self.books.drain(..).for_each(|book| host.discard(Box::new(book)));
        self.surveys.retain_mut(|survey| survey.shed(ROWS_PER_TICK));
        self.reports.retain_mut(|report| report.shed(ROWS_PER_TICK));
    }
}

/// The name of a plan. It depends on what is done: on what the schema that comes means and on what
/// kinds of change there are in which pattern. It does not depend on how many rows they are, which
/// time moves, nor on what governed them before and in which tables that has put them: so who
/// accepts a plan for the next start means the same as who applies it now, and a start that
/// observes leaves the name as it was.
pub(crate) fn name(db: usize, book: &RuleBook, report: &Report) -> Box<[u8]> {
    let mut origin = format!("{db}\n");
    let schema = book.declared();
    origin.extend(schema.ids().map(|id| if book.observes(id) { 'o' } else { '-' }));
    for part in parts(schema) {
        let meaning = meaning_of(part.source.whole_text());
        origin += &format!("\n{} {} {meaning}", part.keyspace.name, meaning.len());
    }
    for [kinds @ .., _] in kinds_of(report) {
        // Rows that live too long end while a plan is read.
        origin.extend(kinds.map(|is_there| if is_there { '1' } else { '0' }));
        origin.push('\n');
    }
    sha1_hex(origin.as_bytes())[..NAME_DIGITS].into()
}

/// The same of a plan that is about modes: which ones they are is a part of it.
fn name_of_modes(name: &[u8], book: &RuleBook) -> Box<[u8]> {
    let modes = book.modes().into_iter().map(|mode| mode.map_or("schema", Mode::name));
    let modes: Vec<&str> = modes.collect();
    let origin = [name, b"\n", modes.join(" ").as_bytes()].concat();
    sha1_hex(&origin)[..NAME_DIGITS].into()
}

/// Whether rows of a pattern are destroyed, shortened, dated, given a later end or none, built,
/// evicted, left out of the files, cut by their next write, given a nearer end by their next use.
pub(crate) type Kinds = [bool; 9];

/// The kinds of change to rows of each pattern.
pub(crate) fn kinds_of(report: &Report) -> impl Iterator<Item = Kinds> {
    report.tables.iter().map(|found| {
        let undated = found.redated - found.dated - found.shortened;
        let (destroyed, shortened, dated) = (found.destroyed, found.shortened, found.dated);
        [
            destroyed,
            shortened,
            dated,
            undated,
            found.built,
            found.evicted,
            found.unkept,
            found.cut_later,
            found.shortened_later,
        ]
        .map(|count| count > 0)
    })
}

impl Plan {
    /// Whether it told all kinds of change that there are to rows now. There may be fewer: rows
    /// end, and others are written as the new schema wants them.
    pub(crate) fn has_told(&self, report: &Report) -> bool {
        let is_told = |(now, told): (Kinds, &Kinds)| {
            now.iter().zip(told).all(|(is_there, was_told)| !is_there || *was_told)
        };
        kinds_of(report).zip(&self.kinds).all(is_told)
    }

    /// Takes the name of what there is to do now.
    pub(crate) fn rename(&mut self, report: &Report) {
        self.id = name(self.db, &self.book, report);
        if self.is_of_modes {
            self.id = name_of_modes(&self.id, &self.book);
        }
        self.kinds = kinds_of(report).collect();
    }

    /// Whether it is not made yet.
    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Has the survey look again at what changed, meets some more rows or concludes
    /// about them; whether there is nothing left but to tell.
    pub(crate) fn advance(&mut self, keys: &mut Keyspace, budget: usize) -> bool {
        keys.bring_up_to_date((self.db, Surveyor::Plan), &mut self.survey, &self.book);
        let Plan { id, kinds, db, book, survey, keyspace, is_of_modes, .. } = self;
        let Some(making) = &mut self.under_way else { return true };
        if let Some((report, telling)) = &mut making.report {
            return telling.advance(book.schema(), report);
        }
        let conclusion = match &mut making.conclusion {
            Some(conclusion) => conclusion,
            None => {
                if !advance(keys, *db, book, survey, &mut making.walk, budget) {
                    return false;
                }
                making.conclusion.insert(survey.begin_conclusion())
            }
        };
        let is_over = conclude(keys, *db, book, survey, conclusion, budget);
        // Nothing is going to be done about it now.
        conclusion.report().commands.clear();
        let Some(conclusion) = making.conclusion.take_if(|_| is_over) else { return false };
        let report = conclusion.into_report();
        *id = name(*db, book, &report);
        if *is_of_modes {
            *id = name_of_modes(id, book);
        }
        kinds.extend(kinds_of(&report));
        making.changes.extend(losses::excesses_in_words(book, &report));
        making.changes.extend(losses::unkept_in_words(book, &report));
        making.changes.extend(losses::limit_in_words(&report));
        let told = Told::of(book.schema(), &report, *keyspace, making.listener);
        let mut telling = Telling::new(making.listener.protocol, told, &report, |reply| {
            reply.map(4);
            reply.bulk(b"plan");
            reply.bulk(id);
            reply.bulk(b"changes");
            reply.array(making.changes.len());
            making.changes.iter().for_each(|change| reply.bulk(change.as_bytes()));
        });
        let is_told = telling.advance(book.schema(), &report);
        making.report = Some((report, telling));
        is_told
    }
}
