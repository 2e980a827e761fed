//! ACL: users and their rights.
//!
//! Not here: what rules mean (`crate::acl`), when rights are asked for (`engine::rights`),
//! AUTH (`connection`).

use crate::acl::check::Place;
use crate::acl::{Call, DEFAULT, Denial, Denied, Selector, User, is_plain_name};
use crate::engine::context::{Ctx, Mode, Outcome};
use crate::sessions::pubsub::Kind;
use crate::sessions::session::Session;
use keyward_commands::args;
use keyward_commands::{AclCategory, COMMANDS, WireError};

/// The longest password that is made, in bits.
const BITS_MAX: i64 = 4096;
/// How long a password is unless said otherwise.
const BITS: i64 = 256;
/// How many entries of the log are shown unless said otherwise.
const LOG_COUNT: i64 = 10;
const NO_FILE: &str = "This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration.";
const NOT_SAVED: &str =
    "There was an error trying to save the ACLs. Please check the server logs for more information";

pub(crate) fn setuser(ctx: &mut Ctx<'_>) -> Outcome {
    let name = ctx.args.at(2);
    if !is_plain_name(name) {
        return Err(WireError::Err("Usernames can't contain spaces or null characters"));
    }
    let rules: Vec<&[u8]> = ctx.args.from(3).iter().collect();
    let acl = &mut ctx.shared.acl;
    let user = acl.drafted(name, &rules).map_err(|text| failed(&text))?;
    let loses_channels = acl.user(name).is_some_and(|before| before.loses_channels(&user));
    let after = user.clone();
    acl.put(user);
    if loses_channels {
        ctx.shared.close_clients_of(ctx.keys, ctx.session, |session, of| {
            of.name == after.name && listens_without_right(session, &after)
        });
    }
    ctx.reply.ok();
    Ok(())
}

/// An error in these words, on one line.
fn failed(text: &[u8]) -> WireError {
    let is_end = |byte: u8| matches!(byte, b'\r' | b'\n');
    let line: Vec<u8> = text.iter().map(|&byte| if is_end(byte) { b' ' } else { byte }).collect();
    WireError::line(&[b"ERR ", &line])
}

/// Whether a client listens to something that its user may no longer listen to.
fn listens_without_right(session: &Session, user: &User) -> bool {
    [Kind::Channel, Kind::Pattern, Kind::Shard].into_iter().any(|kind| {
        let mut names = session.subscriptions.names[kind as usize].iter();
        names.any(|name| !user.may_listen(name, matches!(kind, Kind::Pattern)))
    })
}

pub(crate) fn deluser(ctx: &mut Ctx<'_>) -> Outcome {
    let names = ctx.args.from(2);
    if names.iter().any(|name| name == DEFAULT) {
        return Err(WireError::Err("The 'default' user cannot be removed"));
    }
    let mut removed = 0;
    for name in names.iter() {
        if ctx.shared.acl.remove(name) {
            removed += 1;
            ctx.shared.close_clients_of(ctx.keys, ctx.session, |_, user| *user.name == *name);
        }
    }
    ctx.reply.integer(removed);
    Ok(())
}

pub(crate) fn getuser(ctx: &mut Ctx<'_>) -> Outcome {
    let Some(user) = ctx.shared.acl.user(ctx.args.at(2)) else {
        ctx.reply.null();
        return Ok(());
    };
    let user = User::clone(user);
    ctx.reply.map(6);
    ctx.reply.bulk(b"flags");
    let flags = user.flags();
    ctx.reply.set(flags.len());
    flags.iter().for_each(|flag| ctx.reply.bulk(flag.as_bytes()));
    ctx.reply.bulk(b"passwords");
    ctx.reply.array(user.passwords().len());
    user.passwords().for_each(|hash| ctx.reply.bulk(hash));
    let (root, others) = user.selectors().split_first().expect("there is always a root");
    reply_selector(ctx, root);
    ctx.reply.bulk(b"selectors");
    ctx.reply.array(others.len());
    for selector in others {
        ctx.reply.map(3);
        reply_selector(ctx, selector);
    }
    Ok(())
}

fn reply_selector(ctx: &mut Ctx<'_>, selector: &Selector) {
    ctx.reply.bulk(b"commands");
    ctx.reply.bulk(&selector.command_rules());
    ctx.reply.bulk(b"keys");
    ctx.reply.bulk(&selector.key_rules());
    ctx.reply.bulk(b"channels");
    ctx.reply.bulk(&selector.channel_rules());
}

pub(crate) fn list(ctx: &mut Ctx<'_>) -> Outcome {
    let lines = ctx.shared.acl.lines();
    ctx.reply.array(lines.len());
    lines.for_each(|line| ctx.reply.bulk(line));
    Ok(())
}

pub(crate) fn users(ctx: &mut Ctx<'_>) -> Outcome {
    let users = ctx.shared.acl.users();
    ctx.reply.array(users.len());
    users.for_each(|user| ctx.reply.bulk(&user.name));
    Ok(())
}

pub(crate) fn whoami(ctx: &mut Ctx<'_>) -> Outcome {
    match &ctx.session.user {
        Some(user) => ctx.reply.bulk(&user.name),
        None => ctx.reply.null(),
    }
    Ok(())
}

pub(crate) fn load(ctx: &mut Ctx<'_>) -> Outcome {
    let reader = ctx.shared.acl.reader();
    let waits = !ctx.mode.is_atomic() && !matches!(ctx.mode, Mode::Woken(_));
    if waits && ctx.host.read_users_elsewhere(ctx.session.id, reader) {
        ctx.block_in_vain(0);
        return Ok(());
    }
    let read = match ctx.host.users_read(ctx.session.id) {
        Some(read) => Some(read),
        None => ctx.host.read_users(reader),
    };
    let read = read.ok_or(WireError::Err(NO_FILE))?;
    let read = read.map_err(|error| failed(error.as_bytes()))?;
    let before = ctx.shared.acl.replace_by(read).map_err(|errors| failed(&errors))?;
    ctx.host.discard(Box::new(before));
    // As in Redis, also the clients of users who are the same as before.
    ctx.shared.close_clients_of(ctx.keys, ctx.session, |_, user| *user.name != *DEFAULT);
    ctx.reply.ok();
    Ok(())
}

pub(crate) fn save(ctx: &mut Ctx<'_>) -> Outcome {
    let text = ctx.shared.acl.to_file();
    match ctx.host.write_users(&text) {
        None => return Err(WireError::Err(NO_FILE)),
        Some(false) => return Err(WireError::Err(NOT_SAVED)),
        Some(true) => ctx.reply.ok(),
    }
    Ok(())
}

pub(crate) fn cat(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len() > 3 {
        return Err(WireError::subcommand_syntax(ctx.args));
    }
    let Some(name) = ctx.args.get(2) else {
        ctx.reply.array(AclCategory::ALL.len());
        let names = AclCategory::ALL.iter().filter_map(|category| category.wire_name());
        names.for_each(|name| ctx.reply.bulk(name.as_bytes()));
        return Ok(());
    };
    let Some(category) = AclCategory::by_name(name) else {
        let shown = &name[..name.len().min(128)];
        return Err(WireError::line(&[b"ERR Unknown category '", shown, b"'"]));
    };
    let members = || COMMANDS.iter().filter(|command| command.acl.has(category));
    ctx.reply.array(members().count());
    members().for_each(|command| ctx.reply.bulk(command.name.as_bytes()));
    Ok(())
}

pub(crate) fn genpass(ctx: &mut Ctx<'_>) -> Outcome {
    if ctx.args.len() > 3 {
        return Err(WireError::subcommand_syntax(ctx.args));
    }
    let bits = ctx.args.get(2).map_or(Ok(BITS), args::integer)?;
    if !(1..=BITS_MAX).contains(&bits) {
        return Err(WireError::Err(
            "ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
        ));
    }
    let digits = usize::try_from(bits).unwrap_or(0).div_ceil(4);
    let mut secret = vec![0; digits.div_ceil(2)];
    ctx.host.fill_with_secrets(&mut secret)?;
    let password: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    ctx.reply.bulk(&password.as_bytes()[..digits]);
    Ok(())
}

pub(crate) fn log(ctx: &mut Ctx<'_>) -> Outcome {
    let count = match ctx.args.get(2) {
        _ if ctx.args.len() > 3 => return Err(WireError::subcommand_syntax(ctx.args)),
        None => LOG_COUNT,
        Some(word) if args::is(word, "RESET") => {
            ctx.shared.acl.log.clear();
            ctx.reply.ok();
            return Ok(());
        }
        Some(word) => args::integer(word)?,
    };
    let entries = ctx.shared.acl.log.entries();
    let count = usize::try_from(count).unwrap_or(0).min(entries.len());
    ctx.reply.array(count);
    for entry in entries.take(count) {
        let Denial { reason, context, object, user, time_ms, client, .. } = entry;
        ctx.reply.map(7);
        ctx.reply.bulk(b"count");
        ctx.reply.integer(i64::try_from(entry.count).unwrap_or(i64::MAX));
        for (name, text) in [
            ("reason", reason.name().as_bytes()),
            ("context", context.name().as_bytes()),
            ("object", object),
            ("username", user),
        ] {
            ctx.reply.bulk(name.as_bytes());
            ctx.reply.bulk(text);
        }
        ctx.reply.bulk(b"age-seconds");
        ctx.reply.double((ctx.keys.now_ms() - time_ms) as f64 / 1000.0);
        ctx.reply.bulk(b"client-info");
        ctx.reply.bulk(client.as_bytes());
    }
    Ok(())
}

pub(crate) fn dryrun(ctx: &mut Ctx<'_>) -> Outcome {
    let (name, args) = (ctx.args.at(2), ctx.args.from(3));
    let Some(user) = ctx.shared.acl.user(name) else {
        return Err(WireError::line(&[b"ERR User '", name, b"' not found"]));
    };
    let Ok(command) = ctx.shared.names.find(args) else {
        return Err(WireError::line(&[b"ERR Command '", args.at(0), b"' not found"]));
    };
    if !command.arity.admits(args.len()) {
        return Err(WireError::WrongArity(command.name));
    }
    let place = Place { keys: ctx.keys, db: ctx.db };
    let (what, kind) = match user.check(&Call { command, args, place }) {
        Ok(()) => {
            ctx.reply.ok();
            return Ok(());
        }
        Err(Denied::Command) => (command.name.as_bytes(), "command"),
        Err(Denied::Key(at)) => (args.at(at), "key"),
        Err(Denied::Channel(at)) => (args.at(at), "channel"),
    };
    let verb = if kind == "command" { "run" } else { "access" };
    let start = format!("This user has no permissions to {verb} the '");
    let what = what.split(|byte| *byte == 0).next().unwrap_or_default();
    ctx.reply.bulk(&[start.as_bytes(), what, b"' ", kind.as_bytes()].concat());
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "CAT [<category>]",
        "    List all commands that belong to <category>, or all command categories",
        "    when no category is specified.",
        "DELUSER <username> [<username> ...]",
        "    Delete a list of users.",
        "DRYRUN <username> <command> [<arg> ...]",
        "    Returns whether the user can execute the given command without executing the command.",
        "GETUSER <username>",
        "    Get the user's details.",
        "GENPASS [<bits>]",
        "    Generate a secure 256-bit user password. The optional `bits` argument can",
        "    be used to specify a different size.",
        "LIST",
        "    Show users details in config file format.",
        "LOAD",
        "    Reload users from the ACL file.",
        "LOG [<count> | RESET]",
        "    Show the ACL log entries.",
        "SAVE",
        "    Save the current config to the ACL file.",
        "SETUSER <username> <attribute> [<attribute> ...]",
        "    Create or modify a user with the specified attributes.",
        "USERS",
        "    List all the registered usernames.",
        "WHOAMI",
        "    Return the current connection username.",
    ]);
    Ok(())
}
