//! The way of a command through the rule book, for a host that only runs commands.
//!
//! Owns the order: `before`, the captures that it needs, the command (rewritten if it is given a
//! lifetime), the comparison, `after`, and the follow-ups, or the inverse of it all.
//! Invariants: a refused command leaves every row as it was; what the client reads is what its
//! own command returns, or a refusal; follow-ups run with the rules off.
//! Not here: units that are undone as a whole (a host that can do so asks the book itself), how
//! commands are run (the host's).

use keyward_commands::{Command, CommandId, resolve};
use keyward_resp::{ArgBuf, Args};

use super::capture::{Capture, Difference};
use super::needs::{Need, needs};
use super::rewrite::{Deadline, rewrite};
use crate::after::{Cause, Consequences, Objection};
use crate::book::RuleBook;
use crate::change::{Change, Part};
use crate::refusal::Refusal;
use crate::verdict::{Judged, Verdict};
use crate::view::{Row, View};

/// A host that runs commands on rows of its own.
pub trait RuleHost {
    /// What a command returned.
    type Reply;
    /// What the book sees; the state at the time it is asked for.
    type Sight<'h>: View
    where
        Self: 'h;

    /// The rows as they are now. It shows all it has at once.
    fn sight(&self) -> Self::Sight<'_>;

    /// The row of a key, for the host itself.
    fn row<'s>(sight: &'s Self::Sight<'_>, key: &[u8]) -> Option<&'s dyn Row>;

    /// Runs a client's command, or one in its place. Says whether it returned an error.
    fn run(&mut self, args: Args<'_>) -> (Self::Reply, Ran);

    /// Runs a follow-up or an undoing command, with the rules off.
    ///
    /// # Errors
    /// If the command returned an error.
    fn follow_up(&mut self, args: Args<'_>) -> Result<(), FollowUpFailed>;

    /// What DUMP returns for a key; `None` if the host has nothing of the kind.
    fn payload(&mut self, key: &[u8]) -> Option<Vec<u8>>;

    /// Something that breaks the schema was let pass.
    fn warn(&mut self, refusal: &Refusal);

    /// A command that ran would have been refused if nothing observed. Told once of a command.
    fn would_refuse(&mut self, refusal: &Refusal);

    /// A command that ran would have had this follow-up if nothing observed.
    fn would_do(&mut self, follow_up: Args<'_>);

    /// A row could not be brought back to what it was: the host says so to who runs it.
    fn undo_failed(&mut self, key: &[u8], error: &[u8]);
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It returned an error.
    Failed,
    /// It returned the integer 1.
    One,
    /// It returned something else.
    Else,
}

/// A follow-up returned an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowUpFailed {
    /// The error.
    pub error: Vec<u8>,
}

/// What becomes of a client's command.
#[derive(Debug)]
pub enum Outcome<R> {
    /// It ran, and this is what it returned, an error or not.
    Replied(R),
    /// The client is sent this integer.
    Integer(i64),
    /// The client is sent this bulk string.
    Bulk(Box<[u8]>),
    /// It is refused, and every row is as it was.
    Refused(Box<Refusal>),
    /// A follow-up failed; every row is as it was.
    Failed(FollowUpFailed),
}

/// A capture, and the payload that brings it back.
struct Saved {
    capture: Capture,
    payload: Option<Vec<u8>>,
}

/// Runs a command of which the arity is right, if the book lets it.
pub fn run<H: RuleHost>(
    host: &mut H,
    book: &RuleBook,
    command: &'static Command,
    args: Args<'_>,
) -> Outcome<H::Reply> {
    let table_of = |position: usize| args.get(position).and_then(|key| book.table_of(key));
    let verdict = book.before(&host.sight(), command, args, &table_of);
    let Ok(verdict) = verdict else { unreachable!("the host shows all it has at once") };
    let observed = match book.observes_any() {
        true => book.observed_before(&host.sight(), (command, args), &table_of, false),
        false => Ok(None),
    };
    let observed = observed.ok().flatten();
    let call = JudgedCall { command, args, observed };
    match verdict {
        Verdict::Run(Judged::All) if call.observed.is_none() => Outcome::Replied(host.run(args).0),
        Verdict::Run(judged) => judged_run(host, book, call, None, judged),
        Verdict::RunUntil(at, judged) => {
            judged_run(host, book, call, Some(Deadline::At(at)), judged)
        }
        Verdict::Answer(number) => Outcome::Integer(number),
        Verdict::Refuse(refusal) => Outcome::Refused(refusal),
        Verdict::Instead(other) => {
            let substitute = other.command.args();
            let Ok(command) = resolve(substitute) else {
                unreachable!("the book names commands of Redis")
            };
            let call = JudgedCall { command, args: substitute, ..call };
            match judged_run(host, book, call, None, Judged::Nothing) {
                Outcome::Replied(_) => Outcome::Bulk(other.reply),
                refused => refused,
            }
        }
    }
}

/// Runs a command that no table of commands describes: these are the keys that it may change, and
/// it is judged by what it did to them.
pub fn run_unknown<H: RuleHost>(
    host: &mut H,
    book: &RuleBook,
    args: Args<'_>,
    keys: &[&[u8]],
) -> Outcome<H::Reply> {
    let mut saved = Vec::new();
    for key in keys {
        save(host, key, Need::Elements(None), &mut saved);
    }
    let (reply, ran) = host.run(args);
    if ran == Ran::Failed {
        return Outcome::Replied(reply);
    }
    settle(host, book, saved, (Judged::Nothing, None), reply)
}

/// A call that the book has judged before it runs.
struct JudgedCall<'a> {
    command: &'static Command,
    args: Args<'a>,
    /// Why it would have been refused if nothing observed.
    observed: Option<Box<Refusal>>,
}

fn judged_run<H: RuleHost>(
    host: &mut H,
    book: &RuleBook,
    JudgedCall { command, args, observed }: JudgedCall<'_>,
    deadline: Option<Deadline>,
    judged: Judged,
) -> Outcome<H::Reply> {
    let mut saved = Vec::new();
    let is_told = judged != Judged::All;
    if is_told {
        let now_ms = host.sight().now_ms();
        for key in keys_as_told(command, args) {
            save(host, args.at(key), needs(command, args, key, now_ms), &mut saved);
        }
    }
    let rewritten = deadline.map(|deadline| rewrite(command, args, deadline));
    let said = rewritten.as_ref().and_then(|rewritten| rewritten.command.as_ref());
    let (reply, ran) = host.run(said.map_or(args, ArgBuf::args));
    if ran == Ran::Failed {
        return Outcome::Replied(reply);
    }
    if let Some(behind) = rewritten.and_then(|rewritten| rewritten.behind)
        && (ran == Ran::One || !behind.only_if_one)
        && let Err(failed) = host.follow_up(behind.command.args())
    {
        undo(host, &saved);
        return Outcome::Failed(failed);
    }
    match is_told {
        true => settle(host, book, saved, (judged, observed), reply),
        false => {
            observed.iter().for_each(|refusal| host.would_refuse(refusal));
            Outcome::Replied(reply)
        }
    }
}

/// Where the keys of a call are, in the order in which the book is told of them: it refuses by the
/// first thing that is wrong. A row that is renamed comes to its new key before it leaves the old
/// one, in every host.
fn keys_as_told(command: &Command, args: Args<'_>) -> Vec<usize> {
    let mut keys: Vec<usize> = command.keys_in(args).map(|key| key.index).collect();
    if matches!(command.id, CommandId::Rename | CommandId::RenameNx) {
        keys.reverse();
    }
    keys
}

/// Keeps what a command needs of a key; a key once, and then for the larger need.
fn save<H: RuleHost>(host: &mut H, key: &[u8], need: Need<'_>, saved: &mut Vec<Saved>) {
    if let Some(place) = saved.iter().position(|earlier| earlier.capture.key() == key) {
        if matches!(need, Need::Nothing) {
            return;
        }
        // Of two needs none may be the other's part.
        saved.remove(place);
        let need = match need {
            Need::Elements(end) => Need::Elements(end),
            _ => Need::Elements(None),
        };
        return save(host, key, need, saved);
    }
    let capture = {
        let sight = host.sight();
        Capture::take(key, H::row(&sight, key), need)
    };
    if let Some(capture) = capture {
        let payload = if capture.needs_payload() { host.payload(key) } else { None };
        saved.push(Saved { capture, payload });
    }
}

/// Tells the book what a command did, and carries out what follows, or undoes it.
fn settle<H: RuleHost>(
    host: &mut H,
    book: &RuleBook,
    saved: Vec<Saved>,
    (judged, observed): (Judged, Option<Box<Refusal>>),
    reply: H::Reply,
) -> Outcome<H::Reply> {
    let captures: Vec<&Capture> = saved.iter().map(|saved| &saved.capture).collect();
    let answer = ask(host, book, &captures, judged, Cause::Command);
    let (consequences, would) = match answer {
        Ok(answer) => answer,
        Err(Objection::Refused(refusal)) => {
            undo(host, &saved);
            return Outcome::Refused(refusal);
        }
        Err(Objection::NotYet) => unreachable!("the host shows all it has at once"),
    };
    consequences.warnings.iter().for_each(|warning| host.warn(warning));
    // It would have been refused by the first.
    let warnings = would.iter().flat_map(|would| &would.warnings);
    if let Some(first) = observed.as_deref().into_iter().chain(warnings).next() {
        host.would_refuse(first);
    }
    let follow_ups = would.iter().flat_map(|would| &would.follow_ups);
    follow_ups.for_each(|command| host.would_do(command.args()));
    let mut followed: Vec<Saved> = Vec::new();
    for (place, command) in consequences.follow_ups.iter().enumerate() {
        // What fails has done nothing: of the last one nothing has to be undone.
        if place + 1 < consequences.follow_ups.len() {
            save_followed(host, command.args(), &mut followed);
        }
        if let Err(failed) = host.follow_up(command.args()) {
            undo(host, &followed);
            undo(host, &saved);
            return Outcome::Failed(failed);
        }
    }
    Outcome::Replied(reply)
}

/// Keeps what a follow-up is about to change: each is undone by itself, the last one first.
fn save_followed<H: RuleHost>(host: &mut H, args: Args<'_>, followed: &mut Vec<Saved>) {
    let Ok(command) = resolve(args) else { return };
    let now_ms = host.sight().now_ms();
    let mut saved = Vec::new();
    for key in command.keys_in(args) {
        save(host, args.at(key.index), needs(command, args, key.index, now_ms), &mut saved);
    }
    followed.append(&mut saved);
}

/// What follows from what became of rows since they were captured, and what would if nothing
/// observed.
fn ask<H: RuleHost>(
    host: &H,
    book: &RuleBook,
    captures: &[&Capture],
    judged: Judged,
    cause: Cause,
) -> Result<(Consequences, Option<Consequences>), Objection> {
    let sight = host.sight();
    let mut rows: Vec<(&Capture, Difference, Option<&dyn Row>)> = Vec::new();
    for capture in captures {
        let after = H::row(&sight, capture.key());
        rows.extend(capture.compare(after).map(|difference| (*capture, difference, after)));
    }
    let parts: Vec<Vec<Part<'_>>> = rows.iter().map(|(_, found, _)| found.parts()).collect();
    let changes: Vec<Change<'_>> = rows
        .iter()
        .zip(&parts)
        .map(|((capture, difference, after), parts)| {
            capture.change(book.table_of(capture.key()), difference, parts, *after)
        })
        .collect();
    let consequences = book.after(&sight, &changes, judged, cause)?;
    let would = match cause {
        Cause::Command => book.observed(&sight, &changes, None)?,
        _ => None,
    };
    Ok((consequences, would))
}

/// Carries out what follows from rows that ended by themselves, in the order in which they did.
///
/// # Errors
/// If a follow-up failed, or the book objected: what is behind it ran all the same.
pub fn follow_ended<H: RuleHost>(
    host: &mut H,
    book: &RuleBook,
    ended: &[Capture],
    cause: Cause,
) -> Result<(), FollowUpFailed> {
    let mut outcome = Ok(());
    for capture in ended {
        let consequences = match ask(host, book, &[capture], Judged::Rows, cause) {
            Ok((consequences, _)) => consequences,
            // The book refuses nothing that happened by itself.
            Err(objection) => {
                let error = objection.discreet().in_words().into_bytes();
                outcome = outcome.and(Err(FollowUpFailed { error }));
                continue;
            }
        };
        for command in &consequences.follow_ups {
            let done = host.follow_up(command.args());
            outcome = outcome.and(done);
        }
    }
    outcome
}

fn undo<H: RuleHost>(host: &mut H, saved: &[Saved]) {
    for Saved { capture, payload } in saved.iter().rev() {
        let commands = {
            let sight = host.sight();
            let after = H::row(&sight, capture.key());
            match capture.compare(after) {
                Some(_) => capture.inverse(after, payload.as_deref()),
                None => Vec::new(),
            }
        };
        for command in &commands {
            if let Err(FollowUpFailed { error }) = host.follow_up(command.args()) {
                host.undo_failed(capture.key(), &error);
            }
        }
    }
}
