//! A host in memory: runs commands under a book.
//!
//! What a host has to do, in its simplest form: complete what is due, and let
//! [`keyward_rules::host`] take each command through the book. Commands of a unit run on a copy,
//! which is kept if the book agrees.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use keyward_commands::{Command, lookup};
use keyward_resp::{ArgBuf, Args};
use keyward_rules::host::{self, Capture, Deadline, FollowUpFailed, Ran, RuleHost};
use keyward_rules::{
    Cause, Change, Consequences, Deferred, Judged, Objection, Refusal, Row, RuleBook, Verdict,
};
use keyward_schema::check;

use crate::interpreter::run;
use crate::keyspace::{Bytes, Keyspace, Scene, Stored, Value};

pub(crate) struct Host {
    pub(crate) book: Rc<RuleBook>,
    pub(crate) keyspace: Keyspace,
    pub(crate) now_ms: i64,
    /// What passed all the same.
    pub(crate) warnings: Vec<String>,
    /// How many rows the book has asked for, to keep them.
    pub(crate) rows_asked: Cell<usize>,
    /// After so many follow-ups the next one fails.
    pub(crate) follow_ups_left: Option<usize>,
    /// What the unit that is running has deferred.
    pub(crate) deferred: Option<Vec<Deferred>>,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Done,
    /// What the client reads.
    Refused(String),
    /// Redis's own error.
    Failed,
}

impl Host {
    pub(crate) fn new(schema: &str) -> Host {
        let checked = check("shop.toml", schema.as_bytes());
        let schema = checked.schema.unwrap_or_else(|| panic!("{:#?}", checked.diagnostics));
        Host {
            book: Rc::new(RuleBook::new(schema)),
            keyspace: Keyspace::default(),
            now_ms: 1_000_000,
            warnings: Vec::new(),
            rows_asked: Cell::new(0),
            follow_ups_left: None,
            deferred: None,
        }
    }

    /// Begins a unit. Its rows are restored if its end refuses it.
    pub(crate) fn begin_unit(&mut self) {
        self.deferred = Some(Vec::new());
    }

    /// Ends a unit: why the book refuses it, if it does, and how many things were deferred.
    pub(crate) fn end_unit(&mut self) -> (Option<String>, usize) {
        let deferred = self.deferred.take().expect("a unit is running");
        let refusal = match self.book.at_end(&self.scene(), &deferred) {
            Ok(consequences) => {
                self.follow(&consequences);
                None
            }
            Err(Objection::Refused(refusal)) => Some(refusal.text().to_owned()),
            Err(Objection::NotYet) => panic!("the host shows everything"),
        };
        (refusal, deferred.len())
    }

    /// Runs commands as a unit, of which none is refused at once; why it is undone, if it is.
    pub(crate) fn run_unit(&mut self, commands: &[&str]) -> Option<String> {
        let before = self.keyspace.clone();
        self.begin_unit();
        for command in commands {
            assert_eq!(self.run(command), Outcome::Done, "{command}");
        }
        let (refusal, _) = self.end_unit();
        if refusal.is_some() {
            self.keyspace = before;
        }
        refusal
    }

    pub(crate) fn scene(&self) -> Scene<'_> {
        self.scene_of(&self.keyspace)
    }

    fn scene_of<'a>(&'a self, keyspace: &'a Keyspace) -> Scene<'a> {
        let Host { book, now_ms, rows_asked, .. } = self;
        Scene { keyspace, book, now_ms: *now_ms, rows_asked }
    }

    /// Runs a command of words.
    pub(crate) fn run(&mut self, command: &str) -> Outcome {
        let words: Vec<Bytes> = command.split(' ').map(Into::into).collect();
        self.run_words(&words)
    }

    pub(crate) fn run_words(&mut self, command: &[Bytes]) -> Outcome {
        let call: ArgBuf = command.iter().collect();
        let row = lookup(&command[0]).expect("a command of Redis");
        if self.deferred.is_some() {
            return self.run_in_unit(command, row);
        }
        // Redis's own errors come first.
        let has_error = run(&mut self.keyspace.clone(), self.now_ms, command).is_none();
        let (book, before) = (Rc::clone(&self.book), self.keyspace.clone());
        match host::run(self, &book, row, call.args()) {
            host::Outcome::Replied(Some(())) => Outcome::Done,
            host::Outcome::Integer(_) | host::Outcome::Bulk(_) => Outcome::Done,
            host::Outcome::Replied(None) => Outcome::Failed,
            host::Outcome::Refused(_) if has_error => Outcome::Failed,
            host::Outcome::Refused(refusal) => {
                assert_eq!(self.keyspace.rows, before.rows, "{command:?} is undone");
                Outcome::Refused(refusal.text().to_owned())
            }
            host::Outcome::Failed(failed) => {
                assert_eq!(self.keyspace.rows, before.rows, "{command:?} is undone");
                Outcome::Refused(String::from_utf8_lossy(&failed.error).into_owned())
            }
        }
    }

    /// A command of a unit: it runs on a copy, which is kept if the book agrees.
    fn run_in_unit(&mut self, command: &[Bytes], row: &'static Command) -> Outcome {
        let call: ArgBuf = command.iter().collect();
        let table_of = |position| self.book.table_of(call.args().at(position));
        let verdict = self.book.before_in_unit(&self.scene(), row, call.args(), &table_of);
        let mut after = self.keyspace.clone();
        let (words, judged) = match verdict.expect("the host shows everything") {
            Verdict::Run(judged) => (command.to_vec(), judged),
            Verdict::RunUntil(end, judged) => {
                let rewritten = host::rewrite(row, call.args(), Deadline::At(end));
                let said = rewritten.command.expect("the model sets strings by SET");
                (said.args().iter().map(<[u8]>::to_vec).collect(), judged)
            }
            Verdict::Instead(other) => {
                let words = other.command.args().iter().map(<[u8]>::to_vec).collect();
                (words, Judged::Nothing)
            }
            Verdict::Answer(_) => return Outcome::Done,
            // Redis's own errors come first.
            Verdict::Refuse(refusal) => {
                return match run(&mut after, self.now_ms, command) {
                    Some(()) => Outcome::Refused(refusal.text().to_owned()),
                    None => Outcome::Failed,
                };
            }
        };
        match run(&mut after, self.now_ms, &words) {
            Some(()) => self.settle_in_unit(after, &words, judged),
            None => Outcome::Failed,
        }
    }

    /// Reports what changed, and keeps it if the book agrees.
    fn settle_in_unit(&mut self, after: Keyspace, words: &[Bytes], judged: Judged) -> Outcome {
        let call: ArgBuf = words.iter().collect();
        let row = lookup(&words[0]).expect("a command of Redis");
        let captured = |key: &[u8], need| {
            let before = self.keyspace.rows.get(key).map(|row| row as &dyn Row);
            let now = after.rows.get(key).filter(|row| !row.is_over(self.now_ms));
            let now = now.map(|row| row as &dyn Row);
            let capture = Capture::take(key, before, need)?;
            let difference = capture.compare(now)?;
            Some((capture, difference, now))
        };
        let mut seen = BTreeSet::new();
        let keys = row.keys_in(call.args()).filter(|key| seen.insert(call.args().at(key.index)));
        let found: Vec<_> = keys
            .filter_map(|key| {
                let need = host::needs(row, call.args(), key.index, self.now_ms);
                captured(call.args().at(key.index), need)
            })
            .collect();
        let parts: Vec<_> = found.iter().map(|(_, difference, _)| difference.parts()).collect();
        let changes: Vec<Change<'_>> = found
            .iter()
            .zip(&parts)
            .map(|((capture, difference, now), parts)| {
                capture.change(self.book.table_of(capture.key()), difference, parts, *now)
            })
            .collect();
        let deferred = self.deferred.as_ref().expect("a unit is running");
        let consequences = match judged {
            Judged::All => Ok(Consequences::default()),
            judged => self.book.after_in_unit(
                &self.scene_of(&after),
                &changes,
                judged,
                !deferred.is_empty(),
            ),
        };
        match consequences {
            Ok(mut consequences) => {
                let deferred = self.deferred.as_mut().expect("a unit is running");
                deferred.append(&mut consequences.deferred);
                self.keyspace = after;
                self.follow(&consequences);
                Outcome::Done
            }
            Err(Objection::Refused(refusal)) => Outcome::Refused(refusal.text().to_owned()),
            Err(Objection::NotYet) => panic!("the host shows everything"),
        }
    }

    /// Lets time pass; rows whose time is over go, one after the other.
    pub(crate) fn wait(&mut self, ms: i64) {
        self.now_ms += ms;
        while let Some(key) = self.due() {
            self.lose(&key, Cause::Expiry);
        }
    }

    /// Takes a row away without a command.
    pub(crate) fn lose(&mut self, key: &[u8], cause: Cause) {
        let Some(gone) = self.keyspace.rows.remove(key) else { return };
        let ended = [Capture::ended(key.to_vec(), gone)];
        let book = Rc::clone(&self.book);
        host::follow_ended(self, &book, &ended, cause).expect("follow-ups do not fail");
    }

    fn due(&self) -> Option<Bytes> {
        let mut rows = self.keyspace.rows.iter();
        rows.find(|(_, row)| row.is_over(self.now_ms)).map(|(key, _)| key.clone())
    }

    fn follow(&mut self, consequences: &Consequences) {
        self.warnings.extend(consequences.warnings.iter().map(ToString::to_string));
        for command in &consequences.follow_ups {
            let words: Vec<Bytes> = command.args().iter().map(<[u8]>::to_vec).collect();
            let done = run(&mut self.keyspace, self.now_ms, &words);
            assert!(done.is_some(), "a follow-up failed: {words:?}");
        }
    }

    pub(crate) fn row(&self, key: &str) -> Option<&Stored> {
        self.keyspace.rows.get(key.as_bytes())
    }

    /// The members of a set or sorted set, the text of a string, joined by spaces.
    pub(crate) fn shown(&self, key: &str) -> String {
        let Some(row) = self.row(key) else { return "nothing".to_owned() };
        let words: Vec<String> = match &row.value {
            Value::Text(text) => vec![text.escape_ascii().to_string()],
            Value::List(items) => {
                items.iter().map(|item| item.escape_ascii().to_string()).collect()
            }
            Value::Set(members) => {
                members.iter().map(|member| member.escape_ascii().to_string()).collect()
            }
            Value::Zset(members) => members
                .iter()
                .map(|(member, score)| format!("{}={score}", member.escape_ascii()))
                .collect(),
            Value::Stream(_) => panic!("the model has no streams"),
            Value::Hash(fields) => fields
                .iter()
                .map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()))
                .collect(),
        };
        words.join(" ")
    }
}

impl RuleHost for Host {
    type Reply = Option<()>;
    type Sight<'h> = Scene<'h>;

    fn sight(&self) -> Scene<'_> {
        self.scene()
    }

    /// It is not counted among those that the book asked for.
    fn row<'s>(sight: &'s Scene<'_>, key: &[u8]) -> Option<&'s dyn Row> {
        let row = sight.keyspace.rows.get(key).filter(|row| !row.is_over(sight.now_ms));
        row.map(|row| row as &dyn Row)
    }

    fn run(&mut self, args: Args<'_>) -> (Option<()>, Ran) {
        let words: Vec<Bytes> = args.iter().map(<[u8]>::to_vec).collect();
        let mut after = self.keyspace.clone();
        let done = run(&mut after, self.now_ms, &words);
        if done.is_some() {
            self.keyspace = after;
        }
        (done, if done.is_some() { Ran::Else } else { Ran::Failed })
    }

    fn follow_up(&mut self, args: Args<'_>) -> Result<(), FollowUpFailed> {
        match &mut self.follow_ups_left {
            Some(0) => {
                // Those that undo it do not.
                self.follow_ups_left = None;
                return Err(FollowUpFailed { error: b"as it was to".to_vec() });
            }
            Some(left) => *left -= 1,
            None => {}
        }
        match RuleHost::run(self, args) {
            (_, Ran::Failed) => Err(FollowUpFailed { error: args.at(0).to_vec() }),
            _ => Ok(()),
        }
    }

    /// It has none: elements and deadlines are all that its rows have.
    fn payload(&mut self, _key: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn warn(&mut self, refusal: &Refusal) {
        self.warnings.push(refusal.to_string());
    }

    fn would_refuse(&mut self, refusal: &Refusal) {
        self.warnings.push(format!("would be {refusal}"));
    }

    fn would_do(&mut self, _follow_up: Args<'_>) {}

    fn undo_failed(&mut self, key: &[u8], error: &[u8]) {
        panic!("{} is not brought back: {}", key.escape_ascii(), error.escape_ascii());
    }
}
