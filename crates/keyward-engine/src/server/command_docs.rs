//! COMMAND DOCS.

use super::command::{reply_flags, served, served_by_name, served_subcommands};
use crate::context::{Ctx, Outcome};
use keyward_commands::Command;
use keyward_commands::argument::Argument;
use keyward_resp::ReplyWriter;

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
        reply_docs(&mut ctx.reply, command);
    }
    Ok(())
}

fn reply_text(reply: &mut ReplyWriter<'_>, name: &str, text: &str) {
    reply.bulk(name.as_bytes());
    reply.bulk(text.as_bytes());
}

fn reply_docs(reply: &mut ReplyWriter<'_>, command: &Command) {
    let texts = [
        ("summary", Some(command.summary)),
        ("since", Some(command.since)),
        ("group", Some(command.group.wire_name())),
        ("complexity", Some(command.complexity).filter(|text| !text.is_empty())),
    ];
    let later_texts =
        [("deprecated_since", command.deprecated_since), ("replaced_by", command.replaced_by)];
    let is_present = [
        !command.doc_flags.is_empty(),
        !command.history.is_empty(),
        !command.args.is_empty(),
        command.subcommand_count > 0,
    ];
    let text_count = texts.iter().chain(&later_texts).filter(|(_, text)| text.is_some()).count();
    reply.map(text_count + is_present.iter().filter(|present| **present).count());
    for (name, text) in texts {
        text.into_iter().for_each(|text| reply_text(reply, name, text));
    }
    if !command.doc_flags.is_empty() {
        reply.bulk(b"doc_flags");
        reply_flags(reply, command.doc_flags.wire_names());
    }
    for (name, text) in later_texts {
        text.into_iter().for_each(|text| reply_text(reply, name, text));
    }
    if !command.history.is_empty() {
        reply.bulk(b"history");
        reply.set(command.history.len());
        for (version, change) in command.history {
            reply.array(2);
            reply.bulk(version.as_bytes());
            reply.bulk(change.as_bytes());
        }
    }
    if !command.args.is_empty() {
        reply.bulk(b"arguments");
        reply_arguments(reply, command.args);
    }
    if command.subcommand_count > 0 {
        reply.bulk(b"subcommands");
        let subcommands = served_subcommands(command);
        reply.map(subcommands.clone().count());
        for subcommand in subcommands {
            reply.bulk(subcommand.name.as_bytes());
            reply_docs(reply, subcommand);
        }
    }
}

fn reply_arguments(reply: &mut ReplyWriter<'_>, arguments: &[Argument]) {
    reply.array(arguments.len());
    for argument in arguments {
        let flags = [
            (argument.optional, "optional"),
            (argument.multiple, "multiple"),
            (argument.multiple_token, "multiple_token"),
        ];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name);
        let texts = [
            ("token", argument.token),
            ("since", argument.since),
            ("deprecated_since", argument.deprecated_since),
        ];
        let text_count = texts.iter().filter(|(_, text)| text.is_some()).count();
        let is_present = [
            argument.key_spec.is_some(),
            flags.clone().next().is_some(),
            !argument.arguments.is_empty(),
        ];
        reply.map(2 + text_count + is_present.iter().filter(|present| **present).count());
        reply_text(reply, "name", argument.name);
        reply_text(reply, "type", argument.kind.wire_name());
        if let Some(index) = argument.key_spec {
            reply.bulk(b"key_spec_index");
            reply.integer(index.into());
        }
        for (name, text) in texts {
            text.into_iter().for_each(|text| reply_text(reply, name, text));
        }
        if flags.clone().next().is_some() {
            reply.bulk(b"flags");
            reply_flags(reply, flags);
        }
        if !argument.arguments.is_empty() {
            reply.bulk(b"arguments");
            reply_arguments(reply, argument.arguments);
        }
    }
}
