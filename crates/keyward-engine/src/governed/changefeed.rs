//! The changefeed: changes of rows on their way to tables of PostgreSQL (transactional outbox).
//!
//! Owns what the book does not know of it: how large it may grow, where a new history begins, and
//! what would take rows away from under it. The entries themselves are follow-ups of the book, in
//! the unit that changes a row, of a stream that is data like any other: it is in the log, in
//! snapshots and on replicas.
//!
//! Invariants: nothing is dropped where it is full, commands that would add to it are refused,
//! and rows that end by themselves go on; an entry's id is never given twice in a history. What a
//! server lost at an unclean end may be stored already, so that every start and promotion begins
//! a history (an epoch) and tells behind which entry; so does a change of what goes to tables,
//! since nothing was told of rows before. Histories are told apart by chance of the host, not by
//! clocks.
//! Not here: what entries hold (`keyward-rules`), who stores them (`keyward-sync`).

use super::failures;
use super::feed_history::History;
use super::{Start, follow_up};
use crate::engine::context::{Ctx, Outcome};
use crate::engine::shared::Shared;
use crate::host::Host;
use crate::sessions::session::Session;
use keyward_commands::{Command, CommandId, WireError};
use keyward_lua::LogLevel;
use keyward_resp::{ArgBuf, Args};
use keyward_rules::FeedMarks;
use keyward_schema::{Key, Schema, SinkKind, changefeed_key};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;
use keyward_store::tables::table::Table;
use keyward_store::values::stream::{Stream, StreamId};
use keyward_store::values::value::{Collection, Value};

/// Whether a follow-up adds an entry to a changefeed: nothing else follows that adds to a
/// stream.
fn is_entry(args: Args<'_>) -> bool {
    args.at(0) == b"XADD"
}

/// Refuses a command whose changes a changefeed has no room for.
pub(super) fn check_room(
    keys: &Keyspace,
    shared: &Shared,
    follow_ups: &[(usize, ArgBuf)],
) -> Outcome {
    let mut entries = follow_ups.iter().filter(|(_, command)| is_entry(command.args()));
    match entries.any(|(db, command)| is_full(keys, shared, *db, command.args().at(1))) {
        true => Err(refusal()),
        false => Ok(()),
    }
}

/// Whether a changefeed takes more than it may.
fn is_full(keys: &Keyspace, shared: &Shared, db: usize, feed: &[u8]) -> bool {
    let bytes = keys.table(keys.key_in(db, feed)).heap_bytes() as u64;
    bytes > shared.tunables.changefeed_bytes_max
}

/// Whether any changefeed of a database does. It is asked first: that takes less than to look for
/// keys and scripts.
fn has_full(keys: &Keyspace, shared: &Shared, db: usize) -> bool {
    let book = keys.book_of(db);
    book.is_some_and(|book| book.changefeeds().any(|(feed, _)| is_full(keys, shared, db, feed)))
}

fn refusal() -> WireError {
    WireError::line(&[b"OOM command not allowed when a changefeed > 'changefeed-max-memory'."])
}

/// Refuses a part of a unit that has not begun if it may add to a changefeed that is full: what
/// has begun is carried out. Where the keys of a script are not said it may add to any.
pub(crate) fn check_part(
    keys: &Keyspace,
    shared: &Shared,
    db: usize,
    (command, args): (&Command, Args<'_>),
) -> Outcome {
    let Some(book) = keys.book_of(db).filter(|_| has_full(keys, shared, db)) else {
        return Ok(());
    };
    let is_concerned = match shared.scripts.may_need_memory(command.id, args) {
        false => command.keys_in(args).any(|key| {
            let table = book.table_of(args.at(key.index));
            let feed = table.and_then(|table| book.may_tell(command, table));
            feed.is_some_and(|feed| is_full(keys, shared, db, feed))
        }),
        true => {
            let mut named = command.keys_in(args);
            let is_full = |feed: &[u8]| is_full(keys, shared, db, feed);
            let may_add = |key: &[u8]| {
                let feed = book.table_of(key).and_then(|table| book.may_be_told(table));
                feed.is_some_and(is_full)
            };
            match named.len() {
                0 => book.changefeeds().any(|(feed, _)| is_full(feed)),
                _ => named.any(|key| may_add(args.at(key.index))),
            }
        }
    };
    if is_concerned { Err(refusal()) } else { Ok(()) }
}

/// The same of a transaction that is to be carried out, and of a script that a client calls.
pub(crate) fn check_unit(
    keys: &Keyspace,
    shared: &Shared,
    session: &Session,
    (command, args): (&Command, Args<'_>),
) -> Outcome {
    let Some(transaction) = session.transaction.as_ref().filter(|_| command.id == CommandId::Exec)
    else {
        let must_look =
            has_full(keys, shared, session.db) && shared.scripts.needs_memory(command.id, args);
        return match must_look {
            true => check_part(keys, shared, session.db, (command, args)),
            false => Ok(()),
        };
    };
    let mut db = session.db;
    for (queued, args) in &transaction.queue {
        match queued.id {
            CommandId::Select => db = super::selected(keys, args.args()).unwrap_or(db),
            _ => check_part(keys, shared, db, (queued, args.args()))?,
        }
    }
    Ok(())
}

/// From so many entries of one time on the next unit has another.
const TIME_ENTRIES_MAX: u64 = 1_000;

/// The time of an entry that a unit adds: the clock's. Where the clock was set back a changefeed
/// stays at its last time; whoever stores entries takes those of one time together, so that units
/// go on to the next time when it has many.
pub(crate) fn time_of_entry(shared: &mut Shared, unit: u64, last: StreamId, now_ms: u64) -> u64 {
    let is_first = std::mem::replace(&mut shared.told_unit, unit) != unit;
    match is_first && last.ms >= now_ms && last.seq >= TIME_ENTRIES_MAX - 1 {
        true => last.ms.saturating_add(1),
        false => now_ms,
    }
}

/// How many histories a changefeed remembers at least.
const HISTORIES_KEPT: usize = 64;
/// The most histories that it remembers, as long as entries of them are there: who has stored
/// nothing for so many starts finds none that it knows.
const HISTORIES_MAX: usize = 1_000;

/// How many of the oldest histories are forgotten, given how many entries were before each and how
/// many were taken away. What is taken away is stored: whoever did that has come to a later history
/// than those of which that holds, and of the next one too.
fn forgotten(past: &[u64], taken_away: u64) -> usize {
    let excess = |most: usize| (past.len() + 1).saturating_sub(most);
    let left = past.iter().skip(1).take_while(|before| **before < taken_away).count();
    excess(HISTORIES_KEPT).min(left).max(excess(HISTORIES_MAX))
}

/// Before an entry comes what tells of which history it is, if that is a new one.
pub(super) fn begin_history(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    (db, args): (usize, Args<'_>),
) -> Outcome {
    if !is_entry(args) {
        return Ok(());
    }
    let feed = args.at(1);
    let Some(marks) = keys.book_of(db).and_then(|book| book.feed_marks(feed)) else {
        return Ok(());
    };
    begin(keys, shared, session, host, (db, feed, marks))
}

/// Whether no history can begin yet.
pub(crate) fn must_wait(keys: &Keyspace, shared: &Shared) -> bool {
    shared.is_loading || keys.is_following() || shared.pause.is_some()
}

/// Begins histories of all changefeeds that are there, or of which rows are: whoever stores
/// them is to know of a start before the next change.
pub(crate) fn begin_histories(keys: &mut Keyspace, shared: &mut Shared, host: &mut dyn Host) {
    if !shared.begins_histories || must_wait(keys, shared) {
        return;
    }
    shared.begins_histories = false;
    let mut session = Session::new(ClientId(0), keys.now_ms(), true);
    let start = Start::recording(keys);
    for db in 0..keys.database_count() {
        let Some(book) = keys.book_of(db).cloned() else { continue };
        for (keyspace, (feed, marks)) in book.changefeeds().enumerate() {
            let is_there = keys.find(keys.key_in(db, feed)).is_some();
            if is_there || has_mirrored(keys, db, book.schema(), keyspace) {
                let at = (db, feed, marks);
                let outcome = begin(keys, shared, &mut session, host, at);
                if let Err(error) = outcome {
                    let subject = "the beginning of a history of a changefeed";
                    failures::note(keys, shared, host, db, subject, &error.text());
                }
            }
        }
        for (feed, marks) in deserted(keys, db, book.schema()) {
            let at = (db, &*feed, marks);
            match begin(keys, shared, &mut session, host, at) {
                Ok(()) => tell_deserted(keys, host, db, &feed),
                Err(error) => {
                    let subject = "the end of the last history of a changefeed";
                    failures::note(keys, shared, host, db, subject, &error.text());
                }
            }
        }
    }
    start.end(keys);
}

/// Whether a keyspace has sinks, and with them a changefeed.
fn has_feed(schema: &Schema, keyspace: usize) -> bool {
    schema.keys.iter().any(|key| key.is_changefeed && key.keyspace == keyspace)
}

/// Changefeeds that a keyspace without sinks has found, and what goes by them from then on: nothing.
/// They are streams that no pattern is for, and whoever stores them has to see that sinks were away.
/// Those that say so already are left out.
fn deserted(keys: &mut Keyspace, db: usize, schema: &Schema) -> Vec<(Vec<u8>, FeedMarks)> {
    let found = schema.keyspaces().enumerate().filter(|(at, _)| !has_feed(schema, *at));
    let found = found.filter_map(|(at, keyspace)| {
        let feed = changefeed_key(&keyspace.name).into_bytes();
        let row = keys.find(keys.key_in(db, &feed))?;
        let groups = stream_of(row.value())?.groups();
        let last = groups.filter_map(|(name, _)| Some((number_of(name)?, name))).max()?.1;
        let mark = schema.sink_mark(at);
        let ending = format!("-{mark:016x}-{mark:016x}");
        let marks = FeedMarks { declared: mark, active: mark };
        (!last.ends_with(ending.as_bytes())).then_some((feed, marks))
    });
    found.collect()
}

/// Says what waits in a changefeed that nobody adds to any longer.
fn tell_deserted(keys: &mut Keyspace, host: &mut dyn Host, db: usize, feed: &[u8]) {
    let row = keys.find(keys.key_in(db, feed));
    let stream = row.as_ref().and_then(|row| stream_of(row.value()));
    let waiting = stream.map_or(0, |stream| stream.facts().length);
    if waiting > 0 {
        let feed = String::from_utf8_lossy(feed);
        let line = format!(
            "db{db}: no key has a sink any longer, and {feed} has {waiting} entries that are not \
             stored yet: keyward sync stores them with the schema before"
        );
        host.log(LogLevel::Warning, line.as_bytes());
    }
}

/// Whether there are rows that a table is to have.
fn has_mirrored(keys: &Keyspace, db: usize, schema: &Schema, keyspace: usize) -> bool {
    keys.database_at(db).tables().iter().skip(1).zip(&schema.keys).any(|(table, key)| {
        let is_mirror = key.sink.as_ref().is_some_and(|sink| sink.kind == SinkKind::Mirror);
        is_mirror && key.keyspace == keyspace && !table.is_empty()
    })
}

/// Begins a history unless the changefeed is in the one that was begun last. A history is a
/// group of the stream: plain data, which trimming leaves. Its name is its number, chance of
/// the host, and what goes where; it has been given what was there before, and says how many that
/// were (entries are numbered so: who stores them notices those that are missing).
fn begin(
    keys: &mut Keyspace,
    shared: &mut Shared,
    session: &mut Session,
    host: &mut dyn Host,
    (db, feed, marks): (usize, &[u8], FeedMarks),
) -> Outcome {
    let known = shared.histories.iter().position(|own| own.db == db && *own.feed == *feed);
    let row = keys.find(keys.key_in(db, feed));
    let stream = row.as_ref().and_then(|row| stream_of(row.value()));
    if let (Some(known), Some(stream)) = (known.map(|at| &shared.histories[at]), stream)
        && known.marks == marks
        && stream.group(&known.group).is_some()
    {
        return Ok(());
    }
    let last = stream.map_or(StreamId::MIN, |stream| stream.facts().last_id);
    let added = stream.map_or(0, |stream| stream.facts().added).to_string();
    let mut past: Vec<(u64, Vec<u8>, u64)> = stream.map_or(Vec::new(), |stream| {
        let groups = stream.groups();
        let past = groups.filter_map(|(name, group)| {
            Some((number_of(name)?, name.to_vec(), group.entries_read.unwrap_or(0)))
        });
        past.collect()
    });
    past.sort();
    let number = past.last().map_or(1, |(number, ..)| number.saturating_add(1));
    let counts: Vec<u64> = past.iter().map(|(.., before)| *before).collect();
    let taken_away = stream.map_or(0, |stream| {
        let facts = stream.facts();
        facts.added.saturating_sub(facts.length)
    });
    let mut chance = [0; 16];
    host.fill_with_secrets(&mut chance)?;
    let FeedMarks { declared, active } = marks;
    let chance = u128::from_be_bytes(chance);
    let group = format!("{number}-{chance:032x}-{declared:016x}-{active:016x}").into_bytes();
    for (_, old, _) in past.iter().take(forgotten(&counts, taken_away)) {
        let destroy: ArgBuf = [b"XGROUP", &b"DESTROY"[..], feed, old].iter().collect();
        follow_up(keys, shared, session, host, db, destroy.args())?;
    }
    let last = last.text();
    let head = [b"XGROUP", &b"CREATE"[..], feed, &group, last.as_bytes(), b"MKSTREAM"];
    let words = head.into_iter().chain([&b"ENTRIESREAD"[..], added.as_bytes()]);
    let create: ArgBuf = words.collect();
    follow_up(keys, shared, session, host, db, create.args())?;
    if let Some(known) = known {
        shared.histories.swap_remove(known);
    }
    let history = History { db, feed: feed.into(), group: group.into(), marks };
    shared.histories.push(history);
    Ok(())
}

/// Counts an entry to the table whose row it tells of.
pub(super) fn count(keys: &mut Keyspace, db: usize, args: Args<'_>) {
    if let Some(key) = args.get(4).filter(|_| is_entry(args)) {
        let table = keys.book_of(db).and_then(|book| book.table_of(key));
        keys.table_stats(db, table).told += 1;
    }
}

/// What waits in a changefeed to be stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// Entries.
    pub(crate) entries: u64,
    /// How long the first of them has waited.
    pub(crate) lag_ms: u64,
}

impl Waiting {
    /// What waits in the table of a key; nothing unless that is a changefeed.
    pub(crate) fn of(table: &Table, key: Option<&Key>, now_ms: i64) -> Waiting {
        let feed = key.filter(|key| key.is_changefeed).and_then(|_| table.iter().next());
        let Some(stream) = feed.as_ref().and_then(|row| stream_of(row.value())) else {
            return Waiting::default();
        };
        let (entries, first) = (stream.facts().length, stream.facts().first_id.ms);
        let now_ms = u64::try_from(now_ms).unwrap_or(0);
        let lag_ms = if entries == 0 { 0 } else { now_ms.saturating_sub(first) };
        Waiting { entries, lag_ms }
    }
}

/// The number of a history, in the order of their beginnings.
fn number_of(group: &[u8]) -> Option<u64> {
    std::str::from_utf8(group).ok()?.split_once('-')?.0.parse().ok()
}

fn stream_of(value: Value<'_>) -> Option<&Stream> {
    match value {
        Value::Object(object) => Stream::of(object),
        _ => None,
    }
}

/// Refuses to empty a database while its changefeed has entries, or rows are there that would
/// have to be in it.
pub(super) fn guard_flush(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.session.is_primary {
        // The primary has done it.
        return Ok(());
    }
    let databases = match ctx.command.id {
        CommandId::FlushAll => 0..ctx.keys.database_count(),
        CommandId::FlushDb => ctx.db..ctx.db + 1,
        _ => return Ok(()),
    };
    for db in databases {
        let Some(book) = ctx.keys.book_of(db).cloned() else { continue };
        let schema = book.schema();
        guard_deserted(ctx.keys, db, schema)?;
        if !book.has_sinks() {
            continue;
        }
        let database = ctx.keys.database_at(db);
        for (index, table) in database.tables().iter().enumerate() {
            let pattern = index.checked_sub(1).and_then(|index| schema.id(index));
            let Some(key) = pattern.map(|id| schema.key(id)) else { continue };
            let holds = match key.is_changefeed {
                // A stream stays when it is empty.
                true => table
                    .iter()
                    .any(|row| stream_of(row.value()).is_some_and(|it| it.facts().length > 0)),
                false => key.sink.is_some() && !table.is_empty(),
            };
            if holds {
                return Err(unflushed(key.pattern.text()));
            }
        }
    }
    Ok(())
}

/// The same where no key has a sink any longer.
fn guard_deserted(keys: &mut Keyspace, db: usize, schema: &Schema) -> Outcome {
    let deserted = schema.keyspaces().enumerate().filter(|(at, _)| !has_feed(schema, *at));
    for (_, keyspace) in deserted {
        let feed = changefeed_key(&keyspace.name);
        let row = keys.find(keys.key_in(db, feed.as_bytes()));
        let stream = row.as_ref().and_then(|row| stream_of(row.value()));
        let has_histories =
            |stream: &&Stream| stream.groups().any(|(name, _)| number_of(name).is_some());
        if stream.filter(has_histories).is_some_and(|stream| stream.facts().length > 0) {
            return Err(unflushed(&feed));
        }
    }
    Ok(())
}

fn unflushed(name: &str) -> WireError {
    let text = format!(
        "SCHEMA {name}: its rows are in a table of PostgreSQL, or on their way there, and are not \
         flushed; delete them by DEL"
    );
    WireError::line(&[text.as_bytes()])
}
