//! CLIENT LIST and CLIENT INFO: one line per client.

use super::client_filter::Filter;
use crate::commands::tracking::shown_redirect;
use crate::engine::context::{Ctx, Onlooker, Outcome};
use crate::engine::shared::Shared;
use crate::sessions::pubsub::Kind as Subscription;
use crate::sessions::session::{Library, Session};
use crate::sessions::tracking::Policy;
use crate::sessions::transaction::Executing;
use keyward_commands::{WireError, args};
use keyward_resp::{Args, Protocol};
use keyward_store::keyspace::Keyspace;
use keyward_store::keyspace::client_id::ClientId;
use std::fmt::Write as _;

/// What kind of client, as LIST and KILL ask for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Master,
    Replica,
    PubSub,
}

impl Kind {
    pub(super) fn of(session: &Session) -> Kind {
        match session.subscriptions.is_empty() {
            _ if session.is_replica => Kind::Replica,
            _ if session.is_primary => Kind::Master,
            true => Kind::Normal,
            false => Kind::PubSub,
        }
    }
}

pub(super) fn parse_kind(word: &[u8]) -> Result<Kind, WireError> {
    let kinds = [
        ("normal", Kind::Normal),
        ("slave", Kind::Replica),
        ("replica", Kind::Replica),
        ("pubsub", Kind::PubSub),
        ("master", Kind::Master),
        ("primary", Kind::Master),
    ];
    let kind = kinds.into_iter().find(|(name, _)| args::is(word, name));
    kind.map(|(_, kind)| kind)
        .ok_or_else(|| WireError::line(&[b"ERR Unknown client type '", word, b"'"]))
}

pub(crate) fn info(ctx: &mut Ctx<'_>) -> Outcome {
    let line = line(&onlooker(ctx), ctx.session);
    ctx.reply.verbatim(*b"txt", line.as_bytes());
    Ok(())
}

pub(crate) fn list(ctx: &mut Ctx<'_>) -> Outcome {
    let mut lines = String::new();
    match (ctx.args.len(), ctx.args.get(2)) {
        (2, _) => add_lines(ctx, None, &mut lines),
        (4, Some(word)) if args::is(word, "TYPE") => {
            add_lines(ctx, Some(parse_kind(ctx.args.at(3))?), &mut lines);
        }
        (4.., Some(word)) if args::is(word, "ID") && is_of_redis(ctx) => {
            for argument in ctx.args.from(3).iter() {
                let id = args::integer_or(argument, WireError::Err("Invalid client ID"))?;
                if let Some(session) = session(ctx, ClientId(id as u64)) {
                    lines.push_str(&line(&onlooker(ctx), session));
                }
            }
        }
        (3, _) => return Err(WireError::Syntax),
        _ => {
            let filter = Filter::parse(ctx, 2).map_err(|error| match error {
                // What Redis 7.0 says of a word that is no id.
                WireError::Syntax if args::is(ctx.args.at(2), "ID") => {
                    WireError::Err("Invalid client ID")
                }
                other => other,
            })?;
            for id in ctx.shared.sessions.ids() {
                if let Some(session) = session(ctx, id).filter(|_| filter.includes(ctx, id)) {
                    lines.push_str(&line(&onlooker(ctx), session));
                }
            }
        }
    }
    ctx.reply.verbatim(*b"txt", lines.as_bytes());
    Ok(())
}

/// Whether a list of ids is one as Redis 7.0 knows it: nothing behind it but ids, or something
/// wrong from the first on.
fn is_of_redis(ctx: &Ctx<'_>) -> bool {
    let is_number = |argument: &[u8]| args::integer(argument).is_ok();
    let ids = ctx.args.from(3);
    !is_number(ids.at(0)) || ids.iter().all(is_number)
}

/// Adds the lines of all clients, or of those of a kind.
fn add_lines(ctx: &Ctx<'_>, kind: Option<Kind>, lines: &mut String) {
    let sessions = ctx.shared.sessions.ids().into_iter().filter_map(|id| session(ctx, id));
    for session in sessions.filter(|s| kind.is_none_or(|kind| Kind::of(s) == kind)) {
        lines.push_str(&line(&onlooker(ctx), session));
    }
}

/// Who looks, by the running command.
fn onlooker<'c>(ctx: &'c Ctx<'_>) -> Onlooker<'c> {
    let running = (ctx.session.id, ctx.args);
    Onlooker { keys: ctx.keys, shared: ctx.shared, host: ctx.host, running }
}

/// A client, the one whose command runs included.
pub(crate) fn session<'c>(ctx: &'c Ctx<'_>, id: ClientId) -> Option<&'c Session> {
    if id == ctx.session.id { Some(&*ctx.session) } else { ctx.shared.sessions.get(id) }
}

/// The bytes of arguments.
fn args_bytes(args: Args<'_>) -> usize {
    args.iter().map(<[u8]>::len).sum()
}

/// The bytes of the command a client is in the middle of.
fn running_bytes(onlooker: &Onlooker<'_>, session: &Session) -> usize {
    let (own, args) = onlooker.running;
    match &session.blocked {
        _ if session.id == own => args_bytes(args),
        Some(blocked) => args_bytes(blocked.args.args()),
        None => 0,
    }
}

/// A client in the words of Redis 7.0. Replies that wait are in a list of buffers; there is
/// no fixed buffer besides.
pub(crate) fn line(onlooker: &Onlooker<'_>, session: &Session) -> String {
    let Onlooker { keys, shared, host, running: (own, _) } = onlooker;
    let connection = host.connection(session.id);
    let now_s = keys.now_ms() / 1000;
    let queued = session.transaction.as_ref().map(|t| (t.queue.len(), t.queued_bytes));
    let queued = queued.or_else(|| executed(shared, session).map(|it| (it.count, it.bytes)));
    let queued_bytes = queued.map_or(0, |(_, bytes)| bytes);
    let name = session.name.as_deref().unwrap_or_default();
    let running = running_bytes(onlooker, session);
    let output = connection.output_buffer_bytes;
    let arguments = running + connection.parsed_bytes;
    let own = if session.id == *own { running } else { 0 };
    let total = shared.client_bytes(keys, session) + connection.bytes + own;
    let user = session
        .user
        .as_ref()
        .map_or("(superuser)".into(), |user| String::from_utf8_lossy(&user.name).into_owned());
    let mut line = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        line,
        "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db={} sub={} psub={} \
         ssub={} multi={} qbuf={} qbuf-free={} argv-mem={arguments} multi-mem={queued_bytes} rbs=0 \
         rbp=0 obl=0 oll={} omem={output} tot-mem={total} events={} cmd={} user={user} redir={} \
         resp={}",
        session.id.0,
        connection.address,
        connection.local_address,
        connection.descriptor,
        String::from_utf8_lossy(name),
        now_s - session.connected_ms / 1000,
        now_s - session.active_ms / 1000,
        flags(keys, shared, session, connection.is_unix),
        session.db,
        session.subscriptions.count(Subscription::Channel),
        session.subscriptions.count(Subscription::Pattern),
        session.subscriptions.count(Subscription::Shard),
        queued.map_or(-1, |(count, _)| count as i64),
        connection.input_bytes,
        connection.input_free_bytes,
        connection.output_buffers,
        if output > 0 { "rw" } else { "r" },
        session.last_command.map_or("NULL", |command| command.name),
        shown_redirect(session.tracker.as_deref()),
        if session.protocol == Protocol::Resp3 { 3 } else { 2 },
    );
    add_library(&mut line, &session.library);
    line
}

/// Adds what a client told of its library, as Redis 7.2 shows it. The line of one that told
/// nothing is that of Redis 7.0.
fn add_library(line: &mut String, library: &Library) {
    if library.name.is_none() && library.version.is_none() {
        return;
    }
    let shown = |text: &Option<Box<[u8]>>| {
        String::from_utf8_lossy(text.as_deref().unwrap_or_default()).into_owned()
    };
    let end = line.trim_end().len();
    line.truncate(end);
    // Writing to a string cannot fail.
    let _ =
        writeln!(line, " lib-name={} lib-ver={}", shown(&library.name), shown(&library.version));
}

/// The transaction of a client that is being carried out.
fn executed(shared: &Shared, session: &Session) -> Option<Executing> {
    shared.executing.filter(|it| it.client == session.id)
}

pub(super) fn flags(keys: &Keyspace, shared: &Shared, session: &Session, is_unix: bool) -> String {
    let tracker = session.tracker.as_deref();
    let flags = [
        ('O', session.is_monitor),
        ('S', session.is_replica),
        ('M', session.is_primary),
        ('P', !session.subscriptions.is_empty()),
        ('x', session.transaction.is_some() || executed(shared, session).is_some()),
        ('b', session.is_waiting()),
        ('t', tracker.is_some()),
        ('R', tracker.is_some_and(|tracker| tracker.is_redirect_broken)),
        ('B', tracker.is_some_and(|tracker| tracker.policy == Policy::Broadcast)),
        ('d', keys.changes.watches.is_broken(session.id)),
        ('c', session.is_closing),
        ('U', is_unix),
        ('e', session.no_evict),
        ('T', session.no_touch),
    ];
    let set: String = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(f, _)| f).collect();
    if set.is_empty() { "N".to_owned() } else { set }
}
