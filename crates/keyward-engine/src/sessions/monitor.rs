//! MONITOR: showing every command to those who watch.
//!
//! Owns the line a command is shown as. Commands of administrators are not shown; a
//! script is shown before the commands it calls.
//! Not here: which arguments are secret (`keyward_rules::Books`).

use crate::engine::context::{Ctx, Mode, Outcome};
use crate::sessions::courier::Courier;
use crate::sessions::session::Session;
use keyward_commands::flags::Flag;
use keyward_commands::{Command, CommandId, WireError};
use std::rc::Rc;

pub(crate) fn monitor(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.mode.is_atomic() {
        return Err(WireError::Err("MONITOR isn't allowed for DENY BLOCKING client"));
    }
    // Redis answers nothing at all to one who watches already.
    if !ctx.session.is_monitor {
        ctx.session.is_monitor = true;
        ctx.shared.monitors.push(ctx.session.id);
        ctx.reply.ok();
    }
    Ok(())
}

/// Whether a client that watches may run a command: none that is about keys.
#[cold]
pub(crate) fn admit(session: &Session, command: &Command) -> Result<(), WireError> {
    let concerns_keys = |command: &Command| {
        let flags = [Flag::Write, Flag::ReadOnly, Flag::MayReplicate];
        flags.into_iter().any(|flag| command.flags.has(flag))
    };
    let is_refused = match (command.id, &session.transaction) {
        (CommandId::Exec, Some(t)) => t.queue.iter().any(|(command, _)| concerns_keys(command)),
        _ => concerns_keys(command),
    };
    match is_refused {
        true => Err(WireError::Err("Replica can't interact with the keyspace")),
        false => Ok(()),
    }
}

/// Shows a command that has just run, if it is one to be shown.
pub(crate) fn show_after(ctx: &mut Ctx<'_>) {
    let flags = ctx.command.flags;
    let is_hidden = flags.has(Flag::Admin) || flags.has(Flag::SkipMonitor);
    if !is_hidden && !matches!(ctx.mode, Mode::Woken(_)) {
        show(ctx);
    }
}

/// Shows the running command to all who watch.
pub(crate) fn show(ctx: &mut Ctx<'_>) {
    if ctx.shared.monitors.is_empty() {
        return;
    }
    let line: Rc<[u8]> = line(ctx).into();
    let shared = &mut *ctx.shared;
    let mut courier = Courier {
        sessions: &mut shared.sessions,
        outbox: &mut shared.outbox,
        current: Some(ctx.session),
    };
    for monitor in &shared.monitors {
        courier.send(*monitor, Rc::clone(&line));
    }
}

/// The command as a line: time, database, who, and the words in quotes.
fn line(ctx: &Ctx<'_>) -> Vec<u8> {
    let (seconds, rest) = (ctx.shared.now_us / 1_000_000, ctx.shared.now_us % 1_000_000);
    let db = ctx.session.db;
    let who = if matches!(ctx.mode, Mode::Scripted(..)) {
        "lua".to_owned()
    } else {
        let connection = ctx.host.connection(ctx.session.id);
        match connection.is_unix {
            true => format!("unix:{}", connection.address.trim_end_matches(":0")),
            false => connection.address,
        }
    };
    let mut line = format!("+{seconds}.{rest:06} [{db} {who}]").into_bytes();
    for word in ctx.keys.shown(db, ctx.command, ctx.args) {
        line.push(b' ');
        quote(&word, &mut line);
    }
    line.extend_from_slice(b"\r\n");
    line
}

/// Appends text in double quotes, what does not print escaped.
fn quote(text: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    for &byte in text {
        match byte {
            b'\\' | b'"' => line.extend_from_slice(&[b'\\', byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            0x07 => line.extend_from_slice(b"\\a"),
            0x08 => line.extend_from_slice(b"\\b"),
            b' '..=b'~' => line.push(byte),
            other => line.extend_from_slice(format!("\\x{other:02x}").as_bytes()),
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use crate::sessions::monitor::quote;

    #[test]
    fn words_are_quoted_as_redis_quotes_them() {
        let mut line = Vec::new();
        quote(b"a\"\\\n\r\t\x07\x08\x00\xff z", &mut line);
        assert_eq!(line, b"\"a\\\"\\\\\\n\\r\\t\\a\\b\\x00\\xff z\"");
    }
}
