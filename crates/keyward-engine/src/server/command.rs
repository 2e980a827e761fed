//! COMMAND, COMMAND COUNT, LIST, INFO, GETKEYS, GETKEYSANDFLAGS, HELP: the
//! command table, told to clients.
//!
//! Only commands this server answers are told. The order is the table's; Redis's
//! is that of a hash table.

use crate::context::{Ctx, Outcome};
use crate::glob::{self, Case};
use keyward_commands::args;
use keyward_commands::{
    AclCategory, COMMANDS, Command, KeyFlags, KeyPositions, KeySpec, Names, WireError, keys_of_call,
};
use keyward_resp::ReplyWriter;

/// The top-level commands this server answers by these names.
pub(super) fn served(names: &Names) -> impl Iterator<Item = &'static Command> + Clone {
    let is_told = |command: &&Command| command.served && command.container.is_none();
    COMMANDS.iter().filter(is_told).filter(|command| names.has(command))
}

/// A command by its full name, if this server answers it.
pub(super) fn served_by_name(names: &Names, name: &[u8]) -> Option<&'static Command> {
    names.lookup_full_name(name).filter(|command| command.served)
}

pub(super) fn served_subcommands(
    command: &Command,
) -> impl Iterator<Item = &'static Command> + Clone {
    command.subcommands().iter().filter(|sub| sub.served)
}

pub(crate) fn all(ctx: &mut Ctx<'_>) -> Outcome {
    let names = &ctx.shared.names;
    ctx.reply.array(served(names).count());
    for command in served(names) {
        reply_info(&mut ctx.reply, command);
    }
    Ok(())
}

pub(crate) fn count(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply.count(served(&ctx.shared.names).count());
    Ok(())
}

pub(crate) fn info(ctx: &mut Ctx<'_>) -> Outcome {
    let names = ctx.args.from(2);
    if names.is_empty() {
        return all(ctx);
    }
    ctx.reply.array(names.len());
    for name in names.iter() {
        match served_by_name(&ctx.shared.names, name) {
            Some(command) => reply_info(&mut ctx.reply, command),
            None => ctx.reply.null(),
        }
    }
    Ok(())
}

fn reply_info(reply: &mut ReplyWriter<'_>, command: &Command) {
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.integer(command.arity.wire());
    reply_flags(reply, command.flags.wire_names());
    let legacy = command.legacy_keys;
    for number in [legacy.first, legacy.last, legacy.step] {
        reply.integer(number);
    }
    let categories = command.acl.wire_names();
    reply.set(categories.clone().count());
    for category in categories {
        reply.simple(&format!("@{category}"));
    }
    reply.set(command.tips.len());
    for tip in command.tips {
        reply.bulk(tip.as_bytes());
    }
    reply.set(command.keys.len());
    for spec in command.keys {
        reply_key_spec(reply, spec);
    }
    if command.subcommand_count == 0 {
        return reply.set(0);
    }
    let subcommands = served_subcommands(command);
    reply.array(subcommands.clone().count());
    for subcommand in subcommands {
        reply_info(reply, subcommand);
    }
}

/// A set of simple strings.
pub(super) fn reply_flags<'a>(
    reply: &mut ReplyWriter<'_>,
    names: impl Iterator<Item = &'a str> + Clone,
) {
    reply.set(names.clone().count());
    for name in names {
        reply.simple(name);
    }
}

fn reply_key_spec(reply: &mut ReplyWriter<'_>, spec: &KeySpec) {
    reply.map(3 + usize::from(spec.notes.is_some()));
    if let Some(notes) = spec.notes {
        reply.bulk(b"notes");
        reply.bulk(notes.as_bytes());
    }
    reply.bulk(b"flags");
    reply_key_flags(reply, spec.flags);
    let (begin, find): (Option<u8>, Find) = match spec.positions {
        KeyPositions::One(at) => {
            (Some(at), ("range", &[("lastkey", 0), ("keystep", 1), ("limit", 0)]))
        }
        KeyPositions::Range { first, last, step } => {
            let last = if last < 0 { last.into() } else { i64::from(last) - i64::from(first) };
            let fields = [("lastkey", last), ("keystep", step.into()), ("limit", 0)];
            return reply_searches(reply, Some(first), ("range", &fields));
        }
        KeyPositions::NumKeys(at) => {
            (Some(at), ("keynum", &[("keynumidx", 0), ("firstkey", 1), ("keystep", 1)]))
        }
        KeyPositions::Unknown => (None, ("unknown", &[])),
    };
    reply_searches(reply, begin, find);
}

/// How keys are found from where the search begins: type and figures.
type Find<'a> = (&'a str, &'a [(&'a str, i64)]);

fn reply_searches(reply: &mut ReplyWriter<'_>, begin: Option<u8>, find: Find<'_>) {
    let begin_fields = begin.map(|at| [("index", i64::from(at))]);
    let begin: Find<'_> = match &begin_fields {
        Some(fields) => ("index", fields),
        None => ("unknown", &[]),
    };
    for (name, (kind, fields)) in [("begin_search", begin), ("find_keys", find)] {
        reply.bulk(name.as_bytes());
        reply.map(2);
        reply.bulk(b"type");
        reply.bulk(kind.as_bytes());
        reply.bulk(b"spec");
        reply.map(fields.len());
        for (field, value) in fields {
            reply.bulk(field.as_bytes());
            reply.integer(*value);
        }
    }
}

fn reply_key_flags(reply: &mut ReplyWriter<'_>, flags: KeyFlags) {
    reply_flags(reply, flags.wire_names());
}

pub(crate) fn getkeys(ctx: &mut Ctx<'_>) -> Outcome {
    let call = ctx.args.from(2);
    let keys = keys_of_call(&ctx.shared.names, call)?;
    ctx.reply.array(keys.len());
    for key in keys {
        ctx.reply.bulk(call.at(key.index));
    }
    Ok(())
}

pub(crate) fn getkeysandflags(ctx: &mut Ctx<'_>) -> Outcome {
    let call = ctx.args.from(2);
    let keys = keys_of_call(&ctx.shared.names, call)?;
    ctx.reply.array(keys.len());
    for key in keys {
        ctx.reply.array(2);
        ctx.reply.bulk(call.at(key.index));
        reply_key_flags(&mut ctx.reply, key.flags);
    }
    Ok(())
}

pub(crate) fn list(ctx: &mut Ctx<'_>) -> Outcome {
    let accepts: Box<dyn Fn(&Command) -> bool> = match ctx.args.len() {
        2 => Box::new(|_| true),
        5 if args::is(ctx.args.at(2), "FILTERBY") => {
            let (kind, value) = (ctx.args.at(3), ctx.args.at(4));
            if args::is(kind, "MODULE") {
                Box::new(|_| false)
            } else if args::is(kind, "ACLCAT") {
                let category = AclCategory::by_name(value);
                Box::new(move |command| category.is_some_and(|c| command.acl.has(c)))
            } else if args::is(kind, "PATTERN") {
                Box::new(|command| glob::matches(value, command.name.as_bytes(), Case::Insensitive))
            } else {
                return Err(WireError::Syntax);
            }
        }
        _ => return Err(WireError::Syntax),
    };
    let place = ctx.reply.defer();
    let mut count = 0;
    let names = &ctx.shared.names;
    for command in COMMANDS.iter().filter(|command| command.served) {
        let top = command.container.map_or(command, |container| container.command());
        if names.has(top) && accepts(command) {
            ctx.reply.bulk(command.name.as_bytes());
            count += 1;
        }
    }
    ctx.reply.end_array(place, count);
    Ok(())
}

pub(crate) fn help(ctx: &mut Ctx<'_>) -> Outcome {
    ctx.reply_help(&[
        "(no subcommand)",
        "    Return details about all Redis commands.",
        "COUNT",
        "    Return the total number of commands in this Redis server.",
        "LIST",
        "    Return a list of all commands in this Redis server.",
        "INFO [<command-name> ...]",
        "    Return details about multiple Redis commands.",
        "    If no command names are given, documentation details for all",
        "    commands are returned.",
        "DOCS [<command-name> ...]",
        "    Return documentation details about multiple Redis commands.",
        "    If no command names are given, documentation details for all",
        "    commands are returned.",
        "GETKEYS <full-command>",
        "    Return the keys from a full Redis command.",
        "GETKEYSANDFLAGS <full-command>",
        "    Return the keys and the access flags from a full Redis command.",
    ]);
    Ok(())
}
