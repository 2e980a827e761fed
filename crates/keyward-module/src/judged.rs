//! `keyward.X`: a command under the rule book.
//!
//! Owns the host of the book that the server is: X runs by the server's own Call with the caller's
//! rights, follow-ups run without, and all of it is one unit for replicas and the append-only
//! file. What has ended by itself is followed before the next command is judged, and at the latest
//! at the end of the unit in which it ended.

use keyward_commands::{Command, CommandId, WireError, args, resolve};
use keyward_resp::Args;
use keyward_rules::host::{
    self, Capture, FollowUpFailed, Outcome, Ran, RuleHost, Stored, Value, policy,
};
use keyward_rules::{Cause, Deed, Refusal, Row, RowType, RuleBook};

use crate::api::{Argv, Ctx, Gone, Key, Kind, Loudness, Reply, Run, log_anywhere};
use crate::cluster;
use crate::entries::Keyward;
use crate::figures::{Remembered, Told};
use crate::guard;
use crate::live::{Live, each_element, is_over, row_type};
use crate::routes::{Route, key_bits, original};
use crate::state::{Ended, State};

/// The server as a host of the book, for one command.
struct Served<'c, 'a> {
    ctx: Ctx<'c>,
    state: &'a State,
    book: &'a RuleBook,
    /// The client's own command, and its arguments as the server has them.
    own: Option<(Args<'a>, Argv<'a>)>,
}

impl<'c> RuleHost for Served<'c, '_> {
    type Reply = Reply<'c>;
    type Sight<'h>
        = Live<'h>
    where
        Self: 'h;

    fn sight(&self) -> Live<'_> {
        Live::new(self.ctx, self.book)
    }

    fn row<'s>(sight: &'s Live<'_>, key: &[u8]) -> Option<&'s dyn Row> {
        sight.find(key)
    }

    fn run(&mut self, args: Args<'_>) -> (Reply<'c>, Ran) {
        let reply = match self.own {
            Some((own, argv)) if std::ptr::eq(own.at(0), args.at(0)) => {
                self.ctx.call_named(Run::Client, own.at(0), argv.from(1))
            }
            // What stands in its place needs the rights of the command itself: without them the
            // server says so.
            Some((own, argv)) if !self.ctx.may_run(own.at(0), argv.from(1)) => {
                self.ctx.call_named(Run::Client, own.at(0), argv.from(1))
            }
            _ => self.ctx.call(Run::Own, args.iter()),
        };
        let ran = match reply.integer() {
            _ if reply.is_error() => Ran::Failed,
            Some(1) => Ran::One,
            _ => Ran::Else,
        };
        (reply, ran)
    }

    fn follow_up(&mut self, args: Args<'_>) -> Result<(), FollowUpFailed> {
        let reply = self.ctx.call(Run::Own, args.iter());
        if self.state.is_planning()
            && let Ok(command) = resolve(args)
        {
            let keys = command.keys_in(args).map(|key| args.at(key.index));
            keys.for_each(|key| self.state.note_changed(self.ctx.db(), key));
        }
        self.state.figures.follow_ups.add();
        if !reply.is_error() {
            return Ok(());
        }
        self.state.figures.follow_ups_failed.add();
        Err(FollowUpFailed { error: reply.bytes().unwrap_or(b"it did not run").to_vec() })
    }

    fn payload(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let words: [&[u8]; 2] = [b"DUMP", key];
        self.ctx.call(Run::Read, words.into_iter()).bytes().map(<[u8]>::to_vec)
    }

    fn warn(&mut self, refusal: &Refusal) {
        tell(self.state, self.ctx.db(), refusal, Told::Warned);
    }

    fn would_refuse(&mut self, refusal: &Refusal) {
        tell(self.state, self.ctx.db(), refusal, Told::Observed);
    }

    fn would_do(&mut self, follow_up: Args<'_>) {
        let table = follow_up.get(1).and_then(|key| self.book.table_of(key));
        let own = table.and_then(|table| self.state.figures.table(self.ctx.db(), table));
        let Some(own) = own else { return };
        match Deed::of(follow_up) {
            Deed::Dated => own.would_date.add(),
            Deed::Derived => own.would_derive.add(),
            Deed::Removed => own.would_remove.add(),
            Deed::Trimmed => own.would_trim.add(),
        }
    }

    fn undo_failed(&mut self, key: &[u8], error: &[u8]) {
        self.state.figures.undo_failed.add();
        let (key, error) = (key.escape_ascii(), error.escape_ascii());
        let text = format!("a refused command could not be undone at {key}: {error}");
        self.ctx.log(Loudness::Warning, &text);
    }
}

/// Counts and remembers what breaks the schema.
pub(crate) fn tell(state: &State, db: usize, refusal: &Refusal, told: Told) {
    let figures = &state.figures;
    let all = match told {
        Told::Refused => &figures.refused,
        Told::Warned => &figures.warned,
        Told::Observed => &figures.observed,
    };
    all.add();
    if let Some(own) = refusal.table().and_then(|table| figures.table(db, table)) {
        match told {
            Told::Refused => own.refused.add(),
            Told::Warned => own.warned.add(),
            Told::Observed => own.would_refuse.add(),
        }
    }
    let line = refusal.text_for(|_| false).to_owned();
    figures.remember(Remembered { at_ms: Ctx::now_ms(), db, told, line });
}

/// How a command comes to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A client sent it.
    First,
    /// What its client waited for may be there.
    Woken,
}

/// Runs `keyward.X`; whether its client is sent a reply, rather than to wait.
pub(crate) fn run(ctx: Ctx<'_>, state: &State, argv: Argv<'_>, turn: Turn) -> bool {
    let call = original(argv.iter());
    let args = call.args();
    let Some(route) = state.routes.get(args.at(0)) else {
        ctx.send_error("ERR unknown command");
        return true;
    };
    if ctx.asks_keys() {
        for (index, flags) in route.keys(args).unwrap_or_default() {
            ctx.tell_key(index, key_bits(flags));
        }
        return true;
    }
    guard::decide(ctx, state);
    if state.is_cluster && ctx.imports_slot() {
        // It was judged where it comes from, with all that follows.
        ctx.send_reply(&ctx.call_named(Run::Own, args.at(0), argv.from(1)));
        note_changed(ctx, state, route, args);
        return true;
    }
    let command = match route.command.map(|_| resolve(args)) {
        None => None,
        Some(Ok(command)) => Some(command),
        Some(Err(error)) => {
            send_wire_error(ctx, &error);
            return true;
        }
    };
    let book = state.book(ctx.db());
    let across = command.and_then(|command| refused_across(ctx, state, command, args));
    let of_fields = || book.as_ref().and_then(|book| refused_field_lifetime(book, args));
    if let Some(text) = across.or_else(of_fields) {
        state.figures.refused.add();
        ctx.send_error(&text);
        return true;
    }
    let hindrance = book.as_ref().filter(|_| state.is_cluster);
    if let Some(error) = hindrance.and_then(|book| cluster::hindrance(ctx, book, route, args)) {
        ctx.send_error(&error);
        return true;
    }
    let outcome = match book {
        None => Outcome::Replied(ctx.call_named(Run::Client, args.at(0), argv.from(1))),
        Some(book) => judge(ctx, state, &book, (route, command), (args, argv)),
    };
    note_changed(ctx, state, route, args);
    let call = Call { state, route, command, args };
    if let Outcome::Replied(reply) = &outcome
        && reply.is_null()
        && let Some(timeout_ms) = call.patience_ms()
        && !(turn == Turn::First && ctx.denies_waiting())
    {
        if turn == Turn::First {
            let keys = route.keys(args).unwrap_or_default();
            let keys: Vec<&[u8]> = keys.iter().map(|(index, _)| args.at(*index)).collect();
            ctx.wait_for::<Keyward>(&keys, timeout_ms);
        }
        return false;
    }
    call.conclude(ctx, outcome);
    true
}

/// Has the plan look at the keys of a call again.
fn note_changed(ctx: Ctx<'_>, state: &State, route: &Route, args: Args<'_>) {
    if state.is_planning() {
        let keys = route.keys(args).unwrap_or_default();
        let keys = keys.iter().filter_map(|(index, _)| args.get(*index));
        keys.for_each(|key| state.note_changed(ctx.db(), key));
    }
}

/// Takes a call through the book of its database.
fn judge<'c>(
    ctx: Ctx<'c>,
    state: &State,
    book: &RuleBook,
    (route, command): (&Route, Option<&'static Command>),
    (args, argv): (Args<'_>, Argv<'_>),
) -> Outcome<Reply<'c>> {
    finish_due(ctx, state, book, route, args);
    let mut host = Served { ctx, state, book, own: Some((args, argv)) };
    state.figures.judged.add();
    match command {
        Some(command) => host::run(&mut host, book, command, args),
        None => match route.keys(args) {
            Some(keys) => {
                let keys: Vec<&[u8]> = keys.iter().map(|(index, _)| args.at(*index)).collect();
                host::run_unknown(&mut host, book, args, &keys)
            }
            None => {
                let name = String::from_utf8_lossy(args.at(0)).to_uppercase();
                let error = format!("{name} cannot be judged: its keys cannot be told");
                Outcome::Failed(FollowUpFailed { error: error.into_bytes() })
            }
        },
    }
}

/// A call of `keyward.X`.
struct Call<'a> {
    state: &'a State,
    route: &'a Route,
    command: Option<&'static Command>,
    args: Args<'a>,
}

impl Call<'_> {
    /// How long its client waits where there is nothing for it, zero for ever; `None` if it does
    /// not.
    fn patience_ms(&self) -> Option<i64> {
        use CommandId::{BLMPop, BZMPop, XReadGroup};
        let command = self.command.filter(|_| self.route.may_block)?;
        let timeout = match command.id {
            XReadGroup => {
                let words = self.args.iter().take_while(|word| !args::is(word, "STREAMS"));
                let block = words.clone().position(|word| args::is(word, "BLOCK"))?;
                return args::integer(self.args.get(block + 1)?).ok();
            }
            BLMPop | BZMPop => self.args.get(1),
            _ => self.args.get(self.args.len() - 1),
        };
        i64::try_from(args::timeout_ms(timeout?).ok()?).ok()
    }

    fn count_writes(&self, db: usize) {
        let Some(book) = self.state.book(db) else { return };
        for (index, _) in self.route.keys(self.args).unwrap_or_default() {
            let table = self.args.get(index).and_then(|key| book.table_of(key));
            if let Some(figures) = table.and_then(|table| self.state.figures.table(db, table)) {
                figures.writes.add();
            }
        }
    }

    /// Sends its client what became of it.
    fn conclude(&self, ctx: Ctx<'_>, outcome: Outcome<Reply<'_>>) {
        match outcome {
            Outcome::Replied(reply) => {
                if !reply.is_error() {
                    self.count_writes(ctx.db());
                }
                ctx.send_reply(&reply);
            }
            Outcome::Integer(number) => ctx.send_integer(number),
            Outcome::Bulk(bytes) => {
                self.count_writes(ctx.db());
                ctx.send_bytes(&bytes);
            }
            Outcome::Refused(refusal) => {
                // Redis's own error comes first, where a look at the row tells it.
                if let Some(error) = own_error(ctx, self.command, self.args) {
                    return ctx.send_error(error);
                }
                tell(self.state, ctx.db(), &refusal, Told::Refused);
                ctx.send_error(refusal.text_for(|key| ctx.may_read(key)));
            }
            Outcome::Failed(FollowUpFailed { error }) => {
                let error = error.escape_ascii();
                let text = format!("a follow-up failed, and its command is undone: {error}");
                ctx.log(Loudness::Warning, &text);
                ctx.send_error(&format!("SCHEMA what follows from the command failed: {error}"));
            }
        }
    }
}

fn send_wire_error(ctx: Ctx<'_>, error: &WireError) {
    ctx.send_error(&String::from_utf8_lossy(&error.text()));
}

/// Why a command that reaches other databases is refused: what comes into a governed one from
/// elsewhere is not judged here, and none can be swapped.
fn refused_across(
    ctx: Ctx<'_>,
    state: &State,
    command: &Command,
    args: Args<'_>,
) -> Option<String> {
    if command.id == CommandId::SwapDb {
        return policy::swapped(args).find_map(|db| {
            let book = state.book(db)?;
            Some(policy::swap_refusal(db, &book.schema().keyspace.name))
        });
    }
    let to = policy::relocation(command, args)?.db?;
    let to: usize = std::str::from_utf8(to).ok()?.parse().ok()?;
    if to == ctx.db() {
        return None;
    }
    let book = state.book(to)?;
    let (name, keyspace) = (command.name.to_uppercase(), &book.schema().keyspace.name);
    Some(format!("SCHEMA {name} into database {to}, the keyspace {keyspace}, is not judged here"))
}

/// Why a command is refused that gives fields of a governed hash lifetimes of their own: what
/// follows from their end would not be carried out.
fn refused_field_lifetime(book: &RuleBook, args: Args<'_>) -> Option<String> {
    let is_named = |names: &[&str]| names.iter().any(|name| args::is(args.at(0), name));
    let gives = match () {
        () if is_named(&["HEXPIRE", "HPEXPIRE", "HEXPIREAT", "HPEXPIREAT"]) => true,
        () if is_named(&["HSETEX", "HGETEX"]) => {
            let options = args.iter().take_while(|word| !args::is(word, "FIELDS"));
            let names_time = |word: &[u8]| {
                ["EX", "PX", "EXAT", "PXAT"].iter().any(|option| args::is(word, option))
            };
            options.skip(2).any(names_time)
        }
        () => false,
    };
    let key = args.get(1).filter(|_| gives)?;
    let pattern = book.schema().key(book.table_of(key)?).pattern.text();
    let key = key.escape_ascii();
    Some(format!("SCHEMA {key}: fields of {pattern} have no lifetime of their own here"))
}

/// Redis's own error, if the first key of a command is of another type than it is for, or is not
/// there where it has to be.
fn own_error(ctx: Ctx<'_>, command: Option<&Command>, args: Args<'_>) -> Option<&'static str> {
    use CommandId::{LSet, MSet, MSetNx, PSetEx, Rename, RenameNx, Set, SetEx, SetNx};
    use keyward_commands::Group;
    let command = command?;
    let key = command.keys_in(args).next()?;
    let Some(row) = ctx.look(args.at(key.index)) else {
        return matches!(command.id, Rename | RenameNx | LSet).then_some("ERR no such key");
    };
    let wanted = match command.group {
        _ if matches!(command.id, Set | SetEx | PSetEx | SetNx | MSet | MSetNx) => return None,
        Group::String | Group::Bitmap | Group::HyperLogLog => Kind::Text,
        Group::List => Kind::List,
        Group::Set => Kind::Set,
        Group::SortedSet | Group::Geo => Kind::Zset,
        Group::Hash => Kind::Hash,
        Group::Stream => Kind::Stream,
        _ => return None,
    };
    (row.kind() != wanted)
        .then_some("WRONGTYPE Operation against a key holding the wrong kind of value")
}

/// Has the rows that a command names end if their time is over, with all that follows.
fn finish_due(ctx: Ctx<'_>, state: &State, book: &RuleBook, route: &Route, args: Args<'_>) {
    follow_ended(ctx, state);
    let now_ms = Ctx::now_ms();
    for (index, _) in route.keys(args).unwrap_or_default() {
        let Some(key) = args.get(index) else { continue };
        let leads = book.table_of(key).is_some_and(|table| book.traits(table).leads());
        let deadline = if leads { ctx.look(key).and_then(|key| key.deadline()) } else { None };
        if is_over(deadline, now_ms) {
            ctx.end_if_due(key);
        }
    }
    follow_ended(ctx, state);
}

/// A row goes by itself: if others depend on it, what it was is kept until they have followed.
/// Whether a job has to see to that.
pub(crate) fn note_gone(state: &State, key: &Key<'_>, gone: Gone) -> bool {
    if state.is_replica() {
        // Its primary sends what follows.
        return false;
    }
    let db = key.db();
    let Some(book) = state.book(db) else { return false };
    let Some(table) = book.table_of(key.name()) else { return false };
    if let Some(figures) = state.figures.table(db, table) {
        match gone {
            Gone::Expired => figures.expired.add(),
            Gone::Evicted => figures.evicted.add(),
        }
    }
    if !book.traits(table).leads() {
        return false;
    }
    let row = stored(key);
    state.push_ended(Ended { db, key: key.name().to_vec(), row, gone })
}

/// A copy of an opened key. Entries of a stream are left out: nothing is derived from them.
fn stored(key: &Key<'_>) -> Stored {
    let mut value = match row_type(key.kind()) {
        RowType::String => Value::Text(key.text().unwrap_or_default()),
        RowType::List => Value::List(Default::default()),
        RowType::Set => Value::Set(Default::default()),
        RowType::Zset => Value::Zset(Default::default()),
        RowType::Hash => Value::Hash(Default::default()),
        RowType::Stream => Value::Stream(Vec::new()),
    };
    each_element(key, &mut |element| value.add(element));
    Stored { value, deadline: key.deadline() }
}

/// Carries out what follows from rows that have gone by themselves.
pub(crate) fn follow_ended(ctx: Ctx<'_>, state: &State) {
    loop {
        let ended = state.take_ended();
        if ended.is_empty() {
            return;
        }
        for Ended { db, key, row, gone } in ended {
            let Some(book) = state.book(db) else { continue };
            let selected = ctx.db();
            if selected != db && !ctx.select(db) {
                continue;
            }
            let cause = if gone == Gone::Expired { Cause::Expiry } else { Cause::Eviction };
            let name = String::from_utf8_lossy(&key).into_owned();
            let mut host = Served { ctx, state, book: &book, own: None };
            let done = host::follow_ended(&mut host, &book, &[Capture::ended(key, row)], cause);
            if let Err(FollowUpFailed { error }) = done {
                let error = error.escape_ascii();
                log_anywhere(&format!("what follows from the end of {name} failed: {error}"));
            }
            if selected != db {
                ctx.select(selected);
            }
        }
    }
}
