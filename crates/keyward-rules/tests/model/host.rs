//! A host in memory: runs commands under a book.
//!
//! What a host has to do, in its simplest form: complete what is due, ask the
//! book, run the command on a copy, report what changed, keep the copy if the book
//! agrees, run the follow-ups with the rules off.

use std::cell::Cell;
use std::collections::BTreeSet;

use keyward_commands::lookup;
use keyward_resp::ArgBuf;
use keyward_rules::{
    Cause, Change, Consequences, Deferred, Judged, Objection, Part, Row, RuleBook, Verdict, What,
};
use keyward_schema::check;

use crate::interpreter::{Touch, Touches, run};
use crate::keyspace::{Bytes, Keyspace, Scene, Stored, Value};

pub(crate) struct Host {
    pub(crate) book: RuleBook,
    pub(crate) keyspace: Keyspace,
    pub(crate) now_ms: i64,
    /// What passed all the same.
    pub(crate) warnings: Vec<String>,
    /// How many rows the book has asked for, to keep them.
    pub(crate) rows_asked: Cell<usize>,
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
            book: RuleBook::new(schema),
            keyspace: Keyspace::default(),
            now_ms: 1_000_000,
            warnings: Vec::new(),
            rows_asked: Cell::new(0),
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
        let table_of = |position| self.book.table_of(call.args().at(position));
        let verdict = match self.deferred {
            None => self.book.before(&self.scene(), row, call.args(), &table_of),
            Some(_) => self.book.before_in_unit(&self.scene(), row, call.args(), &table_of),
        };
        let mut after = self.keyspace.clone();
        let (done, judged) = match verdict.expect("the host shows everything") {
            Verdict::Run(judged) => (run(&mut after, self.now_ms, command), judged),
            Verdict::RunUntil(end, judged) => {
                let done = run(&mut after, self.now_ms, command);
                if let Some(row) = after.rows.get_mut(&command[1]) {
                    row.deadline = Some(end);
                }
                (done, judged)
            }
            Verdict::Instead(other) => {
                let words: Vec<Bytes> = other.command.args().iter().map(<[u8]>::to_vec).collect();
                (run(&mut after, self.now_ms, &words), Judged::Nothing)
            }
            Verdict::Answer(_) => return Outcome::Done,
            // Redis's own errors come first.
            Verdict::Refuse(refusal) => {
                return match run(&mut after, self.now_ms, command) {
                    Some(_) => Outcome::Refused(refusal.text().to_owned()),
                    None => Outcome::Failed,
                };
            }
        };
        match done {
            Some(touches) => self.settle(after, &touches, judged),
            None => Outcome::Failed,
        }
    }

    /// Reports what changed, and keeps it if the book agrees.
    fn settle(&mut self, after: Keyspace, touches: &Touches, judged: Judged) -> Outcome {
        let before = &self.keyspace;
        let parts: Vec<Option<Vec<Part<'_>>>> =
            touches.iter().map(|(key, touch)| parts(key, touch, before, &after)).collect();
        let changes: Vec<Change<'_>> = touches
            .iter()
            .zip(&parts)
            .filter_map(|((key, touch), parts)| {
                self.change(key, touch, parts.as_deref(), before, &after)
            })
            .collect();
        let scene = self.scene_of(&after);
        let consequences = match (judged, &self.deferred) {
            (Judged::All, _) => Ok(Consequences::default()),
            (judged, None) => self.book.after(&scene, &changes, judged, Cause::Command),
            (judged, Some(deferred)) => {
                self.book.after_in_unit(&scene, &changes, judged, !deferred.is_empty())
            }
        };
        match consequences {
            Ok(mut consequences) => {
                if let Some(deferred) = &mut self.deferred {
                    deferred.append(&mut consequences.deferred);
                }
                self.keyspace = after;
                self.follow(&consequences);
                Outcome::Done
            }
            Err(Objection::Refused(refusal)) => Outcome::Refused(refusal.text().to_owned()),
            Err(Objection::NotYet) => panic!("the host shows everything"),
        }
    }

    fn change<'c>(
        &self,
        key: &'c Bytes,
        touch: &Touch,
        parts: Option<&'c [Part<'c>]>,
        before: &'c Keyspace,
        after: &'c Keyspace,
    ) -> Option<Change<'c>> {
        let old = before.rows.get(key);
        let new = after.rows.get(key).filter(|row| !row.is_over(self.now_ms));
        if (old.is_none() && new.is_none()) || parts.is_some_and(<[_]>::is_empty) {
            return None;
        }
        let what = match (touch, parts) {
            (Touch::Lifetime, _) => What::Lifetime,
            (_, Some(parts)) => What::Parts(parts),
            (_, None) => What::Whole(old.map(|row| row as &dyn Row)),
        };
        Some(Change {
            table: self.book.table_of(key),
            key,
            deadline_before: old.map(|row| row.deadline),
            after: new.map(|row| row as &dyn Row),
            what,
            is_known_to_fit: false,
            is_kept: false,
        })
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
        let change = Change {
            table: self.book.table_of(key),
            key,
            deadline_before: Some(gone.deadline),
            after: None,
            what: What::Whole(Some(&gone)),
            is_known_to_fit: false,
            is_kept: false,
        };
        let judged = self.book.after(&self.scene(), &[change], Judged::Nothing, cause);
        let consequences = judged.expect("what ended by itself is not refused");
        self.follow(&consequences);
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
            Value::Hash(fields) => fields
                .iter()
                .map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()))
                .collect(),
        };
        words.join(" ")
    }
}

/// The changed elements of a row, unless it changed as a whole.
fn parts<'c>(
    key: &Bytes,
    touch: &'c Touch,
    before: &'c Keyspace,
    after: &'c Keyspace,
) -> Option<Vec<Part<'c>>> {
    let old = before.rows.get(key).map(|row| &row.value);
    let new = after.rows.get(key).map(|row| &row.value);
    match touch {
        Touch::Whole | Touch::Lifetime => None,
        Touch::Pushed(end, items) => {
            Some(items.iter().map(|item| Part::Pushed(*end, item)).collect())
        }
        Touch::Elements => Some(match old.or(new)? {
            Value::Hash(_) => {
                let (old, new) = (fields(old), fields(new));
                let names: BTreeSet<&Bytes> = old.keys().chain(new.keys()).copied().collect();
                let field = |name: &'c Bytes| Part::Field {
                    name,
                    before: old.get(name).copied(),
                    after: new.get(name).copied(),
                };
                names.into_iter().map(field).filter(is_change).collect()
            }
            Value::Set(_) => {
                let (old, new) = (members(old), members(new));
                let came = new.difference(&old).map(|member| Part::Member { member, came: true });
                let left = old.difference(&new).map(|member| Part::Member { member, came: false });
                came.chain(left).collect()
            }
            Value::Zset(_) => {
                let (old, new) = (scores(old), scores(new));
                let names: BTreeSet<&Bytes> = old.keys().chain(new.keys()).copied().collect();
                let score = |member: &'c Bytes| Part::Score {
                    member,
                    before: old.get(member).copied(),
                    after: new.get(member).copied(),
                };
                names.into_iter().map(score).filter(is_change).collect()
            }
            Value::Text(_) | Value::List(_) => return None,
        }),
    }
}

fn is_change(part: &Part<'_>) -> bool {
    match part {
        Part::Field { before, after, .. } => before != after,
        Part::Score { before, after, .. } => before != after,
        _ => true,
    }
}

type Map<'c, T> = std::collections::BTreeMap<&'c Bytes, T>;

fn fields(value: Option<&Value>) -> Map<'_, &[u8]> {
    match value {
        Some(Value::Hash(fields)) => {
            fields.iter().map(|(name, value)| (name, &value[..])).collect()
        }
        _ => Map::new(),
    }
}

fn members(value: Option<&Value>) -> BTreeSet<&Bytes> {
    match value {
        Some(Value::Set(members)) => members.iter().collect(),
        _ => BTreeSet::new(),
    }
}

fn scores(value: Option<&Value>) -> Map<'_, f64> {
    match value {
        Some(Value::Zset(members)) => {
            members.iter().map(|(member, score)| (member, *score)).collect()
        }
        _ => Map::new(),
    }
}
