//! PING, ECHO, AUTH, HELLO, RESET, QUIT.

use crate::acl::{self, Context, Reason};
use crate::engine::context::{Ctx, Mode, Outcome};
use crate::engine::rights::Asked;
use crate::sessions::session::ReplyMode;
use keyward_commands::args::{self, Options};
use keyward_commands::{REDIS_VERSION, WireError};
use keyward_resp::Protocol;

pub(crate) fn ping(ctx: &mut Ctx<'_>) -> Outcome {
    let is_listening = !ctx.session.subscriptions.is_empty();
    match ctx.args.len() {
        1 | 2 if is_listening && ctx.session.protocol == Protocol::Resp2 => {
            // Among messages the answer looks like one.
            ctx.reply.array(2);
            ctx.reply.bulk(b"pong");
            ctx.reply.bulk(ctx.args.get(1).unwrap_or_default());
        }
        1 => ctx.reply.simple("PONG"),
        2 => ctx.reply.bulk(ctx.args.at(1)),
        _ => return Err(WireError::WrongArity(ctx.command.name)),
    }
    Ok(())
}

pub(crate) fn echo(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.bulk(ctx.args.at(1));
    Ok(())
}

pub(crate) fn auth(ctx: &mut Ctx<'_>) -> Outcome {
    let (user, password) = match ctx.args.len() {
        2 if ctx.shared.acl.default_user().needs_no_password => {
            return Err(WireError::Err(
                "AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
            ));
        }
        2 => (acl::DEFAULT, ctx.args.at(1)),
        3 => (ctx.args.at(1), ctx.args.at(2)),
        _ => return Err(WireError::Syntax),
    };
    authenticate(ctx, user, password)?;
    ctx.reply.ok();
    Ok(())
}

/// Admits the client if user and password are right.
fn authenticate(ctx: &mut Ctx<'_>, user: &[u8], password: &[u8]) -> Outcome {
    if let Some(known) = ctx.shared.acl.authenticate(user, password) {
        ctx.session.become_user(known, true);
        return Ok(());
    }
    let context = match ctx.session.transaction.is_some() || matches!(ctx.mode, Mode::Queued) {
        true => Context::Transaction,
        false => Context::TopLevel,
    };
    let denied = (context, Reason::Authentication, ctx.args.at(0));
    let asked = Asked { command: ctx.command, args: ctx.args, keys: ctx.keys, host: ctx.host };
    ctx.shared.note_denial(ctx.session, denied, user.into(), asked);
    Err(WireError::WrongPassword)
}

pub(crate) fn hello(ctx: &mut Ctx<'_>) -> Outcome {
    let mut protocol = None;
    if let Some(version) = ctx.args.get(1) {
        let not_a_number = "Protocol version is not an integer or out of range";
        protocol = match args::integer_or(version, WireError::Err(not_a_number))? {
            2 => Some(Protocol::Resp2),
            3 => Some(Protocol::Resp3),
            _ => return Err(WireError::UnsupportedProtocol),
        };
    }
    let mut options = Options::new(ctx.args, 2);
    while let Some(word) = options.next() {
        if args::is(word, "AUTH") && options.left() >= 2 {
            let (user, password) = (options.value()?, options.value()?);
            authenticate(ctx, user, password)?;
        } else if args::is(word, "SETNAME") && options.left() >= 1 {
            crate::commands::connection::client::set_name(ctx, options.value()?)?;
        } else {
            return Err(WireError::line(&[b"ERR Syntax error in HELLO option '", word, b"'"]));
        }
    }
    if !ctx.session.is_authenticated {
        return Err(WireError::line(&[
            b"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
        ]));
    }
    if let Some(protocol) = protocol {
        ctx.session.protocol = protocol;
        ctx.reply.set_protocol(protocol);
    }
    reply_hello(ctx);
    Ok(())
}

fn reply_hello(ctx: &mut Ctx<'_>) {
    let version = match ctx.session.protocol {
        Protocol::Resp2 => 2,
        Protocol::Resp3 => 3,
    };
    ctx.reply.map(7);
    for (name, value) in [("server", "redis"), ("version", REDIS_VERSION)] {
        ctx.reply.bulk(name.as_bytes());
        ctx.reply.bulk(value.as_bytes());
    }
    ctx.reply.bulk(b"proto");
    ctx.reply.integer(version);
    ctx.reply.bulk(b"id");
    ctx.reply.integer(ctx.session.id.0 as i64);
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        ctx.reply.bulk(name.as_bytes());
        ctx.reply.bulk(value.as_bytes());
    }
    ctx.reply.bulk(b"modules");
    ctx.reply.array(0);
}

pub(crate) fn quit(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.session.is_closing = true;
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn reset(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.session.is_replica {
        return Err(WireError::Err("can only reset normal connections"));
    }
    ctx.shared.forget(ctx.keys, ctx.session);
    let session = &mut *ctx.session;
    session.transaction = None;
    session.db = 0;
    session.protocol = Protocol::Resp2;
    session.name = None;
    session.reply_mode = ReplyMode::On;
    session.no_evict = false;
    session.no_touch = false;
    ctx.shared.greet(session);
    ctx.reply.set_protocol(Protocol::Resp2);
    ctx.reply.simple("RESET");
    Ok(())
}
