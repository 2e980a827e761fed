//! The first stage: what a call's arguments, and a look at the row, decide.
//!
//! This stage exists to refuse early (while a call is queued), to let a string be
//! written with its lifetime at once, to spare the host the journal of a command
//! that cannot break anything, and to add decimals exactly. The second stage finds
//! by its effect whatever breaks the schema and was let through here.
//!
//! What the arguments alone decide is refused even where the call would have come
//! to nothing: an EXPIRE that no row of the table may have, though the key is not
//! there; a SET … NX of a value that does not fit, though there is one already.
//!
//! Invariants: arguments are judged before any row is looked at, so that
//! [`RuleBook::arguments`] learns all that they decide; where a table is not
//! enforced nothing is refused, and the second stage reports it, but for what would be refused
//! if nothing observed ([`RuleBook::observed_before`]); within a unit nothing is
//! refused that its end may find mended; a SET that passes
//! allocates nothing, unless its JSON has escapes, its fields are compared, or it lives
//! `with` another key, whose name has to be spelled out.
//! Not here: reading arguments (`arguments`), functions (`call`).

mod add;
mod count;
mod expire;
mod set;
#[cfg(test)]
mod tests;

use keyward_commands::{Command, CommandId};
use keyward_resp::Args;
use keyward_schema::{Content, KeyId, Lifetime, Misfit, Renew, SinkKind, Subject, Unknown};

use crate::arguments::{Call, extent};
use crate::book::RuleBook;
use crate::reason::Reason;
use crate::refusal::Refusal;
use crate::verdict::{Judged, Verdict};
use crate::view::{Blind, NotYet, Row, RowType, View};

/// Whether a trim takes away what stands before an entry, and nothing else.
fn is_exact_trim(case: Case<'_>) -> bool {
    let is = |at: usize, word: &[u8]| {
        case.args.get(at).is_some_and(|given| given.eq_ignore_ascii_case(word))
    };
    match case.args.len() {
        4 => is(2, b"MINID"),
        5 => is(2, b"MINID") && is(3, b"="),
        _ => false,
    }
}

/// A call under judgement.
#[derive(Clone, Copy)]
struct Case<'a> {
    view: &'a dyn View,
    command: &'a Command,
    args: Args<'a>,
    /// The table of the key at that position.
    table_of: &'a dyn Fn(usize) -> Option<KeyId>,
    /// It is a part of a unit, whose end judges what a row needs as a whole.
    is_in_unit: bool,
}

/// What a key is judged by: itself and its table.
#[derive(Clone, Copy)]
struct Place<'a> {
    table: KeyId,
    key: &'a [u8],
}

/// The call can be answered at once: it is refused, or the second stage has to
/// see it.
type Judgement<T> = Result<T, Stop>;

enum Stop {
    At(Verdict),
    NotYet,
}

impl From<NotYet> for Stop {
    fn from(NotYet: NotYet) -> Stop {
        Stop::NotYet
    }
}

/// The second stage has to see it.
const UNJUDGED: Stop = Stop::At(Verdict::Run(Judged::Nothing));

impl RuleBook {
    /// What is to be done with a call whose arity is right. `table_of` tells the
    /// table of the key at a position of the arguments.
    ///
    /// # Errors
    /// If the host has to fetch a row first.
    pub fn before(
        &self,
        view: &dyn View,
        command: &Command,
        args: Args<'_>,
        table_of: &dyn Fn(usize) -> Option<KeyId>,
    ) -> Result<Verdict, NotYet> {
        self.verdict(Case { view, command, args, table_of, is_in_unit: false })
    }

    /// As [`RuleBook::before`], of a call within a unit: what the rest of the unit may mend is
    /// left to its end ([`RuleBook::at_end`]).
    ///
    /// # Errors
    /// If the host has to fetch a row first.
    pub fn before_in_unit(
        &self,
        view: &dyn View,
        command: &Command,
        args: Args<'_>,
        table_of: &dyn Fn(usize) -> Option<KeyId>,
    ) -> Result<Verdict, NotYet> {
        self.verdict(Case { view, command, args, table_of, is_in_unit: true })
    }

    /// Why a call would be refused by this stage if nothing observed, whatever it comes to.
    ///
    /// # Errors
    /// If the host has to fetch a row first.
    #[cold]
    pub fn observed_before(
        &self,
        view: &dyn View,
        (command, args): (&Command, Args<'_>),
        table_of: &dyn Fn(usize) -> Option<KeyId>,
        is_in_unit: bool,
    ) -> Result<Option<Box<Refusal>>, NotYet> {
        let case = Case { view, command, args, table_of, is_in_unit };
        match self.declared_book().verdict(case)? {
            Verdict::Refuse(refusal) if self.is_told_of(&refusal) => Ok(Some(refusal)),
            _ => Ok(None),
        }
    }

    fn verdict(&self, case: Case<'_>) -> Result<Verdict, NotYet> {
        match self.judge(case) {
            Ok(verdict) | Err(Stop::At(verdict)) => Ok(match self.observes_any() {
                true => self.seen_by_all(case, verdict),
                false => verdict,
            }),
            Err(Stop::NotYet) => Err(NotYet),
        }
    }

    /// Why a call is refused whatever the rows are and whatever else its unit does: what is
    /// said to a client that queues it.
    pub fn arguments(
        &self,
        now_ms: i64,
        command: &Command,
        args: Args<'_>,
        table_of: &dyn Fn(usize) -> Option<KeyId>,
    ) -> Option<Box<Refusal>> {
        match self.before_in_unit(&Blind { now_ms }, command, args, table_of) {
            Ok(Verdict::Refuse(refusal)) => Some(refusal),
            Ok(_) | Err(NotYet) => None,
        }
    }

    /// Where something observes, the second stage sees whatever changes rows.
    #[cold]
    fn seen_by_all(&self, case: Case<'_>, verdict: Verdict) -> Verdict {
        let call = Call::read(case.command, case.args, case.view.now_ms());
        let rows = |judged: Judged| if judged == Judged::All { Judged::Rows } else { judged };
        match (call, verdict) {
            // What a function does is judged by itself.
            (Call::Function | Call::Nothing, verdict) => verdict,
            (_, Verdict::Run(judged)) => Verdict::Run(rows(judged)),
            (_, Verdict::RunUntil(at, judged)) => Verdict::RunUntil(at, rows(judged)),
            (_, other) => other,
        }
    }

    fn judge(&self, case: Case<'_>) -> Judgement<Verdict> {
        if self.has_sinks() {
            match case.command.id {
                CommandId::LSet
                | CommandId::LInsert
                | CommandId::LRem
                | CommandId::Restore
                | CommandId::Rename
                | CommandId::RenameNx
                | CommandId::Copy
                | CommandId::RPopLPush
                | CommandId::LMove
                | CommandId::BRPopLPush
                | CommandId::BLMove
                | CommandId::Sort => self.keep_appended(case)?,
                CommandId::XTrim
                | CommandId::XSetId
                | CommandId::XDel
                | CommandId::XGroupCreate
                | CommandId::XGroupCreateConsumer
                | CommandId::XGroupDelConsumer
                | CommandId::XGroupDestroy
                | CommandId::XGroupSetId
                | CommandId::XReadGroup
                | CommandId::XAutoClaim
                | CommandId::XClaim => self.keep_changefeed(case)?,
                _ => {}
            }
        }
        match Call::read(case.command, case.args, case.view.now_ms()) {
            Call::Set { value, asked } => self.set(case, value, asked),
            Call::SetMany => self.set_many(case),
            Call::Add { key, elements } => self.add(case, key, elements),
            Call::Count { field, by } => self.count(case, field, by),
            Call::Sum { field, by } => self.sum(case, field, by),
            Call::Make { key, row_type } => match self.place(case, key, row_type) {
                Err(refused @ Stop::At(Verdict::Refuse(_))) => Err(refused),
                Ok(place) => Err(self.too_long(case, place).unwrap_or(UNJUDGED)),
                Err(_) => Err(UNJUDGED),
            },
            Call::Take { whole } => Ok(Verdict::Run(self.take(case, whole))),
            Call::Carry => self.carry(case),
            Call::Expire(expiry) => self.expire(case, expiry),
            Call::GetEx(expiry) => self.getex(case, expiry),
            Call::Function => Ok(match self.call_misfit(case.args) {
                Some(refusal) if self.is_call_strict(case.args) => {
                    Verdict::Refuse(Box::new(refusal))
                }
                _ => Verdict::Run(Judged::All),
            }),
            Call::Nothing => Ok(Verdict::Run(Judged::All)),
            Call::Away | Call::Malformed => Err(UNJUDGED),
        }
    }

    /// Items that a table has are not changed behind its back, nor told once more: what makes an
    /// item a row is its push, and moving, sorting or restoring it is none.
    #[inline(never)] // Kept out of the path of every other command.
    fn keep_appended(&self, case: Case<'_>) -> Judgement<()> {
        let appended = |position: usize| {
            let table = (case.table_of)(position)?;
            let sink = self.schema().key(table).sink.as_ref();
            Some((table, sink.filter(|sink| sink.kind == SinkKind::Append)?))
        };
        let (table, position, problem) = match case.command.id {
            CommandId::LSet | CommandId::LInsert | CommandId::LRem => {
                let Some((table, _)) = appended(1) else { return Ok(()) };
                (table, 1, "is appended to a table: items are pushed to it, not changed")
            }
            CommandId::Restore => {
                let Some((table, _)) = appended(1) else { return Ok(()) };
                (table, 1, "is appended to a table: items are pushed to it, not restored")
            }
            _ => {
                // The destination of SORT stands last, if there is one.
                let to = match case.command.id {
                    CommandId::Sort => case.command.keys_in(case.args).map(|key| key.index).last(),
                    _ => Some(2),
                };
                let Some(at) = to.filter(|at| *at > 1) else { return Ok(()) };
                let (Some((_, from)), Some((table, to))) = (appended(1), appended(at)) else {
                    return Ok(());
                };
                if from.table != to.table {
                    return Ok(());
                }
                let problem = match case.args.at(1) == case.args.at(at) {
                    true => "is appended to a table, which has these items already",
                    false => {
                        "is appended to a table, which has these items already under another key"
                    }
                };
                (table, at, problem)
            }
        };
        let place = Place { table, key: case.args.at(position) };
        Err(self.stop(place, || self.refuse(table, place.key, Reason::Sink, problem)))
    }

    /// The ids of a changefeed tell what is stored: none is skipped, given twice or taken out.
    /// Its groups tell of its histories.
    #[inline(never)] // Kept out of the path of every other command.
    fn keep_changefeed(&self, case: Case<'_>) -> Judgement<()> {
        if case.command.id == CommandId::XTrim && is_exact_trim(case) {
            return Ok(());
        }
        for key in case.command.keys_in(case.args) {
            let Some(table) = (case.table_of)(key.index) else { continue };
            if !self.schema().key(table).is_changefeed {
                continue;
            }
            let place = Place { table, key: case.args.at(key.index) };
            let problem = "is written by Keyward alone; what is stored is trimmed by XTRIM MINID";
            return Err(self.stop(place, || self.refuse(table, place.key, Reason::Sink, problem)));
        }
        Ok(())
    }

    /// The place of a key that a call may bring to be as this type. A key that
    /// belongs to no table ends the judgement.
    fn place<'a>(
        &self,
        case: Case<'a>,
        position: usize,
        row_type: Option<RowType>,
    ) -> Judgement<Place<'a>> {
        let Some(key) = case.args.get(position) else { return Err(UNJUDGED) };
        let Some(table) = (case.table_of)(position) else {
            return Err(match self.would_be_unknown() {
                Unknown::Reject => Stop::At(Verdict::Refuse(Box::new(self.refuse_unknown(key)))),
                Unknown::Warn => UNJUDGED,
                Unknown::Allow => Stop::At(Verdict::Run(Judged::All)),
            });
        };
        if self.observes(table) {
            return Err(UNJUDGED);
        }
        let place = Place { table, key };
        match row_type {
            Some(found) if !self.traits(table).takes(found) => {
                Err(self.stop(place, || self.refuse_type(table, key, found)))
            }
            _ => Ok(place),
        }
    }

    /// Refuses a call that would make a string longer than it may be, before it does.
    fn too_long(&self, case: Case<'_>, place: Place<'_>) -> Option<Stop> {
        let most = self.schema().key(place.table).bounds.max_size?;
        let bytes = extent(case.command, case.args).filter(|bytes| *bytes > most)?;
        Some(self.stop(place, || self.refuse_size(place.table, place.key, bytes as usize, most)))
    }

    /// Ends the judgement of a call that breaks the schema.
    fn stop(&self, place: Place<'_>, refusal: impl FnOnce() -> Refusal) -> Stop {
        match self.would_enforce(place.table) {
            true => Stop::At(Verdict::Refuse(Box::new(refusal()))),
            false => UNJUDGED,
        }
    }

    /// Ends the judgement of a call whose values do not fit. In a unit they are left to the
    /// second stage if `fit_at_once` finds nothing that has to be refused now.
    fn stop_unfit(
        &self,
        case: Case<'_>,
        place: Place<'_>,
        misfit: Misfit,
        fit_at_once: impl FnOnce(&Content) -> Result<(), Misfit>,
    ) -> Stop {
        let misfit = match case.is_in_unit {
            false => misfit,
            true => match fit_at_once(self.content_at_once(place.table)) {
                Ok(()) => return UNJUDGED,
                Err(misfit) => misfit,
            },
        };
        self.stop(place, || self.refuse_misfit(place.table, place.key, &misfit))
    }

    /// What is judged of a call that only takes away: all, where nothing else
    /// changes with the rows it may touch.
    fn take(&self, case: Case<'_>, whole: bool) -> Judged {
        let harmless = |table: KeyId| {
            let declared = self.schema().key(table);
            // A check may hold only where a field is, or is not.
            let loses_fields = case.command.id == CommandId::HDel
                && declared.content.object().is_some_and(|object| {
                    object.fields.iter().any(|field| field.required) || !object.checks.is_empty()
                });
            !self.observes(table)
                && !self.traits(table).is_tied()
                && (whole || (!self.renews_on_write(table) && !loses_fields))
        };
        let mut tables =
            case.command.keys_in(case.args).filter_map(|key| (case.table_of)(key.index));
        if tables.all(harmless) { Judged::All } else { Judged::Nothing }
    }

    /// Judges what leaves the server before it has left: computed rows stay.
    fn carry(&self, case: Case<'_>) -> Judgement<Verdict> {
        for key in case.command.keys_in(case.args) {
            let Some(table) = (case.table_of)(key.index) else { continue };
            if self.traits(table).is_computed {
                let place = Place { table, key: case.args.at(key.index) };
                return Err(self.stop(place, || self.refuse_contradiction(table, place.key)));
            }
        }
        Ok(Verdict::Run(self.take(case, true)))
    }

    fn renews_on_write(&self, table: KeyId) -> bool {
        matches!(
            self.schema().key(table).lifetime,
            Lifetime::Renewed { .. }
                | Lifetime::By { renew: Some(Renew::Write | Renew::Access), .. }
        )
    }

    /// How much is judged of a call that edits a living row, or makes a new one,
    /// once its values are: nothing if its lifetime has to be seen to as well.
    fn judged_edit(&self, place: Place<'_>, row: Option<&dyn Row>) -> Judged {
        let traits = self.traits(place.table);
        if traits.source.is_some() {
            return Judged::Nothing;
        }
        let has_deadline = row.map(|row| row.deadline().is_some());
        let keeps_its_lifetime = match &self.schema().key(place.table).lifetime {
            Lifetime::Free => true,
            Lifetime::Forever => has_deadline != Some(true),
            Lifetime::Within { .. }
            | Lifetime::Window { .. }
            | Lifetime::Given { .. }
            | Lifetime::By {
                subject: Subject::Placeholder(_),
                renew: None | Some(Renew::Never),
                ..
            } => has_deadline == Some(true),
            Lifetime::Renewed { .. }
            | Lifetime::By { .. }
            | Lifetime::Until { .. }
            | Lifetime::With { .. } => false,
        };
        match keeps_its_lifetime {
            false => Judged::Nothing,
            true if traits.leads() => Judged::Rows,
            true => Judged::All,
        }
    }
}
