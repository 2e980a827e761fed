//! What those who watch are told of commands: MONITOR, and client-side caching.
//!
//! Owns the line that MONITOR shows, and which reads are remembered for clients that
//! track keys.
//! Not here: who watches (`sessions::monitor`, `sessions::tracking`), what is shown of
//! secrets (`keyward_rules::shown`).

use crate::engine::context::{Ctx, Mode};
use crate::sessions::courier::Courier;
use crate::sessions::monitor::quote;
use crate::sessions::tracking::Policy;
use keyward_commands::Group;
use keyward_commands::flags::Flag;
use std::rc::Rc;

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
    for word in ctx.keys.shown(db, ctx.command, ctx.args, ctx.mode.sender()) {
        line.push(b' ');
        quote(&word, &mut line);
    }
    line.extend_from_slice(b"\r\n");
    line
}

/// Remembers what the client of a command that has just run has read.
pub(crate) fn remember(ctx: &mut Ctx<'_>) {
    let Some(tracker) = &mut ctx.session.tracker else { return };
    let is_wanted = match tracker.policy {
        Policy::Read => true,
        Policy::OptIn => tracker.is_caching_given,
        Policy::OptOut => !tracker.is_caching_given,
        Policy::Broadcast => false,
    };
    // CLIENT CACHING is about the next command or transaction.
    let is_about_clients = ctx.command.name.starts_with("client|");
    if matches!(ctx.mode, Mode::Plain) && ctx.session.transaction.is_none() && !is_about_clients {
        tracker.is_caching_given = false;
    }
    if is_wanted && ctx.command.flags.has(Flag::ReadOnly) && ctx.command.group != Group::Scripting {
        // A script that reads anything has read the keys it was given.
        let (command, args) = match ctx.mode {
            Mode::Scripted(command, args) => (command, args),
            _ => (ctx.command, ctx.args),
        };
        for key in command.keys_in(args) {
            ctx.shared.tracking.remember(ctx.session.id, args.at(key.index));
        }
    }
}
