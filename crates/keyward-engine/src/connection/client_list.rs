//! CLIENT LIST and CLIENT INFO: one line per client.

use crate::context::{Ctx, Outcome};
use crate::session::{ClientId, Session};
use keyward_commands::WireError;
use keyward_commands::args;
use keyward_resp::Protocol;
use std::fmt::Write as _;

/// What kind of client, as LIST and KILL ask for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Master,
    Replica,
    PubSub,
}

pub(super) fn parse_kind(word: &[u8]) -> Result<Kind, WireError> {
    let kinds = [
        ("normal", Kind::Normal),
        ("slave", Kind::Replica),
        ("replica", Kind::Replica),
        ("pubsub", Kind::PubSub),
        ("master", Kind::Master),
    ];
    let kind = kinds.into_iter().find(|(name, _)| args::is(word, name));
    kind.map(|(_, kind)| kind)
        .ok_or_else(|| WireError::line(&[b"ERR Unknown client type '", word, b"'"]))
}

pub(crate) fn info(ctx: &mut Ctx<'_>) -> Outcome {
    let line = line(ctx, ctx.session);
    ctx.reply.verbatim(*b"txt", line.as_bytes());
    Ok(())
}

pub(crate) fn list(ctx: &mut Ctx<'_>) -> Outcome {
    let mut lines = String::new();
    match (ctx.args.len(), ctx.args.get(2)) {
        (2, _) => all_lines(ctx, &mut lines),
        (4, Some(word)) if args::is(word, "TYPE") => {
            if parse_kind(ctx.args.at(3))? == Kind::Normal {
                all_lines(ctx, &mut lines);
            }
        }
        (4.., Some(word)) if args::is(word, "ID") => {
            for argument in ctx.args.from(3).iter() {
                let id = args::integer_or(argument, WireError::Err("Invalid client ID"))?;
                add_line(ctx, ClientId(id as u64), &mut lines);
            }
        }
        _ => return Err(WireError::Syntax),
    }
    ctx.reply.verbatim(*b"txt", lines.as_bytes());
    Ok(())
}

fn all_lines(ctx: &Ctx<'_>, lines: &mut String) {
    for id in ctx.shared.sessions.ids() {
        add_line(ctx, id, lines);
    }
}

fn add_line(ctx: &Ctx<'_>, id: ClientId, lines: &mut String) {
    let session =
        if id == ctx.session.id { Some(&*ctx.session) } else { ctx.shared.sessions.get(id) };
    if let Some(session) = session {
        lines.push_str(&line(ctx, session));
    }
}

/// A client in the words of Redis 7.0.
fn line(ctx: &Ctx<'_>, session: &Session) -> String {
    let connection = ctx.host.connection(session.id);
    let now_s = ctx.keys.now_ms() / 1000;
    let queued = session.transaction.as_ref().map_or(-1, |t| t.queue.len() as i64);
    let name = session.name.as_deref().unwrap_or_default();
    let mut line = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        line,
        "id={} addr={} laddr={} fd={} name={} age={} idle={} flags={} db={} sub=0 psub=0 ssub=0 \
         multi={} qbuf={} qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl={} oll=0 omem=0 \
         tot-mem=0 events=r cmd={} user=default redir=-1 resp={}",
        session.id.0,
        connection.address,
        connection.local_address,
        connection.descriptor,
        String::from_utf8_lossy(name),
        now_s - session.connected_ms / 1000,
        now_s - session.active_ms / 1000,
        flags(ctx, session, connection.is_unix),
        session.db,
        queued,
        connection.input_bytes,
        connection.output_bytes,
        session.last_command.map_or("NULL", |command| command.name),
        if session.protocol == Protocol::Resp3 { 3 } else { 2 },
    );
    line
}

fn flags(ctx: &Ctx<'_>, session: &Session, is_unix: bool) -> String {
    let flags = [
        ('x', session.transaction.is_some()),
        ('b', session.blocked.is_some()),
        ('d', ctx.keys.changes.watches.is_broken(session.id)),
        ('c', session.is_closing),
        ('U', is_unix),
        ('e', session.no_evict),
    ];
    let set: String = flags.into_iter().filter(|(_, is_set)| *is_set).map(|(f, _)| f).collect();
    if set.is_empty() { "N".to_owned() } else { set }
}
