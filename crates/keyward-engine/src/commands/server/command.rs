//! COMMAND and its subcommands: the command table, told to clients.
//!
//! Only commands this server answers are told. The order is the table's; Redis's
//! is that of a hash table.
//! Not here: how a row of the table is told (`keyward_commands::describe`).

use crate::engine::context::{Ctx, Outcome};
use crate::glob::{self, Case};
use keyward_commands::{
    AclCategory, COMMANDS, Command, Names, WireError, args, describe, keys_of_call,
};

/// The top-level commands this server answers by these names.
fn served(names: &Names) -> impl Iterator<Item = &'static Command> + Clone {
    let is_told = |command: &&Command| command.container.is_none();
    COMMANDS.iter().filter(is_told).filter(|command| names.has(command))
}

/// A command by its full name, if this server answers it.
fn served_by_name(names: &Names, name: &[u8]) -> Option<&'static Command> {
    names.lookup_full_name(name)
}

pub(crate) fn all(ctx: &mut Ctx<'_>) -> Outcome {
    let names = &ctx.shared.names;
    ctx.reply.array(served(names).count());
    for command in served(names) {
        describe::write_info(command, &mut ctx.reply);
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
            Some(command) => describe::write_info(command, &mut ctx.reply),
            None => ctx.reply.null(),
        }
    }
    Ok(())
}

pub(crate) fn docs(ctx: &mut Ctx<'_>) -> Outcome {
    let names = ctx.args.from(2);
    let commands: Vec<&Command> = if names.is_empty() {
        served(&ctx.shared.names).collect()
    } else {
        names.iter().filter_map(|name| served_by_name(&ctx.shared.names, name)).collect()
    };
    ctx.reply.map(commands.len());
    for command in commands {
        ctx.reply.bulk(command.name.as_bytes());
        describe::write_docs(command, &mut ctx.reply);
    }
    Ok(())
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
        describe::write_words(&mut ctx.reply, key.flags.wire_names());
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
    for command in COMMANDS.iter() {
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
